"""Arms with the scores that they already have, one a run."""

from __future__ import annotations

import contextlib
import functools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from embinit.errors import InputError, counted
from embinit.scores.rows import NUMBER, listed
from embinit.stats.power import MOST_SEEDS

CRASHED = re.compile(
    r"crash|fail|err|kill|abort|diverg|\boom\b|memory|time.?out|running|pending|waiting|paused|"
    r"queue|schedul|preempt|prune|cancel|interrupt|incomplete|unfinished|partial|invalid|broken",
    re.IGNORECASE,
)
"""What a status or a score's cell says where a run has no result."""

NOTHING = ("", "none", "null", "n/a", "na", "-", "–", "nan", "inf", "-inf", "+inf", "infinity")
USUAL = ("base", "baseline", "control")
"""What a baseline is called; else the first arm is it."""

LARGEST = 1e50
"""Larger scores are refused: the fourth powers of scores are numbers too."""


class Score(NamedTuple):
    """The score of one run, where it stands, and why it has none; ``of`` 9 trials for 7/9."""

    value: float
    place: str
    seed: str = ""
    crashed: str = ""
    of: int = 0


@dataclass(frozen=True)
class Arms:
    """The scores of several arms by name; bare numbers have an empty metric.

    Those ``of_noise`` have a standard deviation, and a mean of 0 that nobody measured.
    """

    scores: Mapping[str, Sequence[Score]]
    metric: str = ""
    notes: tuple[str, ...] = ()
    of_noise: bool = False

    @functools.cached_property
    def by_seed(self) -> dict[str, dict[str, float]]:
        """Each arm's numbers by their seeds."""
        return {arm: {run.seed: run.value for run in runs} for arm, runs in self.scores.items()}

    def values(self, arm: str, seeds: Sequence[str] = ()) -> tuple[float, ...]:
        """An arm's numbers, or those of some seeds."""
        if seeds:
            return tuple(map(self.by_seed[arm].__getitem__, seeds))
        return tuple(run.value for run in self.scores[arm])

    def pairs(self, arm: str, other: str) -> tuple[str, ...]:
        """The seeds that two arms have in common; none where a run has no seed, or one is."""
        ours, theirs = self.by_seed[arm], self.by_seed[other]
        common = tuple(filter(theirs.__contains__, ours))
        return () if "" in ours or "" in theirs or len(common) < 2 else common

    def settled(self, crashed: str | None, lower: bool) -> Arms:
        """Deals with runs that crashed as ``--crashed`` says; InputError where it doesn't.

        An arm all of whose runs crashed is left out and named, unless it may be the baseline.
        """
        rest = [r.value for runs in self.scores.values() for r in runs if r.value and not r.crashed]
        worst = (max if lower else min)(rest, default=0.0)
        # An exact 0 outside the range of all other scores is no score, unless it is a count.
        odd = rest and (min(rest) > 0 or max(rest) < 0) and crashed != "keep"
        zero = "its score is an exact 0, outside the range of all others" if odd else ""
        notes, kept, first = [*self.notes], {}, next(iter(self.scores), "").lower()
        for arm, runs in self.scores.items():
            lost = [run for run in runs if run.crashed or not (run.value or run.of or not zero)]
            kept[arm] = runs
            if not lost or all(crashed == "keep" and math.isfinite(run.value) for run in lost):
                continue
            why = f"{lost[0].place}: {lost[0].crashed or zero}"
            if len(lost) == len(runs) and arm.lower() not in (first, *USUAL):
                notes.append(f"discard {arm}: {why}")
                del kept[arm]
            elif len(lost) == len(runs):
                mend = "take its rows out, so that another arm is the baseline"
                raise InputError(f"{why}: a run that crashed, and {arm} has no other; {mend}")
            elif crashed not in ("worst", "drop"):
                raise InputError(
                    f"{why}: a run that crashed counts against its arm; judge with --crashed worst "
                    "(it gets the worst score), drop or keep"
                )
            else:
                places = listed((run.place for run in lost), 3)
                way = "left out" if crashed == "drop" else "got the worst score"
                notes.append(f"{counted(len(lost), 'crashed run')} of {arm} {way} ({places})")
                replaced = [run._replace(value=worst) for run in lost if crashed == "worst"]
                kept[arm] = [*(run for run in runs if run not in lost), *replaced]
        return replace(self, scores=kept, notes=tuple(notes))


def arms_of(
    named: Iterable[tuple[str, Score]], metric: str = "", notes: Iterable[str] = ()
) -> Arms:
    """Groups scores by arm; InputError for a seed twice in an arm, or for too many runs."""
    scores: dict[str, list[Score]] = defaultdict(list)
    one_space = functools.cache(lambda name: " ".join(name.split()))
    for arm, run in named:
        scores[one_space(arm)].append(run)
    for arm, runs in scores.items():
        seeds = [run.seed for run in runs if run.seed]
        if len({*seeds}) < len(seeds):
            [(seed, _)] = Counter(seeds).most_common(1)
            before, again, *_ = (run.place for run in runs if run.seed == seed)
            raise InputError(
                f"{again}: the arm {arm!r} has the seed {seed} twice (before at {before}); name "
                "every column that pairs by --seed, call one of steps step, or judge with "
                "--unpaired"
            )
        if len(runs) > MOST_SEEDS:
            mend = f"up to {MOST_SEEDS} are judged, one a run and not one a step"
            raise InputError(f"{runs[0].place}: {arm!r} has {len(runs):,} numbers; {mend}")
    return Arms(dict(scores), metric, tuple(notes))


def cells(
    texts: Sequence[str], places: Sequence[str], what: str
) -> tuple[Sequence[float], Sequence[str], Sequence[int]]:
    """The numbers in cells; why there is none (then it is NaN); of how many trials a count is."""
    with contextlib.suppress(ValueError):
        values, whole = [*map(float, texts)], "".join(texts)
        if sum(map(abs, values)) <= LARGEST and whole.isascii() and "_" not in whole:
            return values, [""] * len(values), [0] * len(values)
    if {text.lower() for text in texts} == {"true", "false"}:
        return cells([str(int(text.lower() == "true")) for text in texts], places, what)
    found = [_cell(text, place, what) for text, place in zip(texts, places, strict=True)]
    units = zip(texts, places, found, strict=True)
    kinds = {"%" in text: place for text, place, (_, crashed, _) in units if not crashed}
    if len(kinds) > 1:
        raise InputError(f"{kinds[True]} has a %, and {kinds[False]} has none; write all alike")
    numbers, crashed, trials = zip(*found, strict=True)
    return numbers, crashed, trials


def _cell(text: str, place: str, what: str) -> tuple[float, str, int]:
    """A number, a percentage, a count such as 7/9, or a crashed run's word."""
    plain = text.strip().removesuffix("%").strip().replace("\N{MINUS SIGN}", "-")
    number = float(plain) if NUMBER.fullmatch(plain) else math.nan
    if abs(number) <= LARGEST:
        return number, "", 0
    if math.isinf(number) or plain.lower() in NOTHING or CRASHED.search(plain):
        return math.nan, f"{what} is {plain[:40]!r}", 0
    if not math.isnan(number):
        raise InputError(f"{place}: {plain[:40]} can't be compared; give up to {LARGEST:g}")
    count = re.fullmatch(r"([0-9]+) ?/ ?([1-9][0-9]*)", plain)
    if count and int(count[1]) <= int(count[2]):
        return int(count[1]) / int(count[2]), "", int(count[2])
    mend = "write a number alone, such as 1234.5"
    if re.search(r"\d *(±|\+/?-|\()", plain):
        mend = "give columns mean, sd and n"
    raise InputError(f"{place}: {what} is {text.strip()[:40]!r}, which is no number; {mend}")
