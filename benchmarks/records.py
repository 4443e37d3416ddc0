"""What the programs here print and keep: tables in Markdown, and dated records."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from embinit.runs.results import device_name, versions


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, each of whose cells is one line."""
    lines = [head, ["---"] * len(head), *rows]
    cells = ([" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def written(path: Path | None, document: dict[str, Any]) -> str:
    """The text of figures, which is written into a file of ``results/`` if one is named."""
    text = json.dumps(document, indent=1)
    if path:
        path.write_text(f"{text}\n", encoding="utf-8")
    return text


def dated(device: str, **found: Any) -> dict[str, Any]:
    """What was found, with the command, the day, the machine and the versions."""
    about = {"command": " ".join(["python", *sys.argv]), "date": str(datetime.date.today())}
    return about | {"device": device_name(device), "versions": versions()} | found
