"""From differences over seeds to a decision: thin wrappers of scipy and statsmodels.

The verdict is a t of the differences over seeds, which keeps its level at three to ten seeds where
a bootstrap does not. Their spread is pooled with the registered one (``RegisteredSd``) and never
taken to be smaller; where an F-test contradicts that, the larger of the two decides alone. Each
statement is tested one-sided at the claim's share of alpha:

- ``<`` and ``>``: the mean difference lies beyond 0;
- ``<=`` and ``>=``: it does not lie beyond the margin on the wrong side (non-inferiority);
- ``~``: it lies within the margin on both sides (two one-sided tests).

A statement is REFUTED when its opposite is shown. ``<`` and ``>`` have NO EFFECT when neither is
shown but the difference is smaller than the margin on both sides. What is left is UNDECIDED, and so
is a decision that changes without one of three or more seeds. Skewed scores move the bound outwards
by a Cornish-Fisher expansion (Johnson 1978, J. Am. Stat. Assoc. 73:536). With fewer than ten
registered seeds, differences are taken to be skewed to either side, and six seeds are the fewest
that decide.

Unpaired numbers are decided by Welch's t (1947, Biometrika 34:28), or by Student's where the noise
of one arm is registered. Statistics of tables are compared as numbers. Where every seed shows the
same difference (best epochs often), the sign test decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from embinit.errors import InputError

POWER_WANTED = 0.9
MOST_SEEDS = 1000

ENOUGH_REGISTERED = 10
"""How many registered seeds vouch for a spread."""

FEWEST_SEEDS = 6
"""How many seeds a claim is decided with at least where fewer than those were registered."""

ASSUMED_SKEWNESS = 1.5
"""The skewness, to either side, that such a claim's differences are taken to have at least."""

CONTRADICTED = 0.1
"""The level of the F-test by which a claim's own seeds contradict a registered spread."""


class Verdict(StrEnum):
    """The decision on a claim."""

    SUPPORTED = "SUPPORTED"
    REFUTED = "REFUTED"
    NO_EFFECT = "NO EFFECT"
    UNDECIDED = "UNDECIDED"
    NOT_RUN = "NOT RUN"


VERDICTS = tuple(map(str, Verdict))
"""All verdicts, in the order in which their counts are reported."""


class Relation(StrEnum):
    """The relation that a claim states between two quantities."""

    BELOW = "<"
    ABOVE = ">"
    NOT_ABOVE = "<="
    NOT_BELOW = ">="
    ALIKE = "~"

    @property
    def symbol(self) -> str:
        """The relation as people write it."""
        return {"<=": "≤", ">=": "≥", "~": "≈"}.get(self.value, self.value)

    @property
    def uses_margin(self) -> bool:
        """Whether a margin decides it; ``<`` and ``>`` are tested against 0."""
        return self not in (Relation.BELOW, Relation.ABOVE)

    @property
    def says(self) -> str:
        """The statement on the mean difference, left minus right, for people."""
        return {
            "<": "is below 0",
            ">": "is above 0",
            "<=": "is not above 0 by more than the margin",
            ">=": "is not below 0 by more than the margin",
            "~": "is within the margin on both sides",
        }[self.value]

    def bounds(self, margin: float) -> tuple[float, float]:
        """The range of mean differences in which the statement holds; an open end is infinite."""
        edge = margin if self.uses_margin else 0.0
        low = -math.inf if self in (Relation.BELOW, Relation.NOT_ABOVE) else 0.0 - edge
        return low, math.inf if self in (Relation.ABOVE, Relation.NOT_BELOW) else edge


class Pairing(StrEnum):
    """What pairs the values of two sides."""

    BY_SEED = "by seed"
    NONE = "none"
    AGAINST_NOISE = "against noise"
    """Nothing, and the right side's values are those that the registered spread comes from."""


@dataclass(frozen=True)
class RegisteredSd:
    """The registered sd (n - 1) of a paired difference over seeds that no claim uses."""

    sd: float
    seeds: int

    @property
    def degrees(self) -> int:
        """The degrees of freedom that it adds."""
        return self.seeds - 1

    def contradicted_by(self, variance: float, degrees: int) -> bool:
        """Whether a claim's own differences vary more than this allows, by an F-test."""
        from scipy import special

        if not degrees:
            return False
        most = float(special.fdtri(degrees, self.degrees, 1 - CONTRADICTED))
        return variance > most * self.sd**2


def fewest_seeds(spread: RegisteredSd | None) -> int:
    """The fewest seeds that a comparison is decided with, by its registered spread."""
    return 2 if _vouched_for(spread) else FEWEST_SEEDS


def _vouched_for(spread: RegisteredSd | None) -> bool:
    return spread is not None and spread.seeds >= ENOUGH_REGISTERED


@dataclass(frozen=True)
class Outcome:
    """A comparison's numbers.

    ``n`` counts pairs, or values on the side that has fewer. ``difference`` is the mean of left -
    right; its two-sided ``interval`` at ``level`` = 1 - 2 alpha is wider to the side that the
    differences are skewed to. ``p`` and ``p_against`` are the one-sided p of the statement and of
    its opposite; ``p_no_effect``, for ``<`` and ``>`` with a margin, that of a difference within it
    (two one-sided tests). ``power`` is the chance that ``n`` seeds support the statement if the
    truth lies one margin inside it; ``seeds_needed`` would decide with 90 % power if mean and
    spread were true (None over 1000).

    ``sd`` is that of the differences, pooled where a spread is registered and not ``contradicted``;
    0 where no t was made. ``hangs_on`` is the index of the value (left's, then right's without
    pairs) without which the decision would change, and ``waits_for`` the seeds that decide at the
    earliest: either leaves it UNDECIDED. ``exact``: no randomness was involved.
    """

    verdict: Verdict
    n: int
    difference: float
    interval: tuple[float, float]
    level: float
    margin: float
    p: float
    p_against: float
    p_no_effect: float | None = None
    power: float | None = None
    seeds_needed: int | None = None
    exact: bool = False
    sd: float = 0.0
    spread: RegisteredSd | None = None
    contradicted: bool = False
    hangs_on: int | None = None
    waits_for: int | None = None


def compare(
    left: Sequence[float],
    right: Sequence[float],
    relation: Relation,
    alpha: float,
    margin: float = 0.0,
    random: bool = True,
    alpha_against: float | None = None,
    spread: RegisteredSd | None = None,
    pairing: Pairing = Pairing.BY_SEED,
) -> Outcome:
    """Decides ``left relation right`` from values, by default one a seed and paired by it.

    At ``alpha`` the statement is SUPPORTED, at ``alpha_against`` (by default the same) REFUTED or
    has NO EFFECT. The ``margin``, in the metric's unit, widens ``<=``, ``>=`` and ``~``; ``<`` and
    ``>`` test against 0 and have NO EFFECT where the difference is smaller. ``random``: values
    depend on the seed, even if all differences are equal. Without pairs a registered ``spread`` is
    that of the difference of two runs. InputError for too few values, pairs of different lengths,
    or a value that is not finite.
    """
    sample = (
        Paired.of(left, right)
        if pairing is Pairing.BY_SEED
        else TwoSamples.of(left, right, pairing is Pairing.AGAINST_NOISE)
    )
    against = alpha if alpha_against is None else alpha_against
    spread = spread if random else None
    contradicted = spread is not None and spread.contradicted_by(sample.variance, sample.degrees)
    estimate = sample.estimate(spread, contradicted)
    if estimate.sd <= 1e-12 * max(1.0, sample.largest):
        if random:
            signs = sample.signs
            if pairing is not Pairing.BY_SEED and sample.n < fewest_seeds(spread):
                signs = 1.0
            return _tied(estimate.mean, sample.n, signs, relation, alpha, margin, against)
        return _exact(estimate.mean, sample.n, relation, alpha, margin)
    ps = estimate.ps(relation, margin)
    verdict, hangs_on = ps.verdict(alpha, against), None
    waits_for = fewest_seeds(spread) if sample.n < fewest_seeds(spread) else None
    if waits_for is not None:
        verdict = Verdict.UNDECIDED
    if verdict is not Verdict.UNDECIDED:
        hangs_on = _hangs_on(
            sample, relation, alpha, margin, against, spread, contradicted, verdict
        )
        verdict = verdict if hangs_on is None else Verdict.UNDECIDED
    return Outcome(
        verdict=verdict,
        n=sample.n,
        difference=estimate.mean,
        interval=estimate.interval(alpha),
        level=1 - 2 * alpha,
        margin=margin,
        p=ps.statement,
        p_against=ps.opposite,
        p_no_effect=ps.no_effect,
        power=estimate.test.power(margin / estimate.sd, estimate.n, alpha) if margin > 0 else None,
        seeds_needed=estimate.seeds_needed(relation, alpha, margin)
        if verdict is Verdict.UNDECIDED
        else None,
        sd=estimate.sd,
        spread=spread,
        contradicted=contradicted,
        hangs_on=hangs_on,
        waits_for=waits_for,
    )


class _Ps(NamedTuple):
    """One-sided p of a statement, of its opposite, and of a difference within the margin."""

    statement: float
    opposite: float
    no_effect: float | None

    def verdict(self, alpha: float, against: float) -> Verdict:
        if self.statement <= alpha:
            return Verdict.SUPPORTED
        if self.opposite <= against:
            return Verdict.REFUTED
        if self.no_effect is not None and self.no_effect <= against:
            return Verdict.NO_EFFECT
        return Verdict.UNDECIDED


class _Test(NamedTuple):
    """The t-test that a registered spread makes possible, whatever the number of seeds.

    Registered degrees of freedom are pooled; the ``fewest`` seeds decide at the earliest. Own
    degrees are counted in ``samples`` (1 for pairs, else 2), but for the seeds and degrees in
    ``own``.
    """

    registered: int
    skewness: float
    fewest: int
    samples: int = 1
    own: tuple[float, float] | None = None

    @classmethod
    def of(cls, spread: RegisteredSd | None, contradicted: bool = False) -> _Test:
        pooled = 0 if spread is None or contradicted else spread.degrees
        skewness = 0.0 if _vouched_for(spread) else ASSUMED_SKEWNESS
        return cls(pooled, skewness, fewest_seeds(spread))

    def degrees(self, n: float) -> float:
        now = self.own is not None and n == self.own[0]
        own = self.own[1] if self.own is not None and now else self.samples * (n - 1)
        return own + self.registered

    def bound(self, n: float, alpha: float, skewness: float = 0.0) -> float:
        """The bound of a t with ``n`` seeds: Student's, and what skewness costs at it."""
        from scipy import special  # collecting claims decides none, and need not load it

        student = -float(special.stdtrit(self.degrees(n), alpha))
        lean = max(skewness, self.skewness) / (6 * math.sqrt(n))
        return student + lean * (1 + 2 * student**2)

    def p(self, n: float, t: float, skewness: float = 0.0) -> float:
        """The level whose bound is ``t``."""
        from scipy import special  # its t is a hundred times as fast as that of scipy.stats

        lean = max(skewness, self.skewness) / (6 * math.sqrt(n))
        beyond = t - lean
        student = (
            t if math.isinf(t) else 2 * beyond / (1 + math.sqrt(1 + 8 * lean * max(beyond, 0)))
        )
        return float(special.stdtr(self.degrees(n), -student))

    def power(self, effect: float, n: float, alpha: float) -> float:
        """Power of the one-sided test against ``effect`` standard deviations of the difference."""
        from scipy import special, stats
        from statsmodels.stats.power import TTestPower

        if n < self.fewest:
            return 0.0
        degrees, bound = self.degrees(n), self.bound(n, alpha)
        level = float(special.stdtr(degrees, -bound))
        power = float(TTestPower().power(effect, n, level, df=degrees, alternative="larger"))
        if math.isnan(power):
            # scipy's noncentral t gives up far out, where the normal is as good.
            power = float(stats.norm.cdf(effect * math.sqrt(n) - bound))
        return power


class _Estimate(NamedTuple):
    """A mean difference with its standard deviation and skewness, and the test that decides."""

    mean: float
    sd: float
    n: float
    skewness: float
    test: _Test

    @property
    def error(self) -> float:
        return self.sd / math.sqrt(self.n)

    def reach(self, alpha: float, side: str) -> float:
        """How far to a side of a bound the mean must lie to be shown there at ``alpha``."""
        skewness = -self.skewness if side == "greater" else self.skewness
        return self.test.bound(self.n, alpha, skewness) * self.error

    def interval(self, alpha: float) -> tuple[float, float]:
        """What a one-sided decision at ``alpha`` can be read off, on either side."""
        return self.mean - self.reach(alpha, "greater"), self.mean + self.reach(alpha, "less")

    def p(self, bound: float, side: str) -> float:
        sign = 1 if side == "greater" else -1
        return self.test.p(self.n, sign * (self.mean - bound) / self.error, -sign * self.skewness)

    def ps(self, relation: Relation, margin: float) -> _Ps:
        supporting, opposing = _sides(relation, margin)
        within = None
        if margin > 0 and not relation.uses_margin:
            within = max(self.p(bound, side) for bound, side in _sides(Relation.ALIKE, margin)[0])
        return _Ps(
            max(self.p(bound, side) for bound, side in supporting),
            min(self.p(bound, side) for bound, side in opposing),
            within,
        )

    def seeds_needed(self, relation: Relation, alpha: float, margin: float) -> int | None:
        """The fewest seeds with 90 % power for what the observed mean lies deepest in."""
        return seeds_for(_depth(self.mean, relation, margin) / self.sd, alpha, self.test)


class Paired(NamedTuple):
    """Differences of values that a seed pairs."""

    differences: np.ndarray

    @classmethod
    def of(cls, left: Sequence[float], right: Sequence[float]) -> Paired:
        """The differences of two sides; InputError for fewer than two, or infinite values."""
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
        return cls(differences)

    @property
    def n(self) -> int:
        """How many pairs there are."""
        return len(self.differences)

    @property
    def degrees(self) -> int:
        """The degrees of freedom of their variance."""
        return self.n - 1

    @property
    def variance(self) -> float:
        """The differences' variance."""
        return float(np.var(self.differences, ddof=1))

    @property
    def largest(self) -> float:
        """The largest difference, whichever way it goes."""
        return float(np.max(np.abs(self.differences)))

    @property
    def signs(self) -> float:
        """The chance that all differences have one sign though nothing differs."""
        return 0.5**self.n

    def estimate(self, spread: RegisteredSd | None, contradicted: bool) -> _Estimate:
        """The mean difference; a registered spread is pooled unless they contradict it."""
        n, test = self.n, _Test.of(spread, contradicted)
        mean = float(np.mean(self.differences))
        squares = float(np.sum((self.differences - mean) ** 2))
        least = 0.0 if spread is None else spread.sd
        pooled = math.sqrt((squares + test.registered * least**2) / test.degrees(n))
        cubes = float(np.mean((self.differences - mean) ** 3))
        skewness = cubes / (squares / n) ** 1.5 if squares > 0 else 0.0
        # A few seeds that happen to lie close to each other are no sign of a small spread.
        return _Estimate(mean, max(pooled, least), n, skewness, test)

    def without_each(self) -> Iterator[Paired]:
        """The differences without each, one after the other; none of fewer than three."""
        if self.n >= 3:
            for index in range(self.n):
                yield Paired(np.delete(self.differences, index))


class TwoSamples(NamedTuple):
    """Values of two unpaired arms; with ``noise`` the spread is registered from the right one's."""

    left: np.ndarray
    right: np.ndarray
    noise: bool = False

    @classmethod
    def of(cls, left: Sequence[float], right: Sequence[float], noise: bool = False) -> TwoSamples:
        """The samples of two sides; InputError for none, or values that aren't finite."""
        sides = (np.asarray(left, dtype=float), np.asarray(right, dtype=float))
        if not all(np.isfinite(side).all() for side in sides):
            raise InputError("a measure is not finite, so the seeds can't be compared")
        if not all(map(len, sides)):
            raise InputError("one side has no values, so there is nothing to compare")
        return cls(*sides, noise)

    @property
    def sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Both arms' values."""
        return self.left, self.right

    @property
    def n(self) -> int:
        """How many values the side has that has fewer."""
        return min(map(len, self.sides))

    @property
    def degrees(self) -> int:
        """The degrees of freedom of their variance, where both sides vary alike."""
        return len(self.left) - 1 + (0 if self.noise else len(self.right) - 1)

    @property
    def variance(self) -> float:
        """The variance of the difference of two runs, if both arms vary alike."""
        told = self.sides[:1] if self.noise else self.sides
        squares = sum(float(np.sum((side - np.mean(side)) ** 2)) for side in told)
        return 2 * squares / self.degrees if self.degrees else 0.0

    @property
    def largest(self) -> float:
        """The largest value, whichever its sign."""
        return max(float(np.max(np.abs(side))) for side in self.sides)

    @property
    def signs(self) -> float:
        """The chance that one arm's values all lie beyond the other's though nothing differs."""
        return 1 / math.comb(len(self.left) + len(self.right), len(self.left))

    def estimate(self, spread: RegisteredSd | None, contradicted: bool) -> _Estimate:
        """The difference of the means; its ``n`` is the harmonic mean of both sides' counts.

        The registered spread is that of the difference of two runs; it is pooled unless
        contradicted. One value a side and no spread is an InputError.
        """
        counts = [len(side) for side in self.sides]
        n = 2 / sum(1 / count for count in counts)
        least = 0.0 if spread is None else spread.sd
        test = _Test.of(spread, contradicted)._replace(samples=2, own=(n, self.degrees))
        if self.n > 1 and not test.registered:
            parts = [
                float(np.var(side, ddof=1)) / count
                for side, count in zip(self.sides, counts, strict=True)
            ]
            squares = sum(part**2 / (count - 1) for part, count in zip(parts, counts, strict=True))
            if squares:  # Welch's degrees of freedom
                test = test._replace(own=(n, sum(parts) ** 2 / squares))
            own = sum(parts) * n
        elif degrees := self.degrees + test.registered:
            own = (self.variance * self.degrees + test.registered * least**2) / degrees
        else:
            raise InputError(
                "one value an arm tells nothing of the noise; run both again, or give the noise "
                "that was measured before"
            )
        thirds = [
            float(np.mean((side - np.mean(side)) ** 3)) / count**2
            for side, count in zip(self.sides, counts, strict=True)
        ]
        skewness = (thirds[0] - thirds[1]) / (own / n) ** 1.5 * math.sqrt(n) if own > 0 else 0.0
        mean = float(np.mean(self.left) - np.mean(self.right))
        return _Estimate(mean, max(math.sqrt(own), least), n, skewness, test)

    def without_each(self) -> Iterator[TwoSamples]:
        """The samples without each value, left's first; an arm of two keeps both, and noise all."""
        for index in range(len(self.left) if len(self.left) >= 3 else 0):
            yield self._replace(left=np.delete(self.left, index))
        for index in range(len(self.right) if len(self.right) >= 3 and not self.noise else 0):
            yield self._replace(right=np.delete(self.right, index))


def _depth(mean: float, relation: Relation, margin: float) -> float:
    """How far the mean lies inside of what it would decide, in the metric's unit."""
    supporting, opposing = (_inside(mean, sides) for sides in _sides(relation, margin))
    return max(min(supporting), max(opposing), margin - abs(mean))


def _inside(mean: float, sides: Sequence[Side]) -> list[float]:
    """How far the mean lies to the side of each bound."""
    return [mean - bound if side == "greater" else bound - mean for bound, side in sides]


def chance_to_decide(outcome: Outcome, relation: Relation, n: int, alpha: float) -> float:
    """The chance that ``n`` seeds decide an open comparison, were mean and spread true."""
    if outcome.sd <= 0:
        return float(outcome.seeds_needed is not None and outcome.seeds_needed <= n)
    effect = _depth(outcome.difference, relation, outcome.margin) / outcome.sd
    return _Test.of(outcome.spread, outcome.contradicted).power(effect, n, alpha)


def chance_to_support(
    outcome: Outcome, relation: Relation, n: float, alpha: float, samples: int = 1
) -> float:
    """The chance to support it likewise; ``samples`` is 1 for pairs, 2 without."""
    supporting, _ = _sides(relation, outcome.margin)
    depth = min(_inside(outcome.difference, supporting))
    if outcome.sd <= 0:
        return float(depth > 0)
    test = _Test.of(outcome.spread, outcome.contradicted)._replace(samples=samples)
    return test.power(depth / outcome.sd, n, alpha)


def _hangs_on(
    sample: Paired | TwoSamples,
    relation: Relation,
    alpha: float,
    margin: float,
    against: float,
    spread: RegisteredSd | None,
    contradicted: bool,
    verdict: Verdict,
) -> int | None:
    """The first value without which the others do not show ``verdict``; None where none is."""
    others: Iterator[Paired | TwoSamples] = sample.without_each()
    for index, rest in enumerate(others):
        estimate = rest.estimate(spread, contradicted)
        # Pairs that tie are held against the sign test elsewhere; here they agree with the rest.
        if estimate.sd > 0 and estimate.ps(relation, margin).verdict(alpha, against) is not verdict:
            return index
    return None


Side = tuple[float, str]


def _sides(relation: Relation, margin: float) -> tuple[list[Side], list[Side]]:
    """Bounds on the mean difference and the side of each: for the statement, for its opposite."""
    low, high = relation.bounds(margin)
    return [(low, "greater"), (high, "less")], [(low, "less"), (high, "greater")]


def _exact(mean: float, n: int, relation: Relation, alpha: float, margin: float) -> Outcome:
    """Every seed shows the same difference: a comparison of two numbers."""
    low, high = relation.bounds(margin)
    holds = low <= mean <= high
    verdict = Verdict.SUPPORTED if holds else Verdict.REFUTED
    if not relation.uses_margin and mean == 0:
        verdict = Verdict.NO_EFFECT
    p = {Verdict.SUPPORTED: 0.0, Verdict.REFUTED: 1.0, Verdict.NO_EFFECT: 0.5}[verdict]
    level = 1 - 2 * alpha
    return Outcome(verdict, n, mean, (mean, mean), level, margin, p, 1 - p, exact=True)


def _tied(
    mean: float,
    n: int,
    signs: float,
    relation: Relation,
    alpha: float,
    margin: float,
    against: float,
) -> Outcome:
    """Every seed happens to show the same difference; the sign test's p is ``signs``, 1 / 2^n."""
    exact = _exact(mean, n, relation, alpha, margin)
    p = signs if exact.verdict is Verdict.SUPPORTED else 1.0
    p_against = signs if exact.verdict is Verdict.REFUTED else 1.0
    verdict = _Ps(p, p_against, None).verdict(alpha, against)
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


def seeds_for(effect: float, alpha: float, test: _Test | None = None) -> int | None:
    """The fewest seeds that show an effect, in sds of the difference, with 90 % power.

    None where it is not above 0 or needs over 1000 seeds. The test is by default one without a
    registered spread.
    """
    test = test or _Test.of(None)
    if effect <= 0 or test.power(effect, MOST_SEEDS, alpha) < POWER_WANTED:
        return None
    low, high = test.fewest, MOST_SEEDS
    while low < high:
        middle = (low + high) // 2
        if test.power(effect, middle, alpha) >= POWER_WANTED:
            high = middle
        else:
            low = middle + 1
    return low


def rounded_up(value: float) -> float:
    """A number above 0 with two significant digits, not below it."""
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits, max(digits, 0))


def unknown_after(alpha: float, n: int, spread: RegisteredSd) -> float:
    """Half of the interval that ``n`` seeds leave, in the metric's unit."""
    if n < fewest_seeds(spread):
        return math.inf
    return _Test.of(spread).bound(n, alpha) * spread.sd / math.sqrt(n)


def smallest_effect(alpha: float, n: int, spread: RegisteredSd) -> float:
    """The smallest mean difference that ``n`` seeds show with 90 % power, in the metric's unit."""
    from scipy import special  # statsmodels takes seconds to load, and this is told at collection

    if n < fewest_seeds(spread):
        return math.inf
    test = _Test.of(spread)
    bound = test.bound(n, alpha)
    noncentrality = float(special.nctdtrinc(test.degrees(n), 1 - POWER_WANTED, bound))
    return noncentrality / math.sqrt(n) * spread.sd
