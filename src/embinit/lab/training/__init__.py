"""Training of a model on one task from its initial tables."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from embinit.lab.kinds import ModelKind, cost_of_layers, tokens_of
from embinit.lab.specs import ModelRecipe, TrainingSpec
from embinit.runs.kinds import RunContext, Stack
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

TrainingRecipe = ModelRecipe[TrainingSpec]


class TrainingKind(ModelKind[TrainingSpec]):
    """The kind of run that trains a model on one task."""

    procedure = TrainingSpec
    distributions = ("numpy", "sacrebleu", "torch")

    def check(self, run: RunSpec[TrainingRecipe], data_dir: Path | None) -> None:
        """Reads text and vectors, and looks the schedule up."""
        _ = run.recipe.training.falls  # there is such a schedule
        super().check(run, data_dir)

    def check_key(self, run: RunSpec[TrainingRecipe]) -> Hashable:
        """Text, source, the table's width and the schedule."""
        recipe = run.recipe
        width, schedule = recipe.architecture.table_width, recipe.training.schedule
        return (recipe.data, recipe.table.source, width, schedule)

    def cost(self, run: RunSpec[TrainingRecipe]) -> float:
        """The cost of all layers for the tokens of all epochs.

        A decoder's layer, which attends twice, costs one and a half of an encoder's.
        """
        recipe = run.recipe
        sides = 2.5 if len(recipe.data.tokenizers) > 1 else 1
        tokens = tokens_of(recipe.data, recipe.training.epochs)
        return sides * cost_of_layers(recipe.architecture) * tokens

    def make(self, stack: Stack[TrainingRecipe], context: RunContext) -> list[RunResult]:
        """Trains the stack as one stacked model."""
        from embinit.lab.training import stacks

        return stacks.train(stack, context)


KIND = TrainingKind()
