"""Make a session's document from judged claims and the runs in a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from operator import attrgetter

from embinit.claims.records import AuditRecord, ClaimRecord
from embinit.claims.run_checks import repeated_otherwise
from embinit.files.typed import from_json
from embinit.papers import Paper, papers_of
from embinit.report.document import (
    SCHEMA_VERSION,
    Document,
    LockRecord,
    Machine,
    PaperRecord,
    RunCounts,
    SessionRecord,
    Unjudged,
)
from embinit.report.summary import summarise
from embinit.report.verdicts import NOT_SENSITIVE
from embinit.runs.functions import other_versions, untraced
from embinit.runs.results import RunResult
from embinit.runs.store import Store
from embinit.stats.statements import RULE, Verdict


def make_document(
    claims: Iterable[ClaimRecord],
    audits: Iterable[AuditRecord],
    store: Store | None,
    session: SessionRecord,
    made: Set[str] = frozenset(),
    errors: Iterable[Unjudged] = (),
    skipped: Iterable[Unjudged] = (),
) -> tuple[Document, dict[str, RunResult]]:
    """Make a session's document, and return it with the results of its claims' runs by key.

    The ``session`` is as it is known without its claims; their runs are counted here. ``made`` has
    the keys of what it trained. ``errors`` and ``skipped`` are the tests without a verdict.
    """
    claims = with_insensitive_noted(sorted(claims, key=attrgetter("id")))
    audits = sorted(audits, key=attrgetter("id"))
    keys = {key for claim in claims for pair in claim.comparisons for key in pair.runs}
    found = {} if store is None else {key: store.get(key) for key in sorted(keys)}
    results = {key: result for key, result in found.items() if result is not None}
    fresh = len(results.keys() & made)
    every = list(results.values())
    notes = [*untraced(every), *repeated_otherwise(every, on_cpu=False), *other_versions(every)]
    machines = (result.provenance.get("machine") for result in every)
    asked = (claim for claim in claims if claim.verdict is Verdict.SUPPORTED and claim.reason)
    notes += [f"{claim.id}: {claim.reason}" for claim in asked]
    session = replace(
        session,
        papers=tuple(map(paper_record, papers_of(claim.paper for claim in claims))),
        locks=locks_of(claims),
        notes=tuple(notes),
        seeds=session.seeds or max((claim.looks[0].seeds for claim in claims), default=0),
        runs=RunCounts(wanted=len(keys), trained=fresh, stored=len(keys) - fresh),
        machines=tuple(sorted({from_json(Machine, one) for one in machines if one}, key=str)),
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


def with_insensitive_noted(claims: Sequence[ClaimRecord]) -> list[ClaimRecord]:
    """The claims, those without a finding noted as not sensitive if their positive control failed.

    It is a control of the same task.
    """
    lacking = {
        _setting(claim): claim.id
        for claim in claims
        if claim.expects in (Verdict.SUPPORTED, Verdict.REFUTED) and not claim.as_expected
    }

    def noted(claim: ClaimRecord) -> ClaimRecord:
        finds_nothing = claim.verdict in (Verdict.UNDECIDED, Verdict.NO_EFFECT)
        if not finds_nothing or claim.control or _setting(claim) not in lacking:
            return claim
        note = f"{NOT_SENSITIVE}: the control {lacking[_setting(claim)]} is not as expected"
        return replace(claim, reason="; ".join(filter(None, (claim.reason, note))))

    return [*map(noted, claims)]


def _setting(claim: ClaimRecord) -> tuple[object, ...]:
    return claim.paper, claim.tier, claim.task, claim.metric, claim.trained


def locks_of(claims: Iterable[ClaimRecord]) -> tuple[LockRecord, ...]:
    """The locks that claims were compared with: file and digest of each."""
    known = (claim.registration for claim in claims if claim.registration is not None)
    pairs = {(registration.lock, registration.digest) for registration in known}
    return tuple(LockRecord(lock=lock, digest=digest) for lock, digest in sorted(pairs))


def paper_record(paper: Paper) -> PaperRecord:
    """The facts of a paper that a report needs."""
    return PaperRecord(
        key=paper.key,
        citation=paper.citation,
        short=paper.short,
        made=tuple(tier.name for tier in paper.tiers.values() if tier.made),
        own_size=tuple(tier.name for tier in paper.tiers.values() if tier.own_size),
        findings=tuple(paper.findings),
    )
