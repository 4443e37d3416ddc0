"""Training of cohorts of causal language models, from their specs to their results.

A run trains a causal language model on its text from its table, and measures the validation split
at the start and after each epoch.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.tasks import TASKS
from embinit.lab.models.initial_state import InitialState, table_measures
from embinit.lab.models.memory import WidestBatch, runs_that_fit
from embinit.lab.models.widths import learned_positions
from embinit.lab.specs import DataSpec, ModelRecipe, ModelRun
from embinit.lab.tables import initial_tables
from embinit.lab.tables.diagnostics import table_statistics
from embinit.lab.training.stacked import Progress, graph_cache, in_parts
from embinit.runs.kinds import Cohort
from embinit.runs.results import RunResult, provenance
from embinit_studies.language_model import LanguageModelRecipe, LanguageModelSpec
from embinit_studies.language_model.model import (
    CausalModelShape,
    CausalTransformer,
    require_usable,
)
from embinit_studies.language_model.training import LanguageModelTraining


def check(run: ModelRun, data_dir: Path | None) -> None:
    """Reads text and vectors, so that bad input is named before any training.

    Raises:
        InputError: The text is missing, or the model or the text does not fit a language model.
    """
    require_usable(run.recipe.architecture)
    require_text(run.recipe.data, data_dir)
    initial_tables.check(run, data_dir)


def require_text(data: DataSpec, data_dir: Path | None) -> None:
    """Refuses data that a language model can't be trained on.

    Raises:
        InputError: The task is not of unlabelled text, or has no validation text.
    """
    if TASKS[data.task].kind != "text":
        raise InputError(f"{data.task} is not text to train on; tasks of the kind 'text' are")
    if not len(prepare(data, data_dir).validation):
        raise InputError(
            f"{data.task} has no validation text, on which a language model is measured; take a "
            "task that has, or keep more of it (cut)"
        )


def shape_of(run: ModelRun, words: int) -> CausalModelShape:
    """The shape of a run's model over a vocabulary of ``words`` words."""
    return CausalModelShape(
        run.recipe.architecture,
        words,
        precision=run.recipe.training.precision,
        learned_positions=learned_positions(run.recipe, run.recipe.data),
    )


def parameters_of(run: ModelRun) -> int:
    """The number of parameters of the run's model, from the spec alone.

    Raises:
        InputError: The spec leaves the size of the vocabulary open.
    """
    if run.recipe.data.most_words is None:
        raise InputError(
            f"the spec of {run.recipe.data.task} must fix its vocabulary by most_words"
        )
    return shape_of(run, run.recipe.data.most_words).parameters


def fitting(
    cohort: Cohort[ModelRecipe],
    recipe: LanguageModelSpec,
    data_dir: Path | None,
    device: str,
    sharers: int,
) -> int:
    """The number of the cohort's runs that have room at once."""
    first = cohort.runs[0]
    data = prepare(first.recipe.data, data_dir)
    longest = int(data.train.lengths.max())
    widest = WidestBatch(min(recipe.batch_size, len(data.train)), longest, answers=longest)
    shape = shape_of(first, len(data.vocabularies["encoder"].words))
    return runs_that_fit(shape, len(cohort.runs), widest, device, sharers)


def train(
    cohort: Cohort[LanguageModelRecipe],
    data_dir: Path | None = None,
    device: str = "cpu",
    progress: Progress = lambda share: None,
    sharers: int = 1,
) -> list[RunResult]:
    """Trains the cohort's runs together.

    Returns:
        The runs' results, in the cohort's order.

    Raises:
        InputError: Not even one run has room.
    """
    recipe = cohort.runs[0].recipe.training
    return train_parts(cohort, recipe, _train, data_dir, device, progress, sharers)


Work = Callable[[Cohort[Any], Path | None, str, Progress], list[RunResult]]
"""A function that trains a part of a cohort, from data directory, device and progress callback."""


def train_parts(
    cohort: Cohort[ModelRecipe],
    recipe: LanguageModelSpec,
    work: Work,
    data_dir: Path | None,
    device: str,
    progress: Progress,
    sharers: int,
) -> list[RunResult]:
    """Does ``work`` on a cohort of language models, on as many runs at once as have room.

    Raises:
        InputError: Not even one run has room.
    """
    graph_cache.clear()  # another kind of run may have left its trainer on the GPU
    fit = fitting(cohort, recipe, data_dir, device, sharers)
    return in_parts(
        cohort, fit, lambda part, told: work(part, data_dir, device, told), device, progress
    )


def _train(
    cohort: Cohort[LanguageModelRecipe], data_dir: Path | None, device: str, progress: Progress
) -> list[RunResult]:
    started, first = time.perf_counter(), cohort.runs[0]
    initial = InitialState(cohort.runs, prepare(first.recipe.data, data_dir), data_dir)
    trainer = LanguageModelTraining(
        initial, initial.model(CausalTransformer), first.recipe.training, device
    )
    trainer.run(progress)
    # A run's share of the cohort's time, not what it would take alone.
    made = provenance(device, (time.perf_counter() - started) / len(cohort.runs))
    return [
        RunResult(
            spec=spec,
            measures=trainer.measures_of(run)
            | table_measures(
                spec, initial.tables[run]["encoder"], initial.positions["encoder"][run]
            ),
            curves=trainer.curves_of(run),
            tables={
                "encoder": table_statistics(
                    initial.tables[run]["encoder"].values, initial.tables[run]["encoder"].special
                )
            },
            coverage={"encoder": initial.tables[run]["encoder"].coverage},
            examples={name: len(getattr(initial.data, name)) for name in ("train", "validation")},
            failure=trainer.failure_of(run),
            provenance=made,
        )
        for run, spec in enumerate(cohort.runs)
    ]
