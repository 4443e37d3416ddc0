"""Group runs into arms, and choose the learning curves that a claim's card shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from embinit.report.charts import Curves, curves
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

MOST_ARMS = 6
"""The most arms that a plot of curves can show: more lines look alike."""

Arm = tuple[str, Sequence[RunResult]]
"""An arm as the claim names it, and the results of its runs in the order of their seeds."""


def gather(comparisons: Iterable[Mapping[str, Any]], results: Mapping[str, RunResult]) -> list[Arm]:
    """The arms of a claim's comparisons, in order of first appearance.

    ``results`` are the runs' by their keys in the store; those that it lacks are passed over.
    """
    arms: dict[tuple[str, RunSpec], dict[int, RunResult]] = {}
    for comparison in comparisons:
        for key in comparison["runs"]:  # a baseline has an empty list
            if (result := results.get(key)) is not None:
                arm = comparison["runs"][key], result.spec.without_seed()
                arms.setdefault(arm, {})[result.spec.seed] = result
    return [(label, [runs[seed] for seed in sorted(runs)]) for (label, _), runs in arms.items()]


def learning_curves(arms: Sequence[Arm]) -> Curves | None:
    """Draw the curve that most arms have, a score before a loss; None without one."""
    if len(arms) > MOST_ARMS:
        return None
    measures = sorted((MEASURES[name] for name in MEASURES), key=lambda each: each.better != "up")
    names = [measure.curve for measure in measures if measure.curve is not None]

    def having(name: str) -> int:
        return sum(any(result.curves.get(name) for result in results) for _, results in arms)

    name = max(names, key=having)
    return curves(
        name,
        [(label, [result.curves.get(name) or () for result in results]) for label, results in arms],
    )
