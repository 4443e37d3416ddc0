"""The result of an inspection, as an object and as a JSON document."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from embinit.errors import printable
from embtables.inspection.findings import Finding, Severity
from embtables.inspection.measures import QUANTILES, TableMeasures

SCHEMA_VERSION = 1

MOST_ROWS = 1000
"""Rows of a finding that the document lists; their number is given in any case."""


@dataclass(frozen=True)
class InspectedTable:
    """An inspected table.

    Attributes:
        side: ``input`` or ``output``.
        name: The tensor's name, or the file's.
        measures: Its measures.
        norms: A histogram of the rows' norms: edges and counts.
        xavier_sigma: Xavier's sigma for its shape.
        width_after_lookup: A row's root mean square after the architecture's multiplier; None
            for an output table.
    """

    side: Literal["input", "output"]
    name: str
    measures: TableMeasures
    norms: tuple[tuple[float, ...], tuple[int, ...]]
    xavier_sigma: float
    width_after_lookup: float | None = None


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection.

    Attributes:
        name: What was inspected.
        kind: ``model``, ``tensor`` or ``vectors``.
        architecture: The model's type; ``""`` where there is none.
        tied: Whether input and output table are one; None where there is no output.
        tables: The input table, and the output table where one of its own is stored.
        facts: Further figures in words, by name.
        findings: What was found, the gravest first.
        tokens: The tokens of the rows that findings name.
        seconds: How long it took.
    """

    name: str
    kind: str
    architecture: str
    tied: bool | None
    tables: tuple[InspectedTable, ...]
    facts: Mapping[str, float | int | str]
    findings: tuple[Finding, ...]
    tokens: Mapping[int, str]
    seconds: float

    def finding(self, name: str) -> Finding | None:
        """The gravest finding of a name; None if there is none."""
        return next((each for each in self.findings if each.name == name), None)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings that are as grave as ``severity`` or graver."""
        return tuple(each for each in self.findings if each.at_least(severity))

    def as_json(self) -> str:
        """The document that ``inspection.schema.json`` describes."""
        document = {
            "schema_version": SCHEMA_VERSION,
            "name": self.name,
            "kind": self.kind,
            "architecture": self.architecture,
            "tied": self.tied,
            "tables": [_table(table) for table in self.tables],
            "facts": dict(self.facts),
            "findings": [_finding(finding, self.tokens) for finding in self.findings],
            "seconds": round(self.seconds, 3),
        }
        return printable(json.dumps(_plain(document), indent=1, ensure_ascii=False)) + "\n"


@functools.cache
def load_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    text = resources.files("embtables.inspection").joinpath("inspection.schema.json")
    schema: dict[str, Any] = json.loads(text.read_text("utf-8"))
    return schema


def _table(table: InspectedTable) -> dict[str, Any]:
    measures = table.measures
    return {
        "side": table.side,
        "name": table.name,
        "rows": measures.rows,
        "dim": measures.dim,
        "dtype": measures.dtype,
        "measured_rows": measures.measured,
        "mean": measures.mean,
        "sigma": measures.sigma,
        "xavier_sigma": table.xavier_sigma,
        "largest": measures.largest,
        "width_after_lookup": table.width_after_lookup,
        "norm_quantiles": {
            f"{100 * share:g}": value
            for share, value in zip(QUANTILES, measures.norm_quantiles, strict=True)
        },
        "mean_norm": measures.mean_norm,
        "mean_cosine": measures.mean_cosine,
        "top_shares": dict(zip(("1", "3", "10"), measures.top_shares, strict=True)),
        "effective_rank": measures.effective_rank,
        "sample_rows": measures.sample,
        "norm_histogram": {"edges": list(table.norms[0]), "counts": list(table.norms[1])},
    }


def _finding(finding: Finding, tokens: Mapping[int, str]) -> dict[str, Any]:
    rows: Sequence[int] = finding.rows[:MOST_ROWS]
    return {
        "name": finding.name,
        "severity": finding.severity,
        "side": finding.side,
        "what": finding.what,
        "means": finding.means,
        "follows": finding.follows,
        "mend": finding.mend,
        "figures": dict(finding.figures),
        "row_count": len(finding.rows),
        "rows": [
            {"id": row}
            | ({"token": tokens[row]} if row in tokens else {})
            | ({} if finding.used is None else {"used": finding.used.get(row, 0)})
            for row in rows
        ],
    }


def _plain(value: Any) -> Any:
    """``value`` as strict JSON has it: no NaN, no infinity."""
    if isinstance(value, dict):
        return {name: _plain(content) for name, content in value.items()}
    if isinstance(value, list):
        return [_plain(content) for content in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
