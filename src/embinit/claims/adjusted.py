"""The effect of a comparison that was decided early, adjusted for having been decided early.

A look that decides a comparison has, more often than not, drawn seeds in which its effect is larger
than it is (the winner's curse). The mean says too much then, most where the look was the first. An
estimate by the stagewise ordering of looks (Fairbanks and Madsen 1982, Biometrika 69:69) is
median-unbiased over all looks together, and at the first look it is the mean itself: who reads one
effect, of a claim that was decided, is not helped. So the effect is estimated given that its look
decided it: by the likelihood of the mean, divided by the chance that no earlier look passed its
bound and this one did (Zhong and Prentice 2008, Biostatistics 9:621). The effect is the median of
that likelihood over the values that the verdict has not excluded, the interval its middle 95 %.

A look's bound is what its mean had to pass, without any one seed too, while its seeds scatter about
that mean as they do. The median takes the standard deviation as known; the interval is widened as
a t's is. That an earlier look might have shown something else is left out: hardly a way leads from
there to the verdict. A decision at the last look needs no adjustment, since that look would have
been reported whatever came out; neither has one that lies between two bounds (NO EFFECT, ``~``
SUPPORTED), since it tells of no size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embinit.claims.comparisons import Decision
from embinit.claims.looks import Look
from embinit.claims.paired_tests import Outcome, Paired, Relation, Verdict, fewest_seeds

LEVEL = 0.95
"""The level of an adjusted interval."""

POINTS = 401
FAR = 8.0
"""How many standard errors beyond its bound a mean is untouched by it."""

FARTHEST = 30.0
"""How many standard errors from zero a mean is untouched by any bound."""


@dataclass(frozen=True)
class Adjusted:
    """An effect with its interval, given that an early look decided it.

    Attributes:
        difference: The median of the conditional likelihood, in the metric's unit.
        interval: The middle of the conditional likelihood.
        level: The interval's level.
    """

    difference: float
    interval: tuple[float, float]
    level: float = LEVEL


def adjusted(
    decision: Decision, looks: Sequence[Look], alpha: float, of: int = 1
) -> Adjusted | None:
    """A comparison's effect, given that its look decided it; None where nothing is to be adjusted.

    Args:
        decision: The comparison as it was decided.
        looks: The schedule of its claim's looks.
        alpha: The claim's share of its family's alpha.
        of: How many comparisons the claim has, any of which refutes it at its part of the level.
    """
    outcome = decision.outcome
    seeds = [look.seeds for look in looks[:-1]]
    if outcome is None or outcome.sd == 0 or outcome.n not in seeds:
        return None
    bound = _bound(outcome, decision.comparison.relation)
    if bound is None:
        return None
    side = 1.0 if outcome.difference > bound else -1.0
    supported = outcome.verdict is Verdict.SUPPORTED
    # A look that must not decide was passed by nothing.
    fewest = fewest_seeds(outcome.spread)
    taken = [look for look in looks[: seeds.index(outcome.n) + 1] if look.seeds >= fewest]
    counts = [look.seeds for look in taken]
    levels = [alpha * look.share / (1 if supported else of) for look in taken]
    differences = side * (np.asarray(decision.left) - np.asarray(decision.right))
    least = [
        _least(differences[:count], outcome, level) * math.sqrt(count / outcome.n)
        for count, level in zip(counts, levels, strict=True)
    ]
    beyond, known = side * (outcome.difference - bound), outcome.sd / math.sqrt(outcome.n)

    def effects(error: float) -> list[float]:
        scaled = [each / error for each in least]
        return [
            bound + side * error * each for each in _conditional(beyond / error, counts, scaled)
        ]

    _, middle, _ = effects(known)
    low, _, high = sorted(effects(known * _inflation(outcome, levels[-1])))
    return Adjusted(middle, (low, high))


def _bound(outcome: Outcome, relation: Relation) -> float | None:
    """The one number beyond which the verdict says that the difference lies; None without one."""
    ends = [end for end in relation.bounds(outcome.margin) if math.isfinite(end)]
    if outcome.verdict is Verdict.SUPPORTED:
        return ends[0] if len(ends) == 1 else None
    if outcome.verdict is Verdict.REFUTED:
        return min(ends, key=lambda end: abs(outcome.difference - end))
    return None


def _least(differences: np.ndarray, outcome: Outcome, level: float) -> float:
    """How far beyond its bound the mean must lie: for every seed, and without any one, too."""
    sample = Paired(differences)
    contradicted = outcome.spread is not None and outcome.spread.contradicted_by(
        sample.variance, sample.degrees
    )
    estimates = [
        each.estimate(outcome.spread, contradicted) for each in (sample, *sample.without_each())
    ]
    mean = estimates[0].mean
    needed = [
        each.reach(level, "greater") - (each.mean - mean) for each in estimates if each.sd > 0
    ]
    return max(needed, default=math.inf)


def _inflation(outcome: Outcome, level: float) -> float:
    """How much larger a t's bound is than a normal variable's."""
    from scipy import special  # collecting claims adjusts none, and need not load it

    pooled = 0 if outcome.spread is None or outcome.contradicted else outcome.spread.degrees
    degrees = outcome.n - 1 + pooled
    return float(special.stdtrit(degrees, level) / special.ndtri(level))


def _conditional(deviate: float, counts: Sequence[int], bounds: Sequence[float]) -> list[float]:
    """The interval's lower end, the median and its upper end, in standard errors.

    Args:
        deviate: The mean at the look that decided, in its standard errors.
        counts: The seeds of each look up to that one.
        bounds: What the mean of each look had to pass, in that look's standard errors.
    """
    from scipy import special

    least = min(bounds[-1], deviate)
    tails = ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2)
    if deviate - least > FAR or deviate >= FARTHEST:
        return [max(deviate + float(special.ndtri(tail)), 0.0) for tail in tails]
    effects = np.linspace(0.0, deviate + FAR, POINTS)
    reached = np.linspace(least, deviate + 2 * FAR, POINTS)
    # A path's chance under another effect follows from where it ends: the likelihood ratio.
    ratio = np.multiply.outer(effects - deviate, reached) - (effects**2 - deviate**2)[:, None] / 2
    passing = special.logsumexp(ratio, axis=1, b=_density(reached, deviate, counts, bounds))
    likelihood = -((effects - deviate) ** 2) / 2 - passing
    share = np.cumsum(np.exp(likelihood - likelihood.max()))
    return [float(np.interp(tail, share / share[-1], effects)) for tail in tails]


def _density(
    reached: np.ndarray, effect: float, counts: Sequence[int], bounds: Sequence[float]
) -> np.ndarray:
    """The density of the last look's mean, in standard errors, where no earlier look has passed."""
    times = [count / counts[-1] for count in counts]
    sums, density = np.zeros(1), np.ones(1)
    for place, now in enumerate(times):
        step = now - (times[place - 1] if place else 0.0)
        reach = FAR * math.sqrt(now)
        bound = min(bounds[place] * math.sqrt(now), effect * now + reach)
        lowest = min(effect * now, bound) - reach
        ends = reached if place + 1 == len(times) else np.linspace(lowest, bound, POINTS)
        gaps = ends[:, None] - sums - effect * step
        density = np.exp(-(gaps**2) / (2 * step)) @ density
        density, sums = density / density.max(), ends
    return density
