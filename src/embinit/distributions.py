"""Installed distributions and their versions, such as ``scikit-learn 1.9.1``."""

from __future__ import annotations

import base64
import functools
import hashlib
import os
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from embinit.digests import digest_of


def canonical_name(name: str) -> str:
    """A distribution's name as indexes compare it: ``scikit-learn`` for ``Scikit_Learn``."""
    return re.sub(r"[-_.]+", "-", name).lower()


@functools.cache
def version_of(name: str) -> str | None:
    """A distribution's version; None where it isn't installed. To read it takes milliseconds."""
    try:
        return metadata.version(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None


def public_version(name: str) -> str:
    """A distribution's version without a build's local part (``+cpu``); "" if it is missing."""
    return (version_of(name) or "").partition("+")[0]


@functools.cache
def distributions_of(package: str) -> tuple[str, ...]:
    """The distributions that bring a package, by the name under which it is imported."""
    names = [package] if version_of(package) else _every().get(package, ())
    return tuple(sorted({canonical_name(name) for name in names}))


@functools.cache
def _every() -> dict[str, list[str]]:
    """All packages with their distributions, which takes some 0.2 s to read."""
    return dict(metadata.packages_distributions())


def versions_of(names: Iterable[str]) -> tuple[str, ...]:
    """The versions of distributions, as far as they are installed: ``numpy 2.4.1``, sorted."""
    known = ((name, public_version(name)) for name in sorted(set(names)))
    return tuple(f"{name} {version}" for name, version in known if version)


@functools.cache
def content_of(name: str) -> str | None:
    """A distribution's whole version with a digest of its files; None for a missing one.

    What is built from a folder and installed again may have other files under the same version,
    and a module may be edited where it is installed. Python's own caches and what the installer
    writes don't count.
    """
    try:
        found = metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):
        return None
    home, lines = str(found.locate_file("")), (found.read_text("RECORD") or "").splitlines()
    written = [line for line in lines if line.endswith(".dist-info/RECORD,,")]
    installed = os.stat(os.path.join(home, written[0][:-2])).st_mtime if written else 0.0
    files = [_recorded(home, line, installed) for line in lines]
    return f"{found.version} {digest_of(chr(10).join(sorted(filter(None, files))))}"


def _recorded(home: str, line: str, installed: float) -> str:
    """A file's line of a RECORD, with a digest where that lacks one or isn't the file's any more.

    It is "" for a file that counts for nothing.
    """
    name = line.rsplit(",", 2)[0]
    if ".dist-info/" in name or name.startswith("../") or name.endswith(".pyc"):
        return ""
    path, has_digest = os.path.join(home, name), not line.endswith(",,")
    if has_digest and not name.endswith(".py"):
        return line
    try:
        if has_digest and os.stat(path).st_mtime <= installed:
            return line
        content = Path(path).read_bytes()
    except OSError:
        return line if has_digest else ""
    known = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return line if f",sha256={known}," in line else f"{line}{digest_of(content)}"


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
    known = {one for found in metadata.distributions() for one in found.entry_points}
    named = [f"{one.group} {one.name} {one.value}" for one in known if group in ("", one.group)]
    return digest_of("\n".join(sorted(named)))
