"""The verdicts at a session's end, as text: a table by family, what could not run, and the totals.

Every text here may come from a third-party claim. So none of it is read as markup, and no control
character in it reaches the terminal. An id is never cut nor broken: where the table is wider than
the terminal, a claim's numbers stand below its id. Into a pipe the table is as wide as it must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from embinit.claims.definitions import family_rank
from embinit.claims.paired_tests import VERDICTS
from embinit.report.findings import sides
from embinit.report.numbers import MINUS, number, p_value, points
from embinit.report.verdicts import (
    bound,
    controls_left,
    deciding,
    deciding_p,
    is_too_weak,
    qualifications,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

STYLES = {
    "SUPPORTED": "green",
    "REFUTED": "red",
    "NO EFFECT": "magenta",
    "UNDECIDED": "yellow",
    "NOT RUN": "cyan",
    "CONSISTENT": "green",
    "INCONSISTENT": "yellow",
}
HEADINGS = ("claim", "verdict", "means", "effect", "", "p", "")
WIDEST = 100_000


@dataclass(frozen=True)
class Row:
    """The table's row for one claim or audit.

    Attributes:
        id: The claim's or the audit's id.
        verdict: Its verdict.
        means: Both sides' means in the deciding comparison, with the relation that is claimed.
        effect: The mean difference of the deciding comparison.
        unit: The effect's unit.
        p: The p that its verdict rests on, or ``exact``.
        note: What is to be said of a control, or of a claim of several comparisons.
        style: The style of verdict and note. A control's REFUTED is as it should be, and so not
            red.
    """

    id: str
    verdict: str
    means: str
    effect: str
    unit: str
    p: str
    note: str
    style: str


def verdict_lines(
    claims: Sequence[Mapping[str, Any]],
    audits: Sequence[Mapping[str, Any]],
    width: int | None,
    coloured: bool,
) -> list[str]:
    """The lines of the table and of what follows it.

    Args:
        claims: The claims' entries in the verdicts document.
        audits: The audits' entries.
        width: The terminal's width in columns; None where there is no terminal.
        coloured: Whether the lines have ANSI colours.
    """
    from rich.console import Console

    console = Console(
        file=StringIO(),
        width=WIDEST,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        legacy_windows=False,
    )
    groups = _groups(claims, audits)
    table = _table(groups)
    natural = console.measure(table).maximum
    with console.capture() as captured:
        if width is None or natural <= width:
            console.print(table, width=natural)
        else:
            _stacked(console, groups)
        for reason in _reasons(claims):
            console.print(reason, soft_wrap=True)
        console.print(_sum(claims, audits), width=width)
    return [line.rstrip() for line in captured.get().splitlines()]


def clean(text: object) -> str:
    """``text`` on one line, without control characters and other invisible ones."""
    seen = (" " if sign.isspace() else sign for sign in str(text))
    return "".join(sign for sign in seen if sign.isprintable())


def _groups(
    claims: Sequence[Mapping[str, Any]], audits: Sequence[Mapping[str, Any]]
) -> dict[str, list[Row]]:
    """The rows by family, under what the family says. Controls stand last, audits after all."""
    groups: dict[str, list[Row]] = {}
    ordered = sorted(claims, key=lambda claim: (family_rank(claim["family"]), claim["control"]))
    for claim in ordered:
        title = clean(claim["family_says"] or claim["family"])
        groups.setdefault(title, []).append(_claim_row(claim))
    if audits:
        groups["Printed numbers, audited"] = [_audit_row(audit) for audit in audits]
    return groups


def _claim_row(claim: Mapping[str, Any]) -> Row:
    verdict, comparisons = claim["verdict"], claim["comparisons"]
    notes, style = [], STYLES.get(verdict, "")
    if claim["control"]:
        wrong = claim["as_expected"] is False
        right = "control, as expected" if claim["as_expected"] else "control"
        right = "control, too weak" if is_too_weak(claim) else right
        notes = [f"control, expects {claim['expects']}" if wrong else right]
        style = "bold red" if wrong else "dim"
    means = effect = unit = p = ""
    # The verdict rests on all comparisons; shown is the one with the weakest evidence for it.
    weakest = deciding(claim)
    if weakest is not None:
        means = sides(weakest, f" {weakest['relation']} ").replace(MINUS, "-")
        effect = number(weakest["difference"]).replace(MINUS, "-")
        unit = clean(points(weakest["unit"]))
        p = "exact" if weakest["exact"] else p_value(deciding_p(weakest))
        several = len(comparisons) > 1
        notes += [f"the deciding one of {len(comparisons)}"] if several else []
        notes += filter(None, [bound(claim)])
        if weakest.get("hangs_on") is not None:
            notes.append(f"hangs on seed {weakest['hangs_on']}")
        if weakest.get("waits_for") is not None:
            notes.append(f"waits for {weakest['waits_for']} seeds")
        if weakest.get("contradicted"):
            notes.append("varies more than registered")
    return Row(clean(claim["id"]), clean(verdict), means, effect, unit, p, "; ".join(notes), style)


def _audit_row(audit: Mapping[str, Any]) -> Row:
    agree, checks = sum(check["consistent"] for check in audit["checks"]), len(audit["checks"])
    verdict, counted = clean(audit["verdict"]), f"{agree} of {checks}"
    return Row(clean(audit["id"]), verdict, "", counted, "agree", "", "", STYLES.get(verdict, ""))


def _table(groups: Mapping[str, Iterable[Row]]) -> RenderableType:
    """All rows as one table, whose columns are as wide as their content."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in HEADINGS:
        right = heading in ("means", "effect", "p")
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    for title, rows in groups.items():
        table.add_row()
        table.add_row(Text(title, "bold"))
        for row in rows:
            table.add_row(
                Text(row.id),
                Text(row.verdict, row.style),
                Text(row.means),
                Text(row.effect),
                Text(row.unit),
                Text(row.p),
                Text(row.note, row.style),
            )
    return table


def _stacked(console: Console, groups: Mapping[str, Iterable[Row]]) -> None:
    """Prints the rows with a claim's numbers below its id, for a terminal that is too narrow."""
    from rich.text import Text

    every = [row for rows in groups.values() for row in rows]
    means_width = max(len(row.means) for row in every)
    effect_width = max(len(row.effect) for row in every)
    unit_width = max(len(row.unit) for row in every)
    for title, rows in groups.items():
        console.print()
        console.print(Text(title, "bold"), soft_wrap=True)
        for row in rows:
            console.print(Text(row.id), soft_wrap=True)
            line = Text(f"  {row.verdict:<12}  ", row.style)
            p = row.p if row.p in ("", "exact") else f"p {row.p}"
            means, effect = f"{row.means:>{means_width}}", f"{row.effect:>{effect_width}}"
            line.append(f"{means}  {effect}  {row.unit:<{unit_width}}  {p:>10}  ", "default")
            console.print(line.append(row.note), soft_wrap=True)


def _reasons(claims: Iterable[Mapping[str, Any]]) -> list[Text]:
    """Why claims were not run, each reason once."""
    from rich.text import Text

    reasons: dict[str, int] = {}
    for claim in claims:
        if claim["verdict"] == "NOT RUN" and not claim["as_expected"]:
            reason = clean(claim["reason"])
            reasons[reason] = reasons.get(reason, 0) + 1
    lines = [
        Text.assemble((f"NOT RUN ({count}): ", STYLES["NOT RUN"]), reason)
        for reason, count in reasons.items()
    ]
    return [Text(""), *lines] if lines else []


def _sum(claims: Sequence[Mapping[str, Any]], audits: Sequence[Mapping[str, Any]]) -> Text:
    """The totals: how many claims got each verdict, and how many controls were as expected."""
    from rich.text import Text

    verdicts = [claim["verdict"] for claim in claims if not claim["control"]]
    text = Text("\n")
    text.append_text(_counted(verdicts, VERDICTS))
    text.append("".join(f"; {told}" for told in qualifications(claims)))
    outcomes = [claim["as_expected"] for claim in claims if claim["control"]]
    if outcomes:
        ran = len(outcomes) - outcomes.count(None)
        text.append("; controls ")
        wrong = outcomes.count(False)
        text.append(f"{outcomes.count(True)} of {ran} as expected", "bold red" if wrong else "")
        text.append(controls_left(claims))
    if audits:
        text.append("; audits ")
        text.append_text(
            _counted([audit["verdict"] for audit in audits], ("CONSISTENT", "INCONSISTENT"))
        )
    return text


def _counted(given: Sequence[str], verdicts: Iterable[str]) -> Text:
    from rich.text import Text

    counts = [(given.count(verdict), verdict) for verdict in verdicts]
    return Text(", ").join(
        Text(f"{count} {verdict}", STYLES[verdict] if count else "") for count, verdict in counts
    )
