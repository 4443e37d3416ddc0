"""The global names of modules, described so that two processes can compare theirs."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from typing import Any

from embinit.code import digest_of, is_own_file

ATOMS = (bool, int, float, complex, str, bytes, type(None), type(...))
MOST_MEMBERS = 10_000
"""How many members a container may have to be compared by value."""


def described(module: types.ModuleType) -> dict[str, str]:
    """What each global name of a module has, in words.

    Plain values and arrays count by value, functions by where they are written, the project's
    classes and objects by their plain attributes, other objects by their type. Modules have names
    of their own, and tests train nothing. Of a library's module count the functions that the
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
    """The functions of libraries' modules that were replaced, by the name in ``module``."""
    for alias, library in _libraries(module):
        inner = [
            (f"{alias}.{name}", part)
            for name, part in _libraries(library)
            if part.__name__.startswith(f"{library.__name__}.")
        ]
        for place, part in [(alias, library), *inner]:
            for name, value in list(vars(part).items()):
                if isinstance(value, types.FunctionType):
                    if is_own_file(value.__code__.co_filename):
                        yield f"{place}.{name}", _function(value)
                elif type(value).__module__ == "unittest.mock":
                    yield f"{place}.{name}", "a mock"


def _libraries(module: types.ModuleType) -> Iterator[tuple[str, types.ModuleType]]:
    for name, value in list(vars(module).items()):
        if (
            isinstance(value, types.ModuleType)
            and not name.startswith(("@", "__"))  # pytest's own
            and not is_own_file(getattr(value, "__file__", None) or "<built in>")
        ):
            yield name, value


def _described(value: Any) -> str:
    if (told := _plain(value)) is not None:
        return told
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
    told = [part for part in parts if part is not None]
    if len(told) < len(parts):
        return None
    return f"{kind.__name__}({', '.join(sorted(told) if kind in (set, frozenset) else told)})"
