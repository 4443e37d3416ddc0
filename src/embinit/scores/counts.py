"""Counts of successes: of runs, which tell of a recipe, or of items, which tell of one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from embinit.errors import InputError
from embinit.scores.arms import Arms
from embinit.scores.asking import Ask
from embinit.scores.judging import Judged, Plan
from embinit.stats.counts import decide_counts, decide_matched
from embinit.stats.interim import Analysis, schedule
from embinit.stats.statements import Verdict

TIMES = (1, 2, 4)
"""Counts are analyzed at n, 2n and 4n trials. All have the level of the first, the lowest, since
the numbers don't say which analysis they are."""

OF_ITEMS = "items say how sure this one model's score is; another seed may differ by more"


def counted(
    arms: Arms, arm: str, base: str, pairs: Sequence[str], plan: Plan, share: float
) -> Judged | None:
    """The verdict on one count an arm, or on 0 and 1 by item or seed; None for other scores.

    A question where the counts may be of runs or of items, which decide nothing about runs.
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
    if not binary:
        values, against = ((runs[0].value,) * runs[0].of for runs in sides)
    n, items = min(len(values), len(against)), plan.of == "items"
    analyses, level = _analyses(n, plan, share)
    if binary and pairs:
        moved = [a - b for a, b in zip(values, against, strict=True)]
        up, down = moved.count(1), moved.count(-1)
        rule = f"McNemar's exact test, {up} up and {down} down"
        found = decide_matched(up, down, n, plan.relation, level, plan.bound)
    else:
        hits, trials = ((round(of(values)), round(of(against))) for of in (math.fsum, len))
        rule = "Fisher's exact test"
        found = decide_counts(hits, trials, plan.relation, level, plan.bound)
    if items or n < analyses[0].seeds:
        found = replace(found, verdict=Verdict.UNDECIDED)
    more = next((analysis.seeds - n for analysis in analyses if analysis.seeds > n), None)
    if found.verdict is not Verdict.UNDECIDED or (found.seeds_needed is None and not plan.gate):
        more = None
    noise = f"{n} items of one model" if items else f"{n} trials that are taken to be independent"
    more, reason = (2, OF_ITEMS) if items else (more, "")
    paired = binary and bool(pairs)
    return Judged(arm, base, values, against, rule, found, more, reason, noise, analyses, paired)


def _analyses(n: int, plan: Plan, share: float) -> tuple[tuple[Analysis, ...], float]:
    """The analyses from n trials on, and their level."""
    if plan.of == "items":
        return (), share
    if plan.most is not None:
        return (Analysis(plan.most, share),), share
    level = schedule(TIMES[0], TIMES[-1], share)[0].share * share
    return tuple(Analysis(n * times, level) for times in TIMES), level


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
