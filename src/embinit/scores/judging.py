"""Judging arms by the scores that they have: against a baseline, each at its share of alpha.

The rule is that of claims (``embinit.stats``). Arms whose runs name seeds are compared seed by
seed, others by Welch's t. Two runs can decide where the noise is known. Counts such as 74/80 are
compared by Fisher's exact test, with Newcombe's interval.
"""

from __future__ import annotations

import functools
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from embinit.errors import InputError
from embinit.registry import nearest
from embinit.scores.arms import USUAL, Arms, Score
from embinit.stats.counts import decide_counts
from embinit.stats.interim import Look, schedule
from embinit.stats.pooling import BEFORE, Noise
from embinit.stats.rule import chance_to_support, decide
from embinit.stats.statements import Evidence, KnownSd, Outcome, Pairing, Relation, Verdict

FIRST, FIRST_KNOWN = 6, 2
"""The runs of the first look, and where the noise is known from other runs."""

HOPELESS = 0.1
"""An arm is given up whose chance to be kept at the last look is below this. It is a rule on runs
alone: it keeps nothing, so that it makes no error of the kind that alpha is about."""

NOISE = ""
"""The baseline's name where its runs are those that the noise was measured on; no arm has it."""

SHARE, MOST_TIMES = re.compile(r"acc|f1|auc|auroc|\bmap\b|rouge|success", re.IGNORECASE), 20
"""Shares of 1 that differ so many times are a share and a percentage."""

LEAST_ALPHA, MOST_TRIALS = 1e-4, 10_000
"""Below these levels a t of a few runs rests on tails that nobody knows."""


@dataclass(frozen=True)
class Plan:
    """How arms are judged: fixed before the numbers are looked at.

    ``margin`` is the smallest difference that matters, in the metric's unit; 0 for none. ``alpha``
    is the chance that any of the trials is kept though it is no better. ``trials`` arms share it,
    of other sessions too; 0 for those at hand. The last analysis has ``most`` runs of an arm.
    """

    lower: bool
    margin: float = 0.0
    alpha: float = 0.05
    trials: int = 0
    most: int = 24

    def share(self, arms: int) -> float:
        """The alpha of each of so many arms; InputError where the plan can't be."""
        trials = max(self.trials, arms)
        if not LEAST_ALPHA <= self.alpha < 0.5:
            mend = f"give {LEAST_ALPHA:g} or more, and under 0.5"
            raise InputError(f"alpha {self.alpha:g} can't be used; {mend}")
        if not 0 <= self.margin < math.inf:
            raise InputError(f"a margin of {self.margin:g} can't be used; give 0 or more")
        if self.trials < 0 or trials > MOST_TRIALS:
            mend = f"give how many share alpha, up to {MOST_TRIALS:,}"
            raise InputError(f"{trials:,} trials or arms can't be; {mend}")
        return self.alpha / trials

    def looks(self, known: KnownSd | None, share: float) -> tuple[Look, ...]:
        """The interim analyses of an arm with their levels."""
        first = FIRST if known is None else FIRST_KNOWN
        looks = schedule(first, max(self.most, first), share)
        return tuple(Look(look.seeds, look.share * share) for look in looks)


def level_of(looks: Sequence[Look], n: int) -> float:
    """The level of so many runs: that of the last interim analysis that they reach."""
    return next((look.share for look in reversed(looks) if look.seeds <= n), looks[0].share)


@dataclass(frozen=True)
class Judged:
    """An arm that was judged against the baseline, by its numbers and the baseline's.

    Where seeds pair runs, ``values`` are those of common seeds. ``more`` runs of each of
    ``short_of`` lead to the next analysis; None where it is decided, or more are no use. ``reason``
    says why it is undecided, and ``noise`` where the noise is from.
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
    paired: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on the statement that it is better."""
        return Verdict.UNDECIDED if self.outcome is None else self.outcome.verdict

    @functools.cached_property
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

    ``noise`` has runs that were made before, which pair with none. They are the baseline where no
    arm is, and they are of one arm.
    """
    names = [*arms.scores]
    usual = [name for name in names if name.lower() in USUAL]
    base = [*usual, *names][0] if baseline is None else baseline
    if base not in names:
        raise InputError(f"there is no arm {base!r}: {nearest(base, names)}name one of the arms")
    measured = [] if noise is None or noise.of_noise else [*noise.scores.values()]
    if len(measured) == 1 and baseline is None and (names == [base] or not usual):
        base, (runs,) = NOISE, measured
        arms = replace(arms, scores={NOISE: runs, **arms.scores})
    if not (others := [name for name in names if name != base]):
        mend = "the baseline's runs" if noise else "another one to compare, or --noise FILE"
        raise InputError(f"{base!r} is the only arm; give {mend}")
    share = plan.share(len(others))
    known = functools.cache(functools.partial(noise_of, arms, noise))
    judged = []
    for arm in others:
        sides = (arms.scores[arm], arms.scores[base])
        if all(len(runs) == 1 and runs[0].of for runs in sides):
            judged.append(_counted(arm, base, sides[0][0], sides[1][0], plan, share))
            continue
        pairs = arms.pairs(arm, base) if noise is None else ()
        values, against = arms.values(arm, pairs), arms.values(base, pairs)
        small, large = sorted(map(max, (values, against))) if SHARE.search(arms.metric) else (0, 0)
        if 0 < small <= 1 < large > MOST_TIMES * small:
            both = f"{arm} and {base or 'the noise'} differ {MOST_TIMES} times"
            raise InputError(f"{both} in {arms.metric}: give both as shares of 1, or both in %")
        sd, source = known(pairs).sd_of_difference(arm, base)
        rule = (
            "paired t, seed by seed" if pairs else f"{'Student' if sd else 'Welch'}'s t, unpaired"
        )
        if pairs and max(map(len, sides)) > len(pairs):
            rule += ", without runs that lack a partner"
        looks = plan.looks(sd, share)
        found = Judged(arm, base, values, against, rule, None, None, "", source, looks, bool(pairs))
        judged.append(_decided(found, plan, sd))
    return judged


def noise_of(arms: Arms, before: Arms | None = None, seeds: Sequence[str] = ()) -> Noise:
    """The noise of arms and of runs that were made before; or of the arms that have these seeds."""
    earlier = {BEFORE + name: before.values(name) for name in before.scores} if before else {}
    known = {
        name: arms.values(name, seeds)
        for name in arms.scores
        if name != NOISE and all(map(arms.by_seed[name].__contains__, seeds))
    }
    return Noise.of(earlier | known, of_seeds=bool(seeds))


def _decided(judged: Judged, plan: Plan, sd: KnownSd | None) -> Judged:
    """The arm with its verdict at the analysis that its runs reach, or with what it takes."""
    values, against, looks = judged.values, judged.of_baseline, judged.looks
    of_noise = judged.baseline == NOISE
    n = len(values) if of_noise else min(len(values), len(against))
    following = next((look.seeds - n for look in looks if look.seeds > n), None)
    pairing = Pairing.BY_SEED if judged.paired else Pairing.NONE
    if of_noise and sd is not None:
        pairing = Pairing.AGAINST_NOISE
    relation = Relation.BELOW if plan.lower else Relation.ABOVE
    found = decide(
        Evidence(
            values,
            against,
            relation,
            level_of(looks, n),
            plan.margin,
            known_sd=sd,
            pairing=pairing,
            leave_one_out=sd is None,
            fewest=looks[0].seeds,
            names=(judged.arm, judged.baseline or "the noise"),
        )
    )
    judged = replace(judged, outcome=found, more=following, reason=found.reason)
    if found.reason:
        return judged
    if found.verdict is not Verdict.UNDECIDED:
        return replace(judged, more=None)
    count, samples = float(looks[-1].seeds), 1 if judged.paired else 2
    if pairing is Pairing.AGAINST_NOISE:
        count = 2 / (1 / count + 1 / len(against))
    hope = chance_to_support(found, relation, count, looks[-1].share, samples)
    more = following if hope >= HOPELESS else None
    reason = "" if found.hangs_on is None else "not robust: it changes without one of its runs"
    if more is None and not reason:
        last = f"{looks[-1].seeds} runs"
        reason = f"{last} would hardly show that it is better"
        if following is None:
            reason = f"the last analysis, at {last}, does not show that it is better"
    return replace(judged, more=more, reason=reason)


def _counted(arm: str, base: str, ours: Score, theirs: Score, plan: Plan, level: float) -> Judged:
    """Counts such as 74/80, one an arm, whose trials are taken to be independent."""
    (p, n), (q, m) = (ours.value, ours.of), (theirs.value, theirs.of)
    relation = Relation.BELOW if plan.lower else Relation.ABOVE
    hits = round(p * n), round(q * m)
    outcome = decide_counts(hits, (n, m), relation, level, plan.margin)
    needed = outcome.seeds_needed
    more = None if needed is None else max(1, needed - min(n, m))
    noise = f"binomial, {n} and {m} trials that are taken to be independent"
    return Judged(arm, base, (p,) * n, (q,) * m, "Fisher's exact test", outcome, more, noise=noise)
