"""The result of an inspection, as an object and as text."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from embinit.errors import counted, printable
from embinit.lab.inspection.findings import SEVERITIES, Finding, Severity
from embinit.lab.inspection.measures import TableMeasures
from embinit.lab.tables.inits import xavier_sigma

COLUMNS = 96
SHOWN_ROWS = 8


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection."""

    name: str
    kind: str
    architecture: str  # the model's type; "" where there is none
    tied: bool | None  # None where there is no output
    tables: tuple[TableMeasures, ...]  # the input table, and an output table of its own
    facts: Mapping[str, float | int | str]
    findings: tuple[Finding, ...]

    def finding(self, name: str) -> Finding | None:
        """The gravest finding of a name; None if there is none."""
        return next((finding for finding in self.findings if finding.name == name), None)

    def at_least(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings that are as grave as ``severity`` or graver."""
        grave = SEVERITIES[SEVERITIES.index(severity) :]
        return tuple(finding for finding in self.findings if finding.severity in grave)

    def as_text(self) -> str:
        """The subject, its tables, and each finding with its fix, for the terminal."""
        first = self.tables[0]
        said = [
            f"{self.architecture or self.kind}, {first.rows:,} x {first.dim:,}",
            first.dtype,
            *([] if self.tied is None else ["tied" if self.tied else "untied"]),
        ]
        lines = [f"{self.name}: {', '.join(said)}", ""]
        for side, table in zip(("input", "output"), self.tables, strict=False):
            lines += [f"  {side} table {table.name}", *_table(table), ""]
        column = max((len(name) for name in self.facts), default=0)
        lines += [f"  {name:<{column}}  {_figure(value)}" for name, value in self.facts.items()]
        severities = [finding.severity for finding in self.findings]
        counts = [
            counted(severities.count(severity), severity)
            for severity in reversed(SEVERITIES)
            if severity in severities
        ]
        lines += [""] if self.facts else []
        lines.append(f"Found: {', '.join(counts)}." if counts else "Nothing found.")
        for finding in self.findings:
            lines += ["", *self._paragraph(finding)]
        return printable("\n".join(lines))

    def _paragraph(self, finding: Finding) -> list[str]:
        of = " (output)" if finding.side == "output" else ""
        lines = [f"{finding.severity.upper()} {finding.name}{of}", *wrapped(finding.what, 2)]
        for name in ("cause", "effect", "fix"):
            lines += _entry(name, getattr(finding, name))
        if finding.rows:
            shown = ", ".join(map(str, finding.rows[:SHOWN_ROWS]))
            more = len(finding.rows) - SHOWN_ROWS
            lines += _entry("ids", shown + f" and {more:,} more" * (more > 0))
        return lines


def _table(table: TableMeasures) -> list[str]:
    xavier = _figure(xavier_sigma(table.rows, table.dim))
    possible = min(max(1, table.sample_rows - 1), table.dim)
    shares = ", ".join(f"{100 * share:.1f} %" for share in table.top_shares.values())
    ends = {"0": "min", "100": "max"}
    heads = [ends.get(percent, f"{percent} %") for percent in table.norm_quantiles]
    norms = map(_figure, table.norm_quantiles.values())
    return [
        f"    mean {_figure(table.mean)}, sigma {_figure(table.sigma)} (Xavier's {xavier}, normal "
        "0.02)",
        f"    norms    {''.join(f'{head:>9}' for head in heads)}",
        f"             {''.join(f'{norm:>9}' for norm in norms)}",
        f"    mean cosine {table.mean_cosine:.3f}; variance in the first 1, 3, 10 components "
        f"{shares}; effective rank {table.effective_rank:.0f} of {possible}{table.of_sample}",
    ]


def wrapped(text: str, indent: int, first: str = "") -> list[str]:
    """A text in lines of the terminal, indented."""
    space = " " * indent
    return textwrap.wrap(text, COLUMNS, initial_indent=first or space, subsequent_indent=space)


def _entry(name: str, text: str) -> list[str]:
    return wrapped(text, 11, f"  {name:<8} ")


def _figure(value: float | int | str) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
