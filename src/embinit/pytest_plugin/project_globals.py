"""Whether fixtures or tests changed, in pytest's process, what a function was trained with."""

from __future__ import annotations

import ast
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
})  # fmt: skip
"""Hooks that are called before the snapshot of globals is taken."""
ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
MOST_MEMBERS = 10_000
"""How many members a container may have to be compared by value."""


@dataclass(frozen=True)
class Globals:
    """The globals of the project's modules, before any test.

    ``values`` has each in words, by module; ``assigned`` what a plugin sets in which module.
    """

    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    assigned: Mapping[str, str] = field(default_factory=dict)


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
    hooks = [name for name in functions if name in EARLY]
    for name in hooks:  # which grows
        called = {part.id for part in ast.walk(functions[name]) if isinstance(part, ast.Name)}
        hooks += (called & functions.keys()) - {*hooks}
    places: list[tuple[str, ast.AST]] = [("it is imported", part) for part in _executed(tree)]
    places += [(f"{name} is called", part) for name in hooks for part in ast.walk(functions[name])]
    modules = dict(vars(plugin))
    for _, part in places:
        for alias in part.names if isinstance(part, ast.Import) else ():
            modules[alias.asname or alias.name] = sys.modules.get(alias.name)
    for when, part in places:
        if isinstance(part, ast.Call) and ast.unparse(part.func) == "setattr":
            part = ast.Subscript(part.args[0], part.args[1], ast.Store())
        if not isinstance(getattr(part, "ctx", None), ast.Store):
            continue
        root = part
        while isinstance(root, ast.Attribute | ast.Subscript):
            root = root.value
        module = modules.get(root.id) if isinstance(root, ast.Name) else None
        if root is part or not isinstance(module, types.ModuleType):
            continue
        if not (isinstance(part, ast.Attribute) and _is_unchanged(module, part.attr)):
            yield module.__name__, f"{ast.unparse(part)} is set by {file} when {when}"


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
    """The parts of a module but for those in functions and classes."""
    for part in ast.iter_child_nodes(tree):
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
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


def _described(value: Any) -> str:
    if (text := _plain(value)) is not None:
        return text
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, type):
        members = {
            name: _function(part) if isinstance(part, types.FunctionType) else repr(part)
            for name, part in vars(value).items()
            if isinstance(part, types.FunctionType)
            or (isinstance(part, ATOMS) and not name.startswith(("__", "_abc_")))
        }
        return f"class {value.__module__}.{value.__qualname__} {sorted(members.items())}"
    kind = type(value)
    shown = f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
    is_array = kind.__module__ == "numpy" and hasattr(kind, "tobytes")
    if is_array and not value.dtype.hasobject:
        return f"{shown} {digest_of(value.tobytes())}"
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if kind is types.SimpleNamespace or (isinstance(file, str) and is_own_file(file)):
        plain = {name: _plain(part) for name, part in getattr(value, "__dict__", {}).items()}
        return f"{shown} {sorted((name, part) for name, part in plain.items() if part is not None)}"
    return shown


def _function(value: types.FunctionType) -> str:
    code = value.__code__
    return f"{value.__qualname__} ({os.path.abspath(code.co_filename)}:{code.co_firstlineno})"


def _plain(value: Any, most: int = MOST_MEMBERS) -> str | None:
    """A plain value in words; None for any other, or one of too many members."""
    kind = type(value)
    if kind in ATOMS:
        return repr(value)
    if kind not in (list, tuple, set, frozenset, dict) or len(value) > most:
        return None
    parts = [_plain(part, most // 10) for part in value]
    if kind is dict:
        within = [_plain(part, most // 10) for part in value.values()]
        parts = [
            None if key is None or part is None else f"{key}: {part}"
            for key, part in zip(parts, within, strict=True)
        ]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return f"{kind.__name__}({', '.join(sorted(known) if kind in (set, frozenset) else known)})"
