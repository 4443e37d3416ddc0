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
from dataclasses import dataclass, replace
from itertools import islice

from embinit.claims.definitions import Origin, family_rank
from embinit.claims.records import AuditRecord, ClaimRecord, Consistency, State
from embinit.papers import Finding
from embinit.report.document import (
    FAILS,
    HERE,
    INCONCLUSIVE,
    MIXED,
    NOT_RUN,
    NOT_TESTABLE,
    OWN_SIZE,
    REAL,
    REPLICATES,
    SYNTHETIC,
    ControlCounts,
    Document,
    FindingSummary,
    PaperRecord,
    SessionRecord,
    StatementCounts,
    Summary,
)
from embinit.report.verdicts import allows_print, control_state, in_margins, qualified
from embinit.stats.statements import Verdict

LISTS = {
    "Replicates": (REPLICATES,),
    "Does not replicate, or mixed": (FAILS, MIXED),
    "Needs published embeddings": tuple(HERE.values()),
    "Inconclusive": (INCONCLUSIVE,),
    "Not run": (NOT_RUN, NOT_TESTABLE),
}
"""The lists that the report begins with, and the outcomes in each."""

DECIDED = {
    Verdict.SUPPORTED: "as claimed",
    Verdict.REFUTED: "the opposite of the claim",
    Verdict.NO_EFFECT: "smaller than the margin",
}
"""The verdicts that decide a claim, and what its difference then is."""


def summarise(
    session: SessionRecord, claims: Sequence[ClaimRecord], audits: Iterable[AuditRecord]
) -> Summary:
    """All counts of a session's claims and audits."""
    stated = [claim for claim in claims if not claim.control]
    controls = Counter(control_state(claim) for claim in claims if claim.control)
    checked = Counter(audit.verdict for audit in audits)
    return Summary(
        verdicts=_verdicts(stated),
        qualified=dict(Counter(filter(None, map(qualified, stated)))),
        controls=ControlCounts(
            as_expected=controls["as expected"],
            not_as_expected=controls["not as expected"],
            not_run=controls["not run"],
            too_weak=controls["too weak"],
        ),
        audits={str(name): checked[name] for name in Consistency},
        statements=tuple(_statements(stated)),
        findings=tuple(_findings(session, stated)),
    )


def summarised(document: Document) -> Document:
    """A document with its counts made anew."""
    summary = summarise(document.session, document.claims, document.audits)
    return replace(document, summary=summary)


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


def tally(finding: FindingSummary) -> str:
    """The counts of a finding in words, such as ``3 of 4, 1 undecided``; "" where none ran.

    The others that ran speak against it.
    """
    verdicts = finding.verdicts
    ran = sum(verdicts.values()) - verdicts[Verdict.NOT_RUN]
    if not ran:
        return ""
    undecided = verdicts[Verdict.UNDECIDED]
    if undecided == ran:
        return f"{undecided} undecided"
    more = f", {undecided} undecided" if undecided else ""
    return f"{verdicts[Verdict.SUPPORTED]} of {ran}{more}"


def examples(finding: FindingSummary, document: Document) -> list[ClaimRecord]:
    """The claims whose numbers a finding shows: its median, and if mixed one decided otherwise."""
    if finding.middle is None:
        return []
    middle = document.by_id[finding.middle]
    others = (document.by_id[name] for name in finding.claims)
    differs = (one for one in others if one.verdict in DECIDED.keys() - {middle.verdict})
    return [middle, *islice(differs, finding.outcome == MIXED)]


def as_claimed(claim: ClaimRecord) -> str:
    """What a claim's difference shows, in words."""
    return DECIDED.get(claim.verdict, claim.verdict.lower())


def in_words(finding: FindingSummary | None) -> str:
    """A finding's outcome with its counts; a dash for one that was not tested."""
    if finding is None:
        return "–"
    tried = ", ".join(finding.sources)
    counts = " ".join(filter(None, [tally(finding), tried and f"({tried})"]))
    return ", ".join(filter(None, [finding.outcome, counts]))


def totals(summary: Summary) -> list[str]:
    """The counts of claims, controls and audits in words."""
    texts = [", ".join(f"{number} {name}" for name, number in summary.verdicts.items())]
    texts += [f"{count} of the SUPPORTED {words}" for words, count in summary.qualified.items()]
    texts.append(controls_in_words(summary.controls))
    if checked := sum(summary.audits.values()):
        consistent = summary.audits[Consistency.CONSISTENT]
        texts.append(f"{consistent} of {checked} checks of the papers' printed numbers agree")
    return texts


def controls_in_words(controls: ControlCounts) -> str:
    """How many controls came out as expected, and how many say nothing."""
    every = sum(vars(controls).values())
    if not every:
        return "no controls"
    idle = ((controls.not_run, "not run"), (controls.too_weak, "UNDECIDED"))
    others = [f"{number} {said}" for number, said in idle if number]
    return ", ".join([f"controls {controls.as_expected} of {every} as expected", *others])


def _verdicts(claims: Iterable[ClaimRecord]) -> dict[str, int]:
    counts = Counter(claim.verdict for claim in claims)
    return {str(name): counts[name] for name in Verdict}


def _statements(claims: Sequence[ClaimRecord]) -> Iterator[StatementCounts]:
    """The counts of claims by author of the statement, and by whether training decides them."""
    origins = [*Origin]
    groups: dict[tuple[str, int, bool], list[ClaimRecord]] = {}
    for claim in claims:
        kind = (claim.paper, origins.index(claim.origin), not claim.trained)
        groups.setdefault(kind, []).append(claim)
    for (paper, origin, arithmetic), of_kind in sorted(groups.items(), key=lambda one: one[0]):
        whose = f"{origins[origin].in_words} statements"
        late = Counter(filter(None, map(_late, of_kind)))
        yield StatementCounts(
            paper=paper,
            whose=f"{whose}, by arithmetic on tables" if arithmetic else whose,
            claims=len(of_kind),
            verdicts=_verdicts(of_kind),
            beforehand=len(of_kind) - late.total(),
            late=dict(late),
        )


def _late(claim: ClaimRecord) -> str:
    """Why a claim does not count as registered before its runs; "" where it does."""
    if (known := claim.registration) is None:
        return State.ABSENT.in_words
    return "" if known.state is State.BEFOREHAND else known.differs or known.state.in_words


def _findings(session: SessionRecord, claims: Sequence[ClaimRecord]) -> Iterator[FindingSummary]:
    papers = {paper.key: paper for paper in session.papers}
    for key, _ in Counter(claim.paper for claim in claims).most_common():
        of_paper = [claim for claim in claims if claim.paper == key]
        paper = papers.get(key)
        data = _data(session.tier, paper)
        named = () if paper is None else paper.findings
        for finding in named or _by_statement(of_paper):
            found = [claim for claim in of_paper if statement_of(claim) in finding.claims]
            untestable = session.tier in finding.untestable
            if not (found or untestable):
                continue
            settings = _settings(found)
            verdicts = _verdicts(settings)
            word = outcome(verdicts, sum(map(allows_print, settings)))
            if finding.published and data == SYNTHETIC:
                word = HERE.get(word, word)
            tried = (claim.source_label for claim in found if claim.verdict is not Verdict.NOT_RUN)
            yield FindingSummary(
                paper=key,
                says=finding.says,
                named=bool(named),
                data=data,
                outcome=NOT_TESTABLE if untestable else word,
                sources=tuple(dict.fromkeys(filter(None, tried))),
                verdicts=verdicts,
                claims=tuple(claim.id for claim in found),
                middle=_middle(settings),
            )


_AGAINST_FIRST = (
    Verdict.REFUTED,
    Verdict.NO_EFFECT,
    Verdict.UNDECIDED,
    Verdict.NOT_RUN,
    Verdict.SUPPORTED,
)
"""The order in which the verdict of one claim is that of its whole setting."""


def _settings(claims: Iterable[ClaimRecord]) -> list[ClaimRecord]:
    """For each setting of some claims, an experiment, the claim whose verdict it has."""
    groups: dict[str, list[ClaimRecord]] = {}
    for claim in claims:
        groups.setdefault(claim.experiment or claim.id, []).append(claim)
    return [
        min(group, key=lambda claim: _AGAINST_FIRST.index(claim.verdict))
        for group in groups.values()
    ]


def statement_of(claim: ClaimRecord) -> str:
    """A claim's id without its setting."""
    return claim.id.partition("[")[0]


def _by_statement(claims: Iterable[ClaimRecord]) -> list[Finding]:
    """Each claim as a finding, over all its settings, for a paper that names none."""
    ordered = sorted(claims, key=lambda claim: family_rank(claim.family))
    statements = {statement_of(claim): claim.statement for claim in ordered}
    return [Finding(says=text, claims=(name,)) for name, text in statements.items()]


def _data(tier: str, paper: PaperRecord | None) -> str:
    """The kind of a paper's data on a tier; "" where it is unknown."""
    if paper is None or not paper.made:
        return ""
    if tier in paper.made:
        return SYNTHETIC
    return OWN_SIZE if tier in paper.own_size else REAL


def _middle(settings: Iterable[ClaimRecord]) -> str | None:
    """The id of the claim of the median effect among those that settings have their verdict from.

    One that is decided goes before one that is not, one that states a difference before one that
    allows a margin.
    """
    pairs = [(claim, one) for claim in settings if (one := claim.deciding) is not None]
    pairs = [pair for pair in pairs if pair[0].verdict is not Verdict.UNDECIDED] or pairs
    pairs = [pair for pair in pairs if not pair[1].relation.uses_margin] or pairs
    sizes = {claim.id: in_margins(one, one.difference) or 0.0 for claim, one in pairs}
    median = statistics.median_high(sizes.values()) if sizes else None
    return next((name for name, size in sizes.items() if size == median), None)


@dataclass(frozen=True)
class FindingsTable:
    """The findings that one paper names, in several documents.

    ``columns`` are the kinds of data by the numbers of the documents, ``rows`` what came of a
    finding in each document that tested it, by the finding's title.
    """

    paper: PaperRecord
    columns: Mapping[int, str]
    rows: Mapping[str, Mapping[int, FindingSummary]]

    def lacking(self, finding: FindingSummary) -> list[str]:
        """The finding's claims that its session lacks: with them it may come out differently."""
        there = {name.partition("[")[0] for name in finding.claims}
        named = {one.says: one.claims for one in self.paper.findings}
        return [name for name in named.get(finding.says, ()) if there and name not in there]


def tables(documents: Sequence[Document]) -> list[FindingsTable]:
    """The findings of all papers that name some, merged by titles."""
    papers = {one.key: one for document in reversed(documents) for one in document.session.papers}
    found: dict[str, dict[str, dict[int, FindingSummary]]] = {}
    kinds = [""] * len(documents)
    for number, document in enumerate(documents):
        for one in document.summary.findings:
            if one.named:
                found.setdefault(one.paper, {}).setdefault(one.says, {})[number] = one
                kinds[number] = one.data
    names = {}
    for number, kind in enumerate(kinds):
        alone = kind and kinds.count(kind) == 1
        tier = "" if alone else f"{documents[number].session.tier} tier"
        names[number] = ", ".join(filter(None, (kind, tier)))
    every = []
    for key, rows in found.items():
        there = {number for cells in rows.values() for number in cells}
        columns = {number: name for number, name in names.items() if number in there}
        unknown = PaperRecord(key=key, citation=key, short=key, made=(), findings=())
        every.append(FindingsTable(papers.get(key, unknown), columns, rows))
    return every


def lists(documents: Sequence[Document]) -> dict[str, dict[str, list[str]]]:
    """The titles of all findings by kind of data, real text first, and outcome.

    *Mixed*, *not testable* and *in part* are said.
    """
    every = tables(documents)
    kinds = {column for table in every for column in table.columns.values()}
    ordered = sorted(kinds, key=lambda kind: (SYNTHETIC in kind, kind))
    groups = {kind: {name: list[str]() for name in LISTS} for kind in ordered}
    for table in every:
        for title, cells in table.rows.items():
            found = {table.columns[number]: cell for number, cell in cells.items()}
            for kind, titles in groups.items():
                cell = found.get(kind)
                word = cell.outcome if cell else NOT_RUN
                said = [word] if word in (MIXED, NOT_TESTABLE) else []
                said += ["in part"] if cell and table.lacking(cell) else []
                name = next(name for name in LISTS if word in LISTS[name])
                titles[name].append(f"{title} ({', '.join(said)})" if said else title)
    return groups
