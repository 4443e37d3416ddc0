"""The paper's printed numbers, by table and by the sides of a comparison."""

from __future__ import annotations

from typing import Any

from embinit.claims.comparisons import Comparison, Quantity, Term
from embinit.claims.roles import Role
from embinit.lab.experiments import ModelExperiment
from embinit.papers import Printed
from embinit_papers.kim2024.numbers import TASKS, numbers, stands_for

TITLES = {"sst2": "SST2", "mnli": "MNLI", "multi30k": "Multi30k", "iwslt2017": "IWSLT2017"}


def printed(comparison: Comparison) -> list[Printed]:
    """What Tables 1, 2, 3, 7 and 8 have for both sides of a comparison, a row for each task."""
    terms = (*comparison.left.terms, *comparison.right.terms)
    tasks = set(TASKS) if terms else set()
    for term in terms:
        arms = term.experiment
        tasks &= stands_for(arms) if isinstance(arms, ModelExperiment) else set()
    rows: list[Printed] = []
    for task in sorted(tasks, key=TASKS.index):
        left, right = (_printed_sum(side, task) for side in (comparison.left, comparison.right))
        if left is not None and right is not None:
            rounded = (round(number, 4) for number in (left, right, left - right))
            rows.append(Printed(TITLES[task], *rounded))
    return rows


def _printed_sum(side: Quantity, task: str) -> float | None:
    values = [_printed_value(term, side.measure.name, task) for term in side.terms]
    if side.parts or None in values:
        return None
    weighted = zip(side.terms, values, strict=True)
    return side.shift + sum(term.weight * (value or 0.0) for term, value in weighted)


def _printed_value(term: Term, measure: str, task: str) -> float | None:
    """One arm's printed number: its score, its best epoch, or a statistic of its table."""
    experiment, paper = term.experiment, numbers()
    if not isinstance(experiment, ModelExperiment) or term.role is not Role.CLAIM:
        return None
    source = experiment.source_role
    measure = "sigma" if measure == "table sigma" else measure
    if not {*experiment.changes.split()} <= {"frozen", "without", "positions"}:
        return None  # no table prints an arm that was changed otherwise
    if measure == "sigma":
        row = paper["tables_2_and_8"].get(source, {}).get(term.init, {}).get(task)
        return None if row is None else float(row["sigma"])
    if not experiment.changes:
        cell = paper["tables_1_and_7"].get(source, {}).get(term.init, {}).get(task)
        names = ("mismatched",) if measure == "test_accuracy" else ("score", "matched")
        return None if cell is None else _cell_value(measure, cell, names)
    if (source, task) != ("glove", "multi30k"):
        return None
    setting = experiment.trained, experiment.positions.kind != "none"
    cells = paper["table_3"].get(term.init, ())
    [value] = [
        _cell_value(measure, cell, ("bleu",))
        for cell in cells
        if (cell["trained"], cell["positions"]) == setting
    ] or [None]
    return value


def _cell_value(measure: str, cell: dict[str, Any], names: tuple[str, ...]) -> float | None:
    if measure == "best_epoch":
        return float(cell["epoch"])
    if measure in ("bleu", "accuracy", "test_accuracy"):
        return next((float(cell[name][0]) for name in names if name in cell), None)
    return None
