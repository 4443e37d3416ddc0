"""A session's verdicts as Markdown, short enough for a pull request or a CI job's summary.

Every text may come from a third-party claim, so nothing of it is read as Markdown or as HTML.
"""

from __future__ import annotations

import html
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embinit.claims.definitions import family_rank
from embinit.claims.paired_tests import VERDICTS
from embinit.errors import counted
from embinit.report import numbers
from embinit.report.baseline import changes, faults, is_fault
from embinit.report.findings import Outcome, fronts
from embinit.report.page import headline
from embinit.report.verdict_table import clean
from embinit.report.verdicts import deciding, deciding_p, is_too_weak, qualified, wanted

SIGNS = {"SUPPORTED": "✅", "REFUTED": "❌", "NO EFFECT": "🟰", "UNDECIDED": "❔", "NOT RUN": "➖"}
OPEN_UP_TO = 20
"""So many claims stand open; more are folded by family."""

LARGEST = 900_000
"""In bytes; a step's summary on GitHub takes up to 1 MiB."""


def as_markdown(
    document: Mapping[str, Any],
    baseline: Mapping[str, Any] | None = None,
    moved: float | None = None,
) -> str:
    """The summary of a session: what is wrong, what changed, and each claim with its numbers.

    Args:
        document: The verdicts document.
        baseline: The one that it is compared with; None compares with nothing.
        moved: By how many margins a difference may move from the baseline's; None for any move.

    Raises:
        InputError: The two are of different tiers.
    """
    session = document["session"]
    since = [] if baseline is None else changes(document, baseline)
    wrong = faults(document, baseline, moved)
    lines = [f"### embinit: {_plain(headline(document['claims']))}", ""]
    if wrong:
        lines += ["**Not in order:**", "", *_items(wrong), ""]
    if skipped := document.get("skipped", ()):
        items = [f"{each.get('id', each.get('nodeid'))}: {each.get('reason')}" for each in skipped]
        lines += [f"**{len(items)} skipped:**", "", *_items(items), ""]
    if others := [str(change) for change in since if not is_fault(change, moved)]:
        lines += [f"**{len(others)} moved since the baseline:**", "", *_items(others), ""]
    elif baseline is not None and not wrong:
        lines += ["Against the baseline, every verdict is as it was.", ""]
    lines += _claims(document["claims"])
    runs = session["runs"]
    told = f"{counted(runs['trained'], 'run')} trained, {runs['stored']} from the store"
    where = f"{session['tier']} tier, {session['device']}"
    lines.append(_plain(f"{told}; {where}; {numbers.duration(session['wall_seconds'])}."))
    for note in session.get("notes", ()):
        lines += ["", _plain(note)]
    for each in session.get("locks", ()):
        lines += ["", _plain(f"Registered in {each['lock']}, {each['digest']}.")]
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > LARGEST:
        return "\n".join([*lines[:2], "The claims are too many for this summary; see the report."])
    return text


def _claims(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """The claims as tables by family: open where they are few, folded where they are many."""
    families: dict[str, list[Mapping[str, Any]]] = {}
    for claim in sorted(claims, key=lambda claim: (family_rank(claim["family"]), claim["control"])):
        families.setdefault(claim["family"], []).append(claim)
    lines = []
    for name, entries in families.items():
        says = entries[0]["family_says"] or name
        if len(claims) <= OPEN_UP_TO:
            lines += [f"**{_plain(says)}**", "", *_table(entries), ""]
        else:
            # A line of HTML is no Markdown, so its backslashes would be shown.
            title = html.escape(clean(f"{says}: {_tally(entries)}"))
            summary = f"<summary>{title}</summary>"
            lines += [f"<details>{summary}", "", *_table(entries), "", "</details>", ""]
    return lines


def _tally(entries: Iterable[Mapping[str, Any]]) -> str:
    verdicts = [entry["verdict"] for entry in entries if not entry["control"]]
    told = [f"{verdicts.count(name)} {name}" for name in VERDICTS if name in verdicts]
    return ", ".join(told) or "controls alone"


def _table(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    head = ["| verdict | claim | difference | p | seeds |", "|---|---|---|---|---|"]
    return [*head, *map(_row, entries)]


def _row(claim: Mapping[str, Any]) -> str:
    says = _plain(claim["statement"])
    where = claim["experiment"] or claim["task"]
    if where:
        says += f" ({_plain(where)})"
    if claim["control"]:
        words = {True: "as expected", False: "**not as expected**", None: "not run"}
        says += f"; control, {'too weak' if is_too_weak(claim) else words[claim['as_expected']]}"
    verdict = claim["verdict"]
    says += f"; {told}" if (told := qualified(claim)) else ""
    cells = [f"{SIGNS.get(verdict, '')} {_plain(verdict)}", says]
    shown = deciding(claim)
    if shown is None:
        return "| " + " | ".join([*cells, _plain(claim["reason"]), "", ""]) + " |"
    places = numbers.decimals([shown["difference"], *shown["interval"]])
    effect = numbers.number(shown["difference"], places)
    if not shown["exact"]:
        effect += f" {numbers.interval(shown['interval'], places)}"
    p = "exact" if shown["exact"] else numbers.p_value(deciding_p(shown))
    seeds = str(shown["n"]) + (f", {wanted(shown)}" if verdict == "UNDECIDED" else "")
    return "| " + " | ".join([*cells, *map(_plain, (f"{effect} {shown['unit']}", p, seeds))]) + " |"


def _items(texts: Iterable[str]) -> list[str]:
    return [f"- {_plain(text)}" for text in texts]


def _plain(text: object) -> str:
    """``text`` on one line, of which nothing is read as Markdown, HTML, a mention or a link."""
    escaped = html.escape(clean(text), quote=False)
    # GitHub makes links of bare addresses, where it sees "://" or "www." as they are.
    escaped = escaped.replace("://", ":&#47;&#47;")
    escaped = re.sub(r"(?i)(www)\.", r"\1&#46;", escaped)
    return re.sub(r"([\\`*_{}\[\]|~@!]|(?<!&)#)", r"\\\1", escaped)


def findings_as_markdown(documents: Sequence[Mapping[str, Any]], short: bool = False) -> str:
    """The findings of each paper as a table: how they came out on each tier, and how sure one is.

    Args:
        documents: Verdicts documents, one a tier.
        short: Whether only what was shown is told, and no numbers.
    """
    lines = []
    for front in fronts(documents):
        tried = [any(row.outcomes[at] for row in front.rows) for at in range(len(front.tiers))]
        tiers = [kind or f"`{tier}`" for tier, kind in itertools.compress(front.tiers, tried)]
        lines += [f"**{_plain(front.short if short else front.citation)}**", ""]
        heads = [f"{tier} | how sure" for tier in tiers]
        lines += [f"| finding | {' | '.join(heads)} |", f"|{'---|' * (2 * len(tiers) + 1)}"]
        for row in front.rows:
            outcomes = itertools.compress(row.outcomes, tried)
            cells = [f"{_outcome(each, short)} | {_sure(each)}" for each in outcomes]
            lines.append(f"| {_plain(row.says)} | {' | '.join(cells)} |")
        lines.append("")
        if not short and front.of_families:
            every = [each for one in documents for each in one["claims"]]
            claims = [each for each in every if each["paper"] == front.key]
            lines += _claims(claims) if len(claims) <= OPEN_UP_TO else []
    return "\n".join(lines or ["There are no claims in these verdicts."])


def _sure(outcome: Outcome | None) -> str:
    return outcome.certainty if outcome is not None and outcome.decided else "–"


def _outcome(outcome: Outcome | None, short: bool) -> str:
    if outcome is None:
        return "not tried"
    if short:
        return _plain(outcome.tally)
    told = f"{outcome.word}: {outcome.tally}" if outcome.ran else outcome.word
    if not outcome.numbers:
        return _plain(told)
    return _plain(f"{told}; {outcome.numbers}, {outcome.difference}")
