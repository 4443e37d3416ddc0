"""JSON documents from outside are checked against their schema once, where they come in.

Of JSON Schema (draft 2020-12) it knows the keywords that embinit's schemas use, so that reading a
document needs no further package. The package ``jsonschema`` is the tests' oracle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from embinit.errors import InputError

_NAMES = {
    "null": type(None),
    "boolean": bool,
    "string": str,
    "array": list,
    "object": dict,
}


def check_document(path: Path, value: Any, schema: Mapping[str, Any], noun: str, mend: str) -> None:
    """Checks a JSON document against its schema, once, where it comes in.

    Args:
        path: The document's file, for the message.
        value: The document.
        schema: Its schema.
        noun: What it should be.
        mend: What to do about another.

    Raises:
        InputError: It departs from the schema. The message has the place.
    """
    if reason := mismatch(value, schema):
        raise InputError(f"{path} is no {noun}: {reason}; {mend}")


def mismatch(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> str:
    """Where and how a JSON value departs from a schema; "" where it doesn't.

    An unknown keyword is a KeyError. Fields that a closed object doesn't name are passed over:
    within a version fields are added, so they may be a later embinit's.

    Args:
        value: The value, as ``parse_json`` gives it.
        schema: The schema.
        root: The document that ``$ref`` refers to; None for ``schema``.
    """
    return next(_mismatches(value, schema, schema if root is None else root, ""), "")


def _mismatches(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str
) -> Iterator[str]:
    for keyword, wanted in schema.items():
        for reason in _KEYWORDS[keyword](value, wanted, schema, root, at):
            yield reason if reason.startswith("/") else f"{at or '/'}: {reason}"


_Reasons = Iterator[str]
_Schema = Mapping[str, Any]


def _type(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not any(_is(value, name) for name in names):
        yield f"{_short(value)} is not of type {' or '.join(names)}"


def _is(value: Any, name: str) -> bool:
    if name in ("number", "integer"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (name == "number" or value == math.floor(value))
    return isinstance(value, _NAMES[name])


def _ref(value: Any, wanted: str, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    target: Any = root
    for name in wanted.removeprefix("#/").split("/"):
        target = target[name]
    yield from _mismatches(value, target, root, at)


def _enum(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    # In JSON true is not 1, in Python it is. No schema of embinit's asks for a float by value.
    if not any(value == each and type(value) is type(each) for each in wanted):
        yield f"{_short(value)} is not {' or '.join(map(repr, wanted))}"


def _const(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    yield from _enum(value, [wanted], schema, root, at)


def _required(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    if isinstance(value, dict):
        yield from (f"{name!r} is missing" for name in wanted if name not in value)


def _properties(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    if isinstance(value, dict):
        for name, inner in wanted.items():
            if name in value:
                yield from _mismatches(value[name], inner, root, f"{at}/{name}")


def _additional(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    if isinstance(value, dict) and isinstance(wanted, dict):
        for name in value.keys() - schema.get("properties", {}).keys():
            yield from _mismatches(value[name], wanted, root, f"{at}/{name}")


def _items(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    first = len(schema.get("prefixItems", ()))
    if not isinstance(value, list) or len(value) <= first:
        return
    if wanted is False:
        yield f"has {len(value)} items, {first} are due"
        return
    for number, each in enumerate(value[first:], start=first):
        yield from _mismatches(each, wanted, root, f"{at}/{number}")


def _prefix(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    if isinstance(value, list):
        for number, (each, inner) in enumerate(zip(value, wanted, strict=False)):
            yield from _mismatches(each, inner, root, f"{at}/{number}")


def _one_of(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    found = [next(_mismatches(value, inner, root, at), "") for inner in wanted]
    if found.count("") != 1:
        yield next(filter(None, found), f"{_short(value)} fits more than one form")


def _bound(holds: Callable[[Any, Any], bool], says: str) -> Callable[..., _Reasons]:
    def check(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
        if _is(value, "number") and not holds(value, wanted):
            yield f"{_short(value)} is not {says} {wanted}"

    return check


def _length(kind: type[str] | type[list[Any]]) -> Callable[..., _Reasons]:
    def check(value: Any, wanted: int, schema: _Schema, root: _Schema, at: str) -> _Reasons:
        if isinstance(value, kind) and len(value) < wanted:
            yield f"{_short(value)} has fewer than {wanted}"

    return check


def _nothing(value: Any, wanted: Any, schema: _Schema, root: _Schema, at: str) -> _Reasons:
    yield from ()


def _short(value: Any, most: int = 60) -> str:
    text = repr(value[:most] if isinstance(value, str) else value) if not _deep(value) else "this"
    return text if len(text) <= most else text[:most] + "…"


def _deep(value: Any) -> bool:
    return isinstance(value, (list, dict)) and len(value) > 0


_KEYWORDS: Mapping[str, Callable[..., _Reasons]] = {
    "type": _type,
    "$ref": _ref,
    "enum": _enum,
    "const": _const,
    "required": _required,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _prefix,
    "oneOf": _one_of,
    "minimum": _bound(lambda value, wanted: bool(value >= wanted), "at least"),
    "exclusiveMinimum": _bound(lambda value, wanted: bool(value > wanted), "above"),
    "maximum": _bound(lambda value, wanted: bool(value <= wanted), "at most"),
    "minLength": _length(str),
    "minItems": _length(list),
    **dict.fromkeys(("$schema", "$id", "$defs", "title", "description", "format"), _nothing),
}
