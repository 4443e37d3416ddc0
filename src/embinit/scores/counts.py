"""Counts of successes: of runs, which tell of a recipe, or of items, which tell of one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from embinit.errors import InputError
from embinit.scores.arms import Arms
from embinit.scores.asking import Ask
from embinit.scores.judging import Judged, Plan
from embinit.stats.counts import decide_counts
from embinit.stats.interim import Look, schedule
from embinit.stats.statements import Outcome, Relation, Verdict

TIMES = (1, 2, 4)
"""Counts are analyzed at n, 2n and 4n trials. All have the level of the first, the lowest, since
the numbers don't say which analysis they are."""

OF_ITEMS = "items say how sure this one model's score is; another seed may differ by more"


def counted(
    arms: Arms, arm: str, base: str, pairs: Sequence[str], plan: Plan, share: float
) -> Judged | None:
    """The verdict on one count an arm, or on 0 and 1 by item or seed; None for other scores.

    InputError where the counts may be of runs or of items.
    """
    sides = arms.scores[arm], arms.scores[base]
    values, against = arms.values(arm, pairs), arms.values(base, pairs)
    binary = {0.0, 1.0}.issuperset((*values, *against)) and min(map(len, sides)) > 1
    if not binary and not all(len(runs) == 1 and runs[0].of for runs in sides):
        return None
    if plan.of is None:
        choices = [{"of": of} for of in ("items", "runs")]
        text = "are these counts of the items of a test set that one model was tested on, or of"
        raise Ask(f"{text} runs, each trained anew?", choices)
    if binary and pairs:
        return _matched(arm, base, values, against, plan, share)
    (p, n), (q, m) = (
        (sum(of) / len(of), len(of)) if binary else (runs[0].value, runs[0].of)
        for of, runs in zip((values, against), sides, strict=True)
    )
    return _independent(arm, base, (p, n), (q, m), plan, share)


def _independent(
    arm: str,
    base: str,
    ours: tuple[float, int],
    theirs: tuple[float, int],
    plan: Plan,
    share: float,
) -> Judged:
    """Fisher's exact test of two counts, whose trials are taken to be independent."""
    (p, n), (q, m) = ours, theirs
    looks, level = _looks(min(n, m), plan, share)
    better = Relation.BELOW if plan.lower else Relation.ABOVE
    tested = decide_counts((round(p * n), round(q * m)), (n, m), better, level, plan.margin)
    return _judged(arm, base, ((p,) * n, (q,) * m), "Fisher's exact test", tested, looks, plan)


def _matched(
    arm: str, base: str, values: Sequence[float], against: Sequence[float], plan: Plan, share: float
) -> Judged:
    """McNemar's exact test, given how many items differ; its interval is Clopper and Pearson's."""
    from scipy import stats

    n = len(values)
    looks, level = _looks(n, plan, share)
    up = sum(a > b for a, b in zip(values, against, strict=True))
    down = sum(a < b for a, b in zip(values, against, strict=True))
    ways = ("less", "greater") if plan.lower else ("greater", "less")
    differ = up + down
    shown, opposite, (low, high) = 1.0, 1.0, (0.0, 1.0)
    if differ:
        shown, opposite = (float(stats.binomtest(up, differ, 0.5, way).pvalue) for way in ways)
        low, high = stats.binomtest(up, differ).proportion_ci(1 - 2 * level)
    ends = ((2 * low - 1) * differ / n, (2 * high - 1) * differ / n)
    tested = Outcome(
        Verdict.UNDECIDED, n, (up - down) / n, ends, 1 - 2 * level, plan.bound, shown, opposite,
        sd=math.sqrt(differ / n) or 1.0,
    )  # fmt: skip
    rule = f"McNemar's exact test, {up} up and {down} down"
    return _judged(arm, base, (tuple(values), tuple(against)), rule, tested, looks, plan, True)


def _looks(n: int, plan: Plan, share: float) -> tuple[tuple[Look, ...], float]:
    """The analyses from n trials on, and their level."""
    if plan.of == "items":
        return (), share
    if plan.most is not None:
        return (Look(plan.most, share),), share
    level = schedule(TIMES[0], TIMES[-1], share)[0].share * share
    return tuple(Look(n * times, level) for times in TIMES), level


def _judged(
    arm: str,
    base: str,
    values: tuple[tuple[float, ...], tuple[float, ...]],
    rule: str,
    tested: Outcome,
    looks: tuple[Look, ...],
    plan: Plan,
    paired: bool = False,
) -> Judged:
    """The verdict of an exact test; items decide nothing about runs."""
    low, high = tested.interval
    level, n, verdict = (1 - tested.level) / 2, tested.n, Verdict.UNDECIDED
    worse, better = (high, -low) if plan.lower else (-low, high)
    if plan.no_worse is not None:
        if worse <= plan.no_worse:
            verdict = Verdict.SUPPORTED
        elif -better > plan.no_worse:
            verdict = Verdict.REFUTED
    elif max(-low, high) < plan.margin:
        verdict = Verdict.NO_EFFECT
    elif min(tested.p, tested.p_against) <= level:
        verdict = Verdict.SUPPORTED if tested.p < tested.p_against else Verdict.REFUTED
    more = next((look.seeds - n for look in looks if look.seeds > n), None)
    reason, noise = "", f"{n} trials that are taken to be independent"
    if plan.of == "items":
        verdict, more, reason, noise = Verdict.UNDECIDED, 2, OF_ITEMS, f"{n} items of one model"
    elif n < looks[0].seeds:
        verdict = Verdict.UNDECIDED
    decided = verdict is not Verdict.UNDECIDED
    found = replace(tested, verdict=verdict)
    hopeless = found.seeds_needed is None and plan.no_worse is None and plan.of != "items"
    more = None if decided or hopeless else more
    return Judged(arm, base, *values, rule, found, more, reason, noise, looks, paired)


def of_test_set(judged: Sequence[Judged], items: int) -> list[str]:
    """The error that a test set of so many items has, which no further run makes smaller."""
    lines = []
    for arm in judged:
        p, q = (sum(of) / len(of) for of in (arm.values, arm.of_baseline))
        scale = 100 if max(p, q) > 1 else 1
        if not all(0 <= share <= scale for share in (*arm.values, *arm.of_baseline)) or items < 1:
            raise InputError("--items is for shares of items, as .81 or 81 %; leave it out")
        p, q = p / scale, q / scale
        error = scale * math.sqrt((p * (1 - p) + q * (1 - q)) / items)
        lines.append(
            f"{arm.arm}: a test set of {items} items has a standard error of at most {error:.2g} "
            "in the difference, next to the interval, which is of seeds"
        )
    return lines
