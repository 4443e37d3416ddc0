"""The code that makes a run, as a digest, which is part of the run's name in the store.

A digest covers a function or a class and all that it names and that is the user's: other functions
and classes, constants, closures, defaults, other modules of the same project. Comments, docstrings
and layout are left out. Of installed packages only the names count, as their versions are no part
of a run's name either.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

SHIPPED = "embinit"
"""The package whose own code has ``RESULTS_VERSION`` in the place of a digest."""

UNTOLD_DECORATORS = frozenset({"training"})
"""Decorators that say what a function's numbers are called, and not how they come about."""


def is_shipped(module: str) -> bool:
    """Whether a module is embinit's own."""
    return module.partition(".")[0] == SHIPPED


def is_own_file(file: str) -> bool:
    """Whether a file of Python code is the user's, and no library's."""
    path = Path(file)
    return not file.startswith("<") and not any(path.is_relative_to(home) for home in _LIBRARIES)


def code_digest(*roots: object) -> str:
    """A digest of the code of functions, classes and objects, and of what they name.

    Args:
        *roots: What a run is made by. They are read as they are now, so a module must be loaded
            as a whole before.

    Returns:
        16 hexadecimal digits.
    """
    walk = _Walk(frozenset(filter(None, map(_package, roots))))
    for root in roots:
        walk.add(root)
    text = "\n".join(walk.texts)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]


def mentions(root: object, names: Iterable[str]) -> bool:
    """Whether the code of a function, or of what it names, has one of the names in it."""
    walk = _Walk(frozenset(filter(None, [_package(root)])))
    walk.add(root)
    return any(name in text for text in walk.texts for name in names)


class _Walk:
    """Goes through objects and what they name, once each, in an order that the code decides."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.texts: list[str] = []
        self._packages = packages
        self._met: dict[int, object] = {}

    def add(self, value: Any) -> None:
        if isinstance(value, bool | int | float | complex | str | bytes | None | type(...)):
            self.texts.append(repr(value))
            return
        if id(value) in self._met:
            return
        self._met[id(value)] = value  # kept, so that no other object gets its id
        if isinstance(value, types.ModuleType):
            self.texts.append(f"module {value.__name__}")
        elif isinstance(value, functools.partial):
            self._add_all("partial", (value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            self._add_all("method", (value.__func__, value.__self__))
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        else:
            self._add_object(value)

    def _add_all(self, what: str, values: Iterable[object]) -> None:
        self.texts.append(what)
        for value in values:
            self.add(value)

    def _add_object(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, Mapping):
            items = sorted(value.items(), key=lambda item: repr(item[0]))
            self._add_all("mapping", (each for item in items for each in item))
        elif isinstance(value, set | frozenset):
            self._add_all("set", sorted(value, key=repr))
        elif isinstance(value, list | tuple):
            self._add_all("sequence", value)
        elif isinstance(value, enum.Enum | Path | range):
            self.texts.append(repr(value))
        elif callable(getattr(value, "tobytes", None)):
            self.texts.append(hashlib.sha256(value.tobytes()).hexdigest())
        elif hasattr(value, "__wrapped__"):  # such as functools.cache's
            self.add(value.__wrapped__)
        elif dataclasses.is_dataclass(value):
            fields = ((each.name, getattr(value, each.name)) for each in dataclasses.fields(value))
            self._add_all(kind.__qualname__, (each for field in fields for each in field))
            self.add(kind)
        elif self._is_own(kind):
            self.add(kind)
            self.add(dict(getattr(value, "__dict__", {})))
        else:
            name = getattr(value, "__qualname__", kind.__qualname__)
            self.texts.append(f"{getattr(value, '__module__', kind.__module__)}.{name}")

    def _add_class(self, value: type) -> None:
        self.texts.append(f"class {value.__qualname__}")
        if not self._is_own(value):
            self.texts.append(value.__module__)
            return
        tree = _tree(value)
        if tree is not None:
            self.texts.append(ast.unparse(tree))
        names = _names_in(tree) if tree is not None else []
        for base in value.__bases__:
            self.add(base)
        for name, member in sorted(vars(value).items()):
            function = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
            if isinstance(function, types.FunctionType):
                if tree is None:
                    self._add_function(function)
                elif not function.__code__.co_filename.startswith("<"):  # no dataclass's
                    self._add_named(function, names)
            elif not name.startswith("__"):
                self.add(member)
        self._add_globals(vars(sys.modules.get(value.__module__, sys)), names)

    def _add_function(self, value: types.FunctionType) -> None:
        self.texts.append(f"function {value.__qualname__}")
        if not self._is_own(value):
            self.texts.append(str(value.__module__))
            return
        inner = inspect.unwrap(value)
        if inner is not value:
            self.add(inner)
        tree = None if value.__name__ == "<lambda>" else _tree(value)
        if tree is None:
            self._add_code(value.__code__)
        else:
            self.texts.append(ast.unparse(tree))
        names = _names(value.__code__) if tree is None else _names_in(tree)
        self._add_named(value, names)

    def _add_code(self, code: types.CodeType) -> None:
        self.texts.append(f"{code.co_code.hex()} {code.co_names}")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            else:
                self.texts.append(repr(constant))

    def _add_named(self, function: types.FunctionType, names: Iterable[str]) -> None:
        """What a function names: its defaults, what it closes over, its module's names."""
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                content = cell.cell_contents
            except ValueError:
                continue  # not filled yet
            if name != "__class__":
                self.texts.append(name)
                self.add(content)
        self._add_globals(function.__globals__, names)

    def _add_globals(self, known: Mapping[str, Any], names: Iterable[str]) -> None:
        named = sorted({name for name in names if name in known})
        for name in named:
            value = known[name]
            self.texts.append(name)
            self.add(value)
            if isinstance(value, types.ModuleType) and self._is_own(value):
                inner = [each.removeprefix(".") for each in names]
                self._add_globals(vars(value), [each for each in inner if each != name])

    def _is_own(self, value: Any) -> bool:
        """Whether a function, class or module is the user's, and no library's."""
        module = (
            value
            if isinstance(value, types.ModuleType)
            else sys.modules.get(str(getattr(value, "__module__", "")))
        )
        package = _package(value)
        if is_shipped(package) or package in sys.stdlib_module_names:
            return package == "__main__"
        if package in self._packages:
            return True
        file = getattr(module, "__file__", None)
        return file is not None and is_own_file(file)


_LIBRARIES = (
    Path(__file__).parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
)


def _package(value: object) -> str:
    if isinstance(value, types.ModuleType):
        name = value.__name__
    elif isinstance(value, type | types.FunctionType):
        name = str(value.__module__)
    elif isinstance(value, functools.partial):
        return _package(value.func)
    else:
        name = type(value).__module__
    return name.partition(".")[0]


def _tree(value: Any) -> ast.AST | None:
    """The definition of a function or a class, bare of docstrings; None where it has no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    definition = tree.body[0] if len(tree.body) == 1 else None
    if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    definition.decorator_list = [
        each for each in definition.decorator_list if _called(each) not in UNTOLD_DECORATORS
    ]
    for node in ast.walk(definition):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return definition


def _called(decorator: ast.expr) -> str:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")


def _is_text(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _names_in(tree: ast.AST) -> list[str]:
    """The names in a definition, and its attributes with their dot.

    An attribute may be a module's, as in ``helpers.rate``; ``self.rate`` is no global ``rate``.
    """
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Attribute):
            names.append(f".{node.attr}")
    return names


def _names(code: types.CodeType) -> list[str]:
    inner = (each for each in code.co_consts if isinstance(each, types.CodeType))
    return [*code.co_names, *(name for each in inner for name in _names(each))]
