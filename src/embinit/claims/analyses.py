"""Decide a claim's comparisons at its interim analyses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from embinit.claims.comparisons import Comparison, Decision, Lookup
from embinit.specs import RunSpec
from embinit.stats.interim import Analysis
from embinit.stats.statements import Verdict, verdict_of


def decided_at(
    comparisons: Sequence[Comparison],
    analyses: Iterable[Analysis],
    alpha: float,
    lookup: Lookup,
    are_stored: Callable[[list[RunSpec]], bool],
) -> tuple[list[Decision], list[RunSpec]]:
    """Decide a claim's comparisons, one interim analysis after the other.

    A later analysis takes only the comparisons that are still undecided. It ends once the claim as
    a whole is decided, or before a later one whose runs are not stored; these are returned too,
    and the reason of what is undecided says so. ``lookup`` finds the results of runs.
    """
    decisions: dict[int, Decision] = {}
    following: list[RunSpec] = []
    for number, planned in enumerate(analyses):
        undecided = [
            index for index in range(len(comparisons)) if number == 0 or decisions[index].open
        ]
        tested = {
            index: comparisons[index].with_seeds(planned.seeds) if number else comparisons[index]
            for index in undecided
        }
        runs = [run for comparison in tested.values() for run in comparison.runs()]
        if number and not (undecided and are_stored(runs)):
            following = runs
            missed = f"the interim analysis at {planned.seeds} seeds was not reached"
            for index in undecided:
                reason = decisions[index].reason or missed
                decisions[index] = replace(decisions[index], reason=reason)
            break
        level = alpha * planned.share
        for index, comparison in tested.items():
            decisions[index] = comparison.decide(lookup, level, len(comparisons))
        if verdict_of([one.verdict for one in decisions.values()]) is not Verdict.UNDECIDED:
            break
    return [decisions[index] for index in range(len(comparisons))], following
