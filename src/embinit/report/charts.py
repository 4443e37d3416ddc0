"""Compute the coordinates of the report's plots, which the template writes as SVG.

A forest plot shows one comparison: every seed's paired difference as a dot, their mean with its
interval, zero, and the margin. A line shows one comparison among others of a finding, on an axis in
margins. Curves show arms over epochs: the mean over seeds, and a band from the least to the
greatest. All coordinates are in SVG user units, and finite whatever the data hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.records import ClaimRecord, ComparisonRecord
from embinit.report.numbers import MINUS, finite, number, plain
from embinit.report.verdicts import difference, ends, in_margins
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit.stats.statements import Relation, Verdict

WIDTH, SIDE = 400.0, 14.0
"""The width of a plot, and the air on its sides."""

DOT_ROWS, DOT_STEP = 5, 9.5
"""The rows that dots are spread over, so that they don't hide each other, and their distance."""

MOST_ARMS, MOST_POINTS = 6, 40
"""The most arms that a plot of curves can show, for more look alike, and the points of a curve."""

REACH, HALF, LINE = 40.0, 110.0, 11.0
"""The end of an axis in margins; half of its length, and the height of a line on it, in units."""

LARGEST = 1e100
"""Beyond it a value is as good as infinite: axis arithmetic would overflow."""

Point = tuple[float, float, float, float]
"""An epoch with the mean, the least and the greatest value of its seeds."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """A linear axis, which maps data to SVG units."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The coordinate of a value, which may be infinite: to a tenth, clipped to the axis."""
        share = (value - self.low) / (self.high - self.low)
        coordinate = self.start + min(1.0, max(0.0, share)) * (self.end - self.start)
        return round(coordinate, 1) + 0.0

    def ticks(self, wanted: int, whole: bool = False) -> tuple[Tick, ...]:
        """About ``wanted`` ticks at steps of 1, 2 or 5 times a power of ten, or at whole steps."""
        step = nice_step((self.high - self.low) / wanted)
        step = max(1.0, step) if whole else step
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return tuple(
            Tick(self.at(index * step), _tick_text(index * step, places))
            for index in range(first, last + 1)
        )


@dataclass(frozen=True)
class Forest:
    """A forest plot: ``row`` is the height of the mean, and ``shade`` is where the claim holds."""

    axis: Axis
    row: float
    shade: tuple[float, ...]
    margins: tuple[float, ...]
    dots: str
    mean: float | None
    span: tuple[float, ...] | None


@dataclass(frozen=True)
class Line:
    """A comparison on an axis in margins; to the right is the direction that is claimed."""

    text: str
    verdict: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Curves:
    """Curves of several arms over epochs: each has its label and the coordinates of its points."""

    name: str
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    series: tuple[tuple[str, tuple[tuple[float, ...], ...]], ...]


def line_of(claim: ClaimRecord) -> Line | None:
    """Draw a claim as a line of a finding's plot; None for one without a margin."""
    comparison = claim.deciding
    effect = in_margins(comparison, comparison.difference) if comparison else None
    if comparison is None or effect is None:
        return None
    low = high = effect
    if comparison.has_interval:
        low, high = sorted(in_margins(comparison, end) or 0.0 for end in ends(comparison))
    text = f"{claim.id}: {difference(comparison)}, {claim.verdict}"
    return Line(text, claim.verdict, *map(_at_margins, (effect, low, high)))


def _at_margins(margins: float) -> float:
    """The coordinate of a difference: linear near 0, logarithmic beyond."""
    value = max(-REACH, min(REACH, margins))
    return round(HALF * (1 + math.asinh(value) / math.asinh(REACH)), 1)


MARGIN_TICKS = tuple(Tick(_at_margins(tick), plain(tick)) for tick in (-10, -1, 0, 1, 10))
"""The ticks of an axis in margins."""


def drawable(values: Iterable[float | None]) -> list[float]:
    """The values that a plot can show: finite numbers below ``LARGEST``."""
    numbers = (finite(value) for value in values)
    return [value for value in numbers if value is not None and abs(value) < LARGEST]


def nice_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least ``least`` (above 0)."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((power * unit for unit in (1, 2, 5) if power * unit >= least), power * 10)


def padded(values: Sequence[float]) -> tuple[float, float]:
    """The range of ``values`` with some air on either side, never of length zero."""
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    air = 0.06 * (high - low)
    if high - low <= max(1e-9 * size, 1e-90):
        air = 0.1 * size if size > 1e-90 else 1.0
    return low - air, high + air


def forest(comparison: ComparisonRecord) -> Forest | None:
    """Draw a comparison as a forest plot; None without a finite value."""
    pairs = map(drawable, zip(comparison.left_values, comparison.right_values, strict=False))
    differences = [pair[0] - pair[1] for pair in pairs if len(pair) == 2]
    mean = next(iter(drawable([comparison.difference])), None)
    seen = [*differences, *drawable([mean])]
    if not seen:
        return None
    relation, margin = comparison.relation, comparison.margin
    tested = Relation.ALIKE if comparison.verdict is Verdict.NO_EFFECT else relation
    shown = tested.uses_margin and 0 < margin < LARGEST
    bounds = [one for one in tested.bounds(margin) if math.isfinite(one)] if shown else []
    seen += [0.0, *bounds]
    low, high = padded(seen)
    # A much longer interval runs off the ends.
    air = 1.5 * (high - low)
    reach = [max(low - air, min(high + air, end)) for end in drawable(comparison.interval)]
    axis = Axis(*padded([*seen, *reach]), SIDE, WIDTH - SIDE)
    places = enumerate(sorted(axis.at(value) for value in differences))
    dots = "".join(f"M{x:g} {11 + (at % DOT_ROWS) * DOT_STEP:g}h0" for at, x in places)
    span = tuple(map(axis.at, ends(comparison)))
    return Forest(
        axis=axis,
        row=24 + DOT_STEP * min(DOT_ROWS, len(differences)),
        shade=tuple(map(axis.at, relation.bounds(margin if shown else 0.0))),
        margins=tuple(map(axis.at, bounds)),
        dots=dots,
        mean=None if mean is None else axis.at(mean),
        span=span if any(end is not None for end in comparison.interval) else None,
    )


def learning_curves(claim: ClaimRecord, results: Mapping[str, RunResult]) -> Curves | None:
    """Draw the curve that most arms of a claim have, a score before a loss; None without one.

    For each arm its mean over seeds, and a band. ``results`` are the runs' by their keys in the
    store; those that it lacks are passed over.
    """
    # A baseline names no runs.
    named = [pair.runs for pair in claim.comparisons if isinstance(pair.runs, Mapping)]
    arms: dict[tuple[str, RunSpec], list[Mapping[str, Sequence[float]]]] = {}
    for key, label in {key: label for runs in named for key, label in runs.items()}.items():
        if (run := results.get(key)) is not None:
            arms.setdefault((label, run.spec.without_seed()), []).append(run.curves)
    measures = sorted((MEASURES[name] for name in MEASURES), key=lambda one: one.better != "up")
    names = [measure.curve for measure in measures if measure.curve is not None]

    def having(name: str) -> int:
        return sum(any(run.get(name) for run in of_arm) for of_arm in arms.values())

    name = max(names, key=having)
    summaries = [
        (label, _over_seeds([run.get(name, ()) for run in of_arm]))
        for (label, _), of_arm in arms.items()
    ]
    points = [point for _, summary in summaries for point in summary]
    if not points or len(arms) > MOST_ARMS:
        return None
    vertical = Axis(*padded([value for point in points for value in point[1:]]), 176.0, 10.0)
    horizontal = Axis(1.0, max(2.0, *(point[0] for point in points)), 56.0, WIDTH - SIDE)
    return Curves(
        name=name.replace("_", " ").replace("bleu", "BLEU"),
        horizontal=horizontal.ticks(6, whole=True),
        vertical=vertical.ticks(4),
        series=tuple(
            (label, tuple((horizontal.at(x), *map(vertical.at, values)) for x, *values in part))
            for label, part in summaries
        ),
    )


def _over_seeds(seeds: Sequence[Sequence[float]]) -> list[Point]:
    """Each epoch, counted from 1, with the mean, least and greatest value of its seeds."""
    longest = max(map(len, seeds))
    step = max(1, -(-longest // MOST_POINTS))
    summary = []
    # The last epoch is always among them: it is the one that gets read off.
    for epoch in range((longest - 1) % step, longest, step):
        known = drawable(values[epoch] for values in seeds if epoch < len(values))
        if known:
            summary.append((epoch + 1.0, math.fsum(known) / len(known), min(known), max(known)))
    return summary


def _tick_text(value: float, places: int) -> str:
    if abs(value) >= 1e7 or places > 4:
        return number(value)
    return f"{value:.{places}f}".replace("-", MINUS)
