"""From differences over seeds to a decision, by the rule that ``statements.RULE`` has in words.

Unpaired numbers are decided by Welch's t (1947, Biometrika 34:28), or by Student's where the noise
of one run is known; statistics of tables are compared as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from embinit.errors import InputError
from embinit.stats.power import power, seeds_for
from embinit.stats.statements import Evidence, KnownSd, Outcome, Pairing, Relation, Verdict

ALIKE = 1e-12
"""The standard deviation, over the largest score, up to which values differ by rounding alone."""

DONT_VARY = "the differences don't vary: does the seed reach the training?"


def decide(evidence: Evidence) -> Outcome:
    """Decide a comparison.

    InputError for no values, a single pair, sides that can't be paired, or a score that is not
    finite.
    """
    left, right = np.asarray(evidence.left, dtype=float), np.asarray(evidence.right, dtype=float)
    _check(left, right, evidence.pairing)
    if reason := _why_undecidable(left, right, evidence):
        return _undecidable(left, right, evidence, reason)
    known_sd = evidence.known_sd if evidence.random else None
    whole = _estimate(left, right, known_sd, evidence.pairing)
    n, level, margin = _count(left, right, evidence.pairing), evidence.level, evidence.margin
    relation, pairing = evidence.relation, evidence.pairing
    if whole.sd <= _rounding(left, right):
        if evidence.random:
            return _undecidable(left, right, evidence, DONT_VARY)
        return _exact(whole.mean, n, relation, 1 - 2 * level, margin)
    verdict, hangs_on = Verdict.UNDECIDED, None
    for found in whole.shown(evidence) if n >= evidence.fewest else ():
        rests = _without_each(left, right, known_sd, pairing) if evidence.leave_one_out else ()
        odd = next((place for place, rest in rests if found not in rest.shown(evidence)), None)
        if odd is None:
            verdict = found
            break
        hangs_on = odd if hangs_on is None else hangs_on
    needed = None
    if verdict is Verdict.UNDECIDED:
        registered = 0 if known_sd is None else known_sd.degrees
        samples = 1 if pairing is Pairing.BY_SEED else 2
        # How far the mean lies inside of what it would decide, whichever verdict that is.
        depth = max(abs(inside(whole.mean, relation, margin)), margin - abs(whole.mean))
        needed = seeds_for(depth / whole.sd, level, registered, samples)
        needed = needed and max(needed, n + 1)
    statement, opposite, no_effect = whole.ps(relation, margin)
    return Outcome(
        verdict,
        n,
        whole.mean,
        whole.interval(level),
        1 - 2 * level,
        margin,
        statement,
        opposite,
        no_effect,
        needed,
        sd=whole.sd,
        known_sd=known_sd,
        hangs_on=hangs_on,
    )


def _count(left: np.ndarray, right: np.ndarray, pairing: Pairing) -> int:
    """The number of pairs, or of values on the side that has fewer."""
    return len(left) if pairing is Pairing.AGAINST_NOISE else min(len(left), len(right))


def _check(left: np.ndarray, right: np.ndarray, pairing: Pairing) -> None:
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InputError("a measure is not finite, so the seeds can't be compared")
    if pairing is not Pairing.BY_SEED:
        if not (len(left) and len(right)):
            raise InputError("one side has no values, so there is nothing to compare")
    elif len(left) != len(right):
        raise InputError(f"{len(left)} values can't be paired with {len(right)}")
    elif len(left) < 2:
        mend = "ask for more with --embinit-seeds"
        raise InputError(f"a paired test needs at least 2 seeds, not {len(left)}; {mend}")


def _rounding(left: np.ndarray, right: np.ndarray) -> float:
    """The standard deviation that rounding alone may give the scores."""
    return ALIKE * max(1.0, float(np.abs(left).max()), float(np.abs(right).max()))


def constant(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether the differences of pairs are the same for every seed, but for rounding."""
    return float(np.std(left - right)) <= _rounding(left, right)


def _why_undecidable(left: np.ndarray, right: np.ndarray, evidence: Evidence) -> str:
    """Why values can't decide, whatever they are: what doesn't vary, or is alone; else ""."""
    if not evidence.random:
        return ""
    if evidence.pairing is Pairing.BY_SEED:
        if not constant(left, right):
            return ""
        if not np.any(left - right):
            return "the score doesn't vary: both arms have the same on every seed"
        return DONT_VARY
    if len(left) + len(right) == 2 and evidence.known_sd is None:
        return "one number an arm shows nothing of the noise"
    sides = zip(evidence.names, (left, right), strict=True)
    still = [name for name, side in sides if len(side) > 1 and constant(side, side[:1])]
    names = " and ".join(still)
    return f"the scores of {names} don't vary: does the seed reach the training?" if names else ""


def _undecidable(left: np.ndarray, right: np.ndarray, evidence: Evidence, reason: str) -> Outcome:
    n, mean = _count(left, right, evidence.pairing), float(np.mean(left) - np.mean(right))
    endless, level = (-math.inf, math.inf), 1 - 2 * evidence.level
    undecided = (Verdict.UNDECIDED, n, mean, endless, level, evidence.margin, 1.0, 1.0)
    return Outcome(*undecided, reason=reason)


def _exact(mean: float, n: int, relation: Relation, level: float, margin: float) -> Outcome:
    """A comparison of two numbers, which no seed changes."""
    low, high = relation.bounds(margin)
    verdict = Verdict.SUPPORTED if low <= mean <= high else Verdict.REFUTED
    if not relation.uses_margin and mean == 0:
        verdict = Verdict.NO_EFFECT
    p = {Verdict.SUPPORTED: 0.0, Verdict.REFUTED: 1.0, Verdict.NO_EFFECT: 0.5}[verdict]
    return Outcome(verdict, n, mean, (mean, mean), level, margin, p, 1 - p, exact=True)


class _Estimate(NamedTuple):
    """A mean difference with its standard deviation, degrees of freedom and skewness.

    ``n`` is the number of pairs, or the harmonic mean of both sides' counts.
    """

    mean: float
    sd: float
    n: float
    degrees: float
    skewness: float

    @property
    def error(self) -> float:
        return self.sd / math.sqrt(self.n)

    def _lean(self, side: str) -> float:
        """What skewness towards a bound costs: its factor in 1 + 2 t^2."""
        skewness = -self.skewness if side == "greater" else self.skewness
        return max(skewness, 0.0) / (6 * math.sqrt(self.n))

    def interval(self, alpha: float) -> tuple[float, float]:
        """What a one-sided decision at ``alpha`` can be read off, on either side."""
        from scipy import special  # collecting claims decides none, and need not load it

        student = -float(special.stdtrit(self.degrees, alpha))
        low, high = (
            (student + self._lean(side) * (1 + 2 * student**2)) * self.error
            for side in ("greater", "less")
        )
        return self.mean - low, self.mean + high

    def p(self, bound: float, side: str) -> float:
        """The level whose t bound the mean just reaches, to a side of ``bound``."""
        from scipy import special  # its t is a hundred times as fast as that of scipy.stats

        t = (self.mean - bound) / self.error * (1 if side == "greater" else -1)
        lean = self._lean(side)
        if not math.isinf(t):
            t = 2 * (t - lean) / (1 + math.sqrt(1 + 8 * lean * max(t - lean, 0)))
        return float(special.stdtr(self.degrees, -t))

    def ps(self, relation: Relation, margin: float) -> tuple[float, float, float | None]:
        """One-sided p of the statement, of its opposite, and of a difference within the margin."""

        def inside_of(low: float, high: float) -> float:
            return max(self.p(low, "greater"), self.p(high, "less"))

        low, high = relation.bounds(margin)
        opposite = min(self.p(low, "less"), self.p(high, "greater"))
        tested = margin > 0 and not relation.uses_margin
        return inside_of(low, high), opposite, inside_of(-margin, margin) if tested else None

    def shown(self, evidence: Evidence) -> list[Verdict]:
        """The verdicts that it shows, the first of which counts; none where nothing varies."""
        if self.sd <= 0:
            return []
        level, against = evidence.level, evidence.level_against
        against = level if against is None else against
        statement, opposite, no_effect = self.ps(evidence.relation, evidence.margin)
        levels = {
            Verdict.NO_EFFECT: no_effect is not None and no_effect <= against,
            Verdict.SUPPORTED: statement <= level,
            Verdict.REFUTED: opposite <= against,
        }
        return [verdict for verdict, is_shown in levels.items() if is_shown]


def _estimate(
    left: np.ndarray, right: np.ndarray, known_sd: KnownSd | None, pairing: Pairing
) -> _Estimate:
    known = (0, 0.0) if known_sd is None else (known_sd.degrees, known_sd.sd**2)
    if pairing is Pairing.BY_SEED:
        differences = left - right
        mean, own = float(np.mean(differences)), _Moments.of(differences)
        degrees = own.n - 1 + known[0]
        variance = (own.n * own.second + known[0] * known[1]) / degrees
        skewness = own.third / own.second**1.5 if own.second > 0 else 0.0
        return _Estimate(mean, math.sqrt(variance), own.n, degrees, skewness)
    return _unpaired(left, right, known, pairing is Pairing.AGAINST_NOISE)


class _Moments(NamedTuple):
    n: int
    second: float
    third: float

    @classmethod
    def of(cls, values: np.ndarray) -> _Moments:
        away = values - np.mean(values)
        return cls(len(values), float(np.mean(away**2)), float(np.mean(away**3)))


def _unpaired(
    left: np.ndarray, right: np.ndarray, known: tuple[int, float], noise: bool
) -> _Estimate:
    """Welch's t; Student's with the variance pooled, where one of two runs' difference is known.

    With ``noise`` the right side's values are those that the known variance comes from.
    """
    both = _Moments.of(left), _Moments.of(right)
    counted = both[:1] if noise else both
    registered, variance = known
    n = 2 / (1 / both[0].n + 1 / both[1].n)
    own = sum(side.n - 1 for side in counted)
    if registered:
        squares = 2 * sum(side.n * side.second for side in counted)
        degrees = float(own + registered)
        variance = (squares + registered * variance) / degrees
    elif min(side.n for side in both) > 1:
        parts = [side.second / (side.n - 1) for side in both]
        squares = sum(part**2 / (side.n - 1) for part, side in zip(parts, both, strict=True))
        degrees = sum(parts) ** 2 / squares if squares else float(own)
        variance = sum(parts) * n
    elif own:
        degrees, variance = float(own), 2 * sum(side.n * side.second for side in both) / own
    else:
        raise AssertionError("one value an arm is no evidence")
    third = both[0].third / both[0].n ** 2 - both[1].third / both[1].n ** 2
    skewness = third / (variance / n) ** 1.5 * math.sqrt(n) if variance > 0 else 0.0
    mean = float(np.mean(left) - np.mean(right))
    return _Estimate(mean, math.sqrt(variance), n, degrees, skewness)


def _without_each(
    left: np.ndarray, right: np.ndarray, known_sd: KnownSd | None, pairing: Pairing
) -> Iterator[tuple[int, _Estimate]]:
    """The estimates without each value of three or more; noise of before keeps all of its own."""
    for index in range(len(left) if len(left) >= 3 else 0):
        others = np.delete(right, index) if pairing is Pairing.BY_SEED else right
        yield index, _estimate(np.delete(left, index), others, known_sd, pairing)
    for index in range(len(right) if pairing is Pairing.NONE and len(right) >= 3 else 0):
        yield len(left) + index, _estimate(left, np.delete(right, index), known_sd, pairing)


def inside(mean: float, relation: Relation, margin: float) -> float:
    """How far the mean lies inside of the range that is stated; below 0 outside of it."""
    low, high = relation.bounds(margin)
    return min(mean - low, high - mean)


def chance_to_support(
    outcome: Outcome, relation: Relation, n: float, alpha: float, samples: int = 1
) -> float:
    """The chance that ``n`` seeds support a comparison, were mean and standard deviation true.

    ``samples`` is 1 for pairs, 2 without.
    """
    if outcome.sd <= 0:
        return 0.0
    inner = inside(outcome.difference, relation, outcome.margin)
    registered = 0 if outcome.known_sd is None else outcome.known_sd.degrees
    return power(inner / outcome.sd, n, alpha, registered, samples)
