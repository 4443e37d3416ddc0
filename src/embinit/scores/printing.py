"""What judging came to, as lines for a terminal, as Markdown and as JSON."""

from __future__ import annotations

import functools
import json
import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import asdict

from embinit.errors import InputError, counted, printable
from embinit.files import typed
from embinit.report.numbers import MISSING, number, plain, short
from embinit.scores.arms import Arms
from embinit.scores.judging import FEWEST, NOISE, SAME, Judged, Plan, level_of
from embinit.scores.names import baselines
from embinit.scores.rows import listed
from embinit.stats.pooling import Noise
from embinit.stats.power import MOST_SEEDS, smallest_effect
from embinit.stats.statements import Verdict

RUNS = (2, 3, 6, 12)
"""The counts of runs whose smallest visible difference is printed with the noise alone."""

MOST_NAMES = 5
"""So many arms are named in a line at most; the table has all."""


def page(
    read: str, judged: Sequence[Judged], plan: Plan, notes: Sequence[str], markdown: bool
) -> str:
    """What was read; what to do; then a table of the arms by effect, and how they were judged."""
    first, rows = [read, *conclusion(judged, plan)], _rows(judged, plan)
    after = [*how(judged, plan), *notes]
    if markdown:
        escaped = functools.partial(re.sub, r"([\\`*_{}\[\]<>|#])", r"\\\1")
        head, *rest = ([*map(escaped, row)] for row in rows)
        lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest)]
        return printable(
            "\n\n".join((*map(escaped, first), "\n".join(lines), *map(escaped, after)))
        )
    rows = [[_short(row[0]), *row[1:]] for row in rows]
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, sizes)).rstrip() for row in rows]
    return printable("\n".join((*first, *lines, *after)))


def reading(arms: Arms, of: str | None, lower: bool | None) -> str:
    """What was read: the runs of each arm, the columns, and which side is better."""
    counts = {arm: runs[0].of or len(runs) for arm, runs in arms.scores.items()}
    each = [f"{_cut(arm)} {n}" for arm, n in counts.items()]
    what = "run" if of is None else of.removesuffix("s")
    of_arms = f"{counted(sum(counts.values()), what)}: {', '.join(each[:MOST_NAMES])}"
    if len(each) > MOST_NAMES:
        of_arms += f" and {counted(len(each) - MOST_NAMES, 'more arm')}"
    columns = [f"arms from `{arms.by}`"] * (arms.by not in ("", "arm"))
    columns += [f"scores from `{arms.metric}`"] * bool(arms.metric)
    columns += [] if lower is None else [f"{'lower' if lower else 'higher'} is better"]
    return "; ".join([of_arms, *([", ".join(columns)] if columns else [])])


def conclusion(judged: Sequence[Judged], plan: Plan) -> list[str]:
    """The verdict and what to do."""
    if len(judged) == 1:
        return [_alone(judged[0], plan)]
    lists: dict[str, list[str]] = {}
    more: dict[str, int] = {}
    new: list[str] = []
    for arm in judged:
        lists.setdefault(_decision(arm, plan), []).append(_cut(arm.arm))
        if not arm.over:
            more |= {name: min(more.get(name, count), count) for name, count in arm.lacking.items()}
        elif arm.more:
            new.append(f"about {arm.n + arm.more} of {_cut(arm.arm)}")
    order = ("keep", "not worse", "worse", "discard", "undecided")
    line = "; ".join(f"{kind} {listed(lists[kind], MOST_NAMES)}" for kind in order if kind in lists)
    several = [
        f"{count} more of {listed((_cut(n) for n in more if more[n] == count), MOST_NAMES)}"
        for count in sorted({*more.values()})
    ]
    needed = (
        [f"new runs that are needed: {listed(new, MOST_NAMES)}, and of the baseline"] if new else []
    )
    analysis = [f"to the next analysis: {'; '.join(several)}{_only(judged)}"] if several else []
    return [line, *analysis, *needed]


def _only(judged: Sequence[Judged]) -> str:
    """The option to judge the runs that there are, where these are too few for an analysis."""
    counts = {arm.n for arm in judged if not arm.over and arm.more is not None}
    first = min((analysis.seeds for arm in judged for analysis in arm.analyses), default=0)
    few = len(counts) == 1 and FEWEST <= min(counts) < first
    return f" (or --most {min(counts)}, if these are all)" if few else ""


def _word(arm: Judged, plan: Plan) -> str:
    """The verdict on an arm."""
    if arm.verdict is Verdict.UNDECIDED:
        open_still = arm.more is not None or plan.gate or arm.undecidable
        return "undecided" if open_still else "not shown to be better"
    good = "not worse" if plan.gate else "keep"
    words = {Verdict.SUPPORTED: good, Verdict.REFUTED: "worse", Verdict.NO_EFFECT: "no effect"}
    return words[arm.verdict]


def _decision(arm: Judged, plan: Plan) -> str:
    """What to do with an arm."""
    word = _word(arm, plan)
    return word if plan.gate or word in ("keep", "undecided") else "discard"


def _alone(arm: Judged, plan: Plan) -> str:
    """The verdict on the only arm."""
    name, base, word = _cut(arm.arm), arm.baseline or "the noise's runs", _word(arm, plan)
    why = f" ({arm.reason})" if arm.reason else ""
    by = SAME if arm.reason == SAME else _by(arm) + why
    if word in ("worse", "not worse") and plan.gate:
        return f"{name} is {word} than {base} by more than {plain(plan.no_worse)}: {by}"
    needed, n = arm.outcome.seeds_needed, arm.n
    if word == "undecided":
        if plan.of == "items":
            return f"undecided, {_by(arm)}: {arm.reason}"
        analyses = [analysis.seeds for analysis in arm.analyses]
        if arm.over:
            new = (
                f": not shown by {n} runs; about {n + (arm.more or 0)} new ones of each are needed"
            )
            return f"undecided{new if arm.more else ''}{why}"
        lacking = [f"{count} more of {_cut(name)}" for name, count in arm.lacking.items()]
        if len(lacking) == 2 and len({*arm.lacking.values()}) == 1:
            lacking = [f"{arm.more} more of each"]
        first = analyses[0]
        which = f"the first analysis, at {first}" if n < first else "the next analysis"
        text = f"undecided: {listed(lacking)} to {which}"
        large = "such a difference"
        if needed and needed > n + (arm.more or 0):
            text += f"; {large} takes about {needed} of each"
        elif needed:
            text += f", which may decide {large}"
        return text + _only([arm]) + why
    if word == "keep":
        return f"keep {name}: {by}"
    text = {"worse": "", "no effect": "no effect, "}.get(word, f"{word}, ") + by
    text += f", within {plain(plan.margin)}" if word == "no effect" else ""
    toward = (arm.difference < 0) == plan.lower and arm.difference and arm.reason != SAME
    if word == "not shown to be better" and toward:
        runs = f"about {needed - n} more runs" if needed else f"over {MOST_SEEDS} runs"
        text += f"; {runs} would be needed"
    return f"discard {name}: {text}"


def _by(arm: Judged) -> str:
    """The difference in words."""
    size = abs(arm.difference)
    if not size:
        return "equal on average"
    text = number(size, max(0, 1 - math.floor(math.log10(size))))
    return f"{'higher' if arm.difference > 0 else 'lower'} by {text}"


def remarks(
    judged: Sequence[Judged], arms: Arms, noise: Arms | None, named: str | None
) -> list[str]:
    """What was taken for granted: the arms' own notes, the baseline, and what pairs nothing."""
    notes, base = [*arms.notes, *(noise.notes if noise else ())], judged[0].baseline
    if not named and base != NOISE and base not in baselines([base]):
        notes.append(f"compared with {base}, the first arm; --baseline names another")
    seeded = any(run.seed for runs in arms.scores.values() for run in runs)
    if seeded and not any(arm.paired or "paired" in arm.rule for arm in judged):
        notes.append("seeds pair nothing: few are common to both arms, or --noise is given")
    return notes


def _short(name: str) -> str:
    return name if len(name) <= 60 else name[:59] + "…"


def _cut(name: str) -> str:
    """An arm's name in a sentence: short, and in quotes where it has a comma."""
    return f"'{_short(name)}'" if "," in name else _short(name)


def how(judged: Sequence[Judged], plan: Plan) -> list[str]:
    """How the arms were judged: the interval's level, the test, and where the noise is from."""
    share = plan.share(len(judged))
    trials = round(plan.alpha / share)
    levels = sorted({arm.outcome.level for arm in judged})
    shown = f"{' or '.join(f'{short(100 * level)} %' for level in levels)} interval"
    several = f"; {trials} trials share {plain(plan.alpha * 100)} %" if trials > 1 else ""
    rules = " or ".join(dict.fromkeys(arm.rule for arm in judged))
    counts = {", ".join(str(analysis.seeds) for analysis in arm.analyses) for arm in judged} - {""}
    analyses = f"; analyses at {' or '.join(sorted(counts))}" if counts else ""
    margin = f"; margin {plain(plan.margin)}" if plan.margin else ""
    margin += "" if plan.no_worse is None else f"; gate at {plain(plan.no_worse)}"
    noise, *others = [*dict.fromkeys(arm.noise for arm in judged if arm.noise)] or [""]
    own = noise.startswith("estimated from these runs") and "since" not in noise
    lines = (
        []
        if own and not others
        else [f"noise: {noise}{'; likewise for other arms' * bool(others)}"]
    )
    return [f"{shown}, {rules}{several}{analyses}{margin}", *(lines if noise else [])]


def floor(noise: Noise, plan: Plan) -> list[str]:
    """The noise alone: the smallest difference that a few runs show, and the runs for a margin."""
    sd, source = noise.sd_of_difference(NOISE)
    if sd is None:
        raise InputError("there is no noise to measure: give two or more runs of one arm that vary")
    share, margin = plan.share(1), plan.bound
    analyses, most = plan.analyses(sd, share), MOST_SEEDS if margin else RUNS[-1] + 1
    effects = {n: smallest_effect(level_of(analyses, n), n, sd, 2) for n in range(2, most)}
    seen = ", ".join(f"{n} runs {short(effects[n])}" for n in RUNS)
    runs = next((f"{n} runs" for n in effects if effects[n] <= margin), "over 1000 runs")
    takes = f"a difference of {plain(margin)} takes {runs} an arm, or fewer paired by seed"
    level = f"at level {short(share * 100)} %, unpaired"
    return [
        f"noise: {source}",
        f"smallest difference shown with 90 % power {level}: {seen}",
        takes if margin else "--margin D prints how many runs a difference of D takes",
    ]


def as_json(read: str, judged: Sequence[Judged], plan: Plan, notes: Sequence[str]) -> str:
    """All numbers."""
    arms = [
        asdict(arm)
        | {"decision": _decision(arm, plan), "verdict": arm.verdict, "difference": arm.difference}
        for arm in judged
    ]
    made = {"schema_version": 3, "read": read, "plan": asdict(plan), "notes": notes, "arms": arms}
    return json.dumps(typed.as_json(made), indent=1, default=bool)


def _rows(judged: Sequence[Judged], plan: Plan) -> list[list[str]]:
    """The baseline and the arms, from the best to the worst, with three digits of a difference."""
    middle = statistics.median(abs(arm.difference) for arm in judged)
    places = min(12, max(0, 2 - math.floor(math.log10(middle)))) if middle else 2

    def score(values: Sequence[float]) -> list[str]:
        known = len(values) > 1 and not exact
        sd = short(statistics.stdev(values)) if known else MISSING
        return [number(statistics.fmean(values), places), sd]

    several, exact = len(judged) > 1, all("exact" in arm.rule for arm in judged)
    base = max(judged, key=lambda arm: len(arm.of_baseline))
    rows = [["arm", "mean", "sd", "difference", *(["verdict"] * several)]]
    rows += [[base.baseline or "the noise's runs", *score(base.of_baseline), *[""] * (1 + several)]]
    for arm in sorted(judged, key=lambda arm: arm.difference, reverse=not plan.lower):
        ends = [number(end, places) for end in arm.outcome.interval if math.isfinite(end)]
        difference = number(arm.difference, places) + (f" ({' to '.join(ends)})" if ends else "")
        row = [arm.arm, *score(arm.values), difference]
        more = "" if arm.more is None else f", {counted(arm.more, 'run')} more"
        more = f", about {arm.n + arm.more} new runs" if arm.over and arm.more else more
        said = _word(arm, plan) + more + (f" ({arm.reason})" if arm.reason else "")
        rows.append([*row, *([said] * several)])
    return rows
