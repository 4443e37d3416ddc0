"""The mechanism in plots: the figures that papers bring, drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from embinit.papers import Figures, Width
from embinit.report.charts import Histograms, Scatter, Slides, histograms, scatter, slides


@dataclass(frozen=True)
class Mechanism:
    """The tables of one source on one task.

    Attributes:
        source: The source's name.
        task: The task's name.
        histograms: The tables' values, drawn.
        widths: The tables' widths where the positions are added.
    """

    source: str
    task: str
    histograms: Histograms
    widths: tuple[Width, ...]


@dataclass(frozen=True)
class Relations:
    """Word relations right before and after positions were added.

    Attributes:
        task: The task's name.
        source: The source's name.
        slides: The scores, drawn.
    """

    task: str
    source: str
    slides: Slides


@dataclass(frozen=True)
class Drawn:
    """All plots of the mechanism.

    Attributes:
        mechanisms: The tables, source by source.
        doses: The score lost over the width of tables; None where no arm has both.
        relations: Word relations before and after positions.
    """

    mechanisms: tuple[Mechanism, ...]
    doses: Scatter | None
    relations: tuple[Relations, ...]

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.mechanisms or self.relations or self.doses is not None)


def draw(figures: Iterable[Figures]) -> Drawn:
    """Draws the figures of all papers."""
    every = list(figures)
    mechanisms = (
        Mechanism(tables.source, tables.task, drawn, tables.widths)
        for shown in every
        for tables in shown.mechanisms
        if (drawn := histograms(tables.histograms)) is not None
    )
    relations = (
        Relations(scores.task, scores.source, drawn_slides)
        for shown in every
        for scores in shown.relations
        if (drawn_slides := slides(scores.rows)) is not None
    )
    points = [point for shown in every for point in shown.doses]
    tasks = sorted({point.task for point in points})
    doses = [(dose.label, tasks.index(dose.task), dose.width, dose.lost) for dose in points]
    return Drawn(tuple(mechanisms), scatter(doses, tasks), tuple(relations))
