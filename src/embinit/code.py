"""A user's code, read as text and never run: whose a file is, and digests of modules."""

from __future__ import annotations

import ast
import functools
import importlib.util
import site
import sys
import sysconfig
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from embinit.digests import digest_of

SHIPPED = ("embinit", "embinit_papers", "embinit_studies")
"""The packages of one repository whose code has ``RESULTS_VERSION`` in the place of a digest."""

_TESTING = ("embinit", "pytest", "pytest_asyncio")
"""Packages whose decorators make tests, fixtures and claims."""

_HARMLESS = (sys.stdlib_module_names | {"pytest", "hypothesis", "embinit"}) - {"__future__"}
"""Modules whose import changes nothing where their names are not used."""

_REACHES = frozenset({"sys.modules", "globals", "vars", "eval", "exec"})
"""Names by which a module reaches what it doesn't name."""

_LIBRARIES = tuple(
    f"{home}/"
    for home in (
        Path(__file__).parent,
        sysconfig.get_path("stdlib"),
        *(sysconfig.get_path(name) for name in ("purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    )
)


def is_shipped(module: str) -> bool:
    """Whether a module is of one of those packages."""
    return module.partition(".")[0] in SHIPPED


@functools.lru_cache(maxsize=65536)
def is_own_file(file: str) -> bool:
    """Whether a file is the user's, and no library's."""
    return not file.startswith(("<", *_LIBRARIES))


def digest_of_source(content: bytes, tests: bool = True, documented: bool = False) -> str:
    """A digest of a module's code, without comments, layout and, by default, docstrings.

    With ``tests=False`` tests, fixtures and claims are left out, as far as nothing else names them.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return digest_of(content)
    return digest_of(ast.unparse(_bare(tree if tests else _without_tests(tree), documented)))


def imports_in(content: bytes) -> set[str]:
    """The top-level names of what a module imports, in its functions too."""
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return set()
    return {name.partition(".")[0] for node in ast.walk(tree) for name in _imported(node, "")}


def _bare(tree: ast.AST, documented: bool) -> ast.AST:
    """A tree without docstrings, and without ``@training(…)``: it decides no number."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not documented and isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.decorator_list = [d for d in node.decorator_list if _last(d) != "training"]
    return tree


def _without_tests(tree: ast.Module) -> ast.Module:
    """A module without what nobody but pytest asks for."""
    ours = {
        alias.asname or alias.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in _TESTING
    } - {"training"}
    if not _REACHES.isdisjoint(
        _dotted(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute | ast.Name)
    ):
        return tree
    left = [node for node in tree.body if _is_of_tests(node, ours)]
    while True:  # what is kept may name what was left out
        kept = [node for node in tree.body if node not in left]
        names = {name for node in kept for part in ast.walk(node) for name in _named(part)}
        needed = [node for node in left if not names.isdisjoint(_defined(node))]
        if not needed:
            return ast.Module(kept, [])
        left = [node for node in left if node not in needed]


def _is_of_tests(node: ast.stmt, ours: set[str]) -> bool:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        calls = [getattr(decorator, "func", decorator) for decorator in node.decorator_list]
        known = [call for call in calls if _dotted(call).partition(".")[0] in ours]
        if isinstance(node, ast.ClassDef):
            bare = not node.keywords and {_last(base) for base in node.bases} <= {"TestCase"}
            return node.name.startswith("Test") and calls == known and bare and _only_defines(node)
        return (node.name.startswith("test_") and calls == known) or any(
            _last(call) == "claim" or _last(call).endswith("fixture") for call in known
        )
    if isinstance(node, ast.Import | ast.ImportFrom):
        return node.names[0].name != "*" and all(
            name.partition(".")[0] in _HARMLESS for name in _imported(node, "")
        )
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and _dotted(value.func).partition(".")[0] in ours


def _only_defines(node: ast.ClassDef) -> bool:
    """Whether a class's body sets nothing but its own names."""
    defining = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Pass
    assigned = [part for part in node.body if isinstance(part, ast.Assign | ast.AnnAssign)]
    stored = (n for part in assigned for n in ast.walk(part) if not isinstance(n, ast.Name))
    return not any(isinstance(getattr(n, "ctx", None), ast.Store) for n in stored) and all(
        part in assigned or isinstance(part, defining) or _is_text(part) for part in node.body
    )


def _named(part: ast.AST) -> Iterator[str]:
    """The name that a part of code reaches, as a name, an attribute or a text."""
    for found in (getattr(part, name, None) for name in ("id", "attr", "value")):
        if isinstance(found, str):
            yield found


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _dotted(node: ast.expr) -> str:
    """A name with its attributes, such as ``pytest.fixture``; attributes alone of anything else."""
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _last(decorator: ast.expr) -> str:
    call = decorator.func if isinstance(decorator, ast.Call) else decorator
    return _dotted(call).rpartition(".")[2]


def _is_text(statement: ast.AST) -> bool:
    value = getattr(statement, "value", None) if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def code_of(module: str, tests: bool = True) -> str:
    """A digest of a module's source, of all modules of the user's that it imports, and versions.

    It is simple, and so it changes with any of their code, whether a run needs that or not. With
    ``tests=False`` the module itself counts without its tests.
    """
    from embinit.distributions import distributions_of, versions_of  # they take long to load

    texts: dict[str, str] = {}
    libraries: set[str] = set()
    _read(module, texts, libraries, tests)
    named = (name for package in libraries for name in distributions_of(package))
    code = digest_of("\n".join(f"{name} {texts[name]}" for name in sorted(texts)))
    return " ".join([code, *versions_of(named)])


def _read(name: str, texts: dict[str, str], libraries: set[str], tests: bool = True) -> None:
    """Reads a module, the packages that it lies in, and what these import."""
    for part in parts_of(name):
        package, spec = part.partition(".")[0], spec_of(part)
        if spec is None or part in texts:
            continue
        file = str(spec.origin)
        if is_shipped(package) or package in sys.stdlib_module_names - {"__main__"}:
            return
        if not is_own_file(file):
            libraries.add(package)
            return
        if not (spec.has_location and file.endswith(".py")):
            continue
        try:
            content = Path(file).read_bytes()
            texts[part] = digest_of_source(content, tests or part != name)
            nodes = [*ast.walk(ast.parse(content))]
        except (OSError, SyntaxError, ValueError):
            continue  # it can't be imported either
        for node in nodes:
            for imported in _imported(node, spec.parent or ""):
                _read(imported, texts, libraries)


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """The modules that a statement imports, relative names from ``package``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (package or not node.level):
        try:
            base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
        except ImportError:
            return  # beyond the top, which the run will say
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def spec_of(name: str, anew: bool = False) -> ModuleSpec | None:
    """A module's spec or None; ``importlib.util.find_spec`` would import its packages.

    It is the loaded module's, or with ``anew`` what a new process would load.
    """
    path, spec = None, None
    for part in parts_of(name):
        loaded = sys.modules.get(part)
        known = getattr(loaded, "__spec__", None)
        spec = (_found(part, path) or known) if anew else (known or _found(part, path))
        if spec is None and getattr(loaded, "__file__", None):  # such as __main__
            spec = importlib.util.spec_from_file_location(part, loaded.__file__)  # type: ignore[union-attr]
        path = None if spec is None else spec.submodule_search_locations
        if path is None:
            return spec if part == name else None
    return spec


def parts_of(name: str) -> list[str]:
    """The packages that a module lies in, outermost first, and the module."""
    return [name[:end] for end, sign in enumerate(f"{name}.") if sign == "."]


def _found(name: str, path: Any) -> ModuleSpec | None:
    for finder in sys.meta_path:
        if (find := getattr(finder, "find_spec", None)) and (spec := find(name, path)):
            return spec  # type: ignore[no-any-return]
    return None
