"""The entries of ``verdicts.json``: a claim decided, an audit made (see ``docs/verdicts.md``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from embinit.claims.audit import Audit, Check, finding_of
from embinit.claims.comparisons import Decision, Lookup
from embinit.claims.foresight import sight_of
from embinit.claims.judging import Judgement
from embinit.claims.paired_tests import Verdict, holm
from embinit.claims.sampling_noise import sampling_noise
from embinit.claims.standing import ABSENT, AFTERWARDS, BEFOREHAND, CHANGED, standing
from embinit.papers import paper as find_paper
from embinit.report.numbers import finite
from embinit.specs import RunSpec


def claim_entry(
    judgement: Judgement, nodeid: str, key: Callable[[RunSpec], str], lookup: Lookup
) -> dict[str, Any]:
    """The entry of a claim that was judged in an experiment; ``add_holm`` completes it.

    Args:
        judgement: The judgement.
        nodeid: The test's name in pytest.
        key: Gives a run's key in the store.
        lookup: Finds a run's result.
    """
    case = judgement.case
    claim, experiment, registration = case.claim, case.experiment, {}
    if case.lock is not None and case.lock.exists:
        named = {"lock": case.lock.name, "digest": case.lock.digest}
        registration = {"registration": {**named, **asdict(standing(case, judgement.looks))}}
    reasons = "; ".join(dict.fromkeys(d.reason for d in judgement.decisions if d.reason))
    return {
        "id": f"{claim.id}[{experiment.name}]",
        "nodeid": nodeid,
        "verdict": str(judgement.verdict),
        "control": claim.expects is not None,
        "expects": None if claim.expects is None else str(claim.expects),
        "as_expected": judgement.as_expected,
        "statement": claim.says,
        "paper": claim.paper,
        "place": claim.where,
        "tier": experiment.tier,
        "task": experiment.task,
        "source": experiment.source,
        "experiment": experiment.name,
        "family": claim.family.name,
        "family_says": claim.family.says,
        "alpha": case.alpha,
        "looks": [asdict(look) for look in judgement.looks],
        "reason": reasons,
        **registration,
        "comparisons": [
            _comparison(decision, judgement, key, lookup)
            for decision in judgement.decisions
            if decision.outcome
        ],
    }


def _comparison(
    decision: Decision, judgement: Judgement, key: Callable[[RunSpec], str], lookup: Lookup
) -> dict[str, Any]:
    comparison, outcome = decision.comparison, decision.outcome
    assert outcome is not None
    case = judgement.case
    noise, known = sampling_noise(comparison, lookup), find_paper(case.claim.paper)
    sight = sight_of(comparison, judgement.looks, case.alpha)
    return {
        "relation": str(comparison.relation),
        "arms": {"left": comparison.left.label, "right": comparison.right.label},
        "metric": comparison.left.measure.name,
        "metric_in_words": comparison.left.measure.in_words,
        "unit": comparison.left.unit,
        "alpha": decision.alpha,
        "n": outcome.n,
        "seeds": list(range(comparison.left.seeds)),
        "left_values": list(decision.left),
        "right_values": list(decision.right),
        "difference": outcome.difference,
        "interval": list(outcome.interval),
        "level": outcome.level,
        "margin": outcome.margin,
        "p": outcome.p,
        "p_against": outcome.p_against,
        "p_no_effect": outcome.p_no_effect,
        "holm_p": None,
        "power": outcome.power,
        "seeds_needed": outcome.seeds_needed,
        "hangs_on": outcome.hangs_on,
        "sd": outcome.sd,
        "spread": None if outcome.spread is None else asdict(outcome.spread),
        "smallest_effect": None
        if sight.effects is None
        else {"first": sight.effects[0], "last": sight.effects[-1]},
        "exact": outcome.exact,
        "verdict": str(outcome.verdict),
        "test_set": None if noise is None else asdict(noise),
        "printed": [asdict(row) for row in known.printed(comparison)] if known else [],
        "runs": list(dict.fromkeys(key(run) for run in comparison.runs())),
    }


def deciding(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The comparison that is shown for a claim: of those that decide it, the least certain.

    Args:
        entry: The claim's entry.

    Returns:
        The comparison's entry; None where the claim was not run.
    """
    same = [each for each in entry["comparisons"] if each["verdict"] == entry["verdict"]]
    return max(same, key=lambda each: deciding_p(each) or 0.0, default=None)


def deciding_p(comparison: Mapping[str, Any]) -> float | None:
    """The p that a comparison's verdict rests on.

    It is that of a difference within the margin for NO EFFECT, and else that of the statement.
    """
    name = "p_no_effect" if comparison["verdict"] == Verdict.NO_EFFECT else "p"
    return finite(comparison.get(name))


def leaning(comparison: Mapping[str, Any]) -> str:
    """What more seeds would probably do to an undecided comparison; "" where that can't be told."""
    p, against = finite(comparison["p"]), finite(comparison["p_against"])
    if p is None or against is None:
        return ""
    within = finite(comparison.get("p_no_effect"))
    if within is not None and within < min(p, against):
        return "show no effect"
    return "support it" if p <= against else "refute it"


def wanted(comparison: Mapping[str, Any]) -> str:
    """What an undecided comparison still wants, in a few words."""
    needed, hangs_on = comparison["seeds_needed"], comparison.get("hangs_on")
    more = "over 1000 more seeds"
    if needed is not None:
        # It may lack only luck: then the seeds that it has should have been enough.
        more = f"about {max(1, needed - comparison['n'])} more seeds"
    elif comparison["difference"] == 0:
        more = "no difference yet"
    return more if hangs_on is None else f"hangs on seed {hangs_on}; {more}"


def properties(entry: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A claim's numbers as JUnit properties: pairs of a name and a text.

    Args:
        entry: The claim's entry.
    """
    pairs = [("verdict", entry["verdict"])]
    for number, comparison in enumerate(entry["comparisons"], start=1):
        low, high = comparison["interval"]
        arms = comparison["arms"]
        pairs += [
            (f"{number}.{name}", str(value))
            for name, value in (
                ("statement", f"{arms['left']} {comparison['relation']} {arms['right']}"),
                ("verdict", comparison["verdict"]),
                ("difference", comparison["difference"]),
                ("low", low),
                ("high", high),
                ("unit", comparison["unit"]),
                ("p", comparison["p"]),
                ("p_no_effect", comparison["p_no_effect"]),
                ("alpha", comparison["alpha"]),
                ("seeds", comparison["n"]),
                ("hangs_on", comparison["hangs_on"]),
            )
            if value is not None
        ]
    return pairs


def audit_entry(audit: Audit, nodeid: str, checks: Sequence[Check]) -> dict[str, Any]:
    """The entry of an audit with its checks.

    Args:
        audit: The audit.
        nodeid: The test's name in pytest.
        checks: The checks that the test returned.

    Raises:
        InputError: There is no check.
    """
    return {
        "id": audit.id,
        "nodeid": nodeid,
        "verdict": str(finding_of(checks)),
        "statement": audit.says,
        "paper": audit.paper,
        "place": audit.where,
        "checks": [asdict(check) for check in checks],
    }


def locks_of(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The locks that claims were held against: file and digest of each.

    Args:
        claims: The claims' entries.
    """
    known = {
        (entry["registration"]["lock"], entry["registration"]["digest"])
        for entry in claims
        if "registration" in entry
    }
    return [{"lock": lock, "digest": digest} for lock, digest in sorted(known)]


def not_beforehand(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for the claims that stand alike, and otherwise than they were registered beforehand.

    Args:
        claims: The claims' entries.
    """
    alike: dict[tuple[str, str, str], list[str]] = {}
    for entry in claims:
        known = entry.get("registration")
        if known is not None and known["state"] != BEFOREHAND:
            told = f": {known['differs']}" if known["differs"] else ""
            words = WORDS_OF_STATE[known["state"]]
            alike.setdefault((words, told, known["lock"]), []).append(entry["id"])
    return [f"{words}: {named(ids)}{told} ({lock})" for (words, told, lock), ids in alike.items()]


NAMED_UP_TO = 5
"""So many claims that stand alike otherwise than registered are named; of more the number."""


def named(ids: Sequence[str]) -> str:
    """Claims in words: their ids, or how many they are."""
    return ", ".join(ids) if len(ids) <= NAMED_UP_TO else f"{len(ids)} claims"


WORDS_OF_STATE = {
    BEFOREHAND: "registered beforehand",
    AFTERWARDS: "registered afterwards",
    CHANGED: "not as registered",
    ABSENT: "not registered",
}
"""What is said of a claim by how it stands to its lock."""


def add_holm(claims: list[dict[str, Any]]) -> None:
    """Adds Holm-adjusted p to the comparisons of each family's claims.

    They are shown beside the verdicts and decide nothing. Controls and exact comparisons have none.

    Args:
        claims: The claims' entries, which are changed in place.
    """
    families: dict[str, list[dict[str, Any]]] = {}
    for entry in claims:
        if not entry["control"]:
            tested = [comparison for comparison in entry["comparisons"] if not comparison["exact"]]
            families.setdefault(entry["family"], []).extend(tested)
    for tested in families.values():
        for comparison, adjusted in zip(
            tested, holm([comparison["p"] for comparison in tested]), strict=True
        ):
            comparison["holm_p"] = adjusted
