"""Installed distributions and their versions, such as ``scikit-learn 1.9.1``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from embinit.digests import digest_of
from embinit.errors import InputError


def canonical_name(name: str) -> str:
    """A distribution's name as indexes compare it: ``scikit-learn`` for ``Scikit_Learn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def public_version(name: str) -> str:
    """A distribution's version without a build's local part (``+cpu``); InputError if missing."""
    try:
        return metadata.version(name).partition("+")[0]
    except (metadata.PackageNotFoundError, ValueError):
        raise InputError(f"there is no distribution {name!r} installed; see pip list") from None


@functools.cache
def distributions_of(package: str) -> tuple[str, ...]:
    """The distributions that bring a package, by the name under which it is imported."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return tuple(sorted({canonical_name(name) for name in _every().get(package, ())}))
    return (canonical_name(package),)


@functools.cache
def _every() -> dict[str, list[str]]:
    """All packages with their distributions, which takes some 0.2 s to read."""
    return dict(metadata.packages_distributions())


def versions_of(names: Iterable[str]) -> tuple[str, ...]:
    """The versions of distributions, as far as they are installed: ``numpy 2.4.1``, sorted."""
    known = []
    for name in sorted(set(names)):
        try:
            known.append(f"{name} {public_version(name)}")
        except InputError:
            continue
    return tuple(known)


@functools.cache
def content_of(name: str) -> str | None:
    """A distribution's whole version with a digest of its files; None for a missing one.

    What is built from a folder and installed again may have other files under the same version.
    Python's own caches and what the installer writes don't count.
    """
    try:
        found = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None
    lines = (found.read_text("RECORD") or "").splitlines()
    files = [line for line in lines if ".dist-info/" not in line and line[:3] != "../"]
    for number, line in enumerate(files):
        if line.endswith(",,"):  # without a digest
            path = Path(str(found.locate_file(line.removesuffix(",,"))))
            counts = path.suffix != ".pyc" and path.is_file()
            files[number] = f"{line}{digest_of(path.read_bytes())}" if counts else ""
    return f"{found.version} {digest_of(chr(10).join(sorted(filter(None, files))))}"


def with_requirements(names: Iterable[str], among: Iterable[str]) -> set[str]:
    """Distributions with those that they require, as far as these are ``among`` the given ones."""
    found, fresh, known = set(names), set(names), set(among)
    while fresh:
        fresh = {part for name in fresh for part in _required(name)} & known - found
        found |= fresh
    return found


@functools.cache
def _required(name: str) -> frozenset[str]:
    try:
        lines = metadata.requires(name) or []
    except (metadata.PackageNotFoundError, ValueError):
        return frozenset()
    return frozenset(canonical_name(re.split(r"[^\w.-]", line, maxsplit=1)[0]) for line in lines)


@functools.cache
def entry_points_of(group: str) -> str:
    """A digest of the entry points of a group, or of all for an empty one."""
    known: Any = metadata.entry_points(group=group) if group else metadata.entry_points()
    return digest_of("\n".join(sorted(f"{one.group} {one.name} {one.value}" for one in known)))
