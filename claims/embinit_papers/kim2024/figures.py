"""Figures of the mechanism: tables' values, the score lost over sigma, and word relations.

- Histograms show how large a table's values are, on a log axis.
- A scatter shows the score lost over the width of a table.
- Slides show a score before and after positions are added.

All coordinates are in SVG user units; ``figures.html.j2`` writes them down.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from embinit.papers import Figure
from embinit.report.charts import (
    LARGEST,
    SIDE,
    WIDTH,
    Axis,
    Series,
    Tick,
    drawable,
    padded,
    series_of,
)
from embinit.report.numbers import number, plain
from embinit.report.templates import environment_of_pages
from embinit.runs.results import RunResult
from embinit.runs.table_statistics import HISTOGRAM
from embinit_papers.kim2024.mechanism import DosePoint, doses, mechanisms, relations
from embinit_papers.kim2024.paper_tables import Runs

TABLES = (
    "Shares of the encoder's table, lowest seed, times √D. Shuffled tables have the values of "
    "their originals. Tables are multiplied by the square root of their width before the positions "
    "are added; a table much wider than the positions absorbs them, one much narrower is drowned "
    "by them."
)
DOSES = (
    "Up: how far the score falls below Xavier's, in margins of the task; below the line a table "
    "does better. A point is a source on a task, mean over seeds; the claim on dose and response "
    "ranks these points."
)
RELATIONS = "Ring: without positions. Disc: with them. Mean over seeds."


@dataclass(frozen=True)
class Histograms:
    """Histograms on a common log axis.

    Attributes:
        height: The plot's height.
        floor: Where the axis stands, from above.
        ticks: The axis' ticks.
        series: The histograms as curves.
    """

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Slide:
    """One row of a plot of scores before and after a treatment.

    Attributes:
        label: The row's label.
        at: The row's y coordinate.
        before: The x coordinate of the score before.
        after: The x coordinate of the score after.
        said: Both scores as text.
    """

    label: str
    at: float
    before: float
    after: float
    said: str


@dataclass(frozen=True)
class Slides:
    """Scores before and after a treatment, on a common axis of percent.

    Attributes:
        height: The plot's height.
        floor: Where the axis stands, from above.
        ticks: The axis' ticks.
        rows: One slide for each pair of scores.
    """

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    rows: tuple[Slide, ...]


def histograms(series: Sequence[tuple[str, Sequence[int], float]]) -> Histograms | None:
    """Draws histograms of tables' absolute values.

    Values times a multiplier have the same histogram, shifted on a log axis.

    Args:
        series: For each table its label, its counts in the bins of ``HISTOGRAM``, and what it is
            multiplied by.

    Returns:
        The plot, or None where no table has a value other than 0.
    """
    low, _, a_decade = HISTOGRAM
    drawn = []
    for label, counts, multiplier in series:
        total = sum(counts)
        points = [
            (low + (index + 0.5) / a_decade + math.log10(multiplier), amount / total)
            for index, amount in enumerate(counts)
            if total
        ]
        # Under a hundredth of the highest bin a line is hardly seen; it would only widen the plot.
        # The first bin has the zeros, which have no place on a log axis.
        highest = max((share for _, share in points[1:]), default=0.0)
        seen = [index for index, (_, share) in enumerate(points) if index and share > highest / 100]
        if seen:
            drawn.append((label, points[max(1, seen[0] - 1) : seen[-1] + 2]))
    if not drawn:
        return None
    floor = 150.0
    exponents = [exponent for _, points in drawn for exponent, _ in points]
    horizontal = Axis(math.floor(min(exponents)), math.ceil(max(exponents)), 26.0, WIDTH - 26)
    vertical = Axis(0.0, max(share for _, points in drawn for _, share in points), floor, 10.0)
    powers = range(math.floor(min(exponents)), math.ceil(max(exponents)) + 1)
    return Histograms(
        height=floor + 37,
        floor=floor,
        ticks=tuple(Tick(horizontal.at(power), plain(10.0**power)) for power in powers),
        series=tuple(
            series_of(label, [(x, y, 0.0, y) for x, y in points], horizontal, vertical)
            for label, points in drawn
        ),
    )


@dataclass(frozen=True)
class Point:
    """A labelled point.

    Attributes:
        x: Its x coordinate.
        y: Its y coordinate.
        label: Its label.
        anchor: The label's SVG text-anchor.
        kind: The number of its style.
    """

    x: float
    y: float
    label: str
    anchor: str
    kind: int


@dataclass(frozen=True)
class Scatter:
    """Points over a log axis.

    Attributes:
        height: The plot's height.
        floor: Where the x axis stands, from above.
        left: Where the y axis stands, from the left.
        zero: The y coordinate of 0.
        horizontal: The x axis' ticks.
        vertical: The y axis' ticks.
        points: The points.
        kinds: The names of their kinds.
    """

    height: float
    floor: float
    left: float
    zero: float
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    points: tuple[Point, ...]
    kinds: tuple[str, ...]


def scatter(doses: Sequence[DosePoint]) -> Scatter | None:
    """Draws the score lost over sigma, which is on a log axis.

    Args:
        doses: The points. Those that the axes can't place are left out.

    Returns:
        The plot, or None without any points.
    """
    known = [
        dose
        for dose in doses
        if dose.width > 1 / LARGEST and len(drawable([dose.width, dose.lost])) == 2
    ]
    if not known:
        return None
    kinds = sorted({dose.task for dose in doses})
    floor, left = 216.0, 50.0
    logs = [math.log10(dose.width) for dose in known]
    horizontal = Axis(*padded([0.0, *logs], 0.12), left, WIDTH - SIDE)
    vertical = Axis(*padded([0.0, *(dose.lost for dose in known)], 0.08), floor, 10.0)
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
                horizontal.at(log),
                vertical.at(dose.lost),
                dose.label,
                "end" if horizontal.at(log) > WIDTH * 0.6 else "start",
                kinds.index(dose.task),
            )
            for log, dose in zip(logs, known, strict=True)
        ),
        kinds=tuple(kinds),
    )


def slides(rows: Sequence[tuple[str, float, float]]) -> Slides:
    """Draws scores before and after a treatment.

    Args:
        rows: For each row its label, the percentage before and the percentage after.
    """
    axis = Axis(0.0, 100.0, SIDE, WIDTH - SIDE)
    floor = 34.0 * len(rows) + 8
    return Slides(
        height=floor + 37,
        floor=floor,
        ticks=axis.ticks(5),
        rows=tuple(
            Slide(
                label,
                34.0 * index + 26,
                axis.at(before),
                axis.at(after),
                f"{number(before, 1)} → {number(after, 1)} %",
            )
            for index, (label, before, after) in enumerate(rows)
        ),
    )


def figures(tier: str, results: Sequence[RunResult]) -> list[Figure]:
    """The figures of the mechanism on a tier, of the arms that were run."""
    runs, macros = Runs(results), _macros()
    drawn = [
        Figure(
            f"What the model reads at the start: {tables.source} on {tables.task}",
            macros.tables(plot, tables.widths),
            TABLES,
        )
        for tables in mechanisms(tier, runs)
        if (plot := histograms(tables.histograms)) is not None
    ]
    if (points := scatter(doses(tier, runs))) is not None:
        drawn.append(Figure("What a table costs over its width", macros.scatter(points), DOSES))
    for scores in relations(tier, runs):
        where = f"{scores.source}, {scores.task}"
        title = f"Word relations before and after positions are added: {where}"
        drawn.append(Figure(title, macros.slides(slides(scores.rows)), RELATIONS))
    return drawn


@cache
def _macros() -> Any:
    return environment_of_pages(__package__).get_template("figures.html.j2").module
