"""A session's verdicts as Markdown, short enough for a pull request or a CI job's summary.

Every text may come from a third-party claim, so nothing of it is read as Markdown or as HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from embinit.claims.records import ClaimRecord
from embinit.errors import counted
from embinit.report import numbers
from embinit.report.baseline import LOST_ALONE, FailOn, Since
from embinit.report.document import Document, FindingSummary
from embinit.report.faults import faults
from embinit.report.summary import as_claimed, examples, in_words, tables, totals
from embinit.report.verdict_table import clean
from embinit.report.verdicts import (
    by_family,
    difference,
    interval_in_words,
    labelled_means,
    notes,
    p_in_words,
    tier_in_words,
    wanted,
)
from embinit.stats.statements import Verdict

SIGNS = {"SUPPORTED": "✅", "REFUTED": "❌", "NO EFFECT": "🟰", "UNDECIDED": "❔", "NOT RUN": "➖"}
OPEN_UP_TO = 20
"""Up to so many claims are shown in open tables; more are folded by family."""


def as_markdown(
    document: Document, since: Since | None = None, fail_on: FailOn = LOST_ALONE
) -> str:
    """The summary of a session: what is wrong, what changed, and each claim with its numbers.

    Changes ``since`` a baseline that ``fail_on`` includes are faults.
    """
    session = document.session
    wrong = faults(document, since, fail_on)
    lines = [f"### embinit: {_plain('; '.join(totals(document.summary)))}", ""]
    if wrong:
        lines += ["**Not OK:**", "", *_items(wrong), ""]
    if document.skipped:
        items = _items(map(str, document.skipped))
        lines += [f"**{len(items)} skipped:**", "", *items, ""]
    if since is not None:
        others = [str(change) for change in since.changes if not fail_on.includes(change)]
        title = [f"**{len(others)} changed since the baseline:**", ""] if others else []
        lines += [*title, *_items(others), "", since.in_words, ""]
    if tables([document]):
        lines += [findings_as_markdown([document], short=True), ""]
    lines += _claims(document.claims)
    runs = session.runs
    trained = f"{counted(runs.trained, 'run')} trained, {runs.stored} from the store"
    where = ", ".join(filter(None, [tier_in_words(session), session.device]))
    lines.append(_plain(f"{trained}; {where}; {numbers.duration(session.wall_seconds)}."))
    for note in session.notes:
        lines += ["", _plain(note)]
    for lock in session.locks:
        lines += ["", _plain(f"Registered in {lock.lock}, {lock.digest}.")]
    return "\n".join(lines) + "\n"


def findings_as_markdown(documents: Sequence[Document], short: bool = False) -> str:
    """The findings of each paper as a table; ``short`` leaves out the median effects' numbers."""
    lines = []
    for table in tables(documents):
        paper, columns = table.paper, table.columns.values()
        lines += [f"**{_plain(paper.short if short else paper.citation)}**", ""]
        lines += [f"| {' | '.join(['finding', *map(_plain, columns)])} |"]
        lines += [f"|{'---|' * (len(columns) + 1)}"]
        for title, cells in table.rows.items():
            texts = [
                _cell(cells.get(number), None if short else documents[number])
                for number in table.columns
            ]
            lines.append(f"| {' | '.join(map(_plain, [title, *texts]))} |")
        lines.append("")
    return "\n".join(
        lines or ["No paper here names findings; name one verdicts.json to see its claims."]
    )


def _cell(finding: FindingSummary | None, document: Document | None) -> str:
    """A finding's outcome, with the means and the differences of its examples in a document."""
    texts = [in_words(finding)]
    for claim in examples(finding, document) if finding and document else ():
        if (shown := claim.deciding) is not None:
            where = claim.experiment or claim.task or claim.place
            texts.append(
                f"{where}: {labelled_means(shown)}, {difference(shown)}, {as_claimed(claim)}"
            )
    return "; ".join(texts)


def _claims(claims: Sequence[ClaimRecord]) -> list[str]:
    """The claims as tables by family: open where they are few, folded where they are many."""
    lines = []
    for statement, entries in by_family(claims).items():
        if len(claims) <= OPEN_UP_TO:
            lines += [f"**{_plain(statement)}**", "", *_table(entries), ""]
        else:
            # A line of HTML is no Markdown, so its backslashes would be shown.
            summary = f"<summary>{_in_html(f'{statement}: {_tally(entries)}')}</summary>"
            lines += [f"<details>{summary}", "", *_table(entries), "", "</details>", ""]
    return lines


def _tally(entries: Iterable[ClaimRecord]) -> str:
    verdicts = [entry.verdict for entry in entries if not entry.control]
    counts = [f"{verdicts.count(name)} {name}" for name in Verdict if name in verdicts]
    return ", ".join(counts) or "controls alone"


def _table(entries: Sequence[ClaimRecord]) -> list[str]:
    level = f", {interval}" if (interval := interval_in_words(entries)) else ""
    head = [f"| verdict | claim | difference{level} | p | seeds |", "|---|---|---|---|---|"]
    return [*head, *map(_row, entries)]


def _row(claim: ClaimRecord) -> str:
    text = _plain(claim.statement)
    where = claim.experiment or claim.task
    if where:
        text += f" ({_plain(where)})"
    verdict, shown = claim.verdict, claim.deciding
    cells = [f"{SIGNS[verdict]} {verdict}", "; ".join([text, *map(_plain, notes(claim))])]
    if shown is None:
        return "| " + " | ".join([*cells, _plain(claim.reason), "", ""]) + " |"
    why = wanted(shown) or (claim.reason if verdict is Verdict.UNDECIDED else "")
    seeds = f"{shown.n}, {why}" if why else str(shown.n)
    cells += map(_plain, (difference(shown), p_in_words(shown), seeds))
    return f"| {' | '.join(cells)} |"


def _items(texts: Iterable[str]) -> list[str]:
    return [f"- {_plain(text)}" for text in texts]


def _plain(text: object) -> str:
    """``text`` on one line, of which nothing is read as Markdown, HTML, a mention or a link."""
    return re.sub(r"([\\`*_{}\[\]|~@!]|(?<!&)#)", r"\\\1", _in_html(text))


def _in_html(text: object) -> str:
    escaped = html.escape(clean(text), quote=False)
    # GitHub makes links of bare addresses, where it sees "://" or "www." unescaped.
    escaped = escaped.replace("://", ":&#47;&#47;")
    return re.sub(r"(?i)(www)\.", r"\1&#46;", escaped)
