"""Predict what a claim's interim analyses can detect, from preregistered standard deviations."""

from __future__ import annotations

import math
from collections.abc import Sequence

from embinit.claims.comparisons import Comparison
from embinit.claims.judging import Case, NextAnalysis
from embinit.specs import RunSpec
from embinit.stats.power import smallest_effect


def smallest_effects(comparison: Comparison, case: Case) -> tuple[float, ...] | None:
    """The effect that each analysis shows with 90 % power, in the metric's unit, if registered."""
    if (known_sd := comparison.known_sd) is None:
        return None
    analyses, alpha = case.analyses(), case.alpha
    return tuple(smallest_effect(alpha * one.share, one.seeds, known_sd) for one in analyses)


def expected_seeds(comparison: Comparison, case: Case) -> int | None:
    """The seeds of the first analysis that sees a difference of one margin; None without one."""
    effects = smallest_effects(comparison, case) or ()
    seen = zip(case.seeds_of_analyses(), effects, strict=False)
    return next((seeds for seeds, effect in seen if effect <= comparison.left.margin), None)


def random_comparisons(case: Case) -> list[Comparison]:
    """A claim's comparisons that seeds can change."""
    return [pair for pair in case.comparisons if pair.left.random or pair.right.random]


def expected_runs(following: NextAnalysis) -> list[RunSpec]:
    """The runs that a claim takes until it is decided, if nothing changes.

    Each difference is taken to be as large as its margin, or as the analysis before measured it. A
    control, and a claim of which nothing is foreseen, are to end with their first analysis.
    """
    case = following.case
    counts = case.seeds_of_analyses()
    if following.decisions:
        undecided = [one for one in following.decisions if one.open]
        needed = [one.outcome.seeds_needed or math.inf for one in undecided if one.outcome]
        seeds = next((count for count in counts if count >= max(needed)), counts[-1])
        return [run for one in undecided for run in one.comparison.with_seeds(seeds).runs()]
    runs, every = case.runs(), random_comparisons(case)
    known = [pair for pair in every if pair.known_sd is not None and pair.left.margin]
    if case.claim.expects is None and known:
        seeds = max(expected_seeds(pair, case) or counts[-1] for pair in known)
        runs += [run for pair in every for run in pair.with_seeds(seeds).runs()]
    return runs


def in_words(case: Case) -> str:
    """A claim's analyses, and the smallest differences that they see."""
    if case.obstacle:
        return f"not run, {case.obstacle}"
    seen = dict.fromkeys(_seen(comparison, case) for comparison in random_comparisons(case))
    if not seen:
        return "nothing is random, so no seeds are needed"
    return "; ".join(seen)


def _seen(comparison: Comparison, case: Case) -> str:
    counts, margin = case.seeds_of_analyses(), comparison.left.margin
    effects = smallest_effects(comparison, case)
    if effects is None:
        return (
            f"{schedule(counts)} seeds; embinit register measures which differences these can show"
        )
    pairs = zip(effects, counts, strict=True)
    found = ", ".join(f"{effect:.3g} with {seeds} seeds" for effect, seeds in pairs)
    unit = comparison.left.unit
    text = f"differences found with 90 % power{f', in {unit}' if unit else ''}: {found}"
    if not margin:
        return text
    expected = expected_seeds(comparison, case)
    needed = f"{expected} seeds" if expected else f"more than {counts[-1]} seeds"
    return f"{text}; the margin, {f'{margin:g} {unit}'.rstrip()}, needs {needed}"


def schedule(seeds: Sequence[int]) -> str:
    """The seeds of interim analyses, in words."""
    return ", then ".join(map(str, seeds))
