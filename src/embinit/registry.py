"""Registries of inits, sources and tasks, which other packages can extend by entry points.

A package calls ``REGISTRY.register`` when it is imported, or names an object in its metadata under
the registry's entry-point group; an entry point is loaded when its name is first looked up.
"""

from __future__ import annotations

import collections
import difflib
import functools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from typing import Generic, TypeVar

from embinit.code import code_of, is_shipped
from embinit.errors import InputError, lacking_models

T = TypeVar("T")


class Named(dict[str, T]):
    """Objects by name that no package adds to, with a registry's error for another name."""

    def __init__(self, noun: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self._noun = noun

    def __missing__(self, name: str) -> T:
        """Refuses a name that nothing has; the error has the nearest one."""
        raise unknown(self._noun, name, self)


class Registry(Generic[T]):
    """Objects by name; other packages add theirs as entry points of ``group``."""

    def __init__(self, noun: str, group: str) -> None:
        self._noun = noun
        self._group = group
        self._entries: dict[str, T] = {}
        self._homes: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._replaced: set[str] = set()

    def register(self, name: str, entry: T) -> T:
        """Adds an object; InputError where another one has the name already."""
        known = self._entries.get(name)
        if known is not None and known != entry:
            raise InputError(
                f"{self._noun} {name!r} is registered twice: {known!r} and {entry!r}; "
                "give one of them another name"
            )
        self._keep(name, entry, _caller())
        return entry

    def replace(self, name: str, entry: T) -> None:
        """Registers ``entry`` under a name that may be taken already."""
        self._replaced.add(name)
        self._keep(name, entry, _caller())

    def code(self, name: str) -> str:
        """A digest of the code of the module that registered an entry; "" for what is shipped."""
        self[name]
        home = self._homes[name := self._base(name)]
        if name not in self._codes:
            self._codes[name] = "" if is_shipped(home) else code_of(home)
        return self._codes[name]

    def _keep(self, name: str, entry: T, home: str) -> None:
        self._entries[name], self._homes[name] = entry, home
        self._codes.pop(name, None)

    def __getitem__(self, name: str) -> T:
        """The object of a name; InputError where nobody, or several packages, registered it."""
        if name not in self._entries:
            self._load_entry_point(name)
        elif is_shipped(self._homes.get(name, "")) and name not in self._replaced:
            self._refuse_points(name, self._homes[name])
        return self._entries[name] if name in self._entries else self._other(name)

    def __iter__(self) -> Iterator[str]:
        """The names in alphabetical order, those of entry points included."""
        return iter(sorted(_points(self._group).keys() | self._entries.keys()))

    def __contains__(self, name: object) -> bool:
        """Whether the name is registered or an entry point."""
        return isinstance(name, str) and self._knows(self._base(name))

    def registered(self, name: str) -> T | None:
        """The object that is registered under a name; entry points are not loaded."""
        return self._entries.get(self._base(name))

    def _knows(self, name: str) -> bool:
        return name in self._entries or name in _points(self._group)

    def _other(self, name: str) -> T:
        """What a name gives that nothing is registered by: an error."""
        raise unknown(self._noun, name, self)

    def _base(self, name: str) -> str:
        """The name that an entry is registered by."""
        return name

    def _load_entry_point(self, name: str) -> None:
        if not (points := _points(self._group).get(name)):
            return
        point = points[0]
        self._refuse_points(name, point.module)
        what = f"{self._noun} {name!r} is {point.value} of {_owner(point)}, which"
        mend = "update that package, or uninstall it"
        try:
            entry = point.load()
        except InputError:
            raise
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and lacking_models(error) is not None:
                raise  # the extra's name is given where it is known who needs it
            reason = f"{type(error).__name__}: {error}"
            raise InputError(f"{what} can't be loaded ({reason}); {mend}") from error
        if type(entry) in (bool, int, float, str, bytes, type(None)):
            raise InputError(f"{what} is {entry!r:.60} and no {self._noun}; {mend}")
        self._keep(name, entry, point.module)

    def _refuse_points(self, name: str, home: str) -> None:
        """Refuses a name that packages give to different objects, since either may be meant."""
        points = _points(self._group).get(name, ())
        others = [point for point in points if point.module != home]
        if others:
            owners = sorted({_owner(point) for point in others})
            raise InputError(
                f"{self._noun} {name!r} of {home.partition('.')[0]} is also named by "
                f"{', '.join(owners)}; uninstall one, or ask its authors for another name"
            )


def unknown(noun: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that nothing has."""
    names = sorted(known)
    return InputError(
        f"unknown {noun} {name!r}: {nearest(name, names)}known are {', '.join(names)}"
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """The question whether a known name was meant, for an error; "" where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}? " if near else ""


def require(what: str, name: str, known: Collection[str]) -> None:
    """Refuses a name that is not known with an InputError, which has the nearest one, and all."""
    if name not in known:
        raise InputError(
            f"there is no {what} {name!r}: {nearest(name, known)}there are {', '.join(known)}"
        )


def _caller() -> str:
    """The name of the module that registers something."""
    return str(sys._getframe(2).f_globals.get("__name__", ""))


@functools.cache
def _points(group: str) -> Mapping[str, Sequence[metadata.EntryPoint]]:
    """A group's entry points by name, each once; read once, since that takes some 50 ms."""
    every: dict[str, list[metadata.EntryPoint]] = collections.defaultdict(list)
    for point in metadata.entry_points(group=group):
        if point.value not in [known.value for known in every[point.name]]:
            every[point.name].append(point)
    return dict(every)


def _owner(point: metadata.EntryPoint) -> str:
    """The package that an entry point belongs to."""
    return f"package {point.dist.name}" if point.dist is not None else f"module {point.module}"
