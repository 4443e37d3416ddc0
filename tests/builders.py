"""What tests are made of: results that no training gave, and an experiment that is no paper's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embinit.claims.experiments import Experiment
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import Cut, DataSpec, ModelSpec, RunSpec, TrainingSpec
from embinit.tables.diagnostics import TableStatistics


def make_experiment(**changes: Any) -> Experiment:
    """A small experiment on the made language's opinions; ``changes`` are its fields."""
    usual: dict[str, Any] = {
        "name": "mine-sentiment",
        "tier": "micro",
        "role": "sentiment",
        "source": "micro-glove",
        "source_label": "GloVe",
        "data": DataSpec("micro-sentiment", ("whitespace",), Cut(train=300, validation=100), 1),
        "model": ModelSpec(64, 2, 1, 16),
        "training": TrainingSpec(32, 1, 3e-3),
        "metric": MEASURES["accuracy"],
        "seeds": 5,
        "margin": 4.0,
    }
    return Experiment(**{**usual, **changes})


def make_result(
    run: RunSpec,
    *,
    outputs: Sequence[str] = (),
    references: Sequence[str] = (),
    curves: Mapping[str, Sequence[float]] | None = None,
    tables: Mapping[str, TableStatistics] | None = None,
    positions: Mapping[str, TableStatistics] | None = None,
    **measures: float,
) -> RunResult:
    """The result of a run that was not made."""
    return RunResult(
        run,
        measures,
        curves=curves or {},
        tables=tables or {},
        positions=positions or {},
        outputs=outputs,
        references=references,
    )


def make_table(**changes: Any) -> TableStatistics:
    """A table's statistics; ``changes`` are fields of ``TableStatistics``."""
    usual: dict[str, Any] = {
        "minimum": -0.2,
        "maximum": 0.3,
        "mean": 0.0,
        "sigma": 0.1,
        "row_norm_percentiles": (0.5, 0.8, 1.1),
        "rows": 10,
        "dim": 64,
    }
    return TableStatistics(**{**usual, **changes})
