"""What judging came to, as lines for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict

from embinit.errors import InputError, counted, printable
from embinit.files.writing import without_nan
from embinit.report.numbers import number, plain, short
from embinit.scores.arms import USUAL, Arms
from embinit.scores.judging import NOISE, Judged, Plan, level_of
from embinit.scores.rows import listed
from embinit.stats.pooling import Noise
from embinit.stats.power import MOST_SEEDS, smallest_effect
from embinit.stats.statements import Verdict

RUNS = (2, 3, 6, 12)
"""The counts of runs whose smallest visible difference is printed with the noise alone."""

MOST_NAMES = 5
"""So many arms are named in a line at most; the table has all."""


def page(judged: Sequence[Judged], plan: Plan, notes: Sequence[str], markdown: bool) -> str:
    """What to do; then a table of the arms by effect; then how they were judged."""
    first, rows, after = conclusion(judged), _rows(judged, plan), [*how(judged, plan), *notes]
    if markdown:
        escape = re.compile(r"([\\`*_{}\[\]<>|#])")
        first, *after = (escape.sub(r"\\\1", line) for line in (first, *after))
        head, *rest = ([escape.sub(r"\\\1", cell) for cell in row] for row in rows)
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest)]
        return printable("\n\n".join((first, "\n".join(lines), *after)))
    rows = [[_cut(row[0]), *row[1:]] for row in rows]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, sizes)).rstrip() for row in rows]
    return printable("\n".join((first, *lines, *after)))


def conclusion(judged: Sequence[Judged]) -> str:
    """The verdict and what to do, in a line."""
    more: dict[str, int] = {}
    for arm in judged:
        if arm.more is not None:
            more |= {name: min(more.get(name, arm.more), arm.more) for name in arm.short_of}
    lists = {"keep": [arm.arm for arm in judged if arm.verdict is Verdict.SUPPORTED]}
    for count in sorted({*more.values()}):
        lists[f"run {count} more of"] = [name for name in more if more[name] == count]
    done = (arm for arm in judged if arm.more is None)
    lists["discard"] = [arm.arm for arm in done if arm.verdict is not Verdict.SUPPORTED]
    what = "; ".join(
        f"{what} {listed(map(_cut, names), MOST_NAMES)}" for what, names in lists.items() if names
    )
    if len(judged) > 1:
        return what
    return f"{judged[0].verdict}: {what}" + (f" ({judged[0].reason})" if judged[0].reason else "")


def remarks(
    judged: Sequence[Judged], arms: Arms, noise: Arms | None, named: str | None
) -> list[str]:
    """What was taken for granted: the arms' own notes, the baseline, and what pairs nothing."""
    notes, base = [*arms.notes, *(noise.notes if noise else ())], judged[0].baseline
    if not named and base != NOISE and base.lower() not in USUAL:
        notes.append(f"compared with {base}, the first arm; --baseline names another")
    seeded = any(run.seed for runs in arms.scores.values() for run in runs)
    if seeded and not any(arm.paired for arm in judged):
        where = "where a run has none, or two arms have under two in common"
        notes.append(f"seeds pair nothing with --noise, or {where}")
    return notes


def _cut(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"


def how(judged: Sequence[Judged], plan: Plan) -> list[str]:
    """How the arms were judged: the rule, and where the noise is from."""
    share = plan.share(len(judged))
    trials = round(plan.alpha / share)
    several = f", of {trials} that share {plain(plan.alpha * 100)} %" if trials > 1 else ""
    rules = " or ".join(dict.fromkeys(arm.rule for arm in judged))
    counts = {", ".join(str(look.seeds) for look in arm.looks) for arm in judged} - {""}
    looks = f"; analyses at {' or '.join(sorted(counts))} runs" if counts else ""
    margin = f"; margin {plain(plan.margin)}" if plan.margin else ""
    way = "lower" if plan.lower else "higher"
    noise, *others = dict.fromkeys(arm.noise for arm in judged)
    return [
        f"{way} is better; {rules}; one-sided level {short(share * 100)} %{several}{looks}{margin}",
        f"noise: {noise}" + (f"; and {len(others)} like it" if others else ""),
    ]


def floor(noise: Noise, plan: Plan) -> list[str]:
    """The noise alone: the smallest difference that a few runs show, and the runs for a margin."""
    sd, source = noise.sd_of_difference(NOISE)
    if sd is None:
        raise InputError("there is no noise to measure: give two or more runs of one arm that vary")
    share = plan.share(1)
    looks, most = plan.looks(sd, share), MOST_SEEDS if plan.margin else RUNS[-1] + 1
    effects = {n: smallest_effect(level_of(looks, n), n, sd, 2) for n in range(2, most)}
    seen = ", ".join(f"{n} runs {short(effects[n])}" for n in RUNS)
    runs = next((f"{n} runs" for n in effects if effects[n] <= plan.margin), "over 1000 runs")
    takes = f"a difference of {plain(plan.margin)} takes {runs} an arm, or fewer paired by seed"
    level = f"at level {short(share * 100)} %, unpaired"
    return [
        f"noise: {source}",
        f"smallest difference shown with 90 % power {level}: {seen}",
        takes if plan.margin else "--margin D prints how many runs a difference of D takes",
    ]


def as_json(judged: Sequence[Judged], plan: Plan, notes: Sequence[str]) -> str:
    """All numbers."""
    arms = [asdict(a) | {"verdict": a.verdict, "difference": a.difference} for a in judged]
    made = {"schema_version": 2, "plan": asdict(plan), "notes": [*notes], "arms": arms}
    return json.dumps(without_nan(made), indent=1, default=bool)


def _rows(judged: Sequence[Judged], plan: Plan) -> list[list[str]]:
    """The baseline and the arms, from the best to the worst, with three digits of a difference."""
    middle = statistics.median(abs(arm.difference) for arm in judged)
    places = min(12, max(0, 2 - math.floor(math.log10(middle)))) if middle else 2

    def mean(values: Sequence[float]) -> str:
        return f"{number(statistics.fmean(values), places)} (n={len(values)})"

    base = max(judged, key=lambda arm: len(arm.of_baseline))
    rows = [["arm", "mean", "difference", "verdict"]]
    rows += [[base.baseline or "the noise's runs", mean(base.of_baseline), "", "baseline"]]
    for arm in sorted(judged, key=lambda arm: arm.difference, reverse=not plan.lower):
        interval = arm.outcome.interval if arm.outcome else ()
        ends = [number(end, places) for end in interval if math.isfinite(end)]
        difference = number(arm.difference, places) + (f" ({' to '.join(ends)})" if ends else "")
        more = "" if arm.more is None else f", {counted(arm.more, 'run')} more"
        # The line above the table has the reason for one arm.
        why = f", {arm.reason}" if arm.reason and len(judged) > 1 else ""
        rows.append([arm.arm, mean(arm.values), difference, f"{arm.verdict}{more}{why}"])
    return rows
