"""Judging arms by the scores that they have: against a baseline, each at its share of alpha.

The rules are those of claims (``claims.paired_tests``, ``claims.looks``), since a number that was
trained elsewhere is no better than one that was trained here. Arms whose runs name seeds are
compared seed by seed. Others are compared by Welch's t, or against noise that was measured
beforehand: the baseline's own runs, ten or more.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import (
    ENOUGH_REGISTERED,
    FEWEST_SEEDS,
    Outcome,
    Pairing,
    RegisteredSd,
    Relation,
    Verdict,
    chance_to_support,
    compare,
)
from embinit.errors import InputError, counted
from embinit.registry import nearest
from embinit.scores.arms import Arms

MOST_SEEDS = 24
"""How many runs of an arm the last look has, where nothing else is asked for."""

HOPELESS = 0.1
"""An arm is given up whose chance to be kept at the last look is below this. It is a rule on runs
alone: it keeps nothing, so that it makes no error of the kind that alpha is about."""

NOISE = ""
"""The baseline's name where its runs are those that the noise was measured on; no arm has it."""

LEAST_ALPHA, MOST_TRIALS = 1e-4, 10_000
"""Below these levels a t of a few runs rests on tails that nobody knows."""

USUAL = ("base", "baseline", "control")
"""What a baseline is called; else the first arm is it."""


@dataclass(frozen=True)
class Plan:
    """How arms are judged: fixed before the numbers are looked at.

    ``margin`` is the smallest difference that matters, in the metric's unit; 0 for none. ``alpha``
    is the chance that any of the trials is kept though it is no better. ``trials`` arms share it,
    of other sessions too; None for those at hand. The last look has ``most`` runs of an arm.
    """

    lower: bool
    margin: float = 0.0
    alpha: float = 0.05
    trials: int | None = None
    most: int = MOST_SEEDS

    def shared_by(self, arms: int) -> int:
        """How many trials share alpha, of which so many arms are at hand."""
        return max(self.trials or 0, arms)


@dataclass(frozen=True)
class Judged:
    """An arm that was judged against the baseline, by its numbers and the baseline's.

    Where seeds pair runs, ``values`` are those of common seeds, and ``alone`` has the places of the
    others. ``chance`` is that of being kept by the last look, were the numbers so far true. Where
    each arm has one number, there is neither ``outcome`` nor ``chance``.
    """

    arm: str
    baseline: str
    values: tuple[float, ...]
    of_baseline: tuple[float, ...]
    paired: bool
    outcome: Outcome | None
    looks: tuple[Look, ...]
    chance: float | None = None
    alone: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict on the statement that it is better."""
        return Verdict.UNDECIDED if self.outcome is None else self.outcome.verdict

    @property
    def difference(self) -> float:
        """Its mean less the baseline's."""
        return statistics.fmean(self.values) - statistics.fmean(self.of_baseline)

    @property
    def n(self) -> int:
        """How many runs there are of the side that has fewer; the noise is as it is."""
        counts = [len(self.values), len(self.of_baseline)]
        return counts[0] if self.baseline == NOISE else min(counts)

    @property
    def short_of(self) -> str:
        """The arms of which more runs are needed: those that have no more than the other."""
        if self.baseline == NOISE:
            return self.arm
        sides = ((self.baseline, self.of_baseline), (self.arm, self.values))
        return " and ".join(name for name, values in sides if len(values) == self.n)

    @property
    def next_look(self) -> int | None:
        """How many of its runs the next look has; None after the last one."""
        return next((look.seeds for look in self.looks if look.seeds > self.n), None)

    @property
    def to_next_look(self) -> int:
        """How many runs more that look has; 0 after the last one."""
        return 0 if self.next_look is None else self.next_look - self.n

    @property
    def hopeless(self) -> bool:
        """Whether the last look would hardly keep it, were the numbers so far true."""
        return self.chance is not None and self.chance < HOPELESS

    @property
    def again(self) -> int | None:
        """How many runs more would decide; None where it is decided, or they would be no use.

        That is with nine chances in ten, if the difference and the spread so far are true; at
        least up to the next look, and up to the last one at most.
        """
        if self.verdict is not Verdict.UNDECIDED or self.next_look is None or self.hopeless:
            return None
        needed = 0 if self.outcome is None else self.outcome.seeds_needed or 0
        if self.baseline == NOISE and needed:
            # The needed number is a harmonic mean, and the noise has as many runs as it has.
            rest = 2 / needed - 1 / len(self.of_baseline)
            needed = math.ceil(1 / rest) if rest > 0 else self.looks[-1].seeds
        return max(min(needed, self.looks[-1].seeds), self.next_look) - self.n


def judge(
    arms: Arms, plan: Plan, baseline: str | None = None, noise: Sequence[float] = ()
) -> list[Judged]:
    """Judges each arm against the baseline: by default the arm that is called so, or the first.

    ``noise`` has runs of the baseline that were made before, to measure its noise. They are the
    baseline where no arm is.

    Raises:
        InputError: There is no arm but the baseline, no such arm, or the plan can't be.
    """
    fewest = 2 if noise else FEWEST_SEEDS
    _require_possible(plan, fewest)
    base, others = _baseline(arms, baseline, bool(noise))
    if noise and len(noise) < ENOUGH_REGISTERED:
        raise InputError(
            f"{counted(len(noise), 'run')} of the baseline tell too little of its noise; measure "
            f"it on {ENOUGH_REGISTERED} or more"
        )
    share = plan.alpha / plan.shared_by(len(others))
    looks = schedule(fewest, plan.most, share)
    judged: list[Judged] = []
    for arm in others:
        values = arms.values(arm)
        against = tuple(noise) if base == NOISE else arms.values(base)
        alone: tuple[str, ...] = ()
        if pairs := None if noise else arms.pairs(arm, base):
            values, against, alone = pairs
        n = len(values) if base == NOISE else min(len(values), len(against))
        level = share * next((x.share for x in reversed(looks) if x.seeds <= n), looks[0].share)
        outcome = chance = None
        if len(values) + len(against) > 2 or noise:
            pairing = Pairing.AGAINST_NOISE if base == NOISE else Pairing.NONE
            pairing = Pairing.BY_SEED if pairs else pairing
            last = Look(looks[-1].seeds, share * looks[-1].share)
            outcome, chance = _compared(values, against, plan, level, last, noise, pairing)
        paired = bool(pairs)
        judged.append(Judged(arm, base, values, against, paired, outcome, looks, chance, alone))
    return judged


def _require_possible(plan: Plan, fewest: int) -> None:
    if not LEAST_ALPHA <= plan.alpha < 0.5:
        raise InputError(
            f"alpha {plan.alpha:g} can't be used; give {LEAST_ALPHA:g} or more, and less than 0.5"
        )
    if not 0 <= plan.margin < float("inf"):
        raise InputError(f"a margin of {plan.margin:g} can't be used; give 0 or more")
    if plan.trials is not None and not 1 <= plan.trials <= MOST_TRIALS:
        raise InputError(
            f"{plan.trials} trials can't be; give how many share alpha, up to {MOST_TRIALS:,}"
        )
    if plan.most < fewest:
        raise InputError(
            f"{plan.most} runs decide nothing; let the last look have {fewest} or more"
            + ("" if fewest == 2 else ", or measure the noise")
        )


def _compared(
    values: Sequence[float],
    against: Sequence[float],
    plan: Plan,
    level: float,
    last: Look,
    noise: Sequence[float],
    pairing: Pairing,
) -> tuple[Outcome, float]:
    """An arm compared with the baseline, and the chance that the last look keeps it.

    It is done with numbers up to 1, since scores may have any size.
    """
    unit = 2.0 ** math.frexp(max(map(abs, (*values, *against, *noise))))[1]
    spread = None
    if noise:
        sd = float(np.std(np.asarray(noise) / unit, ddof=1)) * 2**0.5
        spread = RegisteredSd(sd, len(noise))
    relation = Relation.BELOW if plan.lower else Relation.ABOVE
    outcome = compare(
        [value / unit for value in values],
        [value / unit for value in against],
        relation,
        level,
        plan.margin / unit,
        spread=spread,
        pairing=pairing,
    )
    against_noise = pairing is Pairing.AGAINST_NOISE
    count = 2 / (1 / last.seeds + 1 / len(noise)) if against_noise else last.seeds
    samples = 1 if pairing is Pairing.BY_SEED else 2
    chance = chance_to_support(outcome, relation, count, last.share, samples)
    low, high = outcome.interval
    told = replace(
        outcome,
        difference=outcome.difference * unit,
        interval=(float(low) * unit, float(high) * unit),
        margin=plan.margin,
        sd=float(outcome.sd) * unit,
        spread=None,
    )
    return told, chance


def _baseline(arms: Arms, given: str | None, noise: bool) -> tuple[str, list[str]]:
    """The baseline and the arms that are held against it."""
    known = list(arms.scores)
    if given is None:
        usual = [name for name in known if name.lower() in USUAL]
        alone = noise and (len(known) == 1 or not usual)
        base = NOISE if alone else usual[0] if usual else known[0]
    elif given in known:
        base = given
    else:
        raise InputError(
            f"there is no arm {given!r}: {nearest(given, known)}there are {', '.join(known)}"
        )
    others = [name for name in known if name != base]
    if not others:
        raise InputError(
            f"{base!r} is the only arm; give the one that it is compared with, or --noise FILE"
        )
    return base, others
