"""Make a session's document from judged claims and the runs in a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter

from embinit.claims.records import AuditRecord, ClaimRecord
from embinit.claims.run_checks import repeated_otherwise
from embinit.files.typed import from_json
from embinit.papers import Paper, papers_of
from embinit.report.document import (
    SCHEMA_VERSION,
    Document,
    FindingRecord,
    Machine,
    PaperRecord,
    RunCounts,
    SessionRecord,
    Unjudged,
)
from embinit.report.summary import summarise
from embinit.report.verdicts import locks_of, with_insensitive_noted
from embinit.runs.functions import other_versions, untraced
from embinit.runs.results import RunResult, machines_of, versions
from embinit.runs.store import Store
from embinit.stats.statements import RULE, Verdict


@dataclass(frozen=True)
class Circumstances:
    """The circumstances in which a session judged its claims."""

    tier: str
    device: str  # that trained, in words
    command: str
    started: float  # in seconds since the epoch
    seconds: float
    data_dir_given: bool
    seeds: int | None = None  # of the one interim analysis that an option asks for
    unfinished: str | None = None  # why it ended before each claim had its verdict
    asked_whole: Sequence[str] = ()  # files, folders and modules


def make_document(
    claims: Iterable[ClaimRecord],
    audits: Iterable[AuditRecord],
    store: Store | None,
    circumstances: Circumstances,
    made: Set[str] = frozenset(),
    errors: Iterable[Unjudged] = (),
    skipped: Iterable[Unjudged] = (),
) -> tuple[Document, dict[str, RunResult]]:
    """Make a session's document, and return it with the results of its claims' runs by key.

    ``made`` has the keys of what the session trained. ``errors`` and ``skipped`` are the tests
    without a verdict.
    """
    claims = with_insensitive_noted(sorted(claims, key=attrgetter("id")))
    audits = sorted(audits, key=attrgetter("id"))
    keys = {key for claim in claims for pair in claim.comparisons for key in pair.runs}
    found = {} if store is None else {key: store.get(key) for key in sorted(keys)}
    results = {key: result for key, result in found.items() if result is not None}
    fresh = len(results.keys() & made)
    every = list(results.values())
    notes = [*untraced(every), *repeated_otherwise(every, on_cpu=False), *other_versions(every)]
    asked = (claim for claim in claims if claim.verdict is Verdict.SUPPORTED and claim.reason)
    notes += [f"{claim.id}: {claim.reason}" for claim in asked]
    session = SessionRecord(
        papers=tuple(map(paper_record, papers_of(claim.paper for claim in claims))),
        locks=locks_of(claims),
        notes=tuple(notes),
        started=datetime.fromtimestamp(circumstances.started, UTC).isoformat(),
        wall_seconds=round(circumstances.seconds, 1),
        tier=circumstances.tier,
        device=circumstances.device,
        seeds=circumstances.seeds or max((claim.looks[0].seeds for claim in claims), default=0),
        command=circumstances.command,
        runs=RunCounts(wanted=len(keys), trained=fresh, stored=len(keys) - fresh),
        versions=versions(),
        machines=tuple(from_json(Machine, one) for one in machines_of(every)),
        data_dir_given=circumstances.data_dir_given,
        asked_whole=tuple(circumstances.asked_whole),
        unfinished=circumstances.unfinished,
    )
    document = Document(
        schema_version=SCHEMA_VERSION,
        session=session,
        rule=RULE,
        claims=tuple(claims),
        audits=tuple(audits),
        errors=tuple(errors),
        skipped=tuple(skipped),
        summary=summarise(session, claims, audits),
    )
    return document, results


def paper_record(paper: Paper) -> PaperRecord:
    """The facts of a paper that a report needs."""
    return PaperRecord(
        key=paper.key,
        citation=paper.citation,
        short=paper.short,
        made=tuple(tier.name for tier in paper.tiers.values() if tier.made),
        findings=tuple(FindingRecord(**vars(finding)) for finding in paper.findings),
    )
