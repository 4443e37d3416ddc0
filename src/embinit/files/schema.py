"""JSON documents from outside are checked against their schema once, where they come in.

The package ``jsonschema`` checks them. It is imported when the first document is read, since it
takes a quarter of a second.
"""

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


def mismatch(value: Any, schema: Mapping[str, Any]) -> str:
    """Where and how a JSON value departs from a schema; "" where it doesn't.

    Fields that a closed object doesn't name are passed over: within a version fields are added, so
    they may be a later embinit's.

    Args:
        value: The value, as ``parse_json`` gives it.
        schema: The schema, of draft 2020-12.
    """
    error = next(_validator(json.dumps(schema)).iter_errors(value), None)
    while error is not None and error.context:
        error = error.context[0]  # of several forms, why the first does not fit
    if error is None:
        return ""
    place = "".join(f"/{each}" for each in error.absolute_path) or "/"
    return f"{place}: {_short(error.message)}"


@functools.cache
def _validator(schema: str) -> jsonschema.protocols.Validator:
    import jsonschema

    return jsonschema.Draft202012Validator(_opened(json.loads(schema)))


def _opened(schema: Any) -> Any:
    """A schema without its ban on further fields."""
    if isinstance(schema, dict):
        return {
            name: _opened(each)
            for name, each in schema.items()
            if not (name == "additionalProperties" and each is False)
        }
    return [_opened(each) for each in schema] if isinstance(schema, list) else schema


def _short(message: str, most: int = 160) -> str:
    """A message of ``jsonschema``, which quotes the value: its two ends where it is long."""
    half = most // 2
    return message if len(message) <= most else f"{message[:half]}…{message[-half:]}"
