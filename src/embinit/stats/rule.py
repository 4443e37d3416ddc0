"""From differences over seeds to a decision, by the rule that ``statements.RULE`` has in words.

Unpaired numbers are decided by Welch's t (1947, Biometrika 34:28), or by Student's where the noise
of one run is known; statistics of tables are compared as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from embinit.errors import InputError
from embinit.stats.power import power, seeds_for
from embinit.stats.statements import (
    Outcome,
    Pairing,
    RegisteredSd,
    Relation,
    Verdict,
    sides,
)


def compare(
    left: Sequence[float],
    right: Sequence[float],
    relation: Relation,
    alpha: float,
    margin: float = 0.0,
    random: bool = True,
    alpha_against: float | None = None,
    known_sd: RegisteredSd | None = None,
    pairing: Pairing = Pairing.BY_SEED,
    leave_one_out: bool = True,
) -> Outcome:
    """Decide ``left relation right`` from values; by default paired, with one per seed.

    At ``alpha`` the statement is SUPPORTED, at ``alpha_against`` (by default the same) REFUTED or
    has NO EFFECT. The ``margin``, in the metric's unit, widens ``<=``, ``>=`` and ``~``; ``<`` and
    ``>`` test against 0 and have NO EFFECT where the difference is smaller. ``random``: values
    depend on the seed, even if all differences are equal. Without pairs a ``known_sd`` is
    that of the difference of two runs. ``leave_one_out`` is rule 4. InputError for
    too few values, pairs of different lengths, or a value that is not finite.
    """
    first, second = np.asarray(left, dtype=float), np.asarray(right, dtype=float)
    _check(first, second, pairing)
    against = alpha if alpha_against is None else alpha_against
    known_sd = known_sd if random else None
    whole = _estimate(first, second, known_sd, pairing)
    counted = first if pairing is Pairing.AGAINST_NOISE else min(first, second, key=len)
    n, level = len(counted), 1 - 2 * alpha
    size = first - second if pairing is Pairing.BY_SEED else np.concatenate([first, second])
    if whole.sd <= 1e-12 * max(1.0, float(np.max(np.abs(size)))):
        if not random:
            return _exact(whole.mean, n, relation, level, margin)
        endless = (-math.inf, math.inf)
        return Outcome(Verdict.UNDECIDED, n, whole.mean, endless, level, margin, 1.0, 1.0)
    verdict, hangs_on, tested = Verdict.UNDECIDED, None, (relation, margin, alpha, against)
    for found in whole.shown(*tested):
        rests = _without_each(first, second, known_sd, pairing) if leave_one_out else ()
        odd = next((place for place, rest in rests if found not in rest.shown(*tested)), None)
        if odd is None:
            verdict, hangs_on = found, None
            break
        hangs_on = odd if hangs_on is None else hangs_on
    needed = None
    if verdict is Verdict.UNDECIDED:
        registered = 0 if known_sd is None else known_sd.degrees
        samples = 1 if pairing is Pairing.BY_SEED else 2
        effect = depth(whole.mean, relation, margin) / whole.sd
        needed = seeds_for(effect, alpha, registered, samples)
        needed = needed and max(needed, n + 1)
    statement, opposite, no_effect = whole.ps(relation, margin)
    return Outcome(
        verdict,
        n,
        whole.mean,
        whole.interval(alpha),
        level,
        margin,
        statement,
        opposite,
        no_effect,
        needed,
        sd=whole.sd,
        known_sd=known_sd,
        hangs_on=hangs_on,
    )


def _check(left: np.ndarray, right: np.ndarray, pairing: Pairing) -> None:
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        raise InputError("a measure is not finite, so the seeds can't be compared")
    if pairing is not Pairing.BY_SEED:
        if not (len(left) and len(right)):
            raise InputError("one side has no values, so there is nothing to compare")
    elif len(left) != len(right):
        raise InputError(f"{len(left)} values can't be paired with {len(right)}")
    elif len(left) < 2:
        raise InputError(
            f"a paired test needs at least 2 seeds, not {len(left)}; ask for more with "
            "--embinit-seeds"
        )


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
        supporting, opposing = sides(relation, margin)
        within = None
        if margin > 0 and not relation.uses_margin:
            within = max(self.p(*side) for side in sides(Relation.ALIKE, margin)[0])
        return (
            max(self.p(*side) for side in supporting),
            min(self.p(*side) for side in opposing),
            within,
        )

    def shown(
        self, relation: Relation, margin: float, alpha: float, against: float
    ) -> list[Verdict]:
        """The verdicts that it shows, the first of which counts; none where nothing varies."""
        if self.sd <= 0:
            return []
        statement, opposite, no_effect = self.ps(relation, margin)
        levels = {
            Verdict.SUPPORTED: statement <= alpha,
            Verdict.REFUTED: opposite <= against,
            Verdict.NO_EFFECT: no_effect is not None and no_effect <= against,
        }
        return [verdict for verdict, is_shown in levels.items() if is_shown]


def _estimate(
    left: np.ndarray, right: np.ndarray, known_sd: RegisteredSd | None, pairing: Pairing
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
        raise InputError(
            "one value an arm shows nothing of the noise; run both again, or give the noise that "
            "was measured before"
        )
    third = both[0].third / both[0].n ** 2 - both[1].third / both[1].n ** 2
    skewness = third / (variance / n) ** 1.5 * math.sqrt(n) if variance > 0 else 0.0
    mean = float(np.mean(left) - np.mean(right))
    return _Estimate(mean, math.sqrt(variance), n, degrees, skewness)


def _without_each(
    left: np.ndarray, right: np.ndarray, known_sd: RegisteredSd | None, pairing: Pairing
) -> Iterator[tuple[int, _Estimate]]:
    """The estimates without each value of three or more; noise of before keeps all of its own."""
    if pairing is Pairing.BY_SEED:
        for index in range(len(left) if len(left) >= 3 else 0):
            rest = np.delete(left, index), np.delete(right, index)
            yield index, _estimate(*rest, known_sd, pairing)
        return
    for index in range(len(left) if len(left) >= 3 else 0):
        yield index, _estimate(np.delete(left, index), right, known_sd, pairing)
    if pairing is not Pairing.AGAINST_NOISE and len(right) >= 3:
        for index in range(len(right)):
            yield len(left) + index, _estimate(left, np.delete(right, index), known_sd, pairing)


def depth(mean: float, relation: Relation, margin: float) -> float:
    """How far the mean lies inside of what it would decide, in the metric's unit."""
    supporting, opposing = (inside(mean, side) for side in sides(relation, margin))
    return max(min(supporting), max(opposing), margin - abs(mean))


def inside(mean: float, bounds: Sequence[tuple[float, str]]) -> list[float]:
    """How far the mean lies to the side of each bound."""
    return [mean - bound if side == "greater" else bound - mean for bound, side in bounds]


def chance_to_decide(outcome: Outcome, relation: Relation, n: int, alpha: float) -> float:
    """The chance that ``n`` seeds decide an undecided comparison, were mean and sd true."""
    return _chance(outcome, depth(outcome.difference, relation, outcome.margin), n, alpha)


def chance_to_support(
    outcome: Outcome, relation: Relation, n: float, alpha: float, samples: int = 1
) -> float:
    """The chance to support it likewise; ``samples`` is 1 for pairs, 2 without."""
    supporting, _ = sides(relation, outcome.margin)
    return _chance(outcome, min(inside(outcome.difference, supporting)), n, alpha, samples)


def _chance(outcome: Outcome, inner: float, n: float, alpha: float, samples: int = 1) -> float:
    if outcome.sd <= 0:
        return 0.0
    registered = 0 if outcome.known_sd is None else outcome.known_sd.degrees
    return power(inner / outcome.sd, n, alpha, registered, samples)
