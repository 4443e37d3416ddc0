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

from embinit.lab.data.sources.arrays import ENDINGS
from embinit.lab.inspection.measures import COPIES, Mask, RowMeasures, Rows, TableMeasures
from embinit.lab.inspection.subjects import Subject

Severity = Literal["note", "warning", "error"]
"""A note is worth knowing; a warning costs quality or steps; an error breaks training or use."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, the lightest first."""

Side = Literal["input", "output"]

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
    figures: Mapping[str, float | int] = field(default_factory=dict)
    kept: tuple[int, ...] = ()  # rows that a repair leaves: the first of each group of copies


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
    head_equal: bool = False  # whether a head is stored that is equal to the table
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
        what: str,
        rows: Iterable[int] = (),
        side: Side | None = None,
        kept: Iterable[int] = (),
        **figures: float,
    ) -> Finding:
        """A finding of this table (or of another ``side``), with its texts from ``findings.toml``.

        A repair makes ``rows`` anew, but for the ``kept`` ones. ``figures`` are its numbers.
        """
        side, kind = side or self.side, self.subject.kind
        said = texts()[name] | texts()[name].get(side, {}) | texts()[name].get(kind, {})
        repair = (
            "embinit inspect PATH --repair COPY replaces these rows."
            if kind == "model" or Path(self.subject.name).suffix in ENDINGS
            else "Draw these rows anew, around the mean row."
        )
        figures = {k: v if isinstance(v, int) else float(v) for k, v in figures.items()}
        cause, effect, fix = (
            said[part].format(repair=repair, **figures) for part in ("cause", "effect", "fix")
        )
        return Finding(
            name,
            said["severity"],
            side,
            what,
            cause,
            effect,
            fix,
            tuple(map(int, rows)),
            figures,
            tuple(map(int, kept)),
        )


VERBS = {"": "", "are": "is", "have": "has", "lack": "lacks", "repeat": "repeats"}
"""Verbs of several rows, and of one."""

Check = Callable[[TableEvidence], Iterator[Finding]]


def rows_of(count: int, noun: str = "row", verb: str = "") -> str:
    """A number of rows, such as ``1 row``, ``3 rows``, ``3 rows are`` or ``1 row has``."""
    if count == 1:
        return f"1 {noun} {VERBS[verb]}".rstrip()
    return f"{count:,} {noun}s {verb}".rstrip()
