"""From run records to arms: runs of one label whose specs differ in the seed alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.report.charts import Curves, curves
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

MOST_ARMS = 6
"""The most arms that a plot of curves can show: more lines can't be told apart."""


@dataclass(frozen=True)
class Arm:
    """An arm as the claim names it, and the results of its runs in the order of their seeds."""

    label: str
    results: tuple[RunResult, ...]


def gather(
    comparisons: Iterable[Mapping[str, Any]], results: Mapping[str, RunResult]
) -> tuple[Arm, ...]:
    """The arms of a claim's comparisons, in order of first appearance.

    ``results`` are the runs' by their keys in the store; those that it lacks are passed over.
    """
    arms: dict[tuple[str, RunSpec], dict[str, RunResult]] = {}
    for comparison in comparisons:
        for key in comparison["runs"]:
            if (result := results.get(key)) is not None:
                arm = (comparison["runs"][key], result.spec.without_seed())
                arms.setdefault(arm, {})[key] = result
    return tuple(
        Arm(label, tuple(sorted(of_arm.values(), key=lambda result: result.spec.seed)))
        for (label, _), of_arm in arms.items()
    )


def learning_curves(arms: Sequence[Arm]) -> Curves | None:
    """Draws the curve that most arms have, rather a score than a loss; None without one."""
    if len(arms) > MOST_ARMS:
        return None
    measures = sorted(
        (MEASURES[name] for name in MEASURES),
        key=lambda measure: (measure.better != "up", measure.name),
    )
    known = dict.fromkeys(each.curve for each in measures if each.curve is not None)
    choices = [
        (
            name,
            [
                (arm.label, [result.curves.get(name) or () for result in arm.results])
                for arm in arms
            ],
        )
        for name in known
    ]
    name, series = max(choices, key=lambda choice: sum(any(runs) for _, runs in choice[1]))
    return curves(name, series)
