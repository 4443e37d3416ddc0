"""The HTML page of a comparison, from its JSON document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.errors import printable
from embinit.report.charts import SIDE, WIDTH, Axis, Tick
from embinit.report.templates import environment_of_pages

ROW, TOP, BOTTOM = 34.0, 8.0, 40.0


@dataclass(frozen=True)
class CostRow:
    """One start's line of the plot; coordinates from the left, and from above.

    Attributes:
        label: The start's name.
        text: Where its name stands.
        y: Where its interval stands.
        low: The interval's left end.
        high: Its right end.
        mean: The observed cost.
        candidate: Whether it may be the best.
    """

    label: str
    text: float
    y: float
    low: float
    high: float
    mean: float
    candidate: bool


@dataclass(frozen=True)
class CostPlot:
    """A plot of each start's cost against the best, with its interval.

    Attributes:
        height: The plot's height.
        floor: Where the axis stands.
        ticks: The axis' ticks.
        within: Where the cost stands that does not matter.
        rows: The starts.
    """

    height: float
    floor: float
    ticks: tuple[Tick, ...]
    within: float
    rows: tuple[CostRow, ...]


def cost_plot(starts: Sequence[Mapping[str, Any]], within: float) -> CostPlot:
    """Draws the costs of starts, in their order."""
    best = max(start["mean"] for start in starts)
    most = max(1e-9, within, *(start["high"] for start in starts))
    axis = Axis(0.0, most * 1.03, SIDE, WIDTH - SIDE)
    floor = TOP + ROW * len(starts)
    rows = tuple(
        CostRow(
            label=start["label"],
            text=TOP + ROW * number + 12,
            y=TOP + ROW * number + 22,
            low=axis.at(start["low"]),
            high=axis.at(start["high"]),
            mean=axis.at(best - start["mean"]),
            candidate=start["candidate"],
        )
        for number, start in enumerate(starts)
    )
    return CostPlot(floor + BOTTOM, floor, axis.ticks(6), axis.at(within), rows)


def render_comparison(document: Mapping[str, Any]) -> str:
    """The page of a comparison.

    Args:
        document: What ``compare.schema.json`` describes.
    """
    page: str = (
        environment_of_pages("embtables")
        .get_template("comparison.html.j2")
        .render(document=document, plot=cost_plot(document["starts"], document["within"]))
    )
    return printable(page)
