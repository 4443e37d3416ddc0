"""Arms with the scores that they already have, one a run.

A number is taken from the command line, from a table of runs (``tables``) or from the logs of
training tools (``folders``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from embinit.claims.paired_tests import MOST_SEEDS
from embinit.errors import InputError
from embinit.runs.functions.calling import LARGEST

MOST_VALUES = 2_000_000
"""So many rows are read of one table at most."""


@dataclass(frozen=True)
class Score:
    """The score of one run, its place, such as ``results.tsv:7``, and the seed that pairs it."""

    value: float
    place: str
    seed: str | None = None


class Pairs(NamedTuple):
    """Two arms' numbers of common seeds, and the places of runs whose seed only one has."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    alone: tuple[str, ...]


@dataclass(frozen=True)
class Arms:
    """The scores of several arms by name; bare numbers have an empty metric."""

    scores: Mapping[str, tuple[Score, ...]]
    metric: str = ""

    def values(self, arm: str) -> tuple[float, ...]:
        """An arm's numbers."""
        return tuple(score.value for score in self.scores[arm])

    def pairs(self, arm: str, other: str) -> Pairs | None:
        """The numbers of the seeds that two arms have in common, in the first arm's order.

        None where a run names no seed, or fewer than two seeds are common.
        """
        ours, theirs = ({s.seed: s for s in self.scores[name]} for name in (arm, other))
        common = [seed for seed in ours if seed in theirs]
        if None in ours or None in theirs or len(common) < 2:
            return None
        alone = [ours.get(seed, theirs.get(seed)) for seed in ours.keys() ^ theirs.keys()]
        return Pairs(
            tuple(ours[seed].value for seed in common),
            tuple(theirs[seed].value for seed in common),
            tuple(sorted(score.place for score in alone if score is not None)),
        )


def arms_of(named: Iterable[tuple[str, Score]], metric: str = "") -> Arms:
    """Groups scores by arm; InputError for a seed twice in an arm, or for too many runs."""
    scores: dict[str, list[Score]] = {}
    met: dict[tuple[str, str], str] = {}
    for told, score in named:
        arm = " ".join(told.split())  # no line of its own in what is printed
        scores.setdefault(arm, []).append(score)
        if score.seed is not None:
            if (before := met.get((arm, score.seed))) is not None:
                raise InputError(
                    f"{score.place}: the arm {arm!r} has the seed {score.seed} twice (before at "
                    f"{before}); where that is no seed of its own, judge with --unpaired"
                )
            met[arm, score.seed] = score.place
    for arm, each in scores.items():
        if len(each) > MOST_SEEDS:
            raise InputError(
                f"the arm {arm!r} has {len(each):,} numbers, from {each[0].place} on; up to "
                f"{MOST_SEEDS} are judged, one a run and not one a step"
            )
    return Arms({arm: tuple(each) for arm, each in scores.items()}, metric)


def number(text: str, place: str, what: str = "") -> float:
    """A score's text as a number; InputError where it is no finite one. ``what`` is its name."""
    told = f"{place}: {what + ' is ' if what else ''}{text.strip()[:40]!r}"
    try:
        value = float("_" if "_" in text else text)
    except ValueError:
        raise InputError(f"{told}, which is no number") from None
    return finite(value, told)


def finite(value: float, told: str) -> float:
    """A score; InputError if it isn't finite or is too large, with ``told``: what and where."""
    if not math.isfinite(value):
        raise InputError(
            f"{told}: a run that diverged counts against its arm, and is not left out; discard the "
            "arm, or judge a metric that every run has"
        )
    if abs(value) > LARGEST:
        raise InputError(f"{told} is too large to be compared; give up to {LARGEST:g}")
    return value


def from_words(words: Sequence[str]) -> Arms:
    """The arms of ``base=3.2791,3.2776 new=3.2754,3.2756``; InputError for another form."""
    named: list[tuple[str, Score]] = []
    for word in words:
        arm, equals, text = word.partition("=")
        if not equals or not arm:
            raise InputError(
                f"{word[:60]!r} is neither an arm, as in new=3.27,3.28, nor a file or folder here"
            )
        if arm in dict(named):
            raise InputError(f"the arm {arm!r} is given twice; give all of its numbers at once")
        parts = text.split(",")
        if not text.strip() or any(not part.strip() for part in parts):
            raise InputError(f"the arm {arm!r} lacks a number: {word[:60]!r}")
        places = [f"{arm}, number {index}" for index in range(1, len(parts) + 1)]
        named += [(arm, Score(number(*each), each[1])) for each in zip(parts, places, strict=True)]
    return arms_of(named)
