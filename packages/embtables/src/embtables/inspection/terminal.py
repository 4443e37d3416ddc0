"""An inspection as text for the terminal."""

from __future__ import annotations

import textwrap

from embtables.inspection.findings import SEVERITIES, Finding
from embtables.inspection.measures import QUANTILES
from embtables.inspection.result import InspectedTable, Inspection

WIDTH = 96
SHOWN_ROWS = 8


def as_text(inspection: Inspection) -> str:
    """An inspection's text: subject, tables, and each finding with its mend."""
    lines = [f"{inspection.name}: {_headline(inspection)}", ""]
    for table in inspection.tables:
        lines += [*_table(table), ""]
    width = max((len(name) for name in inspection.facts), default=0)
    lines += [f"  {name:<{width}}  {_figure(value)}" for name, value in inspection.facts.items()]
    if inspection.facts:
        lines.append("")
    if not inspection.findings:
        lines.append(f"Nothing found ({inspection.seconds:.1f} s).")
    else:
        counts = [
            f"{count} {severity}" + ("s" if count > 1 else "")
            for severity in reversed(SEVERITIES)
            if (count := sum(each.severity == severity for each in inspection.findings))
        ]
        lines.append(f"Found: {', '.join(counts)} ({inspection.seconds:.1f} s).")
    for finding in inspection.findings:
        lines += ["", *_finding(finding, inspection)]
    return "\n".join(lines)


def _headline(inspection: Inspection) -> str:
    first = inspection.tables[0].measures
    said = [f"{inspection.architecture or inspection.kind}, {first.rows:,} x {first.dim:,}"]
    said.append(
        {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}.get(first.dtype, first.dtype)
    )
    if inspection.tied is not None:
        said.append("tied" if inspection.tied else "untied")
    return ", ".join(said)


def _table(table: InspectedTable) -> list[str]:
    measures = table.measures
    widths = (
        f"sigma {_figure(measures.sigma)} (Xavier's {_figure(table.xavier_sigma)}, normal 0.02)"
    )
    if table.width_after_lookup is not None:
        widths += f", root mean square after the look-up {_figure(table.width_after_lookup)}"
    possible = min(max(1, measures.sample - 1), measures.dim)
    shares = ", ".join(f"{100 * share:.1f} %" for share in measures.top_shares)
    heads = ("min", *(f"{100 * share:g} %" for share in QUANTILES[1:-1]), "max")
    return [
        f"  {table.side} table {table.name}",
        f"    mean {_figure(measures.mean)}, {widths}",
        f"    norms    {''.join(f'{head:>9}' for head in heads)}",
        f"             {''.join(f'{_figure(value):>9}' for value in measures.norm_quantiles)}",
        f"    mean cosine {measures.mean_cosine:.3f}; variance in the first 1, 3, 10 components "
        f"{shares}; effective rank {measures.effective_rank:.0f} of {possible}{measures.of_sample}",
    ]


def _finding(finding: Finding, inspection: Inspection) -> list[str]:
    head = f"{finding.severity.upper()} {finding.name}" + (
        " (output)" if finding.side == "output" else ""
    )
    lines = [head, *textwrap.wrap(finding.what, WIDTH, initial_indent="  ", subsequent_indent="  ")]
    if finding.used is not None:
        lines += _wrapped("in text", _used(finding, inspection))
    lines += _wrapped("means", finding.means)
    lines += _wrapped("follows", finding.follows)
    lines += _wrapped("mend", finding.mend)
    if finding.rows:
        shown = ", ".join(map(str, finding.rows[:SHOWN_ROWS]))
        more = len(finding.rows) - SHOWN_ROWS
        lines += _wrapped(
            "ids", shown + (f" and {more:,} more (--json has them)" if more > 0 else "")
        )
    return lines


def _used(finding: Finding, inspection: Inspection) -> str:
    used = finding.used or {}
    if not used:
        return "none of these rows is used"
    most = sorted(used, key=lambda row: -used[row])[:SHOWN_ROWS]
    named = ", ".join(f"{inspection.tokens.get(row, row)!r} {used[row]:,}" for row in most)
    return f"{len(used):,} of these rows are used, {sum(used.values()):,} times: {named}"


def _wrapped(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<8} ", subsequent_indent=" " * 11)


def _figure(value: float | int | str) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else value
