"""Predict what a claim's interim analyses can detect, from preregistered standard deviations."""

from __future__ import annotations

from collections.abc import Sequence

from embinit.claims.comparisons import Comparison
from embinit.claims.judging import Case
from embinit.specs import RunSpec
from embinit.stats.interim import Look
from embinit.stats.power import smallest_effect


def smallest_effects(
    comparison: Comparison, looks: Sequence[Look], alpha: float
) -> tuple[float, ...] | None:
    """The effect that each analysis shows with 90 % power, in the metric's unit, if registered."""
    if (known_sd := comparison.known_sd) is None:
        return None
    return tuple(smallest_effect(alpha * look.share, look.seeds, known_sd) for look in looks)


def expected_seeds(comparison: Comparison, looks: Sequence[Look], alpha: float) -> int | None:
    """The seeds of the first analysis that sees a difference of one margin; None without one."""
    effects = smallest_effects(comparison, looks, alpha) or ()
    seen = zip(looks, effects, strict=False)
    return next((look.seeds for look, effect in seen if effect <= comparison.left.margin), None)


def random_comparisons(case: Case) -> list[Comparison]:
    """A claim's comparisons that seeds can change; none where it can't be tested."""
    if case.obstacle:
        return []
    return [pair for pair in case.comparisons if pair.left.random or pair.right.random]


def expected_runs(case: Case) -> list[RunSpec]:
    """The runs that a claim takes until it is decided, were each difference as large as its margin.

    A control, and a claim of which nothing is foreseen, are taken to end with their first analysis.
    """
    runs, every = case.runs(), random_comparisons(case)
    known = [pair for pair in every if pair.known_sd is not None and pair.left.margin]
    if case.claim.expects is None and known:
        looks = case.looks()
        last = looks[-1].seeds
        seeds = max(expected_seeds(pair, looks, case.alpha) or last for pair in known)
        runs += [run for pair in every for run in pair.with_seeds(seeds).runs()]
    return runs


def in_words(case: Case) -> str:
    """A claim's looks, and the smallest differences that they see."""
    if case.obstacle:
        return f"not run, {case.obstacle}"
    seen = dict.fromkeys(_seen(comparison, case) for comparison in random_comparisons(case))
    if not seen:
        return "nothing is random, so no seeds are needed"
    return "; ".join(seen)


def _seen(comparison: Comparison, case: Case) -> str:
    looks, margin = case.looks(), comparison.left.margin
    effects = smallest_effects(comparison, looks, case.alpha)
    if effects is None:
        seeds = schedule(case.seeds_of_looks())
        return f"{seeds} seeds; embinit register measures which differences these can show"
    pairs = zip(effects, looks, strict=True)
    found = ", ".join(f"{effect:.3g} with {look.seeds} seeds" for effect, look in pairs)
    unit = comparison.left.unit
    text = f"differences found with 90 % power{f', in {unit}' if unit else ''}: {found}"
    if not margin:
        return text
    expected = expected_seeds(comparison, looks, case.alpha)
    needed = f"{expected} seeds" if expected else f"more than {looks[-1].seeds} seeds"
    return f"{text}; the margin, {f'{margin:g} {unit}'.rstrip()}, needs {needed}"


def schedule(seeds: Sequence[int]) -> str:
    """The seeds of interim analyses, in words."""
    return ", then ".join(map(str, seeds))
