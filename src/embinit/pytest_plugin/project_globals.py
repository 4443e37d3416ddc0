"""Whether fixtures or tests changed, in pytest's process, what a function was trained with."""

from __future__ import annotations

import argparse
import ast
import contextlib
import enum
import functools
import os
import sys
import types
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from embinit.code import is_own_file, is_shipped
from embinit.digests import digest_of
from embinit.libraries import UNSEEN
from embinit.runs.functions import INPUTS
from embinit.runs.results import RunResult
from embinit.runs.trainers.inputs import seal
from embinit.runs.trainings import training_named

SHOWN = 60
MEND = "fixtures and tests don't reach training: set it where it is defined, or pass an argument"
EARLY = frozenset({
    "pytest_configure", "pytest_sessionstart", "pytest_collection", "pytest_collectstart",
    "pytest_collect_file", "pytest_pycollect_makeitem", "pytest_generate_tests",
    "pytest_itemcollected", "pytest_collection_modifyitems", "pytest_report_header",
    "pytest_addoption", "pytest_addhooks", "pytest_plugin_registered", "pytest_ignore_collect",
    "pytest_collect_directory", "pytest_pycollect_makemodule", "pytest_make_parametrize_id",
})  # fmt: skip
"""Hooks that are called before the snapshot of globals is taken."""
PATCHES = frozenset({"setattr", "delattr", "setitem", "delitem", "patch"})
"""Functions and methods that set what their first argument is or names."""
CHANGES = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove"})
"""Methods that change an object of the project."""
UNSET = UNSEEN - {"TZ"} | {"PYTEST_CURRENT_TEST"}
"""Variables that are set without an effect: those that count when a process starts, which who fixes
all seeds sets, and pytest's for each test, which torch asks for when it is loaded.
"""
BY_LIBRARIES = ("TORCHINDUCTOR_", "TRITON_", "KMP_", "TF_CPP_")
"""What the variables begin with that libraries set when they are first used."""
ATOMS = (bool, int, float, complex, str, bytes, bytearray, range, type(None), type(...))
VALUES = frozenset({
    *(f"pathlib{part}.{kind}Path" for part in ("", "._local") for kind in ("Posix", "Windows", "")),
    *(f"datetime.{kind}" for kind in ("date", "time", "datetime", "timedelta")),
    "decimal.Decimal", "fractions.Fraction", "uuid.UUID", "re.Pattern", "torch.dtype",
    "torch.device",
})  # fmt: skip
"""Types whose objects never change, so that their repr is enough to compare them."""
CONTAINERS = (dict, OrderedDict, defaultdict, list, tuple, set, frozenset)
PLAIN_OBJECTS = (types.SimpleNamespace, argparse.Namespace)
PLAIN_BASES = frozenset({"builtins", "abc", "typing", "types", "argparse", "collections"})
"""Modules whose classes add no attributes of their own to a subclass's objects."""
DEPTH = 5
"""How far within a global a change is looked for."""
MOST_MEMBERS = 10_000
"""How many members within a global are compared."""
MOST_BYTES = 2**26
"""How large an array may be to be compared."""


class Described(NamedTuple):
    """A value as far as it is known for sure: its type, its words, and what it has within.

    Without either it is known by its type alone, as what libraries make is.
    """

    kind: str
    words: str = ""
    within: Mapping[str, Described] | None = None

    def __str__(self) -> str:
        """What it is, as far as that fits in a line."""
        text = self.words or (self.kind if " " in self.kind else f"a {self.kind}")
        return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


class ProjectGlobals:
    """The globals of the project's modules that are loaded, before any fixture and test.

    So trainers import them, but for what the project's conftest.py, among ``plugins``, has set.
    """

    def __init__(self, plugins: Iterable[Any] = ()) -> None:
        self._assigned = dict(
            pair for plugin in plugins if _is_own_module(plugin) for pair in _assigned(plugin)
        )
        self._values = {
            name: _globals(module)
            for name, module in list(sys.modules.items())
            if _is_own_module(module) and not is_shipped(name)
        }

    def difference(self, results: Iterable[RunResult]) -> str | None:
        """What is another in this process than where runs were trained; None where nothing is."""
        known = self._values.keys() & sys.modules.keys()
        for result in results:
            if (inputs := result.provenance.get(INPUTS)) is None:
                continue
            name = training_named(result.spec.recipe.task).name.rpartition(":")[2]
            where = f"where {name} was run; {MEND}"
            for module in inputs["names"].keys() & self._assigned.keys():
                return f"{self._assigned[module]}, and not {where}"
            for variable, digest in inputs["variables"].items():
                if variable in UNSET or variable.startswith(BY_LIBRARIES):
                    continue
                if seal(os.environ.get(variable)) != digest:
                    return f"the variable {variable} is another in pytest's process than {where}"
            for module in inputs["names"].keys() & known:
                known.discard(module)  # each is described once
                here, there = _globals(sys.modules[module]), self._values[module]
                for place, now, then in changed("", there, here):
                    file = Path(str(sys.modules[module].__file__)).name
                    return (
                        f"{place} of {file} is {now or 'missing'} in pytest's process (a fixture "
                        f"or a test changed it), and {then or 'missing'} {where}"
                    )
        return None


def _is_own_module(module: Any) -> bool:
    return is_own_file(str(getattr(module, "__file__", None) or "<"))


def _assigned(plugin: types.ModuleType) -> Iterator[tuple[str, str]]:
    """What a plugin of the project sets in which module before any snapshot could be made.

    It is read from the text: what it sets when it is imported, and what its early hooks set, with
    the functions that these call. A constant that is as its module has it is left out.
    """
    file = _file(vars(plugin))
    tree = _parsed(file)
    functions = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
    places: list[tuple[str, ast.AST]] = [("it is imported", part) for part in _executed(tree)]
    for name in EARLY & functions.keys():
        places += [(f"{name} is called", part) for part in ast.walk(functions[name])]
    modules = {n: m for n, m in vars(plugin).items() if isinstance(m, types.ModuleType)}
    owners: dict[str, types.ModuleType | None] = {}  # where a name comes from
    for _, part in places:  # which grows
        called = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
        if called in functions and called not in EARLY:
            inner = ast.walk(functions.pop(called))
            places += [(f"{called} is called", one) for one in inner]
        if isinstance(part, ast.ImportFrom):
            owners |= {n.asname or n.name: sys.modules.get(str(part.module)) for n in part.names}
        for alias in part.names if isinstance(part, ast.Import) else ():
            if module := sys.modules.get(alias.name):
                modules[alias.asname or alias.name] = module
    for when, part in places:
        target = _target(part)
        root = _root(target)
        module = (owners | modules).get(root.id) if isinstance(root, ast.Name) else None
        if isinstance(target, ast.Constant):  # such as patch("lib.K", 2)
            module = sys.modules.get(str(target.value).rpartition(".")[0])
        if module is None or root is part:
            continue
        if isinstance(part, ast.Call) and not is_own_file(_file(vars(module))):
            continue
        direct = isinstance(part, ast.Attribute) and part.value is root
        if not (direct and _is_unchanged(module, getattr(part, "attr", ""))):
            yield module.__name__, f"{ast.unparse(part)} is set by {file} when {when}"


def _root(part: ast.AST | None) -> ast.AST | None:
    """What an expression begins with: ``lib`` of ``lib.A.k``, ``lib["k"]`` and ``vars(lib)``."""
    while True:
        if isinstance(part, ast.Attribute | ast.Subscript):
            part = part.value
        elif isinstance(part, ast.Call) and ast.unparse(part.func) in ("vars", "getattr"):
            part = part.args[0] if part.args else None
        else:
            return part


def _target(part: ast.AST) -> ast.AST | None:
    """What a part sets: by an assignment, a patch, or a call of a method that changes an object."""
    if isinstance(getattr(part, "ctx", None), ast.Store):
        return part
    if not isinstance(part, ast.Call):
        return None
    name = ast.unparse(part.func)
    if name.rpartition(".")[2] in PATCHES or name.endswith(("patch.object", "patch.dict")):
        return part.args[0] if part.args else None
    method = part.func if isinstance(part.func, ast.Attribute) else None
    return method.value if method is not None and method.attr in CHANGES else None


def _is_unchanged(module: types.ModuleType, name: str) -> bool:
    """Whether a global is the constant that its module assigns to it."""
    try:
        given = [
            ast.literal_eval(part.value)
            for part in _parsed(_file(vars(module))).body
            if isinstance(part, ast.Assign) and name in map(ast.unparse, part.targets)
        ]
    except ValueError:
        return False
    return bool(given) and repr(given[-1]) == repr(getattr(module, name, None))


def _parsed(file: str) -> ast.Module:
    """A file's code; none where it can't be read, as of compiled code."""
    try:
        return ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module but for those in functions."""
    for part in ast.iter_child_nodes(tree):
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield part
            yield from _executed(part)


def _file(module: Mapping[str, Any]) -> str:
    """The file of what a module has, by its names: to ask a lazy module would load it."""
    file = module.get("__file__")
    return file if isinstance(file, str) else "<"


def _is_own(kind: type) -> bool:
    return is_own_file(_file(getattr(sys.modules.get(kind.__module__), "__dict__", {})))


def _globals(module: types.ModuleType) -> Described:
    """What each global name of a module has.

    Modules have names of their own, and tests train nothing. Of libraries' modules count the
    functions that the project or a mock has replaced.
    """
    own = {
        name: described(value)
        for name, value in list(vars(module).items())
        if not name.startswith(("@", "__"))
        and not issubclass(type(value), types.ModuleType)
        and not (
            name.startswith(("test_", "Test")) and isinstance(value, types.FunctionType | type)
        )
    }
    return Described("a module", within=dict(_replaced(vars(module))) | own)


def _replaced(
    names: Mapping[str, Any], place: str = "", package: str = ""
) -> Iterator[tuple[str, Described]]:
    """What is replaced in libraries' modules among some names, and in modules of their packages."""
    for name, module in list(names.items()):
        # Not by isinstance(), which asks the value, and some libraries warn when asked.
        if not issubclass(type(module), types.ModuleType) or name.startswith(("@", "__")):
            continue
        inner = types.ModuleType.__getattribute__(module, "__dict__")
        called = str(inner.get("__name__"))
        if is_own_file(_file(inner)) or not called.startswith(package):
            continue
        for part, value in list(inner.items()):
            if _is_replacement(value):
                yield f"{place}{name}.{part}", Described("a replacement", _words(value))
        if not package:
            yield from _replaced(inner, f"{name}.", f"{called}.")


def _is_replacement(value: Any) -> bool:
    """Whether what a library has is a mock, or a function of the project's."""
    function = _unwrapped(value)
    return type(value).__module__ == "unittest.mock" or (
        function is not None and is_own_file(function.__code__.co_filename)
    )


def changed(
    place: str, there: Described, here: Described
) -> Iterator[tuple[str, Described | None, Described | None]]:
    """Where two descriptions surely differ, with what is here and there.

    What began empty may since have been filled by who uses it, and is no change: an empty list, a
    new attribute of an object, None where something other than a plain value follows. So is what
    appears in a cache, by its private name.
    """
    private = place.startswith("_")
    if there.kind != here.kind:
        if there.words != "None" or (here.words and not private):
            yield place, here, there
    elif there.words and here.words:
        if there.words != here.words:
            yield place, here, there
    elif here.within is not None and (there.within or " " in there.kind):
        known = there.within or {}
        for key in sorted({*known, *here.within}):
            then, now = known.get(key), here.within.get(key)
            if then and now:
                yield from changed(place + key, then, now)
            elif (one := then or now) and not private and _counts_alone(here.kind, key, one):
                yield place + key, now, then


def _counts_alone(holder: str, key: str, value: Described) -> bool:
    """Whether a value that is only there, or only here, is a change."""
    if holder.startswith("class "):
        return bool(value.words)
    grows = holder == "collections.defaultdict" or key.startswith((".", "_"))
    return bool(value.words) and value.kind != "function" and not grows


def described(value: Any, depth: int = DEPTH, left: list[int] | None = None) -> Described:
    """A value by what never changes by itself; ``left`` is how many members may yet be looked at.

    Nothing of the value is called, so that it can't be slow, raise or do something.
    """
    kind = type(value)
    name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
    left = [MOST_MEMBERS] if left is None else left
    try:
        if issubclass(kind, type):
            name = f"class {value.__module__}.{value.__qualname__}"
        words = _words(value)
        members = None if words or not depth else _members(value, left[0])
        if members is None:
            return Described(name, words)
        left[0] -= len(members)
        inner = {key: described(part, depth - 1, left) for key, part in members.items()}
        return Described(name, within=inner)
    except Exception:  # whatever a metaclass or a descriptor raises
        return Described(name)


def _words(value: Any) -> str:
    """What a value that never changes by itself is, in words; "" of any other."""
    kind = type(value)
    if kind in (str, bytes, bytearray) and len(value) > MOST_MEMBERS:
        return f"{kind.__name__} {digest_of(value)}"
    if kind in ATOMS or f"{kind.__module__}.{kind.__qualname__}" in VALUES:
        return repr(value)
    if issubclass(kind, enum.Enum):
        return f"{kind.__qualname__}.{value._name_}"
    if kind.__module__ == "numpy" and hasattr(kind, "tobytes"):
        known = not value.dtype.hasobject and value.nbytes <= MOST_BYTES
        return f"numpy.{kind.__name__} {digest_of(value.tobytes())}" if known else ""
    if kind.__module__ == "unittest.mock":
        return "a mock"
    function = _unwrapped(value)
    if function is None:
        return ""
    code = function.__code__
    return f"{function.__qualname__} ({os.path.abspath(code.co_filename)}:{code.co_firstlineno})"


def _unwrapped(value: Any) -> types.FunctionType | None:
    """The function of a function or a method, within what libraries wrapped it in; else None."""
    kind = type(value)
    if kind is types.FunctionType:
        function: types.FunctionType = value
        inner = vars(function).get("__wrapped__")
        is_wrapper = inner is not None and not is_own_file(function.__code__.co_filename)
        return (_unwrapped(inner) if is_wrapper else None) or function
    if kind in (staticmethod, classmethod):
        return _unwrapped(value.__func__)
    return _unwrapped(value.fget) if kind is property else None


def _members(value: Any, most: int) -> dict[str, Any] | None:
    """What a container, a class or an object of the project has within; None of any other.

    Libraries' objects and what begins with an underscore may change by being used.
    """
    kind = type(value)
    if issubclass(kind, type):
        return _of_class(value)
    if kind in CONTAINERS or (issubclass(kind, CONTAINERS) and _is_own(kind)):
        base = next(base for base in CONTAINERS if issubclass(kind, base))
        if base.__len__(value) > most:
            return None
        if issubclass(base, dict):
            entries = [(_label(key), part) for key, part in dict.items(value)]
        elif issubclass(base, set | frozenset):
            entries = [(_label(part), part) for part in base.__iter__(value)]
        else:
            entries = [(str(i), part) for i, part in enumerate(base.__iter__(value))]
        return {f"[{key}]": part for key, part in entries} if all(k for k, _ in entries) else None
    if kind is functools.partial:
        return {".func": value.func, ".args": value.args, ".keywords": value.keywords}
    if kind not in PLAIN_OBJECTS and not _is_own(kind):
        return None
    bases = [base for base in kind.__mro__ if base.__module__ not in PLAIN_BASES]
    own = [base for base in bases if _is_own(base)]
    declared = {name for base in own for name in vars(base).get("__annotations__", ())}
    # A library keeps what it needs in the objects of its subclasses.
    plain = len(own) == len(bases)

    def counts(name: str, part: Any) -> bool:
        """Whether an attribute is a setting, and not filled or trained when it is used."""
        filled = part is None or type(part).__module__ == "numpy"
        return name in declared or kind in PLAIN_OBJECTS or (plain and not filled)

    found = _attributes(value).items()
    return {f".{n}": part for n, part in found if _is_public(n) and counts(n, part)}


def _label(key: Any) -> str:
    """The words of a dictionary's key or a set's member, or "" where it has none."""
    if type(key) is not tuple:
        return _words(key)
    parts = [_words(part) for part in key]
    return f"({', '.join(parts)})" if all(parts) else ""


def _attributes(value: Any) -> dict[str, Any]:
    """An object's attributes, without any code of its own."""
    found: dict[str, Any] = {}
    for base in type(value).__mro__:
        for name, slot in vars(base).items():
            if type(slot) is types.MemberDescriptorType:
                with contextlib.suppress(AttributeError):
                    found[name] = slot.__get__(value)
    with contextlib.suppress(AttributeError):
        found |= object.__getattribute__(value, "__dict__")
    return found


def _of_class(kind: type) -> dict[str, Any]:
    """A class's methods and attributes; of a library's, what the project or a mock has replaced."""
    own = _is_own(kind)
    return {
        f".{name}": part
        for name, part in vars(kind).items()
        if _is_replacement(part) or (own and _unwrapped(part) is None and _is_public(name))
    }


def _is_public(name: str) -> bool:
    return not name.startswith("_") and not name.endswith("_")
