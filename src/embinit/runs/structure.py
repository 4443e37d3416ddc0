"""Dataclasses from the plain data of a record."""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from cattrs import Converter


def structured(cls: Any, plain: Mapping[str, Any], **types: Any) -> Any:
    """A dataclass from its plain fields, less those that have a default.

    ``types`` are those of fields, in place of their annotations. CattrsError, KeyError, TypeError
    or ValueError if a field is unknown, missing or malformed.
    """
    return cls(**fields_of(cls, plain, **types))


def fields_of(cls: Any, plain: Mapping[str, Any], **types: Any) -> dict[str, Any]:
    """The fields of a dataclass from plain data, typed; errors are those of ``structured``."""
    structure, hints = _converter().structure, _hints(cls) | types
    return {name: structure(content, hints[name]) for name, content in plain.items()}


@functools.lru_cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@functools.cache
def _converter() -> Converter:
    # Its detailed errors are groups, which would hide a MemoryError among what is malformed.
    converter = Converter(forbid_extra_keys=True, detailed_validation=False)
    converter.register_structure_hook_func(
        lambda hint: bool(hint == Sequence[float]), lambda values, _: tuple(map(float, values))
    )
    converter.register_structure_hook_func(
        lambda hint: bool(hint == Sequence[str]), lambda values, _: tuple(map(str, values))
    )
    return converter
