"""Conjunctions of comparisons, which are all that a claim may assert.

While a claim is read, every comparison answers True, so ``not``, ``or`` or ``if`` would hide a
branch. Where a comparison is taken for true or false, the source around it is parsed; what isn't
``assert``, ``and``, a chain or ``all`` is refused with its line.
"""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import linecache
from collections.abc import Iterator
from types import FrameType

from embinit.errors import InputError

REFUSED = "a claim asserts comparisons joined by 'and' alone: state it without "


def require_conjunction(frame: FrameType) -> None:
    """Refuses a comparison taken for true or false outside of a plain conjunction."""
    if str(frame.f_globals.get("__name__")).startswith("_pytest."):
        return  # pytest explains an assertion that is false already
    file, position = frame.f_code.co_filename, _position(frame)
    linecache.checkcache(file)
    text = "".join(linecache.getlines(file, frame.f_globals))
    if position is None or not text:
        return
    path = _path(text, position)
    if path and (wrong := next(_wrong(path, _is_calling(frame)), None)) is not None:
        raise InputError(f"{REFUSED}{wrong}")


Position = tuple[int, int, int, int]
"""First line, last line, first column, end column."""


def _position(frame: FrameType) -> Position | None:
    """Where the instruction is that the frame is at."""
    every = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    line, last, column, end = next(every, (None, None, None, None))
    if line is None or last is None or column is None or end is None:
        return None
    return line, last, column, end


def _is_calling(frame: FrameType) -> bool:
    """Whether what the frame calls asks, such as ``bool``; else it asks what a call returned.

    From Python 3.12 on the code for the two has the same position.
    """
    return "CALL" in dis.opname[frame.f_code.co_code[frame.f_lasti]]


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except SyntaxError:
        return None


def _path(text: str, position: Position) -> list[ast.AST]:
    """The nodes around a position, from the module to the innermost."""
    tree = _parsed(text)
    if tree is None:
        return []
    path: list[ast.AST] = [tree]
    while True:
        inner = [node for node in ast.iter_child_nodes(path[-1]) if _spans(node, position)]
        if not inner:
            bare = [node for node in ast.iter_child_nodes(path[-1]) if not hasattr(node, "lineno")]
            inner = [
                node
                for node in bare
                if any(_spans(child, position) for child in ast.iter_child_nodes(node))
            ]
        if not inner:
            return path
        path.append(inner[0])


def _spans(node: ast.AST, position: Position) -> bool:
    if not isinstance(node, ast.expr | ast.stmt | ast.excepthandler):
        return False
    line, last, column, end = position
    return (node.lineno, node.col_offset) <= (line, column) and (last, end) <= (
        node.end_lineno or 0,
        node.end_col_offset or 0,
    )


def _wrong(path: list[ast.AST], calling: bool) -> Iterator[str]:
    """What of the code around a comparison is no plain conjunction, innermost first."""
    for outer, inner in reversed(list(itertools.pairwise(path))):
        match outer:
            case ast.UnaryOp(op=ast.Not()):
                yield "'not'"
            case ast.BoolOp(op=ast.Or()):
                yield "'or'"
            case ast.IfExp() if inner is outer.test:
                yield "'if'"
            case ast.If() | ast.While() if inner is outer.test:
                yield "'if'" if isinstance(outer, ast.If) else "'while'"
            case ast.comprehension() if inner in outer.ifs:
                yield "'if'"
            case ast.Try() if outer.handlers and inner in outer.body:
                yield "'try'"
            case ast.With() if any(_swallows(item.context_expr) for item in outer.items):
                yield "'with' around what may fail"
            case ast.Match() if inner is outer.subject:
                yield "'match'"
    innermost = path[-1]
    if calling and isinstance(innermost, ast.Call) and _name(innermost.func) != "all":
        yield f"{_name(innermost.func) or 'a call'}(…) around it"
    if isinstance(innermost, ast.UnaryOp) and isinstance(innermost.op, ast.Not):
        yield "'not'"
    if isinstance(innermost, ast.Assert):
        yield from _wrong_in(innermost.test)
    if isinstance(innermost, ast.If | ast.While):
        yield "'if'"
    if isinstance(innermost, ast.IfExp):
        yield "'if'"
    if isinstance(innermost, ast.BoolOp) and isinstance(innermost.op, ast.Or):
        yield "'or'"


def _wrong_in(test: ast.expr) -> Iterator[str]:
    """What of an assert's own skeleton is no plain conjunction; pytest rewrites where it stands."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            yield "'not'"
        case ast.BoolOp(op=ast.Or()):
            yield "'or'"
        case ast.BoolOp(values=values):
            for value in values:
                yield from _wrong_in(value)
        case ast.IfExp():
            yield "'if'"
        case ast.Call(func=func) if _name(func) in ("any", "bool"):
            yield f"{_name(func)}(…) around it"
        case ast.NamedExpr(value=value):
            yield from _wrong_in(value)


def _swallows(context: ast.expr) -> bool:
    name = _name(context.func) if isinstance(context, ast.Call) else ""
    return name in ("raises", "suppress")


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
