"""Arms: training of arms and reading of their scores, for the studies' analyses."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from embinit.claims.comparisons import Quantity
from embinit.runs.session import Session
from embinit.specs import RunSpec

PLANTED: Mapping[str, float] = {
    "micro-translation": 18.45,
    "micro-sentiment": 3.25,
    "micro-inference": 16.23,
    "sst2": 3.69,
    "multi30k-en-de": 4.16,
}
"""What sensitivity controls plant on each task, in BLEU or points: the share of what Xavier learns,
above guessing, that the first paper's largest effect on the task is."""


def runs_of(arms: Iterable[Quantity], seeds: Sequence[int]) -> list[RunSpec]:
    """The runs of each arm on each seed."""
    return [run for arm in arms for seed in seeds for run in arm.runs_of(seed)]


def train(session: Session, runs: Sequence[RunSpec]) -> None:
    """Trains those of some runs that the store lacks, if the session may train."""
    if session.may_train:
        session.set_plan(runs)
        with session.with_helpers():
            session.ensure(runs)


def values_of(
    quantities: Mapping[str, Quantity], session: Session, seeds: Sequence[int]
) -> dict[str, list[float]]:
    """Each quantity's values, one a seed; quantities with missing runs are left out."""
    every = {
        name: [quantity.value(seed, session.result) for seed in seeds]
        for name, quantity in quantities.items()
    }
    return {
        name: [round(value, 4) for value in values if value is not None]
        for name, values in every.items()
        if None not in values
    }


def told_of(
    quantities: Mapping[str, Quantity],
    session: Session,
    seeds: Sequence[int],
    before: Mapping[str, list[float]],
) -> dict[str, list[float]]:
    """Each quantity's values; those that the store lacks come from earlier results."""
    found = {**before, **values_of(quantities, session, seeds)}
    return {name: found[name] for name in quantities if name in found}


def compute_of(
    session: Session, runs: Iterable[RunSpec], before: Mapping[str, float] | None
) -> Mapping[str, float]:
    """The number of runs in the store, and the core hours that they took.

    Args:
        session: Has the results.
        runs: The runs.
        before: What was told before, which is kept where it has more runs.
    """
    results = [result for run in set(runs) if (result := session.result(run)) is not None]
    hours = sum(result.provenance["seconds"] for result in results) / 3600
    found = {"runs": len(results), "hours": round(hours, 2)}
    return before if before is not None and before["runs"] > found["runs"] else found


def compute_line(told: Mapping[str, Mapping[str, float]]) -> str:
    """The compute of groups of runs, in words."""
    words = [f"{name} {of['runs']:,} runs, {of['hours']:.1f} hours" for name, of in told.items()]
    return f"Trained, in hours of one core: {'; '.join(words)}."


def mean_of(told: Mapping[str, Sequence[float]], name: str) -> float | None:
    """The mean of a quantity in the results; None where it is missing."""
    return statistics.fmean(told[name]) if name in told else None
