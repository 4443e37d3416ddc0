"""The HTML page of an inspection, from its JSON document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from embinit.errors import printable
from embinit.report import numbers
from embinit.report.charts import SIDE, WIDTH, Axis, Tick
from embinit.report.templates import environment_of_pages

FLOOR = 170.0
LEFT = 50.0


@dataclass(frozen=True)
class NormPlot:
    """Histograms of the tables' row norms, both axes logarithmic, so that a single row is seen.

    Attributes:
        height: The plot's height.
        floor: Where the x axis stands, from above.
        left: Where the y axis stands, from the left.
        horizontal: The x axis' ticks.
        vertical: The y axis' ticks.
        bars: For each table its side and the SVG path of its bars.
    """

    height: float
    floor: float
    left: float
    horizontal: tuple[Tick, ...]
    vertical: tuple[Tick, ...]
    bars: tuple[tuple[str, str], ...]


def norm_plot(tables: Sequence[Mapping[str, Any]]) -> NormPlot | None:
    """A plot of the rows' norms of each table; None where no table has such rows."""
    drawn = [table for table in tables if table["norm_histogram"]["counts"]]
    if not drawn:
        return None
    edges = [math.log10(edge) for table in drawn for edge in table["norm_histogram"]["edges"]]
    most = max(max(table["norm_histogram"]["counts"]) for table in drawn)
    horizontal = Axis(min(edges), max(edges), LEFT, WIDTH - SIDE)
    # A bar of one row has a height too.
    vertical = Axis(-0.3, math.log10(max(10, most)), FLOOR, 10.0)
    powers = range(math.ceil(vertical.low), math.floor(vertical.high) + 1)
    return NormPlot(
        height=FLOOR + 37,
        floor=FLOOR,
        left=LEFT,
        horizontal=_log_ticks(horizontal),
        vertical=tuple(Tick(vertical.at(power), numbers.count(10**power)) for power in powers),
        bars=tuple((table["side"], _bars(table, horizontal, vertical)) for table in drawn),
    )


def _bars(table: Mapping[str, Any], horizontal: Axis, vertical: Axis) -> str:
    histogram = table["norm_histogram"]
    edges = [horizontal.at(math.log10(edge)) for edge in histogram["edges"]]
    bars = []
    for low, high, count in zip(edges, edges[1:], histogram["counts"], strict=False):
        if count:
            top = vertical.at(math.log10(count))
            bars.append(f"M{low} {FLOOR}V{top}H{round(high, 1)}V{FLOOR}z")
    return "".join(bars)


def _log_ticks(axis: Axis) -> tuple[Tick, ...]:
    decades = axis.high - axis.low
    units: tuple[float, ...] = (1,) if decades > 4 else (1, 2, 5) if decades > 0.7 else ()
    if not units:
        ends = (axis.low, (axis.low + axis.high) / 2, axis.high)
        return tuple(Tick(axis.at(end), numbers.number(10**end)) for end in ends)
    exponents = range(math.floor(axis.low), math.ceil(axis.high) + 1)
    logs = [math.log10(unit) + exponent for exponent in exponents for unit in units]
    return tuple(
        Tick(axis.at(log), numbers.plain(10**log)) for log in logs if axis.low <= log <= axis.high
    )


def render_inspection(document: Mapping[str, Any]) -> str:
    """The page of an inspection.

    Args:
        document: What ``inspection.schema.json`` describes.
    """
    facts = document["facts"]
    ratio = numbers.finite(facts.get("meaning to positions, in energy"))
    where = PurePath(document["name"])  # what lies above it is nobody's business on a page
    page: str = (
        environment_of_pages("embtables")
        .get_template("inspection.html.j2")
        .render(
            document=document,
            title=where.name if where.is_absolute() else document["name"],
            plot=norm_plot(document["tables"]),
            position_share=None if ratio is None else 1 / (1 + ratio),
            counts={
                severity: sum(each["severity"] == severity for each in document["findings"])
                for severity in ("error", "warning", "note")
            },
        )
    )
    return printable(page)
