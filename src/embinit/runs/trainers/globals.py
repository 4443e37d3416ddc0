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
    if _is_plain(value, MOST_MEMBERS):
        return _plain(value)
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
        plain = (
            {n: _plain(v) for n, v in vars(value).items() if _is_plain(v, MOST_MEMBERS)}
            if hasattr(value, "__dict__")
            else {}
        )
        return f"{name} {sorted(plain.items())}"
    return name


def _function(value: types.FunctionType) -> str:
    code = value.__code__
    return f"{value.__qualname__} ({os.path.abspath(code.co_filename)}:{code.co_firstlineno})"


def _is_plain(value: Any, most: int) -> bool:
    if type(value) in ATOMS:
        return True
    if type(value) is dict:
        parts = [*value.keys(), *value.values()]
    elif type(value) in (list, tuple, set, frozenset):
        parts = [*value]
    else:
        return False
    return len(parts) <= most and all(_is_plain(part, most // 10) for part in parts)


def _plain(value: Any) -> str:
    if type(value) in (set, frozenset):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    if type(value) in (list, tuple):
        return f"{type(value).__name__}({', '.join(map(_plain, value))})"
    if type(value) is dict:
        return f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in value.items())}}}"
    return repr(value)
