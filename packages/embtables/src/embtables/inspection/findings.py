"""Findings of inspections: faults of a table with meaning, consequence and mend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Severity = Literal["note", "warning", "error"]
"""A note is worth knowing; a warning costs quality or steps; an error breaks training or use."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities, the lightest first."""


@dataclass(frozen=True)
class Finding:
    """A fault of a table, or something worth knowing of it.

    Attributes:
        name: The finding's name, the same in every inspection.
        severity: How grave it is.
        side: The table that it is about: ``input`` or ``output``.
        what: What is so, with its numbers.
        means: What that means.
        follows: What follows from it in training or use.
        mend: What to do.
        rows: The rows that it is about, by id; empty where it is about the whole table.
        kept: Those of its rows that a repair leaves as they are: the first of each group of copies.
        figures: Its numbers by name.
        used: How often the text has each of these rows' tokens, without those that it lacks; None
            without a text.
    """

    name: str
    severity: Severity
    side: Literal["input", "output"]
    what: str
    means: str
    follows: str
    mend: str
    rows: tuple[int, ...] = ()
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    used: Mapping[int, int] | None = None
    kept: tuple[int, ...] = ()

    def at_least(self, severity: Severity) -> bool:
        """Whether the finding is as grave as ``severity`` or graver."""
        return SEVERITIES.index(self.severity) >= SEVERITIES.index(severity)
