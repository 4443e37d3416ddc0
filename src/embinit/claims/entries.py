"""The entries of ``verdicts.json`` for claims and audits (see ``verdicts.schema.json``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from embinit.claims.audit import Audit, Check, finding_of
from embinit.claims.comparisons import Comparison, Decision
from embinit.claims.judging import Case, Judgement
from embinit.claims.power import smallest_effects
from embinit.claims.registration_status import registration_status
from embinit.specs import RunSpec
from embinit.stats.statements import KnownSd

PROPERTIES = ("verdict", "difference", "unit", "p", "p_no_effect", "alpha", "hangs_on")
"""A comparison's fields that are JUnit properties under their own names."""

Printed = Callable[[str, Comparison], Sequence[Any]]
"""Gives what the paper of a key prints for a comparison."""


def claim_entry(
    judgement: Judgement, nodeid: str, key: Callable[[RunSpec], str], printed: Printed
) -> dict[str, Any]:
    """The entry of a claim that was judged; ``report.document`` completes it.

    ``key`` gives a run's key in the store, ``printed`` what a paper prints for a comparison.
    """
    case = judgement.case
    claim, experiment, registration = case.claim, case.experiment, {}
    if case.lock is not None and case.lock.exists:
        named = {"lock": case.lock.name, "digest": case.lock.digest}
        registration = {
            "registration": {**named, **asdict(registration_status(case, judgement.looks))}
        }
    return {
        "id": f"{claim.id}[{experiment.name}]",
        "nodeid": nodeid,
        "verdict": str(judgement.verdict),
        "control": claim.expects is not None,
        "expects": None if claim.expects is None else str(claim.expects),
        "as_expected": judgement.as_expected,
        "statement": f"{claim.says} ({experiment.note})" if experiment.note else claim.says,
        "paper": claim.paper,
        "place": claim.where,
        "origin": str(claim.origin),
        "trained": any(
            side.trained for pair in case.comparisons for side in (pair.left, pair.right)
        ),
        "tier": experiment.tier,
        "task": experiment.task or None,
        "source": experiment.source or None,
        "source_label": experiment.source_label if _reads_source(case) else "",
        "experiment": experiment.name,
        "metric": experiment.metric.name,
        "family": claim.family.name,
        "family_says": claim.family.says,
        "alpha": case.alpha,
        "looks": [asdict(look) for look in judgement.looks],
        "reason": judgement.reason,
        **registration,
        "comparisons": [
            _comparison(decision, judgement, key, printed)
            for decision in judgement.decisions
            if decision.outcome
        ],
    }


def _reads_source(case: Case) -> bool:
    """Whether an arm of the claim reads the experiment's source."""
    runs = (run for comparison in case.comparisons for run in comparison.arms())
    return any(run.recipe.columns.get("source") for run in runs)


def _comparison(
    decision: Decision, judgement: Judgement, key: Callable[[RunSpec], str], printed: Printed
) -> dict[str, Any]:
    comparison, outcome = decision.comparison, decision.outcome
    assert outcome is not None
    case = judgement.case
    effects = smallest_effects(comparison, judgement.looks, case.alpha)
    return {
        "relation": str(comparison.relation),
        "arms": {"left": comparison.left.label, "right": comparison.right.label},
        "metric": comparison.left.measure.name,
        "metric_in_words": comparison.left.measure.in_words,
        "unit": comparison.left.unit,
        "alpha": decision.alpha,
        "n": outcome.n,
        "seeds": decision.seeds,
        "left_values": list(decision.left),
        "right_values": list(decision.right),
        "difference": outcome.difference,
        "interval": list(outcome.interval),
        "level": outcome.level,
        "margin": outcome.margin,
        "p": outcome.p,
        "p_against": outcome.p_against,
        "p_no_effect": outcome.p_no_effect,
        "seeds_needed": outcome.seeds_needed,
        "hangs_on": decision.hangs_on,
        "sd": outcome.sd,
        "spread": spread_entry(outcome.known_sd),
        "smallest_effect": effects and {"first": effects[0], "last": effects[-1]},
        "exact": outcome.exact,
        "verdict": str(outcome.verdict),
        "printed": [asdict(row) for row in printed(case.claim.paper, comparison)],
        "runs": {
            key(run): label
            for side in (comparison.left, comparison.right)
            for run, label in side.labels().items()
        },
    }


def spread_entry(known_sd: KnownSd | None) -> dict[str, Any] | None:
    """A known standard deviation, and what it is of where it isn't registered."""
    if known_sd is None:
        return None
    origin = {"of": known_sd.origin} if known_sd.origin else {}
    return {"sd": known_sd.sd, "seeds": known_sd.seeds, **origin}


def properties(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A claim's numbers as JUnit properties: pairs of a name and a text."""
    pairs = [("verdict", entry["verdict"])]
    for number, comparison in enumerate(entry["comparisons"], start=1):
        low, high = comparison["interval"]
        arms = comparison["arms"]
        statement = f"{arms['left']} {comparison['relation']} {arms['right']}"
        values = {"statement": statement, "low": low, "high": high, "seeds": comparison["n"]}
        values |= {name: comparison[name] for name in PROPERTIES}
        pairs += [
            (f"{number}.{name}", str(value)) for name, value in values.items() if value is not None
        ]
    return pairs


def audit_entry(audit: Audit, nodeid: str, checks: Sequence[Check]) -> dict[str, Any]:
    """The entry of an audit with its checks."""
    return {
        "id": audit.id,
        "nodeid": nodeid,
        "verdict": str(finding_of(checks)),
        "statement": audit.says,
        "paper": audit.paper,
        "place": audit.where,
        "checks": [asdict(check) for check in checks],
    }
