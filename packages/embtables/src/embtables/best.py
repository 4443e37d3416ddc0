"""Search for the best of several arms by multiple comparisons with the best, look after look.

Hsu's multiple comparisons with the best (1984, Ann. Stat. 12:1136; the book of 1996, chapter 4)
need one event alone: that no other start beats *the best one* by more than chance allows. It has
the probability 1 - alpha for each start that may be the best, by Dunnett's many-to-one bounds. Two
statements follow from it, each wrong with at most the probability alpha:

- the best start is among the candidates: those that no other start beats;
- a start's cost against the best lies in its interval.

The candidates use one-sided bounds, the costs two-sided ones. A search makes one statement, that on
the costs: it rules out what surely costs something, however little.

Starts vary unlike each other, so a pair's standard error has the two variances of its own (after
Hasler and Hothorn 2008, Biom. J. 50:793). A few seeds that happen to lie close to each other are no
sign of a small spread, so no variance is taken to be smaller than the pooled one. A start may train
well on some seeds alone, and a few seeds need not meet them. So every bound is moved outwards by
what a Cornish-Fisher expansion says that skewed scores cost (Johnson 1978, J. Am. Stat. Assoc.
73:536).

Each look takes three tenths of the error that is left. So the looks need no end that is fixed
beforehand: however long it goes on, the error adds up to at most alpha, whatever the looks have in
common. A start that a look has ruled out gets no more seeds, and its cost is the one of that look.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embinit.errors import InputError

SPENT = 0.3
"""The share of the remaining error that a look spends."""

SKEWNESS = 1.5
"""The skewness, to either side, that the difference of two starts is taken to have."""

MOST_DEGREES = 1000
TINY = 1e-18
"""A lower bound of variances, against division by zero where all scores agree."""
_HERMITE, _LEGENDRE = 64, 128


def level(look: int, alpha: float) -> float:
    """The error of a look.

    Args:
        look: Its number, from 0.
        alpha: The error of all looks together.
    """
    return alpha * SPENT * (1 - SPENT) ** look


@dataclass(frozen=True)
class Scores:
    """The summary of an arm's scores over seeds; higher is better.

    Attributes:
        mean: Their mean.
        variance: Their variance, with n - 1 in the denominator.
        n: How many seeds there are.
    """

    mean: float
    variance: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Scores:
        """The scores' summary.

        Raises:
            InputError: There are fewer than two, or one is not finite.
        """
        if len(values) < 2 or not np.isfinite(values).all():
            raise InputError(f"a start needs two finite scores or more, not {list(values)}")
        return cls(float(np.mean(values)), float(np.var(values, ddof=1)), len(values))


@dataclass(frozen=True)
class Bounds:
    """The bounds of one look for each arm, in the order of the scores.

    Attributes:
        candidates: Whether the start may be the best, by the first statement.
        costless: Whether it may cost nothing, by the second; where it may not, it costs more than
            ``low``, which may be 0.
        low: The least that it costs against the best, at least 0.
        high: The most that it costs against the best.
    """

    candidates: tuple[bool, ...]
    costless: tuple[bool, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


def compare_with_best(scores: Sequence[Scores], alpha: float, resolution: float = 0.0) -> Bounds:
    """Multiple comparisons with the best at one look.

    Args:
        scores: Two starts or more.
        alpha: The error of each of the two statements.
        resolution: The smallest standard deviation that a score can have.
    """
    means = np.array([each.mean for each in scores])
    one_sided, two_sided = (
        _allowances(scores, alpha, resolution, two_sided) for two_sided in (False, True)
    )
    ahead = means[:, None] - means[None, :]
    candidates = (ahead + one_sided >= 0).all(axis=1)
    # The best is among these by the two-sided bounds as well, which the costs rest on.
    costless = (ahead + two_sided >= 0).all(axis=1)
    low, high = [], []
    for start in range(len(scores)):
        others = [best for best in np.flatnonzero(costless) if best != start]
        behind = [(-ahead[start, best], two_sided[best, start]) for best in others]
        least = min((gap - reach for gap, reach in behind), default=0.0)
        most = max((gap + reach for gap, reach in behind), default=0.0)
        low.append(0.0 if costless[start] else float(max(0.0, least)))
        high.append(float(max(0.0, most)))
    return Bounds(tuple(candidates.tolist()), tuple(costless.tolist()), tuple(low), tuple(high))


def _allowances(
    scores: Sequence[Scores], alpha: float, resolution: float, two_sided: bool
) -> NDArray[np.float64]:
    """The margins by which arm j may lead arm i by chance if i is the best: (i, j)."""
    count = len(scores)
    ns = np.array([each.n for each in scores], dtype=float)
    own = np.array([each.variance for each in scores])
    pooled = float(np.sum((ns - 1) * own) / np.sum(ns - 1))
    least = max(pooled, resolution**2, TINY)
    variances = np.maximum(own, least)
    degrees = np.where(own > least, ns - 1, np.sum(ns - 1))
    errors = variances / ns
    allowances = np.zeros((count, count))
    for best in range(count):
        others = [start for start in range(count) if start != best]
        # Correlations of the differences from one control; the smallest is on the safe side.
        shares = sorted(math.sqrt(errors[best] / (errors[best] + errors[o])) for o in others)
        correlation = shares[0] * shares[1] if len(shares) > 1 else 0.0
        for other in others:
            both = errors[best] + errors[other]
            joint = both**2 / (
                errors[best] ** 2 / degrees[best] + errors[other] ** 2 / degrees[other]
            )
            bound = many_to_one(len(others), float(joint), correlation, alpha, two_sided)
            lean = SKEWNESS * (1 + 2 * bound**2) / (6 * math.sqrt(min(ns[best], ns[other])))
            allowances[best, other] = (bound + lean) * math.sqrt(both)
    return allowances


def many_to_one(
    comparisons: int, degrees: float, correlation: float, alpha: float, two_sided: bool
) -> float:
    """Dunnett's bound (1955, J. Am. Stat. Assoc. 50:1096) for comparisons with one control.

    Args:
        comparisons: How many starts are compared with the control.
        degrees: Degrees of freedom of the standard error; rounded down.
        correlation: Of any two of the comparisons; rounded down to a twentieth.
        alpha: The probability that any comparison passes the bound by chance.
        two_sided: Whether a comparison passes it on either side.

    Returns:
        The bound, in standard errors of a difference.
    """
    whole = min(MOST_DEGREES, max(1, math.floor(degrees + 1e-9)))
    twentieth = max(0.0, math.floor(20 * correlation + 1e-9) / 20)
    return _many_to_one(comparisons, whole, min(twentieth, 0.95), alpha, two_sided)


@functools.lru_cache(maxsize=1 << 15)
def _many_to_one(
    comparisons: int, degrees: int, correlation: float, alpha: float, two_sided: bool
) -> float:
    from scipy import optimize, special  # collecting claims decides none, and need not load it

    nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE)
    weights = weights / weights.sum()
    levels, of_levels = np.polynomial.legendre.leggauss(_LEGENDRE)
    # The substitution lets both ends of the integral over the spread go flat.
    inner = (1 + np.sin(levels * math.pi / 2)) / 2
    of_levels = of_levels * np.cos(levels * math.pi / 2) * math.pi / 4
    spread = np.sqrt(2 * special.gammaincinv(degrees / 2, inner) / degrees)
    common, own = math.sqrt(correlation), math.sqrt(1 - correlation)

    def chance_beyond(bound: float) -> float:
        inside = special.ndtr((bound * spread[:, None] + common * nodes) / own)
        if two_sided:
            inside = inside - special.ndtr((-bound * spread[:, None] + common * nodes) / own)
        return 1.0 - float(of_levels @ (inside**comparisons @ weights)) - alpha

    sides = 2 if two_sided else 1
    low = float(-special.stdtrit(degrees, alpha / sides))
    high = float(-special.stdtrit(degrees, alpha / (sides * comparisons)))
    if comparisons == 1:
        return low
    return float(optimize.brentq(chance_beyond, low - 1e-6, high + 1e-6, xtol=1e-9))


FIRST_SEEDS = 5
"""The number of seeds of the first look, which doubles with each later one."""


def seeds_of(look: int) -> int:
    """The number of seeds of a look.

    Args:
        look: Its number, from 0.
    """
    return FIRST_SEEDS << look


@dataclass
class ArmStatus:
    """The status of one arm in a search.

    Attributes:
        scores: Its scores at the last look that it had.
        low: The least that it costs against the best; it costs more where it is ruled out.
        high: The most that it costs against the best.
        ruled_out: The look at which it was ruled out, from 0; None for a candidate.
    """

    scores: Scores
    low: float
    high: float
    ruled_out: int | None = None


class BestArmSearch:
    """A search for the best arm, until one is left or all that are left cost next to nothing.

    Args:
        count: How many starts there are.
        alpha: The error of the statement on all costs, over all looks.
        resolution: The smallest standard deviation that a score can have.
        within: A cost that does not matter, in the score's unit.

    Attributes:
        looks: How many looks there were.
        statuses: One for each start, after the first look.
    """

    def __init__(
        self, count: int, alpha: float = 0.05, resolution: float = 0.0, within: float = 0.0
    ) -> None:
        self.alpha, self.resolution, self.within = alpha, resolution, within
        self.looks = 0
        self.statuses: list[ArmStatus] = []
        self._candidates = list(range(count))

    @property
    def candidates(self) -> tuple[int, ...]:
        """The arms that may be the best."""
        return tuple(self._candidates)

    @property
    def seeds(self) -> int:
        """The number of seeds of each candidate at the next look."""
        return seeds_of(self.looks)

    @property
    def decided(self) -> bool:
        """Whether one candidate is left, or all cost at most ``within``."""
        if not self.looks:
            return False
        costs = [self.statuses[start].high for start in self._candidates]
        return len(costs) == 1 or max(costs) <= self.within

    def look(self, values: Sequence[Sequence[float]]) -> None:
        """Updates the arms' status from the candidates' scores at a look.

        Args:
            values: For each candidate, in the order of ``candidates``, one score a seed.
        """
        scores = [Scores.of(each) for each in values]
        if len(scores) == 1:
            bounds = Bounds((True,), (True,), (0.0,), (0.0,))
        else:
            bounds = compare_with_best(scores, level(self.looks, self.alpha), self.resolution)
        first = not self.statuses
        for number, start in enumerate(self._candidates):
            ruled_out = None if bounds.costless[number] else self.looks
            status = ArmStatus(scores[number], bounds.low[number], bounds.high[number], ruled_out)
            if first:
                self.statuses.append(status)
            else:
                self.statuses[start] = status
        self._candidates = [
            start for start in self._candidates if self.statuses[start].ruled_out is None
        ]
        self.looks += 1
