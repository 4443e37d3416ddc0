"""From paired differences to a decision: thin wrappers of scipy and statsmodels.

The verdict is a paired t over seeds, which keeps its level at three to ten seeds where a
percentile or BCa bootstrap does not. Three kinds of statement are tested, each one-sided at the
claim's own share of alpha:

- ``<`` and ``>``: the mean difference lies beyond 0;
- ``<=`` and ``>=``: it does not lie beyond the margin on the wrong side (non-inferiority);
- ``~``: it lies within the margin on both sides (two one-sided tests).

A statement is REFUTED when its opposite is shown, and UNDECIDED when neither is. A claim of several
comparisons needs all of them but falls with one, so each refutes at its part of the level alone.
What no seed can change (statistics of tables) is compared as numbers. Where training gives every
seed the same difference (best epochs often), a t says nothing and the sign test decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from embinit.errors import InputError

POWER_WANTED = 0.9
MOST_SEEDS = 1000


class Verdict(StrEnum):
    """The decision on a claim."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    UNDECIDED = "UNDECIDED"
    NOT_RUN = "NOT RUN"


VERDICTS = tuple(map(str, Verdict))
"""All verdicts, in the order in which their counts are reported."""


class Relation(StrEnum):
    """How a claim states that two quantities stand to one another."""

    BELOW = "<"
    ABOVE = ">"
    NOT_ABOVE = "<="
    NOT_BELOW = ">="
    ALIKE = "~"

    @property
    def symbol(self) -> str:
        """The relation as people write it."""
        return _FACTS[self].symbol

    @property
    def uses_margin(self) -> bool:
        """Whether a margin decides it; ``<`` and ``>`` are tested against 0."""
        return _FACTS[self].uses_margin

    @property
    def says(self) -> str:
        """What it states of the mean difference, left minus right, for people."""
        return _FACTS[self].says

    def bounds(self, margin: float) -> tuple[float, float]:
        """The range of mean differences in which the statement holds; an open end is infinite."""
        return _FACTS[self].bounds(margin)


class _Facts(NamedTuple):
    """All that sets one relation apart from the others."""

    symbol: str
    uses_margin: bool
    says: str
    bounds: Callable[[float], tuple[float, float]]


_FACTS = {
    Relation.BELOW: _Facts("<", False, "is below 0", lambda margin: (-math.inf, 0.0)),
    Relation.ABOVE: _Facts(">", False, "is above 0", lambda margin: (0.0, math.inf)),
    Relation.NOT_ABOVE: _Facts(
        "≤", True, "is not above 0 by more than the margin", lambda margin: (-math.inf, margin)
    ),
    Relation.NOT_BELOW: _Facts(
        "≥", True, "is not below 0 by more than the margin", lambda margin: (-margin, math.inf)
    ),
    Relation.ALIKE: _Facts(
        "≈", True, "is within the margin on both sides", lambda margin: (-margin, margin)
    ),
}


@dataclass(frozen=True)
class Outcome:
    """A comparison's numbers.

    Attributes:
        verdict: The verdict on the comparison.
        n: How many pairs of values there are.
        difference: The mean of left - right.
        interval: The two-sided interval of the difference at ``level``.
        level: 1 - 2 alpha, so that the one-sided decision can be read off the interval.
        margin: The margin that was allowed, in the metric's unit.
        p: The one-sided p of the statement.
        p_against: The one-sided p of its opposite.
        power: The chance that ``n`` seeds support the statement if the truth lies one margin
            inside it; None where there is no margin or no spread.
        seeds_needed: How many seeds would decide with 90 % power if the observed mean and spread
            were true; None where that is over 1000, or where the comparison is decided.
        exact: Whether no randomness was involved.
    """

    verdict: Verdict
    n: int
    difference: float
    interval: tuple[float, float]
    level: float
    margin: float
    p: float
    p_against: float
    power: float | None
    seeds_needed: int | None
    exact: bool


def compare(
    left: Sequence[float],
    right: Sequence[float],
    relation: Relation,
    alpha: float,
    margin: float = 0.0,
    random: bool = True,
    alpha_against: float | None = None,
) -> Outcome:
    """Decides ``left relation right`` from values paired by seed.

    Args:
        left: One value a seed.
        right: The other side's values, seed by seed.
        relation: How the first is stated to stand to the second.
        alpha: The level at which the statement is SUPPORTED.
        margin: In the metric's unit, at least 0. It widens ``<=``, ``>=`` and ``~``; ``<`` and
            ``>`` test against 0 and use it for their power alone.
        random: Whether the values depend on the seed, even if all differences are equal.
        alpha_against: The level at which the statement is REFUTED; None means ``alpha``.

    Raises:
        InputError: There are fewer than two pairs, the lengths differ, or a value is not finite.
    """
    from scipy import stats  # takes most of a second, and collecting claims decides none

    differences = _differences(left, right)
    against = alpha if alpha_against is None else alpha_against
    spread = float(np.std(differences, ddof=1))
    mean = float(np.mean(differences))
    if spread <= 1e-12 * max(1.0, float(np.max(np.abs(differences)))):
        if random:
            return _tied(mean, len(differences), relation, alpha, margin, against)
        return _exact(mean, len(differences), relation, alpha, margin)
    supporting, opposing = _sides(relation, margin)
    p = max(_p(differences, bound, side) for bound, side in supporting)
    p_against = min(_p(differences, bound, side) for bound, side in opposing)
    verdict = _verdict(p, p_against, alpha, against)
    error = spread / math.sqrt(len(differences))
    reach = float(stats.t.ppf(1 - alpha, len(differences) - 1)) * error
    return Outcome(
        verdict=verdict,
        n=len(differences),
        difference=mean,
        interval=(mean - reach, mean + reach),
        level=1 - 2 * alpha,
        margin=margin,
        p=p,
        p_against=p_against,
        power=_power(margin / spread, len(differences), alpha) if margin > 0 else None,
        seeds_needed=_seeds_needed(mean, spread, relation, alpha, margin)
        if verdict is Verdict.UNDECIDED
        else None,
        exact=False,
    )


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rho; 0 where one of the two is constant, since a constant has no ranks."""
    from scipy import stats

    if len(set(first)) < 2 or len(set(second)) < 2:
        return 0.0
    return float(stats.spearmanr(first, second).statistic)


def _differences(left: Sequence[float], right: Sequence[float]) -> np.ndarray:
    if len(left) != len(right):
        raise InputError(f"{len(left)} values can't be paired with {len(right)}")
    if len(left) < 2:
        raise InputError(
            f"a paired test needs at least 2 seeds, not {len(left)}; ask for more with "
            "--embinit-seeds"
        )
    differences = np.asarray(left, dtype=float) - np.asarray(right, dtype=float)
    if not np.isfinite(differences).all():
        raise InputError("a measure is not finite, so the seeds can't be compared")
    return np.asarray(differences)


Side = tuple[float, str]


def _sides(relation: Relation, margin: float) -> tuple[list[Side], list[Side]]:
    """Bounds on the mean difference and the side of each: for the statement, for its opposite."""
    low, high = relation.bounds(margin)
    supporting: list[Side] = [(low, "greater")] if math.isfinite(low) else []
    opposing: list[Side] = [(low, "less")] if math.isfinite(low) else []
    if math.isfinite(high):
        supporting.append((high, "less"))
        opposing.append((high, "greater"))
    return supporting, opposing


def _p(differences: np.ndarray, bound: float, side: str) -> float:
    from scipy import stats

    bounds = np.full_like(differences, bound)
    # scipy divides by the mean to look for cancellation, and the mean may be next to nothing.
    with np.errstate(over="ignore"):
        return float(stats.ttest_rel(differences, bounds, alternative=side).pvalue)


def _verdict(p: float, p_against: float, alpha: float, against: float) -> Verdict:
    if p <= alpha:
        return Verdict.SUPPORTED
    return Verdict.REFUTED if p_against <= against else Verdict.UNDECIDED


def _exact(mean: float, n: int, relation: Relation, alpha: float, margin: float) -> Outcome:
    """Every seed shows the same difference: a comparison of two numbers."""
    low, high = relation.bounds(margin)
    holds = low <= mean <= high
    verdict = Verdict.SUPPORTED if holds else Verdict.REFUTED
    # No difference at all decides nothing about which of the two is the larger.
    if not relation.uses_margin and mean == 0:
        verdict = Verdict.UNDECIDED
    p = {Verdict.SUPPORTED: 0.0, Verdict.REFUTED: 1.0, Verdict.UNDECIDED: 0.5}[verdict]
    return Outcome(
        verdict, n, mean, (mean, mean), 1 - 2 * alpha, margin, p, 1 - p, None, None, exact=True
    )


def _tied(
    mean: float, n: int, relation: Relation, alpha: float, margin: float, against: float
) -> Outcome:
    """Every seed happens to show the same difference: n equal signs have p = 1 / 2^n."""
    exact = _exact(mean, n, relation, alpha, margin)
    signs = 0.5**n
    p = {Verdict.SUPPORTED: signs, Verdict.REFUTED: 1.0, Verdict.UNDECIDED: 1.0}[exact.verdict]
    p_against = signs if exact.verdict is Verdict.REFUTED else 1.0
    verdict = _verdict(p, p_against, alpha, against)
    needed = None
    if verdict is Verdict.UNDECIDED and min(p, p_against) < 1:
        needed = math.ceil(-math.log2(alpha))
    return replace(
        exact,
        verdict=verdict,
        interval=(-math.inf, math.inf),
        p=p,
        p_against=p_against,
        seeds_needed=needed,
        exact=False,
    )


def _power(effect: float, n: int, alpha: float) -> float:
    """Power of the one-sided paired t against ``effect`` standard deviations of the difference."""
    from scipy import stats
    from statsmodels.stats.power import TTestPower

    power = float(TTestPower().power(effect, n, alpha, alternative="larger"))
    if math.isnan(power):
        # scipy's noncentral t gives up far out, where the normal is as good.
        power = float(stats.norm.cdf(effect * math.sqrt(n) - stats.t.ppf(1 - alpha, n - 1)))
    return power


def _seeds_needed(
    mean: float, spread: float, relation: Relation, alpha: float, margin: float
) -> int | None:
    """The fewest seeds with 90 % power for the side that the observed mean lies on."""
    supporting, opposing = _sides(relation, margin)
    inside = [mean - bound if side == "greater" else bound - mean for bound, side in supporting]
    if min(inside) > 0:
        effect = min(inside) / spread
    else:
        effect = max(mean - b if side == "greater" else b - mean for b, side in opposing) / spread
    return seeds_for(effect, alpha)


def seeds_for(effect: float, alpha: float) -> int | None:
    """The fewest seeds that show an effect with 90 % power.

    Args:
        effect: The mean difference, in standard deviations of the difference.
        alpha: The level of the one-sided test.

    Returns:
        The number of seeds, or None where it is over 1000 or the effect is not above 0.
    """
    if effect <= 0 or _power(effect, MOST_SEEDS, alpha) < POWER_WANTED:
        return None
    low, high = 2, MOST_SEEDS
    while low < high:
        middle = (low + high) // 2
        if _power(effect, middle, alpha) >= POWER_WANTED:
            high = middle
        else:
            low = middle + 1
    return low


def holm(ps: Sequence[float]) -> list[float]:
    """Holm-adjusted p of each of a family's comparisons, in their order.

    They are shown beside the verdicts and decide nothing.
    """
    from statsmodels.stats.multitest import multipletests

    if not ps:
        return []
    return [float(p) for p in multipletests(list(ps), method="holm")[1]]
