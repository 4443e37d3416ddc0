"""Looks: with how many seeds a claim is judged, and how its share of alpha is split over them.

A look is an interim analysis of a group-sequential design. A session looks once, unless it may
train more seeds (``--embinit-max-seeds``). Then it looks again at what is UNDECIDED, each time with
twice the seeds, up to that number. The schedule is fixed before anything is trained: the first look
has half of the claim's alpha, the later looks share the other half evenly. The chance that any look
errs is at most the sum of their shares (Bonferroni), whichever look decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Comparison, Decision, Lookup, verdict_of
from embinit.claims.paired_tests import Verdict
from embinit.errors import InputError
from embinit.specs import RunSpec


@dataclass(frozen=True)
class Look:
    """One look at a claim.

    Attributes:
        seeds: How many seeds the claim is judged with.
        share: The share of the claim's alpha that the look has, above 0 to 1.
    """

    seeds: int
    share: float


def schedule(first: int, most: int | None = None) -> tuple[Look, ...]:
    """The looks at a claim, in order.

    Args:
        first: How many seeds the first look has.
        most: How many seeds the last look has; None means that the first is the only one.

    Raises:
        InputError: ``most`` is less than ``first``.
    """
    if most is not None and most < first:
        raise InputError(f"at most {most} seeds, but the first look takes {first}; allow as many")
    counts = [first]
    while most is not None and counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    later = len(counts) - 1
    shares = [0.5, *[0.5 / later] * later] if later else [1.0]
    return tuple(Look(count, share) for count, share in zip(counts, shares, strict=True))


def look(
    comparisons: Sequence[Comparison],
    looks: Iterable[Look],
    alpha: float,
    ensure: Callable[[list[RunSpec]], None],
    lookup: Lookup,
    may_go_on: Callable[[list[RunSpec]], bool] = lambda runs: True,
) -> list[Decision]:
    """Decides a claim's comparisons, look by look.

    A later look takes only the comparisons that are still open. Looking ends once the claim as a
    whole is decided.

    Args:
        comparisons: The claim's comparisons.
        looks: The schedule.
        alpha: The claim's share of its family's alpha.
        ensure: Gets the runs of a look stored. It is called before ``lookup``.
        lookup: Finds the runs' results.
        may_go_on: Tells whether a later look at the given runs may begin.

    Returns:
        One decision for each comparison, in the order of ``comparisons``.
    """
    decisions: dict[int, Decision] = {}
    for number, this_look in enumerate(looks):
        still_open = [
            index for index in range(len(comparisons)) if number == 0 or decisions[index].open
        ]
        looked_at = {
            index: comparisons[index].with_seeds(this_look.seeds) if number else comparisons[index]
            for index in still_open
        }
        runs = [run for comparison in looked_at.values() for run in comparison.runs()]
        if number and not (still_open and may_go_on(runs)):
            break
        ensure(runs)
        for index, comparison in looked_at.items():
            decisions[index] = comparison.decide(lookup, alpha * this_look.share, len(comparisons))
        if verdict_of([*decisions.values()]) is not Verdict.UNDECIDED:
            break
    return [decisions[index] for index in range(len(comparisons))]
