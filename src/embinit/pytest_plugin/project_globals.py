"""Whether fixtures or tests changed, in pytest's process, what a function was trained with."""

from __future__ import annotations

import argparse
import ast
import collections
import contextvars
import enum
import functools
import os
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embinit.code import is_own_file, is_shipped
from embinit.digests import digest_of
from embinit.runs.functions import INPUTS, training_named
from embinit.runs.results import RunResult
from embinit.runs.trainers.inputs import seal

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
PATCHES = frozenset({"setattr", "delattr", "setitem", "delitem", "patch", "object", "dict"})
"""Functions and methods that set what their first argument is or names."""
CHANGES = frozenset({
    "append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear", "set",
})  # fmt: skip
"""Methods that change an object."""
VALUES = ("pathlib", "decimal", "fractions", "datetime", "uuid", "re")
"""Modules whose objects are values: what they are, their words tell."""
ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
PLAIN_OBJECTS = (types.SimpleNamespace, argparse.Namespace)
MOST_MEMBERS = 10_000
"""How many members a container may have to be compared by value."""


@dataclass(frozen=True)
class Globals:
    """The globals of the project's modules, before any test.

    ``values`` has each in words, by module; ``assigned`` what a plugin sets in which module.
    """

    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    assigned: Mapping[str, str] = field(default_factory=dict)
    directory: str = field(default_factory=os.getcwd)


def all_globals(plugins: Iterable[Any] = ()) -> Globals:
    """The globals of the project's modules that are loaded; its conftest.py are ``plugins``."""
    files = [(str(getattr(plugin, "__file__", None) or "<"), plugin) for plugin in plugins]
    own = [(file, plugin) for file, plugin in files if is_own_file(file)]
    assigned = dict(pair for file, plugin in own for pair in _assigned(file, plugin))
    values = {
        name: _globals(module)
        for name, module in list(sys.modules.items())
        if is_own_file(str(getattr(module, "__file__", None) or "<")) and not is_shipped(name)
    }
    return Globals(values, assigned)


def difference(results: Iterable[RunResult], before: Globals) -> str | None:
    """What is another in this process than where some runs were trained; None where nothing is.

    ``before`` has the globals from before any fixture and test, as trainers import them.
    """
    seen: set[str] = set()
    for result in results:
        if (inputs := result.provenance.get(INPUTS)) is None:
            continue
        name = training_named(result.spec.recipe.task).name.rpartition(":")[2]
        where = f"where {name} was run; {MEND}"
        for module in inputs["names"].keys() & before.assigned.keys():
            return f"{before.assigned[module]}, and not {where}"
        if inputs.get("directory") and os.getcwd() != before.directory:
            return f"the working directory is another in pytest's process than {where}"
        for variable, digest in inputs["variables"].items():
            # pytest names each test in a variable, which torch asks for when it is loaded.
            if variable != "PYTEST_CURRENT_TEST" and seal(os.environ.get(variable)) != digest:
                return f"the variable {variable} is another in pytest's process than {where}"
        for module in (inputs["names"].keys() & before.values.keys() & sys.modules.keys()) - seen:
            seen.add(module)
            here, there = _globals(sys.modules[module]), before.values[module]
            for entry in sorted(here.keys() | there.keys()):
                if here.get(entry) != there.get(entry):
                    file = Path(str(sys.modules[module].__file__)).name
                    return (
                        f"{entry} of {file} is {_shown(here.get(entry))} in pytest's process (a "
                        f"fixture or a test changed it), and {_shown(there.get(entry))} {where}"
                    )
    return None


def _assigned(file: str, plugin: types.ModuleType) -> Iterator[tuple[str, str]]:
    """What a plugin of the project sets in which module before any snapshot could be made.

    It is read from the text: what it sets when it is imported, and what its early hooks set, with
    the functions that these call. A constant that is as its module has it is left out.
    """
    tree = ast.parse(Path(file).read_bytes())
    functions = {part.name: part for part in tree.body if isinstance(part, ast.FunctionDef)}
    places: list[tuple[str, ast.AST]] = [("it is imported", part) for part in _executed(tree)]
    for name in EARLY & functions.keys():
        places += [(f"{name} is called", part) for part in ast.walk(functions[name])]
    imported: dict[str, types.ModuleType | None] = {}  # where a name comes from
    for _, part in places:  # which grows
        called = getattr(part.func, "id", "") if isinstance(part, ast.Call) else ""
        if called in functions and called not in EARLY:
            inner = ast.walk(functions.pop(called))
            places += [(f"{called} is called", one) for one in inner]
        if isinstance(part, ast.ImportFrom):
            imported |= {n.asname or n.name: sys.modules.get(str(part.module)) for n in part.names}
    modules = dict(vars(plugin))
    for _, part in places:
        for alias in part.names if isinstance(part, ast.Import) else ():
            modules[alias.asname or alias.name] = sys.modules.get(alias.name)
    modules = imported | {n: m for n, m in modules.items() if isinstance(m, types.ModuleType)}
    for when, part in places:
        target = _target(part, modules)
        root = _root(target)
        module = modules.get(root.id) if isinstance(root, ast.Name) else None
        if isinstance(target, ast.Constant):  # such as patch("lib.K", 2)
            module = sys.modules.get(str(target.value).rpartition(".")[0])
        if module is None or (root is part and isinstance(part, ast.Name)):
            continue
        direct = isinstance(part, ast.Attribute) and part.value is root
        if not (direct and _is_unchanged(module, getattr(part, "attr", ""))):
            yield module.__name__, f"{ast.unparse(part)} is set by {file} when {when}"


def _root(part: ast.AST | None) -> ast.AST | None:
    """What an expression begins with: ``lib`` of ``lib.A.k``, ``lib["k"]`` and ``vars(lib)``."""
    while isinstance(part, ast.Attribute | ast.Subscript) or (
        isinstance(part, ast.Call) and part.args
    ):
        part = part.args[0] if isinstance(part, ast.Call) else part.value
    return part


def _target(part: ast.AST, modules: Mapping[str, types.ModuleType | None]) -> ast.AST | None:
    """What a part sets: by an assignment, a patch, or a call that changes a project's module."""
    if isinstance(getattr(part, "ctx", None), ast.Store):
        return part
    if not isinstance(part, ast.Call):
        return None
    function = part.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in PATCHES and part.args:
        return part.args[0]
    root = _root(function)
    module = modules.get(root.id) if isinstance(root, ast.Name) else None
    if not is_own_file(getattr(module, "__file__", None) or "<"):
        return None
    changes = name in CHANGES and isinstance(function, ast.Attribute)
    return function if changes or _sets_globals(module, name) else None


def _sets_globals(module: Any, name: str) -> bool:
    """Whether a function of a module sets the module's globals, or what they have."""
    tree = ast.parse(Path(module.__file__).read_bytes())
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name == name:
            parts = [*ast.walk(function)]
            stored = [part for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)]
            local = {part.id for part in stored if isinstance(part, ast.Name)}
            roots = {getattr(_root(part), "id", None) for part in stored} - local
            return bool(roots & vars(module).keys()) or any(
                isinstance(part, ast.Global) for part in parts
            )
    return False


def _is_unchanged(module: types.ModuleType, name: str) -> bool:
    """Whether a global is the constant that its module assigns to it."""
    try:
        tree = ast.parse(Path(str(module.__file__)).read_bytes())
        given = [
            ast.literal_eval(part.value)
            for part in tree.body
            if isinstance(part, ast.Assign) and name in map(ast.unparse, part.targets)
        ]
    except (OSError, ValueError, SyntaxError):
        return False
    return bool(given) and repr(given[-1]) == repr(getattr(module, name, None))


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module but for those in functions."""
    for part in ast.iter_child_nodes(tree):
        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from (inner for one in part.decorator_list for inner in ast.walk(one))
        else:
            yield part
            yield from _executed(part)


def _shown(value: str | None) -> str:
    if value is None:
        return "missing"
    return value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}…"


def _globals(module: types.ModuleType) -> dict[str, str]:
    """What each global name of a module has, in words.

    Plain values and arrays count by value, functions by where they are written, the project's
    classes and objects by their plain attributes, other objects by their type. Modules have names
    of their own, and tests train nothing. Of libraries' modules count the functions that the
    project or a mock has replaced.
    """
    return dict(_replaced(module)) | {
        name: _described(value)
        for name, value in list(vars(module).items())
        if not name.startswith(("@", "__"))
        and not isinstance(value, types.ModuleType)
        and not (
            name.startswith(("test_", "Test")) and isinstance(value, types.FunctionType | type)
        )
    }


def _replaced(module: types.ModuleType) -> Iterator[tuple[str, str]]:
    for alias, library in _libraries(module):
        inner = [(f"{alias}.{name}", part) for name, part in _libraries(library, library.__name__)]
        for place, part in [(alias, library), *inner]:
            for name, value in list(vars(part).items()):
                if type(value).__module__ == "unittest.mock":
                    yield f"{place}.{name}", "a mock"
                # Not by isinstance(), which asks the value, and some libraries warn when asked.
                elif type(value) is types.FunctionType and is_own_file(value.__code__.co_filename):
                    yield f"{place}.{name}", _function(value)


def _libraries(module: types.ModuleType, package: str = "") -> list[tuple[str, types.ModuleType]]:
    """The libraries' modules that are names of a module, those of one package alone where given."""
    return [
        (name, value)
        for name, value in list(vars(module).items())
        if issubclass(type(value), types.ModuleType)
        and not name.startswith(("@", "__"))  # pytest's own
        and value.__name__.startswith(package and f"{package}.")
        and not is_own_file(getattr(value, "__file__", None) or "<")
    ]


def _described(value: Any, most: int = MOST_MEMBERS) -> str:
    """A value in words; of what it has within, as far as that has no more than ``most`` members."""
    kind = type(value)
    shown = f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")

    def within(*parts: Any) -> str:
        return ", ".join(_described(part, most // 10) for part in parts)

    def named(parts: Mapping[Any, Any]) -> str:
        return ", ".join(f"{within(name)}: {within(part)}" for name, part in parts.items())

    if kind in (*ATOMS, range, bytearray) or kind.__module__ in VALUES or _is_choice(value):
        return repr(value)
    if not most:
        return shown
    if kind in (staticmethod, classmethod, property):
        return f"{shown} {within(getattr(value, '__func__', None) or value.fget)}"
    if isinstance(value, type):
        return f"class {value.__module__}.{value.__qualname__} {named(_members(value))}"
    if kind is types.FunctionType and not is_own_file(value.__code__.co_filename):
        return _function(value)
    if kind is types.FunctionType:
        own = {name: part for name, part in vars(value).items() if name != "pytestmark"}
        given = [within(*value.__defaults__ or ()), named(own | (value.__kwdefaults__ or {}))]
        return " ".join([_function(value), *filter(None, given)])
    if kind.__module__ == "numpy" and hasattr(kind, "tobytes") and not value.dtype.hasobject:
        return f"{shown} {digest_of(value.tobytes())}"
    if isinstance(value, functools.partial):
        return f"{shown} {within(value.func, value.args, value.keywords)}"
    if isinstance(value, contextvars.ContextVar):
        return f"{shown} {within(value.get(None))}"
    if isinstance(value, list | tuple | set | frozenset | dict | collections.deque):
        if len(value) > most:
            return shown
        if isinstance(value, set | frozenset):
            return f"{shown}({', '.join(sorted(within(part) for part in value))})"
        return f"{shown}({named(value) if isinstance(value, dict) else within(*value)})"
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if kind in PLAIN_OBJECTS or (isinstance(file, str) and is_own_file(file)):
        slots = {name: getattr(value, name, None) for name in getattr(kind, "__slots__", ())}
        return f"{shown} {named(slots | getattr(value, '__dict__', {}))}"
    return shown


def _is_choice(value: Any) -> bool:
    """Whether a value is one of a fixed set: a member of an enumeration, or torch's float32."""
    return isinstance(value, enum.Enum) or (type(value).__module__, type(value).__name__) == (
        "torch",
        "dtype",
    )


def _members(kind: type) -> dict[str, Any]:
    """What a class has, but for what Python puts there; of a library's what is no cache."""
    own = is_own_file(str(getattr(sys.modules.get(kind.__module__), "__file__", None) or "<"))
    return {
        name: part
        for name, part in sorted(vars(kind).items())
        if isinstance(part, types.FunctionType)
        or (isinstance(part, ATOMS) and not name.startswith(("__", "_abc_")))
        or (own and not name.startswith(("__", "_abc_")) and not name.endswith("_"))
    }


def _function(value: types.FunctionType) -> str:
    code = value.__code__
    return f"{value.__qualname__} ({os.path.abspath(code.co_filename)}:{code.co_firstlineno})"
