"""Arms with the scores that they already have, one a run."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from embinit.errors import InputError, counted
from embinit.runs.functions.calling import LARGEST
from embinit.scores.checks import require_runs
from embinit.stats.power import MOST_SEEDS

CRASHED = re.compile(
    r"crash|fail|err|kill|abort|diverg|\boom\b|memory|time.?out|running|pending|waiting|paused|"
    r"queue|schedul|preempt|prune|cancel|interrupt|incomplete|unfinished|partial|invalid|broken",
    re.IGNORECASE,
)
"""What a status or a score's cell says where a run has no result."""

NOTHING = ("", "none", "null", "n/a", "na", "-", "–", "nan", "inf", "-inf", "+inf", "infinity")
ENDED_EARLY = 0.9
"""A run ended early whose last step is below this share of the last step of any."""

USUAL = ("base", "baseline", "control")
"""What a baseline is called; else the first arm is it."""

Key = tuple[str, ...]
Reading = Callable[[Sequence[tuple[float, float]], str], float]
"""Reads one number off a run's points (step and value); the place is for errors."""


class Score(NamedTuple):
    """The score of one run, where it stands, and why it has none; ``of`` 9 trials for 7/9."""

    value: float
    place: str
    seed: Key | None = None
    crashed: str = ""
    of: int = 0


class Curve(NamedTuple):
    """The points of one run (step and value)."""

    arm: Key
    seed: Key | None
    place: str
    points: Sequence[tuple[float, float]]
    crashed: str = ""


@dataclass(frozen=True)
class Arms:
    """The scores of several arms by name; bare numbers have an empty metric.

    Those ``of_noise`` have a standard deviation, and a mean of 0 that nobody measured.
    """

    scores: Mapping[str, tuple[Score, ...]]
    metric: str = ""
    notes: tuple[str, ...] = ()
    of_noise: bool = False

    def values(self, arm: str) -> tuple[float, ...]:
        """An arm's numbers."""
        return tuple(score.value for score in self.scores[arm])

    @functools.cached_property
    def by_seed(self) -> dict[str, dict[Key | None, Score]]:
        """Each arm's scores by their seeds."""
        return {arm: {s.seed: s for s in each} for arm, each in self.scores.items()}

    def pairs(self, arm: str, other: str) -> tuple[Key, ...]:
        """The seeds that two arms have in common; none where a run has no seed, or one is."""
        ours, theirs = self.by_seed[arm], self.by_seed[other]
        common = tuple(seed for seed in ours if seed is not None and seed in theirs)
        return () if None in ours or None in theirs or len(common) < 2 else common

    def unpaired(self) -> Arms:
        """The same runs, of which no two are pairs."""
        each = {arm: tuple(s._replace(seed=None) for s in of) for arm, of in self.scores.items()}
        return replace(self, scores=each)

    def settled(self, crashed: str | None, lower: bool) -> Arms:
        """Deals with runs that crashed as ``--crashed`` says; InputError where it doesn't.

        An arm all of whose runs crashed is left out and named, unless it may be the baseline.
        """
        known = [s.value for each in self.scores.values() for s in each if not s.crashed]
        rest = [value for value in known if value]
        # An exact 0 outside the range of all other scores is no score, unless they are 0 or 1.
        odd = rest and (min(rest) > 0 or max(rest) < 0) and {*rest} != {1.0} and crashed != "keep"
        zero = "its score is an exact 0, outside the range of all others" if odd else ""
        notes, kept, first = list(self.notes), {}, next(iter(self.scores), "").lower()
        worst, drop = (max if lower else min)(rest, default=0.0), crashed == "drop"
        for arm, each in self.scores.items():
            runs = [s if s.value or s.of else s._replace(crashed=s.crashed or zero) for s in each]
            lost = [score for score in runs if score.crashed]
            if len(lost) == len(runs) and arm.lower() not in (first, *USUAL):
                notes.append(f"discard {arm}: {lost[0].place}: {lost[0].crashed}")
            elif all(crashed == "keep" and math.isfinite(score.value) for score in lost):
                kept[arm] = each
            elif crashed not in ("worst", "drop") or not rest or len(lost) == len(runs):
                raise InputError(
                    f"{lost[0].place}: {lost[0].crashed}: a run that crashed counts against its "
                    "arm; judge with --crashed worst (it gets the worst score) or drop"
                    + ("" if math.isnan(lost[0].value) else ", or keep if its score is right")
                )
            else:
                places = "; ".join(s.place for s in lost[:3]) + (" …" if lost[3:] else "")
                way = "left out" if drop else "got the worst score"
                notes.append(f"{counted(len(lost), 'crashed run')} of {arm} {way} ({places})")
                runs = [s for s in runs if not (drop and s.crashed)]
                kept[arm] = tuple(s._replace(value=worst) if s.crashed else s for s in runs)
        return replace(self, scores=kept, notes=tuple(notes))


def arms_of(
    named: Iterable[tuple[Key, Score]], metric: str = "", notes: Iterable[str] = ()
) -> Arms:
    """Groups scores by arm; InputError for a seed twice in an arm, or for too many runs."""
    scores: dict[Key, dict[Any, Score]] = {}
    for key, score in named:
        arm = scores.setdefault(key, {})
        seed: Any = len(arm) if score.seed is None else score.seed
        if (before := arm.get(seed)) is not None:
            raise InputError(
                f"{score.place}: the arm {', '.join(key)!r} has the seed {', '.join(seed)} twice "
                f"(before at {before.place}); name every column that pairs by --seed, call one of "
                "steps step, or judge with --unpaired"
            )
        arm[seed] = score
    names = {key: ", ".join(" ".join(part.split()) for part in key) for key in scores}
    met = Counter(names.values())
    found = {}
    for key, name in names.items():
        each = tuple(scores[key].values())
        found[name if met[name] == 1 else json.dumps(key)] = each
        if len(each) > MOST_SEEDS:
            mend = f"up to {MOST_SEEDS} are judged, one a run and not one a step"
            raise InputError(f"{each[0].place}: {name!r} has {len(each):,} numbers; {mend}")
    require_runs(found)
    return Arms(found, metric, tuple(notes))


def cell(text: str, place: str, what: str = "the score") -> Score:
    """The score in a cell: a number, a percentage, a count such as 7/9, or a crashed run's."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if abs(value) <= LARGEST and text.isascii() and "_" not in text:
        return Score(value, place)
    plain = text.strip().strip("*`").removesuffix("%").strip().replace("\N{MINUS SIGN}", "-")
    if plain.lower() in NOTHING or CRASHED.search(plain):
        return Score(math.nan, place, crashed=f"{what} is {plain[:40]!r}")
    if count := re.fullmatch(r"([0-9]+) ?/ ?([1-9][0-9]*)", plain):
        hits, of = int(count[1]), int(count[2])
        if hits <= of:
            return Score(hits / of, place, of=of)
    if re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", plain, re.I) and plain.count(".") < 2:
        return finite(float(plain), place, what)
    mend = "; write 3.27 for 3,27" if re.fullmatch(r"-?\d+,\d+", plain) else ""
    mend = "; give columns mean, sd and n" if "±" in plain else mend
    raise InputError(f"{place}: {what} is {text.strip()[:40]!r}, which is no number{mend}")


def plain_numbers(texts: Sequence[str]) -> list[float]:
    """The numbers in cells, all at once; none where one of them is special."""
    with contextlib.suppress(ValueError):
        values, all_text = [*map(float, texts)], "".join(texts)
        if sum(map(abs, values)) <= LARGEST and all_text.isascii() and "_" not in all_text:
            return values
    return []


def numbers(texts: Sequence[str], places: Sequence[str], what: str) -> list[float]:
    """The numbers in cells; NaN for a crashed run's."""
    each = zip(texts, places, strict=True)
    return plain_numbers(texts) or [cell(text, place, what).value for text, place in each]


def finite(value: float, place: str, what: str) -> Score:
    """A score; crashed if it isn't finite. InputError if it is too large."""
    if not math.isfinite(value):
        return Score(math.nan, place, crashed=f"{what} is {value}")
    if abs(value) > LARGEST:
        raise InputError(f"{place}: {value} is too large to be compared; give up to {LARGEST:g}")
    return Score(value, place)


def from_words(words: Sequence[str]) -> Arms:
    """The arms of ``base=3.2791,3.2776 new=3.2754,3.2756``; InputError for another form."""
    named: list[tuple[Key, Score]] = []
    for word in words:
        arm, equals, text = word.partition("=")
        if not equals or not arm:
            what = "neither an arm, as in new=3.27,3.28, nor a file or folder here"
            raise InputError(f"{word[:60]!r} is {what}")
        if arm in (known for (known,), _ in named):
            raise InputError(f"the arm {arm!r} is given twice; give all of its numbers at once")
        if not all(map(str.strip, text.split(","))):
            raise InputError(f"the arm {arm!r} lacks a number: {word[:60]!r}")
        cells = enumerate(text.split(","), start=1)
        named += [((arm,), cell(each, f"{arm}, number {n}")) for n, each in cells]
    return arms_of(named)


def from_curves(
    curves: Sequence[Curve], metric: str, reading: Reading, notes: Iterable[str] = ()
) -> Arms:
    """One number of each run's points. A run that ended early has crashed."""
    most = max((step for curve in curves for step, _ in curve.points), default=0.0)
    named = []
    for arm, seed, place, points, crashed in curves:
        end = points[-1][0] if points else 0.0
        odd = [value for _, value in points if not math.isfinite(value)]
        value = math.nan if crashed or odd or not points else reading(points, place)
        if odd or math.isnan(value):
            crashed = crashed or f"{metric} is {odd[0] if odd else 'nowhere'}"
        elif end < ENDED_EARLY * most:
            crashed = f"it ended at step {end:g}, and others at {most:g}"
        found = Score(value, place) if crashed else finite(value, place, metric)
        named.append((arm, found._replace(seed=seed, crashed=crashed or found.crashed)))
    return arms_of(named, metric, notes)
