"""Whether fixtures or tests changed, in pytest's process, what a function was trained with."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from embinit.code import digest_of, is_own_file, is_shipped
from embinit.runs.functions.calling import INPUTS
from embinit.runs.functions.definition import training_named
from embinit.runs.results import RunResult
from embinit.runs.trainers.inputs import seal

SHOWN = 60
MEND = "fixtures and tests don't reach training: set it where it is defined, or pass an argument"
ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
MOST_MEMBERS = 10_000
"""How many members a container may have to be compared by value."""

Globals = Mapping[str, Mapping[str, str]]


def all_globals() -> Globals:
    """The globals of the project's modules that are loaded, in words, by module."""
    return {
        name: _globals(module)
        for name, module in list(sys.modules.items())
        if is_own_file(str(getattr(module, "__file__", None) or "<")) and not is_shipped(name)
    }


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
        for variable, digest in inputs["variables"].items():
            if seal(os.environ.get(variable)) != digest:
                return f"the variable {variable} is another in pytest's process than {where}"
        for module in (inputs["names"].keys() & before.keys() & sys.modules.keys()) - seen:
            seen.add(module)
            here, there = _globals(sys.modules[module]), before[module]
            for each in sorted(here.keys() | there.keys()):
                if here.get(each) != there.get(each):
                    file = Path(str(sys.modules[module].__file__)).name
                    return (
                        f"{each} of {file} is {_shown(here.get(each))} in pytest's process (a "
                        f"fixture or a test changed it), and {_shown(there.get(each))} {where}"
                    )
    return None


def _shown(value: str | None) -> str:
    if value is None:
        return "missing"
    return value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}…"


def _globals(module: types.ModuleType) -> dict[str, str]:
    """What each global name of a module has, in words.

    Plain values and arrays count by value, functions by where they are written, the project's
    classes and objects by their plain attributes, other objects by their type. Modules have names
    of their own, and tests train nothing.
    """
    return {
        name: _described(value)
        for name, value in list(vars(module).items())
        if not name.startswith(("@", "__"))
        and not isinstance(value, types.ModuleType)
        and not (
            name.startswith(("test_", "Test")) and isinstance(value, types.FunctionType | type)
        )
    }


def _described(value: Any) -> str:
    if (text := _plain(value)) is not None:
        return text
    if isinstance(value, types.FunctionType):
        return _function(value)
    if isinstance(value, type):
        members = {
            name: _function(each) if isinstance(each, types.FunctionType) else repr(each)
            for name, each in vars(value).items()
            if isinstance(each, types.FunctionType)
            or (isinstance(each, ATOMS) and not name.startswith(("__", "_abc_")))
        }
        return f"class {value.__module__}.{value.__qualname__} {sorted(members.items())}"
    kind = type(value)
    name = f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
    if kind.__module__ == "numpy" and not value.dtype.hasobject:
        return f"{name} {digest_of(value.tobytes())}"
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if kind is types.SimpleNamespace or (isinstance(file, str) and is_own_file(file)):
        plain = {each: _plain(part) for each, part in getattr(value, "__dict__", {}).items()}
        return f"{name} {sorted((each, part) for each, part in plain.items() if part is not None)}"
    return name


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
