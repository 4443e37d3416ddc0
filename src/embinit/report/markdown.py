"""A session's verdicts as Markdown, short enough for a pull request or a CI job's summary.

Every text may come from a third-party claim, so nothing of it is read as Markdown or as HTML.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from embinit.claims.records import ClaimRecord
from embinit.errors import counted
from embinit.report import numbers, summary, verdicts
from embinit.report.baseline import Since
from embinit.report.document import Document, FindingSummary
from embinit.report.faults import faults
from embinit.report.verdict_table import clean
from embinit.stats.statements import Verdict

SIGNS = {"SUPPORTED": "✅", "REFUTED": "❌", "NO EFFECT": "🟰", "UNDECIDED": "❔", "NOT RUN": "➖"}
OPEN_UP_TO = 20
"""Up to so many claims are shown in open tables; more are folded by family."""


def as_markdown(document: Document, since: Since | None = None) -> str:
    """The summary of a session: what is wrong, what changed, and each claim with its numbers."""
    session = document.session
    lines = [f"### embinit: {_plain('; '.join(summary.totals(document.summary)))}", ""]
    lines += _list("Not OK:", faults(document, since))
    lines += _list(f"{len(document.skipped)} skipped:", document.skipped)
    if since is not None:
        others = [change for change in since.changes if not change.fault]
        lines += _list(f"{len(others)} changed since the baseline:", others) or [""]
        lines += [since.in_words, ""]
    if summary.tables([document]):
        lines += [findings_as_markdown([document], short=True), ""]
    lines += _claims(document.claims)
    runs = session.runs
    trained = f"{counted(runs.trained, 'run')} trained, {runs.stored} from the store"
    where = ", ".join(filter(None, [verdicts.tier_in_words(session), session.device]))
    lines.append(_plain(f"{trained}; {where}; {numbers.duration(session.wall_seconds)}."))
    for note in session.notes:
        lines += ["", _plain(note)]
    for lock in session.locks:
        lines += ["", _plain(f"Registered in {lock.lock}, {lock.digest}.")]
    return "\n".join(lines) + "\n"


def findings_as_markdown(documents: Sequence[Document], short: bool = False) -> str:
    """The findings of each paper as a table; ``short`` leaves out the median effects' numbers."""
    lines = []
    for table in summary.tables(documents):
        paper, columns = table.paper, table.columns
        lines += [f"**{_plain(paper.short if short else paper.citation)}**", ""]
        lines += [_row("finding", *columns.values()), f"|{'---|' * (len(columns) + 1)}"]
        for title, found in table.rows.items():
            cells = (
                _cell(found.get(number), None if short else documents[number]) for number in columns
            )
            lines.append(_row(title, *cells))
        lines.append("")
    return "\n".join(
        lines or ["No paper here names findings; name one verdicts.json to see its claims."]
    )


def _cell(finding: FindingSummary | None, document: Document | None) -> str:
    """A finding's outcome, with the means and the differences of its examples in a document."""
    texts = [summary.in_words(finding)]
    for claim in summary.examples(finding, document) if finding and document else ():
        if (shown := claim.deciding) is not None:
            where = claim.experiment or claim.task or claim.place
            effect = f"{verdicts.labelled_means(shown)}, {verdicts.difference(shown)}"
            texts.append(f"{where}: {effect}, {summary.as_claimed(claim)}")
    return "; ".join(texts)


def _claims(claims: Sequence[ClaimRecord]) -> list[str]:
    """The claims as tables by family: open where they are few, folded where they are many."""
    lines = []
    for statement, entries in verdicts.by_family(claims).items():
        level = verdicts.interval_in_words(entries)
        effect = f"difference, {level}" if level else "difference"
        table = [_row("verdict", "claim", effect, "p", "seeds"), "|---|---|---|---|---|"]
        table += map(_claim, entries)
        if len(claims) <= OPEN_UP_TO:
            lines += [f"**{_plain(statement)}**", "", *table, ""]
        else:
            # A line of HTML is no Markdown, so its backslashes would be shown.
            title = f"<summary>{_in_html(f'{statement}: {_tally(entries)}')}</summary>"
            lines += [f"<details>{title}", "", *table, "", "</details>", ""]
    return lines


def _tally(entries: Iterable[ClaimRecord]) -> str:
    found = [entry.verdict for entry in entries if not entry.control]
    counts = [f"{found.count(name)} {name}" for name in Verdict if name in found]
    return ", ".join(counts) or "controls alone"


def _claim(claim: ClaimRecord) -> str:
    """A claim's row: the numbers of the comparison that decides it, or why there are none."""
    verdict, where = claim.verdict, claim.experiment or claim.task
    text = f"{claim.statement} ({where})" if where else claim.statement
    effect, p, seeds = claim.reason, "", ""
    if (shown := claim.deciding) is not None:
        why = verdicts.wanted(shown) or (claim.reason if verdict is Verdict.UNDECIDED else "")
        effect, p = verdicts.difference(shown), verdicts.p_in_words(shown)
        seeds = f"{shown.n}, {why}" if why else str(shown.n)
    noted = "; ".join([text, *verdicts.notes(claim)])
    return _row(f"{SIGNS[verdict]} {verdict}", noted, effect, p, seeds)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(_plain, cells))} |"


def _list(title: str, texts: Sequence[object]) -> list[str]:
    """The lines of a list with its title; none for an empty one."""
    items = [f"- {_plain(text)}" for text in texts]
    return [f"**{title}**", "", *items, ""] if items else []


def _plain(text: object) -> str:
    """``text`` on one line, of which nothing is read as Markdown, HTML, a mention or a link."""
    return re.sub(r"([\\`*_{}\[\]|~@!]|(?<!&)#)", r"\\\1", _in_html(text))


def _in_html(text: object) -> str:
    escaped = html.escape(clean(text), quote=False)
    # GitHub makes links of bare addresses, where it sees "://" or "www." unescaped.
    escaped = escaped.replace("://", ":&#47;&#47;")
    return re.sub(r"(?i)(www)\.", r"\1&#46;", escaped)
