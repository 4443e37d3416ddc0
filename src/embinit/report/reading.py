"""Read verdicts.json and check it against its schema."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import read_json
from embinit.files.schema import check_document

SCHEMA_VERSION = 2
Document = Mapping[str, Any]

BY_PYTEST = "run pytest claims/, which writes it"
BY_BLESS = "make it by embinit bless, of a session's report"
"""What to do about a document that can't be read: of a session, and of a baseline."""


def read(path: Path, mend: str = BY_PYTEST) -> dict[str, Any]:
    """A verdicts document; InputError where it is missing, broken or of another schema version.

    ``mend`` is what to do about that.
    """
    document = read_json(path, mend)
    version = document.get("schema_version") if isinstance(document, dict) else None
    if version != SCHEMA_VERSION:
        newer = type(version) is int and version > SCHEMA_VERSION
        raise InputError(
            f"{path} is of schema_version {version!r}, and this embinit reads {SCHEMA_VERSION}; "
            f"{'upgrade embinit' if newer else mend}"
        )
    check_document(path, document, load_schema(), "verdicts document", mend)
    ids = Counter(entry["id"] for name in ("claims", "audits") for entry in document.get(name, ()))
    if twice := [name for name, count in ids.items() if count > 1]:
        raise InputError(f"{path} has the id {twice[0]!r} twice; {mend}")
    known: dict[str, Any] = document
    return known


def load_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of verdicts.json."""
    text = resources.files("embinit.report").joinpath("verdicts.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def unfinished(document: Document) -> list[str]:
    """Why a session's document lacks verdicts that were asked for; empty for a whole one."""
    stopped = document["session"].get("unfinished")
    reasons = [] if stopped is None else [f"the session is unfinished: {stopped}"]
    broke = [
        f"{entry.get('nodeid', 'a claim')} broke: {entry.get('reason', 'it does not say why')}"
        for entry in document.get("errors", ())
    ]
    return reasons + broke
