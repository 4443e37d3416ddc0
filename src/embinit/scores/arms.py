"""Arms with the scores that they already have, one a run."""

from __future__ import annotations

import functools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from embinit.errors import InputError, counted
from embinit.scores.asking import Ask
from embinit.scores.rows import NUMBER, listed
from embinit.stats.power import MOST_SEEDS

CRASHED = re.compile(
    r"crash|fail|err|kill|abort|diverg|\boom\b|memory|time.?out|running|pending|waiting|paused|"
    r"queue|schedul|preempt|prune|cancel|interrupt|incomplete|unfinished|partial|invalid|broken",
    re.IGNORECASE,
)
"""What a status or a score's cell says where a run has no result."""

NOTHING = ("", "none", "null", "n/a", "na", "-", "–", "nan", "inf", "-inf", "+inf", "infinity")
COUNT = re.compile(r"([0-9]+) ?/ ?([1-9][0-9]*)")
"""A cell of successes and trials."""

COMMA = re.compile(r"[-+]?(0,\d+|\d{4,},\d+|\d+,(?!\d{3}$)\d+)")
"""A number with a comma before its decimals; 1,234 may have one between its thousands."""

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

    Those ``of_noise`` have a standard deviation, and a mean of 0 that nobody measured. ``by`` and
    ``metric`` are the columns that were read.
    """

    scores: Mapping[str, Sequence[Score]]
    metric: str = ""
    notes: tuple[str, ...] = ()
    of_noise: bool = False
    by: str = ""

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
        """The seeds that two arms have in common; none where a run has no seed, or few are."""
        ours, theirs = self.by_seed[arm], self.by_seed[other]
        common = tuple(filter(theirs.__contains__, ours))
        # Few common seeds would throw away most of the runs.
        few = 2 * len(common) <= max(len(ours), len(theirs)) or len(common) < 2
        return () if "" in ours or "" in theirs or few else common

    def settled(self, crashed: str | None, lower: bool, worst: float, base: str = "") -> Arms:
        """Deals with runs that crashed as ``--crashed`` says; a question where it doesn't.

        A crashed run whose score is missing, or better than ``worst``, gets ``worst``. An arm all
        of whose runs crashed is left out and named, unless it is the baseline.
        """
        least, most = worst_of(False, self), worst_of(True, self)
        # An exact 0 outside the range of all other scores is no score, unless it is a count.
        odd = (least > 0 or most < 0) and not least == most == 1 and crashed != "keep"
        zero = "its score is an exact 0, outside the range of all others" if odd else ""
        notes, kept = [*self.notes], {**self.scores}
        for arm, runs in self.scores.items():
            lost = [run for run in runs if run.crashed or not (run.value or run.of or not zero)]
            if not lost:
                continue
            why = f"{lost[0].place}: {lost[0].crashed or zero}"
            finite = all(math.isfinite(run.value) for run in lost)
            if crashed == "keep" and finite:
                notes.append(f"{counted(len(lost), 'crashed run')} of {arm} kept ({lost[0].place})")
            elif len(lost) == len(runs) and arm != base:
                notes.append(f"discard {arm}: {why}")
                del kept[arm]
            elif len(lost) == len(runs):
                mend = "take its rows out, so that another arm is the baseline"
                raise InputError(f"{why}: a run that crashed, and {arm} has no other; {mend}")
            elif crashed not in ("worst", "drop"):
                text = f"{why}: a run that crashed counts against its arm; give it the worst score"
                choices = [{"crashed": way} for way in ("worst", "drop", *["keep"] * finite)]
                raise Ask(f"{text}, leave it out, or keep its score?", choices)
            else:
                places = listed((run.place for run in lost), 3)
                given = [_worse(lower, worst, run) for run in lost] if crashed == "worst" else []
                kept[arm] = [*(run for run in runs if run not in lost), *given]
                values = listed(dict.fromkeys(f"{run.value:g}" for run in given))
                way = f"got the worst score of all, {values}" if given else "left out"
                notes.append(f"{counted(len(lost), 'crashed run')} of {arm} {way} ({places})")
        return replace(self, scores=kept, notes=tuple(notes))


def _worse(lower: bool, worst: float, run: Score) -> Score:
    """A lost run with the worst score of all, or with its own where that is worse still."""
    has_own = math.isfinite(run.value) and run.value
    return run._replace(value=(max if lower else min)(worst, run.value) if has_own else worst)


def worst_of(lower: bool, *several: Arms | None) -> float:
    """The worst score of all runs that have one; 0 where none has, as in a standard deviation."""
    known = [arms for arms in several if arms and not arms.of_noise]
    runs = [run for arms in known for of in arms.scores.values() for run in of]
    rest = [run.value for run in runs if run.value and not run.crashed]
    return (max if lower else min)(rest, default=0.0)


def arms_of(
    named: Iterable[tuple[str, Score]], metric: str = "", notes: Iterable[str] = ()
) -> Arms:
    """Groups scores by arm; InputError for two spellings of a name, or for too many runs."""
    scores: dict[str, list[Score]] = defaultdict(list)
    one_space = functools.cache(lambda name: " ".join(name.split()))
    for arm, run in named:
        scores[one_space(arm)].append(run)
    spelt: dict[str, str] = {}
    for arm, runs in scores.items():
        if (other := spelt.setdefault(arm.casefold(), arm)) != arm:
            text = f"the arms {other!r} and {arm!r} differ in capitals alone"
            raise InputError(f"{runs[0].place}: {text}; write them alike, or name them apart")
        if len(runs) > MOST_SEEDS:
            mend = f"up to {MOST_SEEDS} are judged, one a run and not one a step"
            raise InputError(f"{runs[0].place}: {arm!r} has {len(runs):,} numbers; {mend}")
    return Arms(dict(scores), metric, tuple(notes))


def cells(
    texts: Sequence[str], places: Sequence[str], what: str
) -> tuple[Sequence[float], Sequence[str], Sequence[int]]:
    """The numbers in cells; why there is none (then it is NaN); of how many trials a count is."""
    found = [_cell(text, place, what) for text, place in zip(texts, places, strict=True)]
    units = zip(texts, places, found, strict=True)
    kinds = {"%" in text: place for text, place, (_, crashed, _) in units if not crashed}
    if len(kinds) > 1:
        raise InputError(f"{kinds[True]} has a %, and {kinds[False]} has none; write all alike")
    numbers, crashed, trials = zip(*found, strict=True) if found else ((), (), ())
    return numbers, crashed, trials


def _cell(text: str, place: str, what: str) -> tuple[float, str, int]:
    """A number, a percentage, a count such as 7/9, or a crashed run's word."""
    shown, number = text.strip()[:40], number_in(text)
    if number is None:
        mend = "write a number alone, such as 1234.5"
        raise InputError(f"{place}: {what} is {shown!r}, which is no number; {mend}")
    if math.isnan(number):
        return math.nan, f"{what} is {shown!r}", 0
    if abs(number) > LARGEST:
        raise InputError(f"{place}: {shown} can't be compared; give up to {LARGEST:g}")
    count = COUNT.fullmatch(text.strip())
    return number, "", int(count[2]) if count else 0


@functools.cache
def number_in(text: str) -> float | None:
    """The number in a cell; NaN where a run has none, and None for other words."""
    plain = text.strip().removesuffix("%").strip().replace("\N{MINUS SIGN}", "-")
    plain = plain.replace(",", ".") if COMMA.fullmatch(plain) else plain
    if NUMBER.fullmatch(plain):
        return float(plain) if math.isfinite(float(plain)) else math.nan
    if count := COUNT.fullmatch(plain):
        return int(count[1]) / int(count[2]) if int(count[1]) <= int(count[2]) else None
    if plain.lower() in ("true", "false"):
        return float(plain.lower() == "true")
    return math.nan if plain.lower() in NOTHING or CRASHED.search(plain) else None
