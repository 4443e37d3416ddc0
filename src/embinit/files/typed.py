"""Dataclasses as JSON: written, read, and described by a JSON Schema.

A field is written in its place among the fields. One whose default is None or () is left out where
it has that value; a ``default_factory`` is for one that is always written and may lack in earlier
documents. What ``Annotated`` adds to a field is part of its schema: a text describes the field,
``Limits`` restrict it. ``FORMER`` names fields of a class that are no longer written: a document
may have them, and they are passed over.
"""

from __future__ import annotations

import functools
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

if typing.TYPE_CHECKING:
    from cattrs import Converter

T = TypeVar("T")

NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
"""The JSON types of plain values."""


class Limits:
    """The keywords of a JSON Schema that restrict a field."""

    def __init__(self, **keywords: Any) -> None:
        """Keeps the keywords, such as ``minimum=0``."""
        self.keywords = keywords


def as_json(value: Any) -> Any:
    """A dataclass, or other values, as strict JSON has them: None for NaN and infinity."""
    if is_dataclass(value):
        pairs = [(one, getattr(value, one.name)) for one in fields(value)]
        return {
            one.name: as_json(content)
            for one, content in pairs
            if one.default not in (None, ()) or content != one.default
        }
    if isinstance(value, Mapping):
        return {str(name): as_json(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(content) for content in value]
    if isinstance(value, StrEnum):
        return value.value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def from_json(cls: type[T], plain: Any) -> T:
    """A dataclass from JSON that follows its schema; further fields are passed over."""
    return _converter().structure(plain, cls)


def schema_of(hint: Any) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a dataclass, or of what else a field may hold."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = schema_of(parts[0])
        for extra in hint.__metadata__:
            schema |= {"description": extra} if isinstance(extra, str) else extra.keywords
        return schema
    if origin in (Union, types.UnionType):
        return {"anyOf": [*map(schema_of, parts)]}
    if origin is Literal:
        return {"enum": [*parts]}
    if origin is tuple and parts[-1] is Ellipsis:
        return {"type": "array", "items": schema_of(parts[0])}
    if origin is tuple:
        places = {"prefixItems": [*map(schema_of, parts)], "minItems": len(parts)}
        return {"type": "array", "items": False, **places}
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return {"type": "object", "additionalProperties": schema_of(parts[1])}
    if is_dataclass(hint):
        return _object(hint)
    if issubclass(hint, StrEnum):
        return {"enum": [*map(str, hint)]}
    return {"type": NAMES[hint]}


def _object(cls: Any) -> dict[str, Any]:
    """The schema of a dataclass, which is closed, with its docstring's first sentence."""
    hints = typing.get_type_hints(cls, include_extras=True)
    known = {one.name: schema_of(hints[one.name]) for one in fields(cls)}
    for one in fields(cls):
        if one.default is None:  # it is absent, and not null
            known[one.name] = {**known[one.name].pop("anyOf")[0], **known[one.name]}
    former = {name: {"description": "No longer written."} for name in getattr(cls, "FORMER", ())}
    return {
        "description": " ".join(cls.__doc__.split()),
        "type": "object",
        "additionalProperties": False,
        "required": [
            one.name
            for one in fields(cls)
            if one.default is MISSING and one.default_factory is MISSING
        ],
        "properties": known | former,
    }


@functools.cache
def _converter() -> Converter:
    from cattrs import Converter

    converter = Converter(detailed_validation=False)
    # A schema has checked plain values, and a number keeps its digits: 1 does not become 1.0.
    converter.register_structure_hook_func(_is_plain, lambda value, _: value)
    return converter


def _is_plain(hint: Any) -> bool:
    """Whether a field holds plain values: of one type, by names, or of several types but None."""
    several = get_origin(hint) in (Union, types.UnionType) and type(None) not in get_args(hint)
    return hint in NAMES or get_origin(hint) == Mapping or several
