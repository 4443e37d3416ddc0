"""Installed distributions and their versions, such as ``scikit-learn 1.9.1``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import metadata

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
