"""Findings of inspections, and the evidence that checks find them in."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from embinit.errors import counted
from embinit.lab.data.sources.arrays import ENDINGS
from embinit.lab.inspection.layout import Side, Subject
from embinit.lab.inspection.measures import COPIES, Mask, RowMeasures, Rows, TableMeasures

Severity = Literal["note", "warning", "error"]
"""A note is worth knowing; a warning costs quality or steps; an error breaks training or use."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, the lightest first."""

SHOWN = 4
"""The number of tokens that a finding's text names."""


@dataclass(frozen=True)
class Finding:
    """A fault of a table, or something worth knowing of it."""

    name: str
    severity: Severity
    side: Side
    what: str
    cause: str
    effect: str
    fix: str
    rows: tuple[int, ...] = ()  # by id; empty where it is about the whole table
    kept: tuple[int, ...] = ()  # rows that a repair leaves: the first of each group of copies


PARTS = ("what", "cause", "effect", "fix")
"""The texts of a finding."""


@functools.cache
def texts() -> Mapping[str, Any]:
    """The texts of each finding, from ``findings.toml``."""
    return tomllib.loads(resources.files(__package__).joinpath("findings.toml").read_text("utf-8"))


@dataclass(frozen=True)
class TableEvidence:
    """The evidence of one table for its checks."""

    side: Side
    subject: Subject
    table: TableMeasures
    by_row: RowMeasures
    explained: frozenset[int] = frozenset()  # rows that have a finding: one row has one cause
    alike: float = COPIES  # the cosine above which rows are copies
    groups: Mapping[float, Sequence[Rows]] = field(default_factory=dict)  # of rows alike, by cosine

    @property
    def ordinary(self) -> Mask:
        """A mask of the rows to check: finite, not zero, with a token, and not yet explained."""
        mask: Mask = self.by_row.measured & (np.nan_to_num(self.by_row.norms) > 0)
        mask[[row for row in self.explained if row < len(mask)]] = False
        return mask

    def groups_above(self, cosine: float) -> list[list[int]]:
        """The groups of rows that are alike and not yet explained, the largest group first."""
        found = (
            sorted(row for row in map(int, group) if row not in self.explained)
            for group in self.groups.get(cosine, ())
        )
        return sorted((group for group in found if len(group) > 1), key=len, reverse=True)

    def named(self, rows: Iterable[int]) -> str:
        """Some rows in words: the first few, and how many more."""
        every, names = list(rows), self.subject.names
        shown = ", ".join(
            repr(names[row]) if row in names else f"id {row}" for row in every[:SHOWN]
        )
        more = len(every) - SHOWN
        return f"{shown} and {more:,} more" if more > 0 else shown

    def finding(
        self,
        name: str,
        rows: Iterable[int] = (),
        side: Side | None = None,
        kept: Iterable[int] = (),
        **figures: float | str,
    ) -> Finding:
        """A finding of this table (or of another ``side``), with its texts from ``findings.toml``.

        A repair makes ``rows`` anew, but for the ``kept`` ones. ``figures`` are what the texts have
        in braces, besides ``rows``, ``named`` and ``repair``.
        """
        side, kind, ids = side or self.side, self.subject.kind, tuple(map(int, rows))
        said = texts()[name] | texts()[name].get(side, {}) | texts()[name].get(kind, {})
        repair = (
            "embinit inspect PATH --repair COPY replaces these rows."
            if kind == "model" or Path(self.subject.name).suffix in ENDINGS
            else "Draw these rows anew, around the mean row."
        )
        usual = {"rows": counted(len(ids), "row"), "named": self.named(ids), "repair": repair}
        shown = {part: said[part].format(**(usual | figures)) for part in PARTS}
        return Finding(name, said["severity"], side, **shown, rows=ids, kept=tuple(map(int, kept)))


Check = Callable[[TableEvidence], Iterator[Finding]]
