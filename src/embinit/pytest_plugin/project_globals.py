"""Whether fixtures, tests or conftest.py changed, in pytest's process, what training reads.

Plain values are compared, functions and classes by name, and what containers and objects of the
project have of these. What appears, such as the entry of a cache, is no change.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import os
import pathlib
import re
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from embinit.code import is_own_file, is_shipped
from embinit.digests import digest_of
from embinit.libraries import UNSEEN
from embinit.runs.functions import INPUTS, training_named
from embinit.runs.results import RunResult
from embinit.runs.trainers.inputs import seal

MEND = "fixtures and tests don't reach training: set it where it is defined, or pass an argument"
LATE = ("pytest_runtest", "pytest_fixture", "pytest_sessionfinish", "pytest_unconfigure")
"""The hooks that are called once the values are known."""
PATCHES = ("setattr", "delattr", "setitem", "delitem", "patch", "patch.object", "patch.dict")
"""How the functions end that set what their first argument is or names."""
CHANGES = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove"})
"""Methods that change their object."""
UNSET = UNSEEN - {"TZ"} | {"PYTEST_CURRENT_TEST"}
"""Variables that are set without an effect: those that count when a process starts, which who fixes
all seeds sets, and pytest's for each test, which torch asks for when it is loaded.
"""
BY_LIBRARIES = ("TORCHINDUCTOR_", "TRITON_", "KMP_", "TF_CPP_")
"""What the variables begin with that libraries set when they are first used."""
PLAIN = frozenset({
    *(bool, int, float, complex, str, bytes, bytearray, range, type(None), type(...)),
    *(pathlib.PosixPath, pathlib.WindowsPath, decimal.Decimal, fractions.Fraction, re.Pattern),
    *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta),
})  # fmt: skip
"""Types whose objects don't change by being used, and are compared by their repr."""
CONTAINERS = (dict, collections.OrderedDict, collections.defaultdict, list, tuple, set, frozenset)
NAMESPACES = (types.SimpleNamespace, argparse.Namespace)
PLAIN_BASES = frozenset({"builtins", "abc", "typing", "types", "argparse", "collections"})
"""Modules whose classes keep nothing of their own in a subclass's objects."""
DEPTH = 5
"""How far within a global a change is looked for."""
MOST = 10_000
"""How many members of a container, and how many values within a global, are compared."""
MOST_BYTES = 2**26
"""How large an array may be to be compared."""


class ProjectGlobals:
    """The globals of the project's modules that are loaded, before any test."""

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        """Describes them, and what the project's ``plugins``, its conftest.py, set by then."""
        own = [plugin for plugin in plugins if _is_own(plugin)]
        self._set = dict(pair for plugin in own for pair in set_by(plugin))
        self._values = {
            name: values_of(module)
            for name, module in list(sys.modules.items())
            if _is_own(module) and not is_shipped(name)
        }

    def difference(self, results: Iterable[RunResult]) -> str | None:
        """What is another here than where some runs were trained; None where nothing is."""
        seen: set[str] = set()
        for result in results:
            if (inputs := result.provenance.get(INPUTS)) is None:
                continue
            name = training_named(result.spec.recipe.task).name.rpartition(":")[2]
            where = f"where {name} was run; {MEND}"
            for module in inputs["names"].keys() & self._set.keys():
                return f"{self._set[module]}, and not {where}"
            for variable, digest in inputs["variables"].items():
                if variable in UNSET or variable.startswith(BY_LIBRARIES):
                    continue
                if seal(os.environ.get(variable)) != digest:
                    return f"the variable {variable} is another in pytest's process than {where}"
            read = inputs["names"].keys() & self._values.keys() & sys.modules.keys()
            for module in sorted(read - seen):
                for place, then, now in changed(self._values[module], sys.modules[module]):
                    file = Path(str(sys.modules[module].__file__)).name
                    return (
                        f"{place} of {file} is {now:.60} in pytest's process (a fixture or a test "
                        f"changed it), and {then:.60} {where}"
                    )
            seen |= read
        return None


def set_by(plugin: types.ModuleType) -> Iterator[tuple[str, str]]:
    """The project's modules that a conftest.py sets something in before the values are known.

    It is read from its text: what is run at its import, its hooks, and the functions they call.
    """
    file, tree = str(plugin.__file__), ast.Module([], [])
    with contextlib.suppress(OSError, SyntaxError, ValueError):  # such as compiled code
        tree = ast.parse(Path(file).read_bytes())
    functions = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
    hooks = [name for name in functions if name.startswith("pytest_") and not name.startswith(LATE)]
    rest = [part for part in tree.body if not isinstance(part, ast.FunctionDef)]
    run = [("it is imported", part) for whole in rest for part in ast.walk(whole)]
    run += [(f"{name} is called", part) for name in hooks for part in ast.walk(functions[name])]
    modules = {n: m for n, m in vars(plugin).items() if isinstance(m, types.ModuleType)}
    owners = {name: module.__name__ for name, module in modules.items()}  # what names belong to
    for _, part in run:  # which grows
        called = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
        if called in functions and called not in hooks:
            run += [(f"{called} is called", inner) for inner in ast.walk(functions.pop(called))]
        if isinstance(part, ast.Import | ast.ImportFrom):
            package = getattr(part, "module", None) or ""
            for alias in part.names:
                inside = f"{package}.{alias.name}".lstrip(".")
                owners[alias.asname or alias.name] = inside if inside in sys.modules else package
    for when, part in run:
        module = owners.get(name := _root_of_change(part), name.rpartition(".")[0])
        if module in sys.modules and _is_own(sys.modules[module]):
            yield module, f"{ast.unparse(part)} is set by {file} when {when}"


def _root_of_change(part: ast.AST) -> str:
    """The name of what an assignment, a patch or a method changes a part of; "" for other code."""
    target: Any = None
    if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
        target = part
    elif isinstance(part, ast.Call):
        called = ast.unparse(part.func)
        if called.endswith(PATCHES) and part.args:
            target = part.args[0]
        elif called.rpartition(".")[2] in CHANGES:
            target = part.func
    while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
        # vars(lib) and getattr(lib, "a") are parts of lib.
        target = next(iter(target.args), None) if isinstance(target, ast.Call) else target.value
    return str(getattr(target, "id", getattr(target, "value", "")))


def values_of(module: types.ModuleType) -> dict[str, dict[str, str]]:
    """The values within each global of a module, in words by place; tests train nothing."""
    found = {}
    for name, value in list(vars(module).items()):
        is_test = name.startswith(("test_", "Test")) and type(value) in (type, types.FunctionType)
        if name.startswith(("@", "__")) or is_test:
            continue
        with contextlib.suppress(Exception):  # whatever a metaclass or a descriptor raises
            within = dict(itertools.islice(_within(name, value, DEPTH), MOST + 1))
            if len(within) <= MOST:
                found[name] = within
    return found


def changed(
    before: Mapping[str, Mapping[str, str]], module: types.ModuleType
) -> Iterator[tuple[str, str, str]]:
    """The places of a module that surely have another value than before, with both."""
    after = values_of(module)
    for name in before.keys() & after.keys():
        for place, then in before[name].items():
            now = after[name].get(place)
            filled = then == "None" and (now == "" or name.startswith("_") or "." in place)
            emptied = now is None and (then in ("", "None") or name.startswith("_"))
            if now != then and not filled and not emptied:
                yield place, then or "an object", "missing" if now is None else now or "an object"


def _within(place: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """A value and what it has within, in words by place.

    Nothing of the value is called, so that it can't be slow, raise or do something.
    """
    yield place, _words(value)
    for key, part in _members(value) if depth else ():
        yield from _within(place + key, part, depth - 1)


def _words(value: Any) -> str:
    """What a value is in words; "" for what may change by being used."""
    kind = type(value)
    if kind in PLAIN:
        text = repr(value)
        return text if len(text) < MOST else f"{kind.__name__} {digest_of(text)}"
    if issubclass(kind, enum.Enum):
        return f"{kind.__qualname__}.{value._name_}"
    if kind.__module__ == "numpy" and hasattr(kind, "tobytes"):
        known = not value.dtype.hasobject and value.nbytes <= MOST_BYTES
        return f"numpy.{kind.__name__} {digest_of(value.tobytes())}" if known else ""
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        return repr(value)
    if kind.__module__ == "unittest.mock":
        return "a mock"
    if kind in (staticmethod, classmethod):
        return _words(value.__func__)
    if kind is property:
        return _words(value.fget)
    # A library's wrapper has the name of what it wraps.
    named = kind is types.FunctionType or issubclass(kind, type)
    return f"{value.__qualname__} of {value.__module__}" if named else ""


def _members(value: Any) -> Iterable[tuple[str, Any]]:
    """What a container, or a class or an object of the project has within, by key."""
    kind = type(value)
    if issubclass(kind, type):
        bases = [base for base in reversed(value.__mro__) if _is_own(_home(base))]
        every = {name: part for base in bases for name, part in vars(base).items()}
        return [(f".{name}", part) for name, part in every.items() if _is_public(name)]
    if kind is functools.partial:
        return (".func", value.func), (".args", value.args), (".keywords", value.keywords)
    own = kind in NAMESPACES or _is_own(_home(kind))
    if kind in CONTAINERS or (own and issubclass(kind, CONTAINERS)):
        return _entries(value)
    if not own or issubclass(kind, types.ModuleType | enum.Enum):
        return ()
    # A library keeps what it needs in the objects of its subclasses, and arrays are trained.
    bases = [base for base in kind.__mro__ if base.__module__ not in PLAIN_BASES]
    ours = [base for base in bases if _is_own(_home(base))]
    declared = {name for base in ours for name in vars(base).get("__annotations__", ())}
    return [
        (f".{name}", part)
        for name, part in _attributes(value)
        if _is_public(name) and (ours == bases or name in declared)
        if type(part).__module__ != "numpy"
    ]


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a container, by keys that are plain values."""
    base = next(base for base in CONTAINERS if issubclass(type(value), base))
    if base.__len__(value) > MOST:
        return
    if base is dict:
        pairs: Iterable[tuple[Any, Any]] = dict.items(value)
    else:
        parts = [*base.__iter__(value)]
        pairs = enumerate(parts) if base in (list, tuple) else zip(parts, parts, strict=True)
    for key, part in pairs:
        plain = type(key) is tuple and all(type(one) in PLAIN for one in key)
        if words := repr(key) if plain else _words(key):
            yield f"[{words}]", part


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """An object's attributes, without any code of its own."""
    for base in type(value).__mro__:
        for name, slot in vars(base).items():
            if type(slot) is types.MemberDescriptorType:
                with contextlib.suppress(AttributeError):
                    yield name, slot.__get__(value)
    with contextlib.suppress(AttributeError):
        yield from object.__getattribute__(value, "__dict__").items()


def _home(kind: type) -> Any:
    return sys.modules.get(kind.__module__)


def _is_own(module: Any) -> bool:
    """Whether a module is the project's; to ask a lazy one for its file would load it."""
    file = getattr(module, "__dict__", {}).get("__file__")
    return isinstance(file, str) and is_own_file(file)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and not name.endswith("_")
