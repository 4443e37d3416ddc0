"""Count verdicts and findings, once for the report, Markdown, README and terminal.

It is stored under ``summary``. A *finding* is a statement of a paper with the claims that test it.
It is counted by *setting*, a task with one kind of embeddings: one of several claims can decide
against it, and only all of them support it. Settings that could be run count. SUPPORTED, REFUTED
and NO EFFECT are decisions. NO EFFECT speaks against the claim, but decides nothing about a finding
where the margin is larger than the printed difference. A finding of which fewer than half of the
settings are decided is *inconclusive*. Else it *replicates* where every decision supports it, *does
not replicate* where none does, and is *mixed* otherwise. What only published embeddings can show is
*as claimed here* or *opposite here* on a synthetic language.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from embinit.claims.definitions import Origin, family_rank
from embinit.claims.registration_status import ABSENT, BEFOREHAND
from embinit.report.verdicts import (
    WORDS_OF_STATE,
    allows_print,
    deciding,
    in_margins,
    is_too_weak,
    qualified,
)
from embinit.stats.statements import VERDICTS, Relation, Verdict

SYNTHETIC, REAL = "synthetic language", "real text"
"""The two kinds of data."""

REPLICATES, FAILS, MIXED = "replicates", "does not replicate", "mixed"
INCONCLUSIVE, NOT_RUN = "inconclusive", "not run"
HERE = {REPLICATES: "as claimed here", FAILS: "opposite here"}
"""The words for what a synthetic language shows of a finding on published embeddings."""

LISTS = {
    "Replicates": (REPLICATES,),
    "Does not replicate, or mixed": (FAILS, MIXED),
    "Needs published embeddings": tuple(HERE.values()),
    "Inconclusive": (INCONCLUSIVE,),
    "Not run": (NOT_RUN,),
}
"""The lists that the report begins with, and the outcomes in each."""

DECIDED = {
    Verdict.SUPPORTED: "as claimed",
    Verdict.REFUTED: "the opposite of the claim",
    Verdict.NO_EFFECT: "smaller than the margin",
}
"""The verdicts that decide a claim, and what its difference then is."""

Entry = Mapping[str, Any]


def summarise(document: Mapping[str, Any]) -> dict[str, Any]:
    """The summary of a verdicts document, as ``verdicts.schema.json`` describes it."""
    claims = [entry for entry in document["claims"] if not entry["control"]]
    controls = [entry for entry in document["claims"] if entry["control"]]
    audits = Counter(audit["verdict"] for audit in document.get("audits", ()))
    return {
        "verdicts": _verdicts(claims),
        "qualified": dict(Counter(filter(None, map(qualified, claims)))),
        "controls": _controls(controls),
        "audits": {name: audits[name] for name in ("CONSISTENT", "INCONSISTENT")},
        "statements": list(_statements(claims)),
        "findings": list(_findings(document, claims)),
    }


def outcome(verdicts: Mapping[str, int], allowed: int = 0) -> str:
    """The outcome of a finding, in a word, from how many of its settings have each verdict.

    ``allowed`` of those with NO EFFECT have a margin larger than the printed difference.
    """
    ran = sum(verdicts.values()) - verdicts[Verdict.NOT_RUN]
    supported = verdicts[Verdict.SUPPORTED]
    decided = ran - verdicts[Verdict.UNDECIDED] - allowed
    if not ran:
        return NOT_RUN
    if 2 * decided < ran:
        return INCONCLUSIVE
    if supported == decided:
        return REPLICATES
    return MIXED if supported else FAILS


def tally(finding: Entry) -> str:
    """The counts of a finding in words, such as ``3 of 4, 1 undecided``; "" where none ran.

    The others that ran speak against it.
    """
    verdicts = finding["verdicts"]
    ran = sum(verdicts.values()) - verdicts[Verdict.NOT_RUN]
    if not ran:
        return ""
    undecided = verdicts[Verdict.UNDECIDED]
    more = f", {undecided} undecided" if undecided else ""
    return f"{verdicts[Verdict.SUPPORTED]} of {ran}{more}"


def examples(finding: Entry, claims: Mapping[str, Entry]) -> list[Entry]:
    """The claims whose numbers a finding shows: its median, and if mixed one decided otherwise."""
    if finding["middle"] is None:
        return []
    middle = claims[finding["middle"]]
    others = (claims[name] for name in finding["claims"])
    differs = (one for one in others if one["verdict"] in DECIDED.keys() - {middle["verdict"]})
    return [middle, *islice(differs, finding["outcome"] == MIXED)]


def as_claimed(claim: Entry) -> str:
    """What a claim's difference shows, in words."""
    return DECIDED.get(claim["verdict"], str(claim["verdict"]).lower())


def in_words(finding: Entry | None) -> str:
    """A finding's outcome with its counts; a dash for one that was not tested."""
    if finding is None:
        return "–"
    tried = ", ".join(finding.get("sources", ()))
    counts = " ".join(filter(None, [tally(finding), tried and f"({tried})"]))
    return ", ".join(filter(None, [finding["outcome"], counts]))


def totals(summary: Entry) -> list[str]:
    """The counts of claims, controls and audits in words."""
    texts = [", ".join(f"{number} {name}" for name, number in summary["verdicts"].items())]
    texts += [f"{count} of the SUPPORTED {words}" for words, count in summary["qualified"].items()]
    texts.append(controls_in_words(summary["controls"]))
    if checked := sum(summary["audits"].values()):
        consistent = summary["audits"]["CONSISTENT"]
        texts.append(f"{consistent} of {checked} checks of the papers' printed numbers agree")
    return texts


def controls_in_words(controls: Mapping[str, int]) -> str:
    """How many controls came out as expected, and how many say nothing."""
    words = {"not_run": "not run", "too_weak": "UNDECIDED"}
    others = [f"{controls[name]} {said}" for name, said in words.items() if controls[name]]
    every = sum(controls.values())
    if not every:
        return "no controls"
    return ", ".join([f"controls {controls['as_expected']} of {every} as expected", *others])


def _verdicts(claims: Iterable[Entry]) -> dict[str, int]:
    counts = Counter(entry["verdict"] for entry in claims)
    return {str(name): counts[name] for name in VERDICTS}


def _controls(controls: Sequence[Entry]) -> dict[str, int]:
    outcomes = [entry["as_expected"] for entry in controls]
    weak = sum(map(is_too_weak, controls))
    return {
        "as_expected": outcomes.count(True),
        "not_as_expected": outcomes.count(False),
        "not_run": outcomes.count(None) - weak,
        "too_weak": weak,
    }


def _statements(claims: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """The counts of claims by author of the statement, and by whether training decides them."""
    origins = [*Origin]
    groups: dict[tuple[str, int, bool], list[Entry]] = {}
    for entry in claims:
        kind = (entry["paper"], origins.index(entry["origin"]), not entry["trained"])
        groups.setdefault(kind, []).append(entry)
    for (paper, origin, arithmetic), of_kind in sorted(groups.items(), key=lambda one: one[0]):
        whose = f"{origins[origin].in_words} statements"
        whose += ", by arithmetic on tables" if arithmetic else ""
        yield {"paper": paper, "whose": whose, **_registered(of_kind)}


def _registered(claims: Sequence[Entry]) -> dict[str, Any]:
    known = [entry.get("registration", {"state": ABSENT, "differs": ""}) for entry in claims]
    late = [line for line in known if line["state"] != BEFOREHAND]
    reasons = Counter(line["differs"] or WORDS_OF_STATE[line["state"]] for line in late)
    return {
        "claims": len(claims),
        "verdicts": _verdicts(claims),
        "beforehand": len(known) - len(late),
        "late": dict(reasons),
    }


def _findings(document: Mapping[str, Any], claims: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    papers = {paper["key"]: paper for paper in document["session"].get("papers", ())}
    for key, _ in Counter(entry["paper"] for entry in claims).most_common():
        of_paper = [entry for entry in claims if entry["paper"] == key]
        paper = papers.get(key, {})
        for finding in paper.get("findings") or _by_statement(of_paper):
            counted = [entry for entry in of_paper if statement_of(entry) in finding["claims"]]
            if counted:
                settings, middle = _settings(counted), _middle(counted)
                verdicts = _verdicts(settings)
                data = _data(document["session"]["tier"], paper)
                word = outcome(verdicts, sum(map(allows_print, settings)))
                if finding.get("published") and data == SYNTHETIC:
                    word = HERE.get(word, word)
                tried = {entry.get("source_label") or "": None for entry in counted}
                yield {
                    "paper": key,
                    "says": finding["says"],
                    "named": bool(paper.get("findings")),
                    "data": data,
                    "outcome": word,
                    "sources": [*filter(None, tried)],
                    "verdicts": verdicts,
                    "claims": [entry["id"] for entry in counted],
                    "middle": None if middle is None else middle["id"],
                }


_AGAINST_FIRST = (
    Verdict.REFUTED,
    Verdict.NO_EFFECT,
    Verdict.UNDECIDED,
    Verdict.NOT_RUN,
    Verdict.SUPPORTED,
)
"""The order in which the verdict of one claim is that of its whole setting."""


def _settings(claims: Iterable[Entry]) -> list[Entry]:
    """For each setting of some claims, an experiment, the claim whose verdict it has."""
    groups: dict[str, list[Entry]] = {}
    for entry in claims:
        groups.setdefault(entry.get("experiment") or entry["id"], []).append(entry)
    return [
        min(group, key=lambda entry: _AGAINST_FIRST.index(Verdict(entry["verdict"])))
        for group in groups.values()
    ]


def statement_of(entry: Entry) -> str:
    """A claim's id without its setting."""
    return str(entry["id"]).partition("[")[0]


def _by_statement(claims: Iterable[Entry]) -> list[dict[str, Any]]:
    """Each claim as a finding, over all its settings, for a paper that names none."""
    ordered = sorted(claims, key=lambda entry: family_rank(entry["family"]))
    statements = {statement_of(entry): entry["statement"] for entry in ordered}
    return [{"says": text, "claims": [name]} for name, text in statements.items()]


def _data(tier: str, paper: Entry) -> str:
    """The kind of a paper's data on a tier; "" where it is unknown."""
    made = paper.get("made")
    return "" if not made else SYNTHETIC if tier in made else REAL


def _middle(claims: Iterable[Entry]) -> Entry | None:
    """The decided claim of the median effect in margins; an undecided one if there is no other.

    One that states a difference goes before one that allows a margin.
    """
    pairs = [(entry, one) for entry in claims if (one := deciding(entry)) is not None]
    decided = [pair for pair in pairs if pair[0]["verdict"] != Verdict.UNDECIDED] or pairs
    stated = [pair for pair in decided if not Relation(pair[1]["relation"]).uses_margin] or decided
    if not stated:
        return None
    sizes = {id(entry): in_margins(one, one["difference"]) or 0.0 for entry, one in stated}
    median = statistics.median_high(sizes.values())
    return next(entry for entry, _ in stated if sizes[id(entry)] == median)


@dataclass(frozen=True)
class Table:
    """The findings that one paper names, in several documents.

    A column has the number of its document and its kind of data, a row a finding's title and its
    entry in each column.
    """

    citation: str
    short: str
    columns: tuple[tuple[int, str], ...]
    rows: tuple[tuple[str, tuple[Entry | None, ...]], ...]


def tables(documents: Sequence[Mapping[str, Any]]) -> list[Table]:
    """The findings of all papers that name some, merged by titles."""
    named = [[one for one in report["summary"]["findings"] if one["named"]] for report in documents]
    kinds = [findings[0]["data"] if findings else "" for findings in named]
    tiers = [f"{document['session']['tier']} tier" for document in documents]
    # The tier is named where the kind of data is unknown, or that of several documents.
    names = [
        kind if kind and kinds.count(kind) == 1 else ", ".join(filter(None, (kind, tier)))
        for kind, tier in zip(kinds, tiers, strict=True)
    ]
    known = [one for document in documents for one in document["session"].get("papers", ())]
    found = []
    for key in dict.fromkeys(one["paper"] for findings in named for one in findings):
        cells = {
            (one["says"], number): one
            for number, findings in enumerate(named)
            for one in findings
            if one["paper"] == key
        }
        unknown = {"citation": key, "short": key}
        paper = next((one for one in known if one["key"] == key), unknown)
        columns = sorted({number for _, number in cells})
        rows = (
            (title, tuple(cells.get((title, number)) for number in columns))
            for title in dict.fromkeys(title for title, _ in cells)
        )
        headed = tuple((number, names[number]) for number in columns)
        found.append(Table(paper["citation"], paper["short"], headed, tuple(rows)))
    return found


def lists(every: Sequence[Table]) -> dict[str, dict[str, list[str]]]:
    """The titles of all findings by kind of data, real text first, and outcome; *mixed* is said."""
    kinds = {column for table in every for _, column in table.columns}
    ordered = sorted(kinds, key=lambda kind: (SYNTHETIC in kind, kind))
    groups = {kind: {name: list[str]() for name in LISTS} for kind in ordered}
    for table in every:
        for title, cells in table.rows:
            found = {column: cell for (_, column), cell in zip(table.columns, cells, strict=True)}
            for kind, titles in groups.items():
                word = cell["outcome"] if (cell := found.get(kind)) else NOT_RUN
                name = next(name for name in LISTS if word in LISTS[name])
                titles[name].append(f"{title} ({MIXED})" if word == MIXED else title)
    return groups
