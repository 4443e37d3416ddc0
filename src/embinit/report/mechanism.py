"""The mechanism in pictures: what papers have to show of it, drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embinit.papers import Figures, Width
from embinit.report.charts import Histograms, Scatter, Slides, histograms, scatter, slides


@dataclass(frozen=True)
class Mechanism:
    """One source on one task."""

    source: str
    task: str
    histograms: Histograms
    widths: tuple[Width, ...]


@dataclass(frozen=True)
class Relations:
    """Word relations right before and after positions were added."""

    task: str
    source: str
    slides: Slides


@dataclass(frozen=True)
class Drawn:
    """All of it; false where there is nothing to see."""

    mechanisms: tuple[Mechanism, ...]
    doses: Scatter | None
    relations: tuple[Relations, ...]

    def __bool__(self) -> bool:
        return bool(self.mechanisms or self.relations or self.doses is not None)


def draw(figures: Iterable[Figures]) -> Drawn:
    """Draws what the papers show."""
    every = list(figures)
    mechanisms = (
        Mechanism(one.source, one.task, drawn, one.widths)
        for shown in every
        for one in shown.mechanisms
        if (drawn := histograms(one.histograms)) is not None
    )
    relations = (
        Relations(one.task, one.source, slid)
        for shown in every
        for one in shown.relations
        if (slid := slides(one.rows)) is not None
    )
    points = [point for shown in every for point in shown.doses]
    tasks = sorted({point.task for point in points})
    doses = [(one.label, tasks.index(one.task), one.width, one.lost) for one in points]
    return Drawn(tuple(mechanisms), scatter(doses, tasks), tuple(relations))
