"""The geometry of the report's plots; the template only writes it down as SVG.

A forest plot shows one comparison: every seed's paired difference as a dot, their mean with its
interval, zero, and the margin where the relation has one; where the claim would hold is shaded.
Learning curves show arms over epochs: the mean over seeds and a band from the least to the
greatest. Histograms show how large a table's values are, on a log axis; slides show a score
before and after something was done; a history shows one effect over past sessions. All
coordinates are in SVG user units and finite whatever the data hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.claims.paired_tests import Relation
from embinit.report.numbers import MINUS, finite, number, plain
from embinit.tables.diagnostics import HISTOGRAM

WIDTH = 400.0
RADIUS = 4.0
SIDE = 14.0
MOST_ROWS = 6
MOST_POINTS = 40
MOST_SESSIONS = 12
LARGEST = 1e100
"""Beyond it a value is as good as infinite: axis arithmetic would overflow."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis: where it is and what it says."""

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """A linear axis from data (``low`` to ``high``) to SVG units (``start`` to ``end``)."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where ``value`` lies, in SVG units to a tenth, held within the axis."""
        share = (value - self.low) / (self.high - self.low)
        place = self.start + min(1.0, max(0.0, share)) * (self.end - self.start)
        return round(place, 1) + 0.0

    def ticks(self, wanted: int, whole: bool = False) -> tuple[Tick, ...]:
        """About ``wanted`` ticks at steps of 1, 2 or 5 times a power of ten."""
        step = nice_step((self.high - self.low) / wanted)
        step = max(1.0, step) if whole else step
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return tuple(
            Tick(self.at(index * step), _tick_text(index * step, places))
            for index in range(first, last + 1)
        )


@dataclass(frozen=True)
class Margin:
    """A margin's line, and its label's place, row (0 or 1) and text-anchor."""

    at: float
    text: str
    row: int
    anchor: str


@dataclass(frozen=True)
class Forest:
    """A forest plot. ``open_low`` and ``open_high``: the interval goes on beyond the plot.

    ``spanned``: there is an interval to draw, so at least one of its ends is known.
    """

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    zero: float
    shade: tuple[float, float]
    margins: tuple[Margin, ...]
    dots: str
    mean: float | None
    mean_row: float
    low: float
    high: float
    open_low: bool
    open_high: bool
    spanned: bool


@dataclass(frozen=True)
class Series:
    """One arm's curve: SVG paths of its line and of the band around it."""

    label: str
    line: str
    band: str


@dataclass(frozen=True)
class Curves:
    """Curves of several arms with common axes. ``left`` is where the y axis stands."""

    height: float
    floor: float
    left: float
    name: str
    by: str
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Histograms:
    """Histograms on a common log axis."""

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Slide:
    """One row of before and after: its label, y, both places, and what they read."""

    label: str
    at: float
    before: float
    after: float
    said: str


@dataclass(frozen=True)
class Slides:
    """Scores before and after, one row each, on a common axis of percent."""

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    rows: tuple[Slide, ...]


@dataclass(frozen=True)
class Past:
    """One session's effect: where its mean and its interval stand, its verdict, and a title."""

    at: float
    mean: float
    low: float
    high: float
    verdict: str
    said: str


@dataclass(frozen=True)
class History:
    """One effect over sessions, oldest first; ``zero`` is where no difference stands."""

    height: float
    width: float
    zero: float
    points: tuple[Past, ...]


def histograms(series: Sequence[tuple[str, Sequence[int], float]]) -> Histograms | None:
    """Histograms of (label, counts in the bins of ``HISTOGRAM``, multiplier); None without any.

    Values times a multiplier have the same histogram, shifted on a log axis.
    """
    low, _, a_decade = HISTOGRAM
    drawn = []
    for label, counts, multiplier in series:
        total = sum(counts)
        points = [
            (low + (place + 0.5) / a_decade + math.log10(multiplier), amount / total)
            for place, amount in enumerate(counts)
            if total
        ]
        # Under a hundredth of the highest bin a line is hardly seen; it would only widen the plot.
        # The first bin has the zeros, which have no place on a log axis.
        highest = max((share for _, share in points[1:]), default=0.0)
        seen = [place for place, (_, share) in enumerate(points) if place and share > highest / 100]
        if seen:
            drawn.append((label, points[max(1, seen[0] - 1) : seen[-1] + 2]))
    if not drawn:
        return None
    floor = 150.0
    places = [place for _, points in drawn for place, _ in points]
    horizontal = Axis(math.floor(min(places)), math.ceil(max(places)), 26.0, WIDTH - 26)
    vertical = Axis(0.0, max(share for _, points in drawn for _, share in points), floor, 10.0)
    powers = range(math.floor(min(places)), math.ceil(max(places)) + 1)
    return Histograms(
        height=floor + 37,
        floor=floor,
        ticks=tuple(Tick(horizontal.at(power), plain(10.0**power)) for power in powers),
        series=tuple(
            _series(label, [(x, y, 0.0, y) for x, y in points], horizontal, vertical)
            for label, points in drawn
        ),
    )


@dataclass(frozen=True)
class Point:
    """A labelled point; ``anchor`` is its label's text-anchor, ``kind`` numbers its style."""

    x: float
    y: float
    label: str
    anchor: str
    kind: int


@dataclass(frozen=True)
class Scatter:
    """Points over a log axis; ``zero`` is where nothing is lost."""

    height: float
    floor: float
    left: float
    zero: float
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    points: tuple[Point, ...]
    kinds: tuple[str, ...]


def scatter(
    points: Sequence[tuple[str, int, float, float]], kinds: Sequence[str]
) -> Scatter | None:
    """Points (label, which of ``kinds``, x above 0, y), x on a log axis; None without any."""
    known = [one for one in points if one[2] > 1 / LARGEST and len(drawable(one[2:])) == 2]
    if not known:
        return None
    floor, left = 216.0, 50.0
    logs = [math.log10(x) for _, _, x, _ in known]
    horizontal = Axis(*padded([0.0, *logs], 0.12), left, WIDTH - SIDE)
    vertical = Axis(*padded([0.0, *(y for *_, y in known)], 0.08), floor, 10.0)
    steps = [
        unit * 10.0**power
        for power in range(math.floor(horizontal.low), math.ceil(horizontal.high) + 1)
        for unit in (1, 3)
    ]
    return Scatter(
        height=floor + 37,
        floor=floor,
        left=left,
        zero=vertical.at(0.0),
        horizontal=tuple(
            Tick(horizontal.at(math.log10(step)), plain(step))
            for step in steps
            if horizontal.low <= math.log10(step) <= horizontal.high
        ),
        vertical=vertical.ticks(5),
        points=tuple(
            Point(
                horizontal.at(place),
                vertical.at(y),
                label,
                "end" if horizontal.at(place) > WIDTH * 0.6 else "start",
                kind,
            )
            for place, (label, kind, _, y) in zip(logs, known, strict=True)
        ),
        kinds=tuple(kinds),
    )


def slides(rows: Sequence[tuple[str, float, float]]) -> Slides | None:
    """Slides of (label, percentage before, percentage after); None without rows."""
    if not rows:
        return None
    axis = Axis(0.0, 100.0, SIDE, WIDTH - SIDE)
    floor = 34.0 * len(rows) + 8
    return Slides(
        height=floor + 37,
        floor=floor,
        ticks=axis.ticks(5),
        rows=tuple(
            Slide(
                label,
                34.0 * place + 26,
                axis.at(before),
                axis.at(after),
                f"{number(before, 1)} → {number(after, 1)} %",
            )
            for place, (label, before, after) in enumerate(rows)
        ),
    )


def history(
    effects: Sequence[tuple[str, str, float | None, Sequence[float | None]]],
) -> History | None:
    """One effect over sessions (when, verdict, mean, interval), oldest first; None below two.

    The last ``MOST_SESSIONS`` are drawn.
    """
    known = [one for one in effects if drawable([one[2]])][-MOST_SESSIONS:]
    if len(known) < 2:
        return None
    height, width = 46.0, max(60.0, 16.0 * len(known))
    seen = [0.0, *(float(mean) for _, _, mean, _ in known if mean is not None)]
    ends = [end for *_, interval in known for end in drawable(interval)]
    axis = _forest_axis(seen, ends)
    vertical = Axis(axis.low, axis.high, height - 4, 4.0)
    points = []
    for place, (when, verdict, mean, interval) in enumerate(known):
        assert mean is not None
        low, high = (next(iter(drawable([end])), None) for end in interval)
        points.append(
            Past(
                at=round(8 + place * (width - 16) / (len(known) - 1), 1),
                mean=vertical.at(mean),
                low=vertical.at(axis.low if low is None else low),
                high=vertical.at(axis.high if high is None else high),
                verdict=verdict,
                said=f"{when}: {verdict}, {number(mean)}",
            )
        )
    return History(height, width, vertical.at(0.0), tuple(points))


def drawable(values: Iterable[object]) -> list[float]:
    """The values that a plot can place."""
    numbers = (finite(value) for value in values)
    return [value for value in numbers if value is not None and abs(value) < LARGEST]


def nice_step(least: float) -> float:
    """The least of 1, 2, 5, 10 times a power of ten that is no less than ``least`` (> 0)."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((power * unit for unit in (1, 2, 5) if power * unit >= least), power * 10)


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """The range of ``values`` (not empty) with some air, never of length zero."""
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    air = (high - low) * share
    if high - low <= max(1e-9 * size, 1e-90):
        air = 0.1 * size if size > 1e-90 else 1.0
    return low - air, high + air


def forest(comparison: Mapping[str, Any]) -> Forest | None:
    """A comparison's forest plot, or None where there is nothing to draw."""
    pairs = zip(comparison["left_values"], comparison["right_values"], strict=False)
    known = [pair for pair in pairs if len(drawable(pair)) == 2]
    differences = [float(left) - float(right) for left, right in known]
    mean = next(iter(drawable([comparison["difference"]])), None)
    seen = [*differences] if mean is None else [*differences, mean]
    if not seen:
        return None
    relation, margin = Relation(comparison["relation"]), finite(comparison["margin"]) or 0.0
    bounds = _margin_bounds(relation, margin)
    ends = [next(iter(drawable([end])), None) for end in comparison["interval"]]
    axis = _forest_axis([*seen, 0.0, *bounds], [end for end in ends if end is not None])
    labels = _margin_labels(axis, bounds)
    top = 8.0 + 15.0 * (1 + max(label.row for label in labels) if labels else 0)
    dots, rows = _swarm(sorted(axis.at(value) for value in differences), top + RADIUS + 3)
    mean_row = top + rows * (2 * RADIUS + 1.5) + 17
    return Forest(
        height=mean_row + 54,
        floor=mean_row + 17,
        ticks=axis.ticks(5),
        zero=axis.at(0.0),
        shade=_shade(axis, relation, margin if bounds else 0.0),
        margins=labels,
        dots=dots,
        mean=None if mean is None else axis.at(mean),
        mean_row=mean_row,
        low=axis.start if ends[0] is None else axis.at(ends[0]),
        high=axis.end if ends[1] is None else axis.at(ends[1]),
        open_low=ends[0] is None or ends[0] < axis.low,
        open_high=ends[1] is None or ends[1] > axis.high,
        spanned=any(end is not None for end in ends),
    )


def curves(
    name: str, arms: Sequence[tuple[str, Sequence[Sequence[object]]]], by: str = "epoch"
) -> Curves | None:
    """Curves ``name`` of arms (label, one list of values per seed); None without any.

    ``by`` epoch, counted from 1, or by layer, from 0.
    """
    first = 0.0 if by == "layer" else 1.0
    summaries = [(label, _over_seeds(seeds, first)) for label, seeds in arms]
    points = [point for _, summary in summaries for point in summary]
    if not points:
        return None
    floor, left = 176.0, 50.0
    vertical = Axis(*padded([value for point in points for value in point[1:]]), floor, 10.0)
    last = max(point[0] for point in points)
    horizontal = Axis(first, max(first + 1, last), left + 6, WIDTH - SIDE)
    return Curves(
        height=floor + 37,
        floor=floor,
        left=left,
        name=name.replace("_", " ").replace("bleu", "BLEU"),
        by=by,
        horizontal=horizontal.ticks(6, whole=True),
        vertical=vertical.ticks(4),
        series=tuple(_series(label, part, horizontal, vertical) for label, part in summaries),
    )


def _tick_text(value: float, places: int) -> str:
    if abs(value) >= 1e7 or places > 4:
        return number(value)
    return f"{value:.{places}f}".replace("-", MINUS)


def _margin_bounds(relation: Relation, margin: float) -> list[float]:
    """Where the margin stands on the axis of left minus right; nowhere for '<' and '>'."""
    if not 0 < margin < LARGEST:
        return []
    if not relation.uses_margin:
        return []
    return [bound for bound in relation.bounds(margin) if math.isfinite(bound)]


def _forest_axis(seen: Sequence[float], ends: Sequence[float]) -> Axis:
    """The axis holds all that was seen; an interval much wider than that runs off its ends."""
    low, high = padded(seen)
    air = 1.5 * (high - low)
    reach = [max(low - air, min(high + air, end)) for end in ends]
    return Axis(*padded([*seen, *reach]), SIDE, WIDTH - SIDE)


def _margin_labels(axis: Axis, bounds: Sequence[float]) -> tuple[Margin, ...]:
    places = [axis.at(bound) for bound in bounds]
    close = len(places) == 2 and places[1] - places[0] < 190
    return tuple(
        Margin(
            at=place,
            text=f"margin {plain(bound)}",
            row=index if close else 0,
            anchor="start" if place < 70 else "end" if place > WIDTH - 70 else "middle",
        )
        for index, (place, bound) in enumerate(zip(places, bounds, strict=True))
    )


def _shade(axis: Axis, relation: Relation, margin: float) -> tuple[float, float]:
    """From where to where the claim holds."""
    low, high = relation.bounds(margin)
    return (
        axis.at(low) if math.isfinite(low) else axis.start,
        axis.at(high) if math.isfinite(high) else axis.end,
    )


def _swarm(places: Sequence[float], top: float) -> tuple[str, int]:
    """Dots (an SVG path of points) stacked so that they don't hide each other, and the rows used.

    Beyond ``MOST_ROWS`` rows dots overlap rather than make the plot taller.
    """
    ends = [-math.inf] * MOST_ROWS
    path, used = [], 1
    for place in places:
        free = [row for row in range(MOST_ROWS) if ends[row] + 2 * RADIUS + 1 <= place]
        row = free[0] if free else min(range(MOST_ROWS), key=ends.__getitem__)
        ends[row] = place
        used = max(used, row + 1)
        path.append(f"M{place:g} {top + row * (2 * RADIUS + 1.5):g}h0")
    return "".join(path), used


def _over_seeds(
    seeds: Sequence[Sequence[object]], first: float
) -> list[tuple[float, float, float, float]]:
    """(epoch from ``first``, mean, least, greatest) over the seeds that got that far."""
    longest = max((len(values) for values in seeds), default=0)
    step = max(1, -(-longest // MOST_POINTS))
    # The last epoch is kept whatever the step: it is the one that gets read off.
    epochs = sorted({*range(0, longest, step), longest - 1} - {-1})
    summary = []
    for epoch in epochs:
        known = drawable(values[epoch] for values in seeds if epoch < len(values))
        if known:
            mean = math.fsum(known) / len(known)
            summary.append((epoch + first, mean, min(known), max(known)))
    return summary


def _series(
    label: str,
    summary: Sequence[tuple[float, float, float, float]],
    horizontal: Axis,
    vertical: Axis,
) -> Series:
    def path(points: Iterable[tuple[float, float]], places: int) -> str:
        return " ".join(
            f"{round(horizontal.at(x), places):g} {round(vertical.at(y), places):g}"
            for x, y in points
        )

    line = path(((epoch, mean) for epoch, mean, _, _ in summary), 1)
    # The band is pale and wide: whole units do, and halve what is the longest path of the page.
    there = path(((epoch, greatest) for epoch, _, _, greatest in summary), 0)
    back = path(((epoch, least) for epoch, _, least, _ in reversed(summary)), 0)
    if len(summary) == 1:
        line += "h0"
    return Series(label, f"M{line}" if summary else "", f"M{there} {back}z" if summary else "")
