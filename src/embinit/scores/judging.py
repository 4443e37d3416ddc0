"""Judging arms by the scores that they have: against a baseline, each at its share of alpha.

The rule is that of claims (``embinit.stats``). Arms whose runs name seeds are compared seed by
seed, others by Welch's t. Two runs can decide where the noise is known. ``counts`` has the exact
tests of successes.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from embinit.errors import InputError
from embinit.registry import nearest
from embinit.scores.arms import Arms
from embinit.scores.asking import Ask
from embinit.scores.names import baselines
from embinit.stats.interim import Analysis, schedule
from embinit.stats.pooling import BEFORE, Noise
from embinit.stats.rule import chance_to_support, constant, decide
from embinit.stats.statements import Evidence, KnownSd, Outcome, Pairing, Relation, Verdict

FIRST, FIRST_KNOWN, LAST = 6, 2, 24
"""The runs of the first analysis, those where the noise is known from other runs, and the last."""

FEWEST, FEWEST_POOLED = 3, 3
"""The runs of an arm that can be decided by their own noise, and that lend theirs to others."""

HOPELESS = 0.1
"""An arm is given up whose chance to be kept at the last analysis is below this.

It is a rule on runs alone: it keeps nothing, so that it makes no error of the kind that alpha is
about."""

NOISE = ""
"""The baseline's name where its runs are those that the noise was measured on; no arm has it."""

SAME = "the scores are the same, run by run"

LEAST_ALPHA, MOST_TRIALS = 1e-4, 10_000
"""Below these levels a t of a few runs rests on tails that nobody knows."""

MOST_NAMED = 20
"""So many arms are tried as the baseline where none is called so."""

Of = Literal["runs", "items"]


@dataclass(frozen=True)
class Plan:
    """How arms are judged: fixed before the numbers are looked at.

    ``margin`` is the smallest difference that matters, in the metric's unit; 0 for none. ``alpha``
    is the chance that any of the trials is kept though it is no better. ``trials`` arms share it,
    of other sessions too; 0 for those at hand. ``most`` runs of an arm have the only analysis; by
    default there are three. With ``no_worse`` the question is whether an arm is worse by more
    than that. Counts are ``of`` runs, or of the items of a test set. ``printed`` is an arm whose
    only number is a constant, "" where there is none.
    """

    lower: bool
    margin: float = 0.0
    alpha: float = 0.05
    trials: int = 0
    most: int | None = None
    no_worse: float | None = None
    of: Of | None = None
    printed: str = ""

    @property
    def gate(self) -> bool:
        """Whether the question is if an arm is worse."""
        return self.no_worse is not None

    @property
    def relation(self) -> Relation:
        """What is stated of an arm's difference from the baseline."""
        if not self.gate:
            return Relation.BELOW if self.lower else Relation.ABOVE
        return Relation.NOT_ABOVE if self.lower else Relation.NOT_BELOW

    @property
    def bound(self) -> float:
        """The margin of that relation."""
        return self.margin if self.no_worse is None else self.no_worse

    def share(self, arms: int) -> float:
        """The alpha of each of so many arms; InputError where the plan can't be."""
        trials = max(self.trials, arms)
        if not LEAST_ALPHA <= self.alpha < 0.5:
            mend = f"give {LEAST_ALPHA:g} or more, and under 0.5"
            raise InputError(f"alpha {self.alpha:g} can't be used; {mend}")
        if not 0 <= self.bound < math.inf:
            raise InputError(f"a margin of {self.bound:g} can't be used; give 0 or more")
        if self.trials < 0 or trials > MOST_TRIALS:
            mend = f"give how many share alpha, up to {MOST_TRIALS:,}"
            raise InputError(f"{trials:,} trials or arms can't be; {mend}")
        if self.most is not None and self.most < FIRST_KNOWN:
            raise InputError(f"--most {self.most} can't be judged; give {FEWEST} runs or more")
        return self.alpha / trials

    def analyses(self, known: KnownSd | None, share: float) -> tuple[Analysis, ...]:
        """The interim analyses of an arm with their levels."""
        if self.most is not None:
            return (Analysis(self.most, share),)
        analyses = schedule(FIRST if known is None else FIRST_KNOWN, LAST, share)
        return tuple(Analysis(analysis.seeds, analysis.share * share) for analysis in analyses)


def level_of(analyses: Sequence[Analysis], n: int) -> float:
    """The level of so many runs: that of the last interim analysis that they reach."""
    return next(
        (analysis.share for analysis in reversed(analyses) if analysis.seeds <= n),
        analyses[0].share,
    )


@dataclass(frozen=True)
class Judged:
    """An arm that was judged against the baseline, by its numbers and the baseline's.

    Where seeds pair runs, ``values`` are those of common seeds. ``more`` runs of the arm that has
    fewer lead to the next analysis, or after the last one to as many as would decide; None where
    it is decided, or more are no use. ``reason`` says why it is undecided or on what it rests, and
    ``noise`` where the noise is from.
    """

    arm: str
    baseline: str
    values: tuple[float, ...]
    of_baseline: tuple[float, ...]
    rule: str
    outcome: Outcome
    more: int | None = None
    reason: str = ""
    noise: str = ""
    analyses: tuple[Analysis, ...] = ()
    paired: bool = False
    printed: bool = False

    @property
    def n(self) -> int:
        """The runs of the arm that has fewer; runs that the noise was measured on don't count."""
        both = len(self.values), len(self.of_baseline)
        return both[0] if self.baseline == NOISE else min(both)

    @property
    def over(self) -> bool:
        """Whether it has all runs of the last analysis: further ones must be new ones of each."""
        return bool(self.analyses) and self.n >= self.analyses[-1].seeds

    @property
    def undecidable(self) -> bool:
        """Whether its numbers can't decide, whatever they are, as where nothing varies."""
        return bool(self.outcome.reason) and self.reason != SAME

    @property
    def verdict(self) -> Verdict:
        """The verdict on the statement that it is better, or no worse."""
        return self.outcome.verdict

    @functools.cached_property
    def difference(self) -> float:
        """Its mean less the baseline's."""
        return statistics.fmean(self.values) - statistics.fmean(self.of_baseline)

    @property
    def lacking(self) -> dict[str, int]:
        """How many runs of each arm the next analysis lacks."""
        counts = {self.baseline: len(self.of_baseline), self.arm: len(self.values)}
        if self.printed or self.baseline == NOISE:
            del counts[self.baseline]
        due = self.n + (self.more or 0)
        return {name: due - count for name, count in counts.items() if count < due}


def baseline_of(arms: Arms, named: str | None, noise: Arms | None, in_order: bool) -> str:
    """The arm that others are compared with: the named one, or the one that is called so.

    The runs of ``noise`` are it where no arm is; else it is the first of arms that were given
    ``in_order``, and a question of others.
    """
    names = [*arms.scores]
    if named is not None:
        if named not in names:
            near = nearest(named, names)
            text = f"there is no arm {named!r}: {near}name one of the arms"
            raise Ask(text, [{"baseline": name} for name in names[:MOST_NAMED]])
        return named
    usual = baselines(names)
    if len(usual) == 1:
        return usual[0]
    if noise and not (usual or noise.of_noise) and len(noise.scores) == 1:
        return NOISE
    if in_order and names:
        return (usual or names)[0]
    first = (usual or names)[:MOST_NAMED]
    text = f"which arm is the baseline: {' or '.join(first[:5])}?"
    raise Ask(text, [{"baseline": name} for name in first])


def judge(
    arms: Arms, plan: Plan, baseline: str | None = None, noise: Arms | None = None
) -> list[Judged]:
    """Judges each arm against the baseline.

    ``noise`` has runs that were made before, which pair with none, and are of one arm.
    """
    base = baseline_of(arms, baseline, noise, True) if baseline != NOISE else NOISE
    if base == NOISE and noise is not None:
        (runs,) = noise.scores.values()
        arms = replace(arms, scores={NOISE: runs, **arms.scores})
    if not (others := [name for name in arms.scores if name != base]):
        mend = "the baseline's runs" if noise else "another one to compare, or --noise FILE"
        raise InputError(f"{base!r} is the only arm; give {mend}")
    share = plan.share(len(others))
    known = functools.cache(functools.partial(noise_of, arms, noise))
    judged = []
    for arm in others:
        from embinit.scores.counts import counted

        pairs = arms.pairs(arm, base) if noise is None else ()
        if (found := counted(arms, arm, base, pairs, plan, share)) is not None:
            judged.append(found)
            continue
        values, against = arms.values(arm, pairs), arms.values(base, pairs)
        still = bool(pairs) and constant(np.asarray(values), np.asarray(against))
        if still and len({*values}) > 1:
            pairs, values, against = (), arms.values(arm), arms.values(base)
        sd, source = known(pairs).sd_of_difference(arm, base)
        rule = "paired t-test" if pairs else f"{'Student' if sd else 'Welch'}'s t-test"
        rule += ", since paired differences don't vary" if still and not pairs else ""
        if pairs and max(len(arms.scores[arm]), len(arms.scores[base])) > len(pairs):
            rule += " without runs that lack a partner"
        if printed := bool(plan.printed) and plan.printed in (arm, base):
            n = max(len(values), len(against))
            values, against = (of * (n if len(of) == 1 else 1) for of in (values, against))
            sd, rule = None, "one-sample t-test"
            source = f"{plan.printed} is a printed number, whose own noise is unknown"
        pairing = Pairing.BY_SEED if pairs or printed else Pairing.NONE
        if base == NOISE and sd is not None:
            pairing = Pairing.AGAINST_NOISE
        analyses = plan.analyses(sd, share)
        n = len(values) if base == NOISE else min(len(values), len(against))
        evidence = Evidence(
            values,
            against,
            plan.relation,
            level_of(analyses, n),
            plan.bound,
            known_sd=sd,
            pairing=pairing,
            leave_one_out=sd is None and plan.most is None,
            fewest=max(analyses[0].seeds, 0 if sd else FEWEST),
            names=(arm, base or "the noise"),
        )
        found = Judged(
            arm, base, values, against, rule, decide(evidence), noise=source, analyses=analyses,
            paired=bool(pairs) or printed, printed=printed,
        )  # fmt: skip
        summed = any(len({run.place for run in arms.scores[of]}) == 1 for of in (arm, base))
        judged.append(_with_reason(found, plan, evidence, summed))
    return judged


def noise_of(arms: Arms, before: Arms | None = None, seeds: Sequence[str] = ()) -> Noise:
    """The noise of arms and of runs that were made before; or of the arms that have these seeds.

    Arms of two runs lend none: their F-tests can't see one that varies unlike the others.
    """
    earlier = {BEFORE + name: before.values(name) for name in before.scores} if before else {}
    known = {
        name: arms.values(name, seeds)
        for name, runs in arms.scores.items()
        if name != NOISE
        and len(runs) >= FEWEST_POOLED
        and all(map(arms.by_seed[name].__contains__, seeds))
    }
    if seeds and len(known) == 1:
        known = {}  # less each seed's mean over arms, a single arm does not vary
    return Noise.of(earlier | known, of_seeds=bool(seeds))


def _with_reason(judged: Judged, plan: Plan, evidence: Evidence, summed: bool) -> Judged:
    """The arm with the runs that it lacks, and why it is undecided or on what it rests.

    Nobody knows the single runs of an arm that is ``summed`` up by mean and standard deviation.
    """
    found, analyses, n = judged.outcome, judged.analyses, judged.n
    sd, gate = evidence.known_sd, plan.gate
    if judged.values == judged.of_baseline and len(judged.values) > 1:
        verdict = Verdict.SUPPORTED if gate else Verdict.UNDECIDED
        found = replace(found, verdict=verdict, interval=(0.0, 0.0))
        return replace(judged, outcome=found, reason=SAME)
    following = next((analysis.seeds - n for analysis in analyses if analysis.seeds > n), None)
    if sd is None and n < FEWEST and following is None:
        reason = "two runs an arm need known noise, by --noise FILE, or a third run"
        return replace(judged, more=FEWEST - n, reason=reason)
    if found.reason:
        return replace(judged, more=following, reason=found.reason)
    if found.verdict is not Verdict.UNDECIDED:
        by_itself, alone = plan.most and sd is None, replace(evidence, leave_one_out=True)
        rests = by_itself and not summed and decide(alone).verdict is Verdict.UNDECIDED
        reason = "it rests on one run, without which it would be undecided" if rests else ""
        return replace(judged, reason=reason)
    reason = "" if found.hangs_on is None else "it changes without one of its runs"
    more = following or max(1, (found.seeds_needed or 2 * n) - n)
    if gate:
        return replace(judged, more=more, reason=reason)
    count, samples = float(LAST), 1 if judged.paired else 2
    if evidence.pairing is Pairing.AGAINST_NOISE:
        count = 2 / (1 / count + 1 / len(judged.of_baseline))
    hope = chance_to_support(found, plan.relation, count, analyses[-1].share, samples)
    open_still = hope >= HOPELESS and n < LAST
    return replace(judged, more=more if open_still else None, reason=reason)
