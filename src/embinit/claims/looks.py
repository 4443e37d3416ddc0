"""Looks: with how many seeds a claim is judged, and how its share of alpha is split over them.

A session looks once, unless it may train more seeds (``--max-seeds``). Then what is UNDECIDED is
looked at again with twice the seeds, and twice those, up to the most. The schedule stands before
anything is trained: the first look has half of the claim's alpha, the later ones share the other
half evenly. Whichever look decides, the chance that one of them errs is at most their sum.
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
    """So many ``seeds``, judged at that ``share`` of the claim's alpha."""

    seeds: int
    share: float


def schedule(first: int, most: int | None = None) -> tuple[Look, ...]:
    """The looks from ``first`` seeds to ``most`` (None: the first is the only one).

    InputError if ``most`` is less than ``first``.
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
    """Decide a claim's ``comparisons``, at later looks only those that are still open.

    ``ensure`` is asked for the runs of a look before ``lookup`` is for their records. No look but
    the first begins unless its runs ``may_go_on``, nor once the claim as a whole is decided.
    """
    decisions: dict[int, Decision] = {}
    for number, one in enumerate(looks):
        still = [i for i in range(len(comparisons)) if number == 0 or decisions[i].open]
        seen = {
            i: comparisons[i].with_seeds(one.seeds) if number else comparisons[i] for i in still
        }
        runs = [run for comparison in seen.values() for run in comparison.runs()]
        if number and not (still and may_go_on(runs)):
            break
        ensure(runs)
        for i, comparison in seen.items():
            decisions[i] = comparison.decide(lookup, alpha * one.share, len(comparisons))
        if verdict_of([*decisions.values()]) is not Verdict.UNDECIDED:
            break
    return [decisions[i] for i in range(len(comparisons))]
