"""The checks of an inspection, in their order."""

from __future__ import annotations

from dataclasses import replace

from embinit.lab.inspection import row_checks as rows
from embinit.lab.inspection import table_checks as tables
from embinit.lab.inspection.findings import SEVERITIES, Check, Evidence, Finding

CHECKS: tuple[Check, ...] = (
    rows.non_finite,
    tables.size,
    tables.head,
    rows.zero_rows,
    rows.copies,
    rows.off_centre,
    rows.gaps,
    rows.tokens_like_padding,
    rows.special_tokens,
    tables.first_loss,
    tables.scale,
    tables.positions,
    tables.shape,
    tables.steps,
    rows.words_twice,
)
"""The checks of tables; those that explain a row best come first."""

OF_INPUT_ALONE = (tables.size, tables.head, tables.scale, tables.positions)


def run_checks(evidence: Evidence) -> list[Finding]:
    """The findings of one table."""
    findings: list[Finding] = []
    for check in CHECKS:
        if evidence.side == "input" or check not in OF_INPUT_ALONE:
            explained = frozenset(row for each in findings for row in each.rows)
            findings += check(replace(evidence, explained=explained))
    return [_with_use(finding, evidence) for finding in findings]


def _with_use(finding: Finding, evidence: Evidence) -> Finding:
    """Adds which of its rows the text has; rows that it lacks matter less by one step."""
    if evidence.used is None or not finding.rows:
        return finding
    used = {row: evidence.used[row] for row in finding.rows if evidence.used.get(row)}
    lighter = 0 if used or finding.name == "rows-without-token" else 1
    severity = SEVERITIES[max(0, SEVERITIES.index(finding.severity) - lighter)]
    return replace(finding, used=used, severity=severity)
