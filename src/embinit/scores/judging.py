"""Judging arms by the scores that they have: against a baseline, each at its share of alpha.

The rules are those of claims (``claims.paired_tests``, ``claims.looks``), since a number that was
trained elsewhere is no better than one that was trained here. Arms whose runs name seeds are
compared seed by seed, others by Welch's t. Two runs can decide where the noise is known.
Counts such as 74/80 are compared by Fisher's exact test, with Newcombe's interval.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import (
    POWER_WANTED,
    Outcome,
    Pairing,
    RegisteredSd,
    Relation,
    Verdict,
    chance_to_support,
    compare,
    fewest_seeds,
)
from embinit.errors import InputError
from embinit.registry import nearest
from embinit.scores.arms import USUAL, Arms
from embinit.scores.noise import Noise

MOST_SEEDS = 24
"""How many runs of an arm the last look has, where nothing else is asked for."""

HOPELESS = 0.1
"""An arm is given up whose chance to be kept at the last look is below this. It is a rule on runs
alone: it keeps nothing, so that it makes no error of the kind that alpha is about."""

NOISE = ""
"""The baseline's name where its runs are those that the noise was measured on; no arm has it."""

LEAST_ALPHA, MOST_TRIALS = 1e-4, 10_000
"""Below these levels a t of a few runs rests on tails that nobody knows."""


@dataclass(frozen=True)
class Plan:
    """How arms are judged: fixed before the numbers are looked at.

    ``margin`` is the smallest difference that matters, in the metric's unit; 0 for none. ``alpha``
    is the chance that any of the trials is kept though it is no better. ``trials`` arms share it,
    of other sessions too; 0 for those at hand. The last look has ``most`` runs of an arm.
    """

    lower: bool
    margin: float = 0.0
    alpha: float = 0.05
    trials: int = 0
    most: int = MOST_SEEDS

    @property
    def relation(self) -> Relation:
        """What an arm is to be, compared with the baseline."""
        return Relation.BELOW if self.lower else Relation.ABOVE

    def share(self, arms: int) -> float:
        """The alpha of each of so many arms; InputError where the plan can't be."""
        if not LEAST_ALPHA <= self.alpha < 0.5:
            told = f"give {LEAST_ALPHA:g} or more, and under 0.5"
            raise InputError(f"alpha {self.alpha:g} can't be used; {told}")
        if not 0 <= self.margin < math.inf:
            raise InputError(f"a margin of {self.margin:g} can't be used; give 0 or more")
        if not 0 <= max(self.trials, arms) <= MOST_TRIALS or self.trials < 0:
            told = f"give how many share alpha, up to {MOST_TRIALS:,}"
            raise InputError(f"{max(self.trials, arms):,} trials or arms can't be; {told}")
        return self.alpha / max(self.trials, arms)

    def looks(self, spread: RegisteredSd | None, share: float) -> tuple[Look, ...]:
        """The looks at an arm with their levels; the last one has as many runs as decide at all."""
        fewest = fewest_seeds(spread)
        looks = schedule(fewest, max(self.most, fewest), share)
        return tuple(Look(look.seeds, look.share * share) for look in looks)


def level_of(looks: Sequence[Look], n: int) -> float:
    """The level at which so many runs are judged: that of the last look that they reach."""
    return next((look.share for look in reversed(looks) if look.seeds <= n), looks[0].share)


@dataclass(frozen=True)
class Judged:
    """An arm that was judged against the baseline, by its numbers and the baseline's.

    Where seeds pair runs, ``values`` are those of common seeds, and ``alone`` has the places of the
    others. ``more`` runs of each of ``short_of`` lead to the next look; None where it is decided,
    or more are no use. ``reason`` says why it is undecided, and ``noise`` where the noise is from.
    """

    arm: str
    baseline: str
    values: tuple[float, ...]
    of_baseline: tuple[float, ...]
    rule: str
    outcome: Outcome | None
    more: int | None = None
    reason: str = ""
    noise: str = ""
    looks: tuple[Look, ...] = ()
    alone: tuple[str, ...] = ()
    paired: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on the statement that it is better."""
        return Verdict.UNDECIDED if self.outcome is None else self.outcome.verdict

    @property
    def interval(self) -> tuple[float, ...]:
        """The interval of the difference; nothing where none was made."""
        return () if self.outcome is None else self.outcome.interval

    @property
    def difference(self) -> float:
        """Its mean less the baseline's."""
        return statistics.fmean(self.values) - statistics.fmean(self.of_baseline)

    @property
    def short_of(self) -> tuple[str, ...]:
        """The arms of which more runs are needed: those that have no more than the other."""
        counts = {self.baseline: len(self.of_baseline), self.arm: len(self.values)}
        counts.pop(NOISE, None)
        return tuple(name for name, count in counts.items() if count == min(counts.values()))


def judge(
    arms: Arms, plan: Plan, baseline: str | None = None, noise: Arms | None = None
) -> list[Judged]:
    """Judges each arm against the baseline: by default the arm that is called so, or the first.

    ``noise`` has runs that were made before. They are the baseline where no arm is, and they are
    of one arm.
    """
    known = Noise.of(arms, noise)
    base, others = _baseline(arms, baseline, bool(known.runs))
    share = plan.share(len(others))
    return [_judged(arms, arm, base, plan, share, known) for arm in others]


def _judged(arms: Arms, arm: str, base: str, plan: Plan, share: float, known: Noise) -> Judged:
    sides = [arms.scores[name] for name in (arm, base) if name != NOISE]
    if len(sides) == 2 and all(len(side) == 1 and side[0].of for side in sides):
        return _counted(arms, arm, base, plan, share)
    values, against = arms.values(arm), known.runs if base == NOISE else arms.values(base)
    alone: tuple[str, ...] = ()
    if pairs := () if known.before else arms.pairs(arm, base):
        seeds, common = [{score.seed: score for score in side} for side in sides], set(pairs)
        values, against = (tuple(side[seed].value for seed in pairs) for side in seeds)
        alone = tuple(s.place for side in sides for s in side if s.seed not in common)
    spread, noise = known.spread((arm, base), bool(pairs))
    pairing, rule = Pairing.NONE, f"{'Student' if spread else 'Welch'}'s t, unpaired"
    if pairs:
        pairing, rule = Pairing.BY_SEED, "paired t, seed by seed"
    elif base == NOISE and spread is not None:
        pairing = Pairing.AGAINST_NOISE
    looks = plan.looks(spread, share)
    n = len(values) if base == NOISE else min(len(values), len(against))
    outcome, hope, reason = None, 1.0, "one number an arm shows nothing of the noise"
    if len(values) + len(against) > 2 or spread is not None:
        outcome, hope = _compared(
            values, against, plan, level_of(looks, n), looks[-1], spread, pairing
        )
        still = [name for name, v in ((arm, values), (base, against)) if len({*v}) < min(len(v), 2)]
        reason = (
            "" if outcome.hangs_on is None else "not robust: it changes without one of its runs"
        )
        if (still and spread is None) or outcome.sd <= 0:
            what = f"scores of {' and '.join(still)}" if still else "differences"
            reason, outcome = f"the {what} don't vary: does the seed reach the training?", None
    undecided = outcome is None or outcome.verdict is Verdict.UNDECIDED
    following = next((look.seeds for look in looks if look.seeds > n), None)
    more = following - n if undecided and following and hope >= HOPELESS else None
    if undecided and more is None:
        reason = reason or f"{looks[-1].seeds} runs would hardly show that it is better"
    found = Judged(arm, base, values, against, rule, outcome, more, reason if undecided else "")
    return replace(found, noise=noise, looks=looks, alone=alone, paired=bool(pairs))


def _compared(
    values: Sequence[float],
    against: Sequence[float],
    plan: Plan,
    level: float,
    last: Look,
    spread: RegisteredSd | None,
    pairing: Pairing,
) -> tuple[Outcome, float]:
    """An arm compared with the baseline, and the chance that the last look keeps it.

    It is done with numbers up to 1, since scores may have any size. What lies inside of the margin
    has no effect, though it may differ from 0.
    """
    unit = 2.0 ** math.frexp(max(map(abs, (*values, *against))))[1]
    known = spread and replace(spread, sd=spread.sd / unit)
    sides = [value / unit for value in values], [value / unit for value in against]
    margin, hope = plan.margin / unit, 1.0
    found = compare(*sides, plan.relation, level, margin, spread=known, pairing=pairing)
    low, high = (float(end) for end in found.interval)
    if found.verdict is Verdict.UNDECIDED:
        noise = pairing is Pairing.AGAINST_NOISE
        count = 2 / (1 / last.seeds + 1 / len(against)) if noise else last.seeds
        samples = 1 if pairing is Pairing.BY_SEED else 2
        hope = chance_to_support(found, plan.relation, count, last.share, samples)
    elif max(-low, high) < margin:
        found = replace(found, verdict=Verdict.NO_EFFECT)
    found = replace(found, difference=found.difference * unit, interval=(low * unit, high * unit))
    return replace(found, sd=float(found.sd) * unit, margin=plan.margin, spread=spread), hope


def _counted(arms: Arms, arm: str, base: str, plan: Plan, level: float) -> Judged:
    """Counts such as 74/80, one an arm, whose trials are taken to be independent."""
    from scipy import special, stats
    from statsmodels.stats.proportion import confint_proportions_2indep

    (p, *_, n), (q, *_, m) = arms.scores[arm][0], arms.scores[base][0]
    hits, other = round(p * n), round(q * m)
    table = [[hits, n - hits], [other, m - other]]
    above, below = (float(stats.fisher_exact(table, way).pvalue) for way in ("greater", "less"))
    shown, opposite = (below, above) if plan.lower else (above, below)
    interval = confint_proportions_2indep(hits, n, other, m, method="newcomb", alpha=2 * level)
    low, high = map(float, interval)
    verdict = Verdict.SUPPORTED if shown <= level else Verdict.UNDECIDED
    verdict = Verdict.REFUTED if opposite <= level else verdict
    verdict = Verdict.NO_EFFECT if max(-low, high) < plan.margin else verdict
    variance, more = p * (1 - p) + q * (1 - q), None
    if verdict is Verdict.UNDECIDED and (p < q if plan.lower else p > q):
        z = -float(special.ndtri(level) + special.ndtri(1 - POWER_WANTED))
        more = max(1, math.ceil((z / (p - q)) ** 2 * variance) - min(n, m))
    ends, sd = (low, high), math.sqrt(variance) or 1.0
    outcome = Outcome(
        verdict, min(n, m), p - q, ends, 1 - 2 * level, plan.margin, shown, opposite, sd=sd
    )
    noise = f"binomial, {n} and {m} trials that are taken to be independent"
    return Judged(arm, base, (p,), (q,), "Fisher's exact test", outcome, more, noise=noise)


def _baseline(arms: Arms, given: str | None, noise: bool) -> tuple[str, list[str]]:
    """The baseline and the arms that are compared with it."""
    known = list(arms.scores)
    if given is None:
        usual = [name for name in known if name.lower() in USUAL]
        alone = noise and (len(known) == 1 or not usual)
        base = NOISE if alone else usual[0] if usual else known[0]
    elif given in known:
        base = given
    else:
        raise InputError(f"there is no arm {given!r}: {nearest(given, known)}name one of the arms")
    others = [name for name in known if name != base]
    if not others:
        raise InputError(f"{base!r} is the only arm; give another one to compare, or --noise FILE")
    return base, others
