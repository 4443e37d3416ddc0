"""Print a session's verdicts: a table by family, what is not decided and why, and the totals.

No control character of a third-party claim reaches the terminal. An id is never cut nor broken:
where the table is too wide, a claim's numbers are on a line of their own below its id.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Sequence

from embinit.claims.records import ClaimRecord
from embinit.errors import counted
from embinit.report import summary, verdicts
from embinit.report.document import Document
from embinit.report.numbers import MINUS
from embinit.stats.statements import Verdict

STYLES = {
    "SUPPORTED": "32", "CONSISTENT": "32", "REFUTED": "31", "NO EFFECT": "35", "UNDECIDED": "33",
    "INCONSISTENT": "33", "NOT RUN": "36", "bold": "1", "dim": "2", "wrong": "1;31",
}  # fmt: skip
"""The ANSI codes of styles."""

TO_THE_RIGHT = (2, 4)
"""The columns of means and of p."""

Row = tuple[tuple[str, ...], str]
"""A claim's id, verdict, means, difference, p and note, and the style of its verdict and note."""


def verdict_lines(document: Document, width: int | None, coloured: bool) -> list[str]:
    """The lines of the table and of what follows it; ``width`` None means no terminal."""

    def styled(text: str, style: str) -> str:
        known = STYLES.get(style) if coloured and text.strip() else None
        return text if known is None else f"\x1b[{known}m{text}\x1b[0m"

    groups, level = _groups(document), verdicts.interval_in_words(document.claims)
    difference = f"difference [{level}]" if level else "difference"
    headings = ("claim", "verdict", "means", difference, "p", "")
    every = [cells for rows in groups.values() for cells, _ in rows]
    needed = sum(_widths([headings, *every])) + 2 * (len(headings) - 1)
    fits = width is None or needed <= width
    widths = [*_widths([headings, *every] if fits else [*map(_below, every)])[:-1], 0]

    def line(cells: tuple[str, ...], *styles: str) -> str:
        padded = (
            text.rjust(width) if at in TO_THE_RIGHT else text.ljust(width)
            for at, (text, width) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join(map(styled, padded, styles))

    lines = [line(headings, *["bold"] * 6)] if fits else [difference] if level else []
    for title, rows in groups.items():
        lines += ["", styled(title, "bold")]
        for cells, style in rows:
            lines += [] if fits else [cells[0]]
            lines.append(line(cells if fits else _below(cells), "", style, "", "", "", style))
    lines += _reasons(document, styled)
    for table in summary.tables([document]):
        of = f"{table.paper.short}, {table.columns[0]}, by the claims of this session"
        lines += ["", styled(clean(of), "bold")]
        for title, found in table.rows.items():
            lacking = ", ".join(table.lacking(found[0]))
            part = f"in part, without {lacking}: " if lacking else ""
            lines.append(clean(f"{title}: {part}{summary.in_words(found[0])}"))
    wrong = document.summary.controls.not_as_expected
    total = clean("; ".join(summary.totals(document.summary)))
    wrapped = textwrap.wrap(total, width) if width else [total]
    lines += ["", *(styled(line, "wrong" if wrong else "") for line in wrapped)]
    return [line.rstrip() for line in lines]


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _below(cells: tuple[str, ...]) -> tuple[str, ...]:
    """A row without its id, for the line below that; it has no heading to name its p."""
    p = f"p {cells[4]}" if cells[4][-1:].isdigit() else cells[4]
    return "", *cells[1:4], p, cells[5]


def clean(text: object) -> str:
    """``text`` on one line, without control characters and other invisible ones."""
    seen = (" " if sign.isspace() else sign for sign in str(text))
    return "".join(sign for sign in seen if sign.isprintable())


def _groups(document: Document) -> dict[str, list[Row]]:
    """The rows by family, audits last."""
    families = verdicts.by_family(document.claims)
    groups = {clean(title): [*map(_claim_row, claims)] for title, claims in families.items()}
    for audit in document.audits:
        agree = f"{audit.agree} of {len(audit.checks)} agree"
        cells = (clean(audit.id), audit.verdict, "", agree, "", "")
        groups.setdefault("Printed numbers, audited", []).append((cells, audit.verdict))
    return groups


def _claim_row(claim: ClaimRecord) -> Row:
    shown, remarks = claim.deciding, verdicts.notes(claim)
    numbers = ("", "", "")
    if shown is not None:
        between = shown.relation if claim.verdict is Verdict.SUPPORTED else "vs"
        numbers = (
            f" {between} ".join(verdicts.means(shown)).replace(MINUS, "-"),
            clean(verdicts.difference(shown)).replace(MINUS, "-"),
            verdicts.p_in_words(shown),
        )
        several = len(claim.comparisons)
        remarks = [*([] if shown.exact else [counted(len(shown.seeds), "seed")]), *remarks]
        remarks += [f"the deciding one of {several}"] if several > 1 else []
        remarks.append(verdicts.wanted(shown))
    # A control's REFUTED is the right verdict, and so not red.
    of_control = "wrong" if claim.as_expected is False else "dim"
    note = "; ".join(filter(None, remarks))
    cells = (clean(claim.id), claim.verdict, *numbers, note)
    return cells, of_control if claim.control else claim.verdict


def _reasons(document: Document, styled: Callable[[str, str], str]) -> list[str]:
    """Why claims were not run or can't be decided, each reason once."""
    reasons = Counter(
        (claim.verdict, clean(claim.reason))
        for claim in document.claims
        if claim.verdict in (Verdict.NOT_RUN, Verdict.UNDECIDED)
        if claim.reason and not claim.as_expected
    )
    lines = [
        f"{styled(f'{verdict} ({count}):', verdict)} {reason}"
        for (verdict, reason), count in reasons.items()
    ]
    return ["", *lines] if lines else []
