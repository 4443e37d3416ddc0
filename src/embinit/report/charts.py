"""The geometry of the report's plots; the template only writes it down as SVG.

- A forest plot shows one comparison: every seed's paired difference as a dot, their mean with its
  interval, zero, and the margin where the relation has one. The side on which the claim holds is
  shaded.
- Learning curves show arms over epochs: the mean over seeds, and a band from the least value to
  the greatest.
- A history shows one effect over past sessions.
- A line shows one comparison among others of a finding, all on one axis in margins.

All coordinates are in SVG user units, and finite whatever the data hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.claims.paired_tests import Relation, Verdict
from embinit.report.numbers import MINUS, finite, number, plain

WIDTH = 400.0
RADIUS = 4.0
SIDE = 14.0
MOST_ROWS = 6
MOST_POINTS = 40
MOST_SESSIONS = 12
REACH = 40.0
"""The end of an axis in margins."""

HALF = 110.0
"""Half of it in SVG units."""

LINE = 11.0
"""The height of a line on it in SVG units."""

LARGEST = 1e100
"""Beyond it a value is as good as infinite: axis arithmetic would overflow."""


@dataclass(frozen=True)
class Tick:
    """A mark on an axis.

    Attributes:
        at: Its coordinate.
        text: Its label.
    """

    at: float
    text: str


@dataclass(frozen=True)
class Axis:
    """A linear axis, which maps data to SVG units.

    Attributes:
        low: The value at ``start``.
        high: The value at ``end``.
        start: The coordinate of ``low``.
        end: The coordinate of ``high``.
    """

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The coordinate of ``value``, rounded to a tenth and clipped to the axis."""
        share = (value - self.low) / (self.high - self.low)
        coordinate = self.start + min(1.0, max(0.0, share)) * (self.end - self.start)
        return round(coordinate, 1) + 0.0

    def ticks(self, wanted: int, whole: bool = False) -> tuple[Tick, ...]:
        """Ticks at steps of 1, 2 or 5 times a power of ten.

        Args:
            wanted: About how many ticks there should be.
            whole: Whether steps are at least 1.
        """
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
    """A margin's line and its label.

    Attributes:
        at: The line's coordinate.
        text: The label.
        row: The label's row, 0 or 1.
        anchor: The label's SVG text-anchor.
    """

    at: float
    text: str
    row: int
    anchor: str


@dataclass(frozen=True)
class Forest:
    """A forest plot.

    Attributes:
        height: The plot's height.
        floor: Where the axis stands, from above.
        ticks: The axis' ticks.
        zero: Where no difference stands.
        shade: From where to where the claim holds.
        margins: The margins, at most two.
        dots: The seeds' differences as an SVG path of points.
        mean: Where the mean stands; None where there is none.
        mean_row: The height of the mean and its interval, from above.
        low: Where the interval begins.
        high: Where the interval ends.
        open_low: Whether the interval goes on beyond the plot's low end.
        open_high: Whether the interval goes on beyond the plot's high end.
        spanned: Whether there is an interval to draw: at least one of its ends is known.
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
    """One arm's curve.

    Attributes:
        label: The arm's name.
        line: The SVG path of the mean.
        band: The SVG path of the band around it.
    """

    label: str
    line: str
    band: str


@dataclass(frozen=True)
class Curves:
    """Curves of several arms with common axes.

    Attributes:
        height: The plot's height.
        floor: Where the x axis stands, from above.
        left: Where the y axis stands, from the left.
        name: What the curves show, in words.
        by: What they run over: ``epoch`` or ``layer``.
        horizontal: The x axis' ticks.
        vertical: The y axis' ticks.
        series: The arms' curves.
    """

    height: float
    floor: float
    left: float
    name: str
    by: str
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Past:
    """One session's effect.

    Attributes:
        at: The x coordinate.
        mean: The y coordinate of the mean.
        low: The y coordinate of the interval's low end.
        high: The y coordinate of the interval's high end.
        verdict: The session's verdict.
        said: The effect in words, for a title.
    """

    at: float
    mean: float
    low: float
    high: float
    verdict: str
    said: str


@dataclass(frozen=True)
class History:
    """One effect over sessions.

    Attributes:
        height: The plot's height.
        width: The plot's width.
        zero: The y coordinate of no difference.
        points: The sessions' effects, oldest first.
    """

    height: float
    width: float
    zero: float
    points: tuple[Past, ...]


def history(
    effects: Sequence[tuple[str, str, float | None, Sequence[float | None]]],
) -> History | None:
    """Draws one effect over the last ``MOST_SESSIONS`` sessions.

    Args:
        effects: For each session its time, the verdict, the mean and the interval, oldest first.

    Returns:
        The plot, or None where fewer than two sessions have a mean.
    """
    known = [effect for effect in effects if drawable([effect[2]])][-MOST_SESSIONS:]
    if len(known) < 2:
        return None
    height, width = 46.0, max(60.0, 16.0 * len(known))
    seen = [0.0, *(float(mean) for _, _, mean, _ in known if mean is not None)]
    ends = [end for *_, interval in known for end in drawable(interval)]
    axis = _forest_axis(seen, ends)
    vertical = Axis(axis.low, axis.high, height - 4, 4.0)
    points = []
    for index, (when, verdict, mean, interval) in enumerate(known):
        assert mean is not None
        low, high = (next(iter(drawable([end])), None) for end in interval)
        points.append(
            Past(
                at=round(8 + index * (width - 16) / (len(known) - 1), 1),
                mean=vertical.at(mean),
                low=vertical.at(axis.low if low is None else low),
                high=vertical.at(axis.high if high is None else high),
                verdict=verdict,
                said=f"{when}: {verdict}, {number(mean)}",
            )
        )
    return History(height, width, vertical.at(0.0), tuple(points))


@dataclass(frozen=True)
class Line:
    """A comparison on an axis in margins. To the right is the way that is claimed.

    Attributes:
        verdict: Its claim's verdict.
        y: The height.
        mean: Where the effect stands.
        low: Where the interval begins.
        high: Where it ends.
        says: The comparison in words.
    """

    verdict: str
    y: float
    mean: float
    low: float
    high: float
    says: str


def line_of(number: int, comparison: Mapping[str, Any], verdict: str, says: str) -> Line:
    """Draws a comparison as one of several lines.

    Args:
        number: Which line it is, from 0.
        comparison: The comparison's entry.
        verdict: Its claim's verdict.
        says: It in words.
    """
    mean, interval = _at_margins(effect_in_margins(comparison)), comparison["interval"]
    ends = zip(interval, (-math.inf, math.inf), strict=True)
    known = [end if (own := finite(each)) is None else own for each, end in ends]
    low, high = sorted(_at_margins(in_margins(comparison, each)) for each in known)
    if comparison["exact"] or not drawable(interval):
        low = high = mean
    return Line(verdict, round((number + 0.5) * LINE, 1), mean, low, high, says)


def effect_in_margins(comparison: Mapping[str, Any]) -> float | None:
    """The difference over the margin, above 0 the way that is claimed; None without a margin.

    Args:
        comparison: The comparison's entry.
    """
    return in_margins(comparison, finite(comparison["difference"]))


def in_margins(comparison: Mapping[str, Any], value: float | None = None) -> float | None:
    """A difference over its margin, above 0 the way that is claimed; None without a margin.

    Args:
        comparison: The comparison's entry.
        value: The difference; None for the comparison's own.
    """
    margin = finite(comparison["margin"])
    difference = finite(comparison["difference"]) if value is None else value
    if not margin or difference is None:
        return None
    below = comparison["relation"] in (Relation.BELOW, Relation.NOT_ABOVE)
    return (-difference if below else difference) / margin


def _at_margins(margins: float | None) -> float:
    """Where a difference stands: linear near 0, logarithmic beyond."""
    value = 0.0 if margins is None else max(-REACH, min(REACH, margins))
    return round(HALF * (1 + math.asinh(value) / math.asinh(REACH)), 1)


def margin_ticks() -> tuple[Tick, ...]:
    """The ticks of an axis in margins."""
    return tuple(Tick(_at_margins(float(tick)), plain(tick)) for tick in (-10, -1, 0, 1, 10))


def drawable(values: Iterable[object]) -> list[float]:
    """The values that a plot can show: finite numbers below ``LARGEST``."""
    numbers = (finite(value) for value in values)
    return [value for value in numbers if value is not None and abs(value) < LARGEST]


def nice_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least ``least`` (above 0)."""
    power = 10.0 ** math.floor(math.log10(least))
    return next((power * unit for unit in (1, 2, 5) if power * unit >= least), power * 10)


def padded(values: Sequence[float], share: float = 0.06) -> tuple[float, float]:
    """The range of ``values`` with some air, never of length zero.

    Args:
        values: At least one value.
        share: The air on either side, as a share of the range.
    """
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    air = (high - low) * share
    if high - low <= max(1e-9 * size, 1e-90):
        air = 0.1 * size if size > 1e-90 else 1.0
    return low - air, high + air


def forest(comparison: Mapping[str, Any]) -> Forest | None:
    """Draws a comparison.

    Args:
        comparison: Its entry in the verdicts document.

    Returns:
        The plot, or None where there is nothing to draw.
    """
    pairs = zip(comparison["left_values"], comparison["right_values"], strict=False)
    known = [pair for pair in pairs if len(drawable(pair)) == 2]
    differences = [float(left) - float(right) for left, right in known]
    mean = next(iter(drawable([comparison["difference"]])), None)
    seen = [*differences] if mean is None else [*differences, mean]
    if not seen:
        return None
    relation, margin = Relation(comparison["relation"]), finite(comparison["margin"]) or 0.0
    no_effect = comparison["verdict"] == Verdict.NO_EFFECT
    bounds = _margin_bounds(Relation.ALIKE if no_effect else relation, margin)
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
    """Draws a curve for each arm: its mean over seeds, and a band from the least to the greatest.

    Args:
        name: The curve's name in results.
        arms: For each arm its label and its values, one list a seed.
        by: ``epoch``, counted from 1, or ``layer``, counted from 0.

    Returns:
        The plot, or None where no arm has a value.
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
        series=tuple(series_of(label, part, horizontal, vertical) for label, part in summaries),
    )


def _tick_text(value: float, places: int) -> str:
    if abs(value) >= 1e7 or places > 4:
        return number(value)
    return f"{value:.{places}f}".replace("-", MINUS)


def _margin_bounds(relation: Relation, margin: float) -> list[float]:
    """The margin's bounds on left minus right; none for '<' and '>', which are tested against 0."""
    if not 0 < margin < LARGEST:
        return []
    if not relation.uses_margin:
        return []
    return [bound for bound in relation.bounds(margin) if math.isfinite(bound)]


def _forest_axis(seen: Sequence[float], ends: Sequence[float]) -> Axis:
    """An axis that holds all values seen; an interval much wider than them runs off its ends."""
    low, high = padded(seen)
    air = 1.5 * (high - low)
    reach = [max(low - air, min(high + air, end)) for end in ends]
    return Axis(*padded([*seen, *reach]), SIDE, WIDTH - SIDE)


def _margin_labels(axis: Axis, bounds: Sequence[float]) -> tuple[Margin, ...]:
    lines = [axis.at(bound) for bound in bounds]
    close = len(lines) == 2 and lines[1] - lines[0] < 190
    return tuple(
        Margin(
            at=line,
            text=f"margin {plain(bound)}",
            row=index if close else 0,
            anchor="start" if line < 70 else "end" if line > WIDTH - 70 else "middle",
        )
        for index, (line, bound) in enumerate(zip(lines, bounds, strict=True))
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
    for x in places:
        free = [row for row in range(MOST_ROWS) if ends[row] + 2 * RADIUS + 1 <= x]
        row = free[0] if free else min(range(MOST_ROWS), key=ends.__getitem__)
        ends[row] = x
        used = max(used, row + 1)
        path.append(f"M{x:g} {top + row * (2 * RADIUS + 1.5):g}h0")
    return "".join(path), used


def _over_seeds(
    seeds: Sequence[Sequence[object]], first: float
) -> list[tuple[float, float, float, float]]:
    """Each epoch, counted from ``first``, with the mean, least and greatest value of its seeds."""
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


def series_of(
    label: str,
    summary: Sequence[tuple[float, float, float, float]],
    horizontal: Axis,
    vertical: Axis,
) -> Series:
    """A curve and its band.

    Args:
        label: The arm's name.
        summary: For each point x, y, and the least and the greatest y.
        horizontal: The x axis.
        vertical: The y axis.
    """

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
