"""Foresight: what a claim's looks can see, told before anything is trained.

It rests on the registered spread of each difference alone (``pilot``), so it says nothing
about how a claim will come out. A comparison without a registered spread can't be foreseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Comparison
from embinit.claims.judging import Case
from embinit.claims.looks import Look
from embinit.claims.paired_tests import smallest_effect
from embinit.specs import RunSpec


@dataclass(frozen=True)
class DetectableEffect:
    """The effects that the looks at one comparison can detect.

    ``effects`` has the smallest that each look shows with 90 % power, in the metric's unit; None
    where no spread is registered.
    """

    comparison: Comparison
    seeds: tuple[int, ...]
    effects: tuple[float, ...] | None

    @property
    def expected_seeds(self) -> int | None:
        """The seeds of the first look that sees a difference of one margin.

        None where no look does, where there is no margin, or where no spread is registered.
        """
        if self.effects is None:
            return None
        seen = (
            seeds
            for seeds, effect in zip(self.seeds, self.effects, strict=True)
            if effect <= self.comparison.left.margin
        )
        return next(seen, None)


def detectable_effect(
    comparison: Comparison, looks: Sequence[Look], alpha: float
) -> DetectableEffect:
    """The effects that the looks at a comparison can detect."""
    spread = comparison.spread
    effects = None
    if spread is not None:
        effects = tuple(smallest_effect(alpha * each.share, each.seeds, spread) for each in looks)
    return DetectableEffect(comparison, tuple(each.seeds for each in looks), effects)


def detectable_effects(case: Case) -> list[DetectableEffect]:
    """The effects that the looks at a claim can detect, comparison by comparison.

    Comparisons that no seed can change are left out, and so are those of a claim with an obstacle.
    """
    if case.obstacle:
        return []
    looks = case.looks()
    return [
        detectable_effect(comparison, looks, case.alpha)
        for comparison in case.comparisons
        if comparison.left.random or comparison.right.random
    ]


def expected_runs(case: Case) -> list[RunSpec]:
    """The runs that a claim takes until it is decided, were each difference as large as its margin.

    A control, and a claim of which nothing is foreseen, are taken to end with their first look.
    """
    every = detectable_effects(case)
    known = [each for each in every if each.effects is not None and each.comparison.left.margin]
    runs = case.runs()
    if case.claim.expects is None and known:
        seeds = max(each.expected_seeds or each.seeds[-1] for each in known)
        runs += [run for each in every for run in each.comparison.with_seeds(seeds).runs()]
    return runs
