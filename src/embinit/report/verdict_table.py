"""Print a session's verdicts: a table by family, what is not decided and why, and the totals.

No control character of a third-party claim reaches the terminal. An id is never cut nor broken:
where the table is too wide, a claim's numbers are on a line of their own below its id.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterator

from embinit.claims.records import ClaimRecord
from embinit.errors import counted
from embinit.report.document import Document
from embinit.report.numbers import MINUS
from embinit.report.summary import in_words, tables, totals
from embinit.report.verdicts import (
    by_family,
    difference,
    interval_in_words,
    means,
    notes,
    p_in_words,
    wanted,
)
from embinit.stats.statements import Verdict

STYLES = {
    "SUPPORTED": "32", "CONSISTENT": "32", "REFUTED": "31", "NO EFFECT": "35", "UNDECIDED": "33",
    "INCONSISTENT": "33", "NOT RUN": "36", "bold": "1", "dim": "2", "wrong": "1;31",
}  # fmt: skip
"""The ANSI codes of styles."""

DIFFERENCE = "difference"
HEADINGS = ("claim", "verdict", "means", DIFFERENCE, "p", "")
TO_THE_RIGHT = (2, 4)
"""The columns of means and of p."""

Row = tuple[tuple[str, ...], str]
"""A row's cells, one a heading, and the style of its verdict and note."""


def verdict_lines(document: Document, width: int | None, coloured: bool) -> list[str]:
    """The lines of the table and of what follows it; ``width`` None means no terminal."""

    def styled(text: str, style: str) -> str:
        known = STYLES.get(style) if coloured and text.strip() else None
        return text if known is None else f"\x1b[{known}m{text}\x1b[0m"

    groups, level = _groups(document), interval_in_words(document.claims)
    headings = (*HEADINGS[:3], f"{DIFFERENCE} [{level}]" if level else DIFFERENCE, *HEADINGS[4:])
    every = [(headings, ""), *(row for rows in groups.values() for row in rows)]
    widths = [max(len(cells[at]) for cells, _ in every) for at in range(len(HEADINGS))]
    fits = width is None or sum(widths) + 2 * (len(widths) - 1) <= width
    rest = [max((len(cells[at]) for cells, _ in every[1:]), default=0) for at in range(5)]
    below = [0, *rest[1:4], rest[4] + 2, 0]

    def line(cells: tuple[str, ...], style: str, places: Collection[int]) -> str:
        padded = (
            text.rjust(width) if at in TO_THE_RIGHT else text.ljust(width)
            for at, (text, width) in enumerate(zip(cells, widths if fits else below, strict=True))
        )
        return "  ".join(
            styled(text, style if at in places else "") for at, text in enumerate(padded)
        )

    lines = [line(headings, "bold", range(6))] if fits else [headings[3]] if level else []
    for title, rows in groups.items():
        lines += ["", styled(title, "bold")]
        for cells, style in rows:
            if not fits:
                lines.append(cells[0])
                p = f"p {cells[4]}" if cells[4][-1:].isdigit() else cells[4]
                cells = ("", *cells[1:4], p, cells[5])
            lines.append(line(cells, style, (1, 5)))
    lines += _reasons(document, styled)
    for table in tables([document]):
        of = f"{table.paper.short}, {table.columns[0]}, by the claims of this session"
        lines += ["", styled(clean(of), "bold")]
        for title, cells in table.rows.items():
            lacking = ", ".join(table.lacking(cells[0]))
            part = f"in part, without {lacking}: " if lacking else ""
            lines.append(clean(f"{title}: {part}{in_words(cells[0])}"))
    wrong = document.summary.controls.not_as_expected
    total = clean("; ".join(totals(document.summary)))
    wrapped = textwrap.wrap(total, width) if width else [total]
    lines += ["", *(styled(line, "wrong" if wrong else "") for line in wrapped)]
    return [line.rstrip() for line in lines]


def clean(text: object) -> str:
    """``text`` on one line, without control characters and other invisible ones."""
    seen = (" " if sign.isspace() else sign for sign in str(text))
    return "".join(sign for sign in seen if sign.isprintable())


def _groups(document: Document) -> dict[str, list[Row]]:
    """The rows by family, audits last."""
    families = by_family(document.claims)
    groups = {clean(title): [*map(_claim_row, claims)] for title, claims in families.items()}
    for audit in document.audits:
        agree = f"{audit.agree} of {len(audit.checks)} agree"
        cells = (clean(audit.id), audit.verdict, "", agree, "", "")
        groups.setdefault("Printed numbers, audited", []).append((cells, audit.verdict))
    return groups


def _claim_row(claim: ClaimRecord) -> Row:
    style = str(claim.verdict)
    if claim.control:
        # A control's REFUTED is the right verdict, and so not red.
        style = "wrong" if claim.as_expected is False else "dim"
    numbers, shown, remarks = ("", "", ""), claim.deciding, notes(claim)
    if shown is not None:
        between = shown.relation if claim.verdict is Verdict.SUPPORTED else "vs"
        numbers = (
            f" {between} ".join(means(shown)).replace(MINUS, "-"),
            clean(difference(shown)).replace(MINUS, "-"),
            p_in_words(shown),
        )
        several = len(claim.comparisons)
        remarks = [*([] if shown.exact else [counted(len(shown.seeds), "seed")]), *remarks]
        remarks += [f"the deciding one of {several}"] if several > 1 else []
        remarks.append(wanted(shown))
    return (clean(claim.id), claim.verdict, *numbers, "; ".join(filter(None, remarks))), style


def _reasons(document: Document, styled: Callable[[str, str], str]) -> Iterator[str]:
    """Why claims were not run or can't be decided, each reason once."""
    reasons = Counter(
        (claim.verdict, clean(claim.reason))
        for claim in document.claims
        if claim.verdict in (Verdict.NOT_RUN, Verdict.UNDECIDED) and not claim.as_expected
    )
    yield from [""] if any(reason for _, reason in reasons) else []
    for (verdict, reason), count in reasons.items():
        if reason:
            yield f"{styled(f'{verdict} ({count}):', verdict)} {reason}"
