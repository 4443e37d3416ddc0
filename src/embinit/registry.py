"""Names for inits, sources and tasks, open to other packages through entry points.

A package that adds an init, a source or a task either calls ``REGISTRY.register`` when it is
imported or names the object in its own metadata under ``embinit.inits``, ``embinit.sources`` or
``embinit.tasks``; the entry point is loaded the first time the name is asked for.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib import metadata
from typing import Generic, TypeVar

from embinit.errors import InputError

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects by name, with one clear error for a name that nobody registered."""

    def __init__(self, noun: str, group: str) -> None:
        self._noun = noun
        self._group = group
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> T:
        """Add ``entry``; a second, different object under the same name is an error."""
        known = self._entries.get(name)
        if known is not None and known != entry:
            raise InputError(
                f"{self._noun} {name!r} is registered twice: {known!r} and {entry!r}; "
                "give one of them another name"
            )
        self._entries[name] = entry
        return entry

    def replace(self, name: str, entry: T) -> None:
        """Let ``name`` stand for ``entry``, whatever it stood for."""
        self._entries[name] = entry

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            self._load_entry_point(name)
        try:
            return self._entries[name]
        except KeyError:
            near = difflib.get_close_matches(name, self, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(
                f"unknown {self._noun} {name!r}: {hint}known are {', '.join(self)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        points = {point.name for point in metadata.entry_points(group=self._group)}
        return iter(sorted(points | self._entries.keys()))

    def __contains__(self, name: object) -> bool:
        return name in set(self)

    def _load_entry_point(self, name: str) -> None:
        for point in metadata.entry_points(group=self._group, name=name):
            self._entries[name] = point.load()
