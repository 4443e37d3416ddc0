"""Choose the learning curves that a claim's card shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from embinit.claims.records import ComparisonRecord
from embinit.report.charts import Curves, curves
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

MOST_ARMS = 6
"""The most arms that a plot of curves can show: more lines look alike."""


def learning_curves(
    comparisons: Iterable[ComparisonRecord], results: Mapping[str, RunResult]
) -> Curves | None:
    """Draw the curve that most arms of a claim have, a score before a loss; None without one.

    ``results`` are the runs' by their keys in the store; those that it lacks are passed over.
    """
    arms: dict[tuple[str, RunSpec], dict[str, RunResult]] = {}
    for comparison in comparisons:
        if not isinstance(comparison.runs, Mapping):
            continue  # a baseline names no runs
        for key, label in comparison.runs.items():
            if (result := results.get(key)) is not None:
                arm = label, result.spec.without_seed()
                arms.setdefault(arm, {})[key] = result
    if len(arms) > MOST_ARMS:
        return None
    measures = sorted((MEASURES[name] for name in MEASURES), key=lambda one: one.better != "up")
    names = [measure.curve for measure in measures if measure.curve is not None]
    seen = [(label, [run.curves for run in runs.values()]) for (label, _), runs in arms.items()]

    def having(name: str) -> int:
        return sum(any(curves.get(name) for curves in of_arm) for _, of_arm in seen)

    name = max(names, key=having)
    return curves(
        name, [(label, [curves.get(name, ()) for curves in of_arm]) for label, of_arm in seen]
    )
