"""The code that makes a run, as a digest, which is part of the run's name in the store.

A digest covers a function or a class and all that it names and that is the user's, without
comments, docstrings and layout. Installed packages count by name and version. A module that is
imported within a function's body is read as text, as a whole, and so are those that it imports:
importing it here would run it. An object counts by its class and by what pickling would keep of it.
What is too deep, too much, or can't be pickled counts by its class, and is reported.
"""

from __future__ import annotations

import ast
import copyreg
import dataclasses
import functools
import hashlib
import importlib.util
import inspect
import itertools
import pickle
import re
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

SHIPPED = ("embinit", "embinit_papers", "embinit_studies")
"""The packages of one repository whose code has ``RESULTS_VERSION`` in the place of a digest."""

UNTOLD_DECORATORS = frozenset({"training"})
"""Decorators that say what a function's numbers are called, and not how they come about."""


def is_shipped(module: str) -> bool:
    """Whether a module is of one of those packages."""
    return module.partition(".")[0] in SHIPPED


def is_own_file(file: str) -> bool:
    """Whether a file of Python code is the user's, and no library's."""
    path = Path(file)
    return not file.startswith("<") and not any(path.is_relative_to(home) for home in _LIBRARIES)


@dataclass(frozen=True)
class Code:
    """The code of functions, classes and objects, and of all of the user's that they name.

    ``libraries`` has the installed packages that it names, by the names under which it imports
    them. ``unseen`` is what decides numbers and is in no digest, a key of ``UNSEEN`` each.
    ``opaque`` has the classes of the objects that can't be followed.
    """

    texts: tuple[str, ...]
    libraries: tuple[str, ...]
    unseen: tuple[str, ...]
    opaque: tuple[str, ...]

    @classmethod
    def of(cls, *roots: object) -> Code:
        """The code of what a run is made by, as it is now: its modules must be loaded whole."""
        walk = _Walk(frozenset(filter(None, map(_package, roots))))
        for root in roots:
            walk.add(root)
        found = (tuple(sorted(each)) for each in (walk.libraries, walk.unseen, walk.opaque))
        return cls(tuple(walk.texts), *found)

    @functools.cached_property
    def digest(self) -> str:
        """Its digest: 16 hexadecimal digits."""
        text = "\n".join(self.texts)
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]

    def mentions(self, names: Iterable[str]) -> bool:
        """Whether one of the names stands in it."""
        return any(name in text for text in self.texts for name in names)


UNSEEN = {
    "environment": "reads os.environ, which is in no key: pass it as an argument",
    "file": "opens a file, which is in no key: name it in files=",
    "import": "imports a module by a name that is worked out, which is in no key: write import",
    "program": "starts a program, which is in no key: name its script in files=",
    "text": "runs text as code, which is in no key: write a function",
}
"""What is in no digest, and the mend."""

_CALLS = {
    "environment": ("os.getenv", "getenv", "os.environ.get", "environ.get"),
    "file": ("open", "io.open", "np.load", "numpy.load", "torch.load"),
    "import": ("importlib.import_module", "import_module", "__import__"),
    "program": (
        "os.system",
        *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")),
    ),
    "text": ("exec", "eval"),
}
_CALLED = {call: what for what, calls in _CALLS.items() for call in calls}
_READING_METHODS = ("read_text", "read_bytes", "read_csv", "read_parquet", "loadtxt", "genfromtxt")


MOST_VALUES = 1_000_000
"""How many values are gone through: a list of as many numbers takes about a second."""
MOST_DEPTH = 100
"""How deep they lie in each other. Python's own limit hangs on who asks."""
MOST_BYTES = 2**30
"""How large an array may be."""

_ATOMS = frozenset({bool, int, float, complex, str, bytes, type(None), type(...)})
_STATELESS = frozenset({"_abc", "_thread", "weakref"})
"""Modules whose objects decide no number, such as locks."""


class _Walk:
    """Goes through objects and what they name, once each, in an order that the code decides."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.texts: list[str] = []
        self.libraries: set[str] = set()
        self.unseen: set[str] = set()
        self.opaque: set[str] = set()
        self._packages = packages
        self._met: dict[int, tuple[int, object]] = {}
        self._read: set[str] = set()
        self._values = self._depth = 0

    def add(self, value: Any) -> None:
        self._values += 1
        if type(value) in _ATOMS:
            self.texts.append(repr(value))
        elif self._values > MOST_VALUES or self._depth > MOST_DEPTH:
            self._add_opaque(value)
        elif (known := self._met.get(id(value))) is not None:
            self.texts.append(f"met {known[0]}")
        else:
            # Whether two equal tuples are one object is the compiler's affair. Others are kept, so
            # that no other object gets their id.
            if type(value) not in (tuple, frozenset):
                self._met[id(value)] = len(self._met), value
            self._depth += 1
            self._add_new(value)
            self._depth -= 1

    def _add_new(self, value: Any) -> None:
        if isinstance(value, types.ModuleType):
            self.texts.append(f"module {value.__name__}")
            if not self._is_own(value):
                self._add_library(value.__name__)
        elif isinstance(value, type):
            self._add_class(value)
        elif type(value) in (dict, types.MappingProxyType):
            items = sorted(value.items(), key=lambda item: _order(item[0]))
            self._add_all("mapping", (each for item in items for each in item))
        elif type(value) in (set, frozenset):
            self._add_all("set", sorted(value, key=_order))
        elif type(value) in (list, tuple):
            self._add_all("sequence", value)
        elif not self._add_name(value):
            if isinstance(value, types.FunctionType):
                self._add_function(value)
            elif isinstance(value, types.MethodType):
                self._add_all("method", (value.__func__, value.__self__))
            elif isinstance(value, types.CodeType):
                self._add_code(value)
            else:
                self._add_object(value)

    def _add_all(self, what: str, values: Iterable[object]) -> None:
        self.texts.append(what)
        for value in values:
            if self._values > MOST_VALUES:
                break
            self.add(value)
        self.texts.append("end")

    def _add_name(self, value: Any) -> bool:
        """Adds the name that a library's module has an object under; False without one."""
        home = getattr(value, "__module__", None)
        home = home if isinstance(home, str) else type(getattr(value, "__self__", value)).__module__
        if self._is_own_module(home):
            return False
        for part in reversed(_parts(home)):
            known = vars(sys.modules.get(part, types))
            if (name := next((name for name in known if known[name] is value), None)) is not None:
                self.texts.append(f"{part}.{name}")
                self._add_library(part)
                return True
        return False

    def _add_object(self, value: Any) -> None:
        """An object by its class and what pickling would keep of it, one of the user's by all."""
        kind, own = type(value), self._is_own(type(value))
        self.add(kind)
        if kind.__module__ in _STATELESS:
            return
        if is_shipped(kind.__module__) and not dataclasses.is_dataclass(kind):
            return  # such as a registry, which has entries of others
        if own:
            self._add_state(kind, object.__getstate__(value))
        try:
            reduced = _reduced(value)
        except Exception:
            if not (own or hasattr(value, "__wrapped__")):
                self._add_opaque(value)
            reduced = ""
        if isinstance(reduced, str):  # a name, such as that of functools.cache's
            self.texts.append(reduced)
            self.add(getattr(value, "__wrapped__", None))
            return
        made, given, state, members, items = [*reduced, None, None, None][:5]
        self._add_all("reduced", (made, given))
        self._add_state(kind, state)
        self.add(list(itertools.islice(members or (), MOST_VALUES)))
        self.add(dict(itertools.islice(items or (), MOST_VALUES)))

    def _add_state(self, kind: type, state: Any) -> None:
        """Attributes, but for documentation and what is worked out from others once asked for."""
        cached = functools.cached_property
        for part in state if isinstance(state, tuple) and len(state) == 2 else (state,):
            if isinstance(part, dict):
                hidden = [n for n in part if isinstance(inspect.getattr_static(kind, n, 0), cached)]
                part = {n: each for n, each in part.items() if n not in ("__doc__", *hidden)}
            self.add(part)

    def _add_opaque(self, value: Any) -> None:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")
        self.texts.append(f"opaque {name}")
        self.opaque.add(name)

    def _add_class(self, value: type) -> None:
        self.texts.append(f"class {value.__qualname__}")
        if not self._is_own(value):
            self.texts.append(value.__module__)
            self._add_library(value.__module__)
            return
        tree = _tree(value)
        known = vars(sys.modules.get(value.__module__, sys))
        if tree is not None:
            self._add_tree(tree, known)
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
        self._add_globals(known, names)

    def _add_function(self, value: types.FunctionType) -> None:
        self.texts.append(f"function {value.__qualname__}")
        known = vars(value)
        if "__wrapped__" in known:  # its private attributes are its library's
            known = {name: each for name, each in known.items() if not name.startswith("_")}
        self.add(known)
        if not self._is_own(value):
            self.texts.append(str(value.__module__))
            self._add_library(str(value.__module__))
            return self._add_named(value, ())
        inner = inspect.unwrap(value)
        if inner is not value:
            self.add(inner)
        tree = None if value.__name__ == "<lambda>" else _tree(value)
        if tree is None:
            self._add_code(value.__code__)
        else:
            self._add_tree(tree, value.__globals__)
        names = _names(value.__code__) if tree is None else _names_in(tree)
        return self._add_named(value, names)

    def _add_tree(self, tree: ast.AST, known: Mapping[str, Any]) -> None:
        """A definition, the modules that it imports, and what it does that can't be followed."""
        self.texts.append(ast.unparse(tree))
        self._add_imports(tree, str(known.get("__package__") or ""))
        for node in ast.walk(tree):
            self.unseen.update(_unseen(node))
            # Which of a module's names these take may be known to nobody but the call.
            if isinstance(node, ast.Call) and _dotted(node.func) == "getattr" and node.args:
                module = known.get(_dotted(node.args[0]))
                if isinstance(module, types.ModuleType):
                    self._add_module(module.__name__)
            elif isinstance(node, ast.Call) and _dotted(node.func) == "globals":
                self._add_module(str(known.get("__name__")))

    def _add_imports(self, tree: ast.AST, package: str) -> None:
        for node in ast.walk(tree):
            for name in _imported(node, package):
                self._add_module(name)

    def _add_module(self, name: str) -> None:
        """A module by its name, with its text if it is the user's; a missing one is left out."""
        for part in _parts(name):
            spec = _spec(part)
            if spec is None or not spec.has_location:
                continue
            package, file = name.partition(".")[0], str(spec.origin)
            known = is_shipped(package) or package in sys.stdlib_module_names
            if known or not (package in self._packages or is_own_file(file)):
                return self._add_library(package)
            if spec.name not in self._read and file.endswith(".py"):
                self._read.add(spec.name)
                self._add_source(spec, Path(file))
        return None

    def _add_source(self, spec: ModuleSpec, file: Path) -> None:
        self.texts.append(f"source {spec.name}")
        try:
            tree = _bare(ast.parse(file.read_bytes()))
        except (OSError, SyntaxError, ValueError):
            return  # it can't be imported either
        self.texts.append(ast.unparse(tree))
        self._add_imports(tree, spec.parent or "")

    def _add_library(self, name: str) -> None:
        package = name.partition(".")[0]
        if not (is_shipped(package) or package in sys.stdlib_module_names):
            self.libraries.add(package)

    def _add_code(self, code: types.CodeType) -> None:
        self.texts.append(f"{code.co_code.hex()} {code.co_names}")
        self._add_all("constants", code.co_consts)

    def _add_named(self, function: types.FunctionType, names: Iterable[str]) -> None:
        """What a function names: its defaults, what it closes over, its module's names."""
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        closed = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, closed, strict=True):
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
        is_module = isinstance(value, types.ModuleType)
        return self._is_own_module(str(value.__name__ if is_module else value.__module__))

    def _is_own_module(self, name: str) -> bool:
        package = name.partition(".")[0]
        if is_shipped(package) or package in sys.stdlib_module_names:
            return package == "__main__"
        if package in self._packages:
            return True
        file = getattr(sys.modules.get(name), "__file__", None)
        return file is not None and is_own_file(file)


def _reduced(value: Any) -> Any:
    """What pickling would keep of an object, or a name; raises where it can't or is too large."""
    kind = type(value)
    if isinstance(value, pickle.PickleBuffer):
        data = value.raw()
        if data.nbytes > MOST_BYTES:
            raise ValueError("it is too large")
        return hashlib.sha256(data).hexdigest()
    if "random" in kind.__module__.split("."):
        raise ValueError("a generator's state hangs on what was drawn before")
    if issubclass(kind, getattr(sys.modules.get("torch"), "Tensor", ())):
        # Its own way has addresses in it.
        import torch

        flat = value.detach().resolve_conj().resolve_neg().cpu().reshape(-1).contiguous()
        buffer = pickle.PickleBuffer(flat.view(torch.uint8).numpy())
        return str, (str(value.dtype), tuple(value.shape), buffer)
    reduce = copyreg.dispatch_table.get(kind)
    return value.__reduce_ex__(5) if reduce is None else reduce(value)


def _order(value: Any) -> str:
    """A text to sort keys and members of sets by, in which are no addresses."""
    if type(value) in (tuple, frozenset):
        inner = [_order(each) for each in value]
        return str(inner if type(value) is tuple else sorted(inner))
    try:
        return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    except Exception:
        return type(value).__qualname__


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
        text = inspect.getsource(value)
        # Dedenting would break a text of several lines in it.
        tree = ast.parse(f"if True:\n{text}" if text[:1].isspace() else text)
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
    definition = body[0] if len(body) == 1 else None
    if not isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return None
    definition.decorator_list = [
        each for each in definition.decorator_list if _called(each) not in UNTOLD_DECORATORS
    ]
    return _bare(definition)


def _bare(tree: ast.AST) -> ast.AST:
    """A tree without its docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _spec(name: str) -> ModuleSpec | None:
    """A module's spec or None; ``importlib.util.find_spec`` would import its packages."""
    path, spec = None, None
    for part in _parts(name):
        spec = getattr(sys.modules.get(part), "__spec__", None) or _found(part, path)
        path = None if spec is None else spec.submodule_search_locations
        if path is None:
            return spec if part == name else None
    return spec


def _parts(name: str) -> list[str]:
    """The packages that a module lies in, outermost first, and the module."""
    return [name[:end] for end, sign in enumerate(f"{name}.") if sign == "."]


def _found(name: str, path: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        if (find := getattr(finder, "find_spec", None)) and (spec := find(name, path)):
            return spec  # type: ignore[no-any-return]
    return None


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that a statement or call imports, relative names from ``package``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        try:
            relative = "." * node.level + (node.module or "")
            base = importlib.util.resolve_name(relative, package)
        except ImportError:
            return  # beyond the top, which the run will say
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _CALLED.get(_dotted(node.func)) == "import":
        yield from filter(None, [_told_module(node)])


def _unseen(node: ast.AST) -> Iterator[str]:
    """What a node does that is in no digest: keys of ``UNSEEN``."""
    if isinstance(node, ast.Subscript):
        if _dotted(node.value) in ("os.environ", "environ") and isinstance(node.ctx, ast.Load):
            yield "environment"
    elif isinstance(node, ast.Call):
        called = _dotted(node.func)
        what = "file" if called.rpartition(".")[2] in _READING_METHODS else _CALLED.get(called)
        mode = node.args[1:2] or [each.value for each in node.keywords if each.arg == "mode"]
        writes = what == "file" and set(_text(mode)) & set("wax")
        if what is not None and not writes and not (what == "import" and _told_module(node)):
            yield what


def _told_module(call: ast.Call) -> str:
    """The module that ``import_module`` is called for; "" where no whole name is written."""
    name = _text(call.args[:1])
    return "" if name.startswith(".") else name


def _dotted(node: ast.expr) -> str:
    """A name with its attributes, such as ``os.environ``; attributes alone of anything else."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _text(nodes: list[ast.expr]) -> str:
    """The text that the first of some nodes is; "" where it is none."""
    value = nodes[0].value if nodes and isinstance(nodes[0], ast.Constant) else ""
    return value if isinstance(value, str) else ""


def _called(decorator: ast.expr) -> str:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _dotted(call).rpartition(".")[2]


def _is_text(statement: ast.AST) -> bool:
    value = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


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
