"""Make the records of ``verdicts.json`` from judged claims and from audits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embinit.claims.audit import Audit, consistency
from embinit.claims.comparisons import Comparison, Decision
from embinit.claims.judging import Case, Judgement
from embinit.claims.power import smallest_effects
from embinit.claims.records import (
    AnalysisRecord,
    Arms,
    AuditRecord,
    Check,
    ClaimRecord,
    ComparisonRecord,
    KnownSdRecord,
    Printed,
    SmallestEffect,
)
from embinit.claims.registration_status import registration_record
from embinit.specs import RunSpec
from embinit.stats.statements import Outcome

PROPERTIES = ("verdict", "difference", "unit", "p", "p_no_effect", "alpha", "hangs_on")
"""A comparison's fields that are JUnit properties under their own names."""

PrintedFor = Callable[[str, Comparison], Sequence[Printed]]
"""Gives what the paper of a key prints for a comparison."""


def claim_record(
    judgement: Judgement, nodeid: str, key: Callable[[RunSpec], str], printed: PrintedFor
) -> ClaimRecord:
    """The record of a claim that was judged; ``report.making`` completes it.

    ``key`` gives a run's key in the store, ``printed`` what a paper prints for a comparison.
    """
    case = judgement.case
    claim, experiment = case.claim, case.experiment
    arms = [run.recipe for comparison in case.comparisons for run in comparison.arms()]
    reads_source = any(recipe.columns.get("source") for recipe in arms)
    return ClaimRecord(
        id=case.id,
        nodeid=nodeid,
        verdict=judgement.verdict,
        control=claim.expects is not None,
        expects=claim.expects,
        as_expected=judgement.as_expected,
        statement=f"{claim.says} ({experiment.note})" if experiment.note else claim.says,
        paper=claim.paper,
        place=claim.where,
        origin=claim.origin,
        trained=any(side.trained for pair in case.comparisons for side in (pair.left, pair.right)),
        tier=experiment.tier,
        task=experiment.task or None,
        source=experiment.source or None,
        source_label=experiment.source_label if reads_source else "",
        experiment=experiment.name,
        metric=experiment.metric.name,
        family=claim.family.name,
        family_says=claim.family.says,
        alpha=case.alpha,
        looks=tuple(AnalysisRecord(**vars(analysis)) for analysis in case.analyses()),
        reason=judgement.reason,
        registration=registration_record(case),
        comparisons=tuple(
            _comparison(decision, decision.outcome, case, key, printed)
            for decision in judgement.decisions
            if decision.outcome
        ),
    )


def _comparison(
    decision: Decision,
    outcome: Outcome,
    case: Case,
    key: Callable[[RunSpec], str],
    printed: PrintedFor,
) -> ComparisonRecord:
    comparison = decision.comparison
    left, right = comparison.left, comparison.right
    known_sd, effects = outcome.known_sd, smallest_effects(comparison, case)
    return ComparisonRecord(
        relation=comparison.relation,
        arms=Arms(left=left.label, right=right.label),
        metric=left.measure.name,
        metric_in_words=left.measure.in_words,
        unit=left.unit,
        alpha=decision.alpha,
        n=outcome.n,
        seeds=tuple(map(left.seed_of, range(left.seeds))),
        left_values=decision.left,
        right_values=decision.right,
        difference=outcome.difference,
        interval=outcome.interval,
        level=outcome.level,
        margin=outcome.margin,
        p=outcome.p,
        p_against=outcome.p_against,
        p_no_effect=outcome.p_no_effect,
        seeds_needed=outcome.seeds_needed,
        hangs_on=decision.hangs_on,
        sd=outcome.sd,
        spread=None
        if known_sd is None
        else KnownSdRecord(sd=known_sd.sd, seeds=known_sd.seeds, of=known_sd.origin or None),
        smallest_effect=SmallestEffect(first=effects[0], last=effects[-1]) if effects else None,
        exact=outcome.exact,
        verdict=outcome.verdict,
        printed=tuple(printed(case.claim.paper, comparison)),
        runs={
            key(term.run(seed)): term.label
            for side in (left, right)
            for term in side.every_term
            for seed in range(side.seeds)
        },
    )


def properties(claim: ClaimRecord) -> list[tuple[str, str]]:
    """A claim's numbers as JUnit properties: pairs of a name and a text."""
    pairs = [("verdict", str(claim.verdict))]
    for number, comparison in enumerate(claim.comparisons, start=1):
        low, high = comparison.interval
        statement = f"{comparison.arms.left} {comparison.relation} {comparison.arms.right}"
        values = {"statement": statement, "low": low, "high": high, "seeds": comparison.n}
        values |= {name: getattr(comparison, name) for name in PROPERTIES}
        pairs += [
            (f"{number}.{name}", str(value)) for name, value in values.items() if value is not None
        ]
    return pairs


def audit_record(audit: Audit, nodeid: str, checks: Sequence[Check]) -> AuditRecord:
    """The record of an audit with its checks."""
    return AuditRecord(
        id=audit.id,
        nodeid=nodeid,
        verdict=consistency(checks),
        statement=audit.says,
        paper=audit.paper,
        place=audit.where,
        checks=tuple(checks),
    )
