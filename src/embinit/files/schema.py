"""JSON documents from outside are checked against their schema once, where they come in."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError

if TYPE_CHECKING:
    import jsonschema


def check_document(
    path: object, value: Any, schema: Mapping[str, Any], noun: str, mend: str
) -> None:
    """Checks the document of the file ``path``, which should be a ``noun``; else InputError."""
    if reason := mismatch(value, schema):
        raise InputError(f"{path} is no {noun}: {reason}; {mend}")


def mismatch(value: Any, schema: Mapping[str, Any]) -> str:
    """Where and how a JSON value departs from a schema (draft 2020-12); "" where it doesn't.

    Fields that a closed object doesn't name are passed over: they may be a later embinit's.
    """
    error = next(_validator(json.dumps(schema)).iter_errors(value), None)
    while error is not None and error.context:
        error = error.context[0]  # of several forms, why the first does not fit
    if error is None:
        return ""
    place = "".join(f"/{part}" for part in error.absolute_path) or "/"
    return f"{place}: {_short(error.message)}"


@functools.cache
def _validator(schema: str) -> jsonschema.protocols.Validator:
    import jsonschema  # it takes a quarter of a second

    return jsonschema.Draft202012Validator(_opened(json.loads(schema)))


def _opened(schema: Any) -> Any:
    """A schema without its ban on further fields."""
    if isinstance(schema, dict):
        return {
            name: _opened(part)
            for name, part in schema.items()
            if not (name == "additionalProperties" and part is False)
        }
    return [_opened(part) for part in schema] if isinstance(schema, list) else schema


def _short(message: str) -> str:
    """A message of ``jsonschema``, which quotes the value: its two ends where it is long."""
    return message if len(message) <= 160 else f"{message[:80]}…{message[-80:]}"
