"""Read verdicts.json and check it against its schema."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import read_json
from embinit.files.schema import check_document
from embinit.files.typed import from_json, schema_of
from embinit.report.document import SCHEMA_VERSION, Document


def read(path: Path, mend: str = "run pytest claims/, which writes it") -> Document:
    """A verdicts document; InputError where it is missing, broken or of another schema version.

    ``mend`` is what to do about that.
    """
    plain = read_json(path, mend)
    version = plain.get("schema_version") if isinstance(plain, dict) else None
    if version != SCHEMA_VERSION:
        newer = type(version) is int and version > SCHEMA_VERSION
        raise InputError(
            f"{path} is of schema_version {version!r}, and this embinit reads {SCHEMA_VERSION}; "
            f"{'upgrade embinit' if newer else mend}"
        )
    check_document(path, plain, load_schema(), "verdicts document", mend)
    document = from_json(Document, plain)
    if twice := [name for name, count in Counter(document.ids).items() if count > 1]:
        raise InputError(f"{path} has the id {twice[0]!r} twice; {mend}")
    return document


def load_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of verdicts.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:embinit:verdicts:2",
        "title": "Verdicts",
        **schema_of(Document),
    }
