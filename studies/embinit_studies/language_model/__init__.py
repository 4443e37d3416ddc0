"""Language-model runs: a causal language model is trained, for the studies that need one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from embinit.lab.kinds import (
    WHOLE_SPLIT,
    ModelKind,
    cost_of_layers,
    epoch_words,
    examples_of,
    model_words,
)
from embinit.lab.specs import DataSpec, ModelRecipe, ModelSpec, Procedure
from embinit.runs.kinds import Description, RunContext
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.runs.kinds import Cohort
    from embinit.runs.results import RunResult


@dataclass(frozen=True)
class LanguageModelSpec(Procedure):
    """The training of a causal language model, by Adam.

    Attributes:
        batch_size: How many sentences a batch has.
        epochs: How many epochs it is trained for.
        lr: The highest learning rate.
        warm_up: The share of the steps over which the rate rises; then it falls to zero.
        clip: The norm to which a step's gradient is clipped; None for no clipping.
        betas: Adam's betas.
        eps: Adam's epsilon.
        precision: The precision of matrix products.
        mechanism: Whether the mechanism is measured too: each layer's gradient norm at the first
            step, how much of each state is the embedding, before training and after, and the
            largest spike of the training loss.
    """

    batch_size: int
    epochs: int
    lr: float
    warm_up: float = 0.1
    clip: float | None = 1.0
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"
    mechanism: bool = field(default=False, metadata={"later": True})

    kind: ClassVar[str] = "language-model"


LanguageModelRecipe = ModelRecipe[LanguageModelSpec]


class LanguageModelKind(ModelKind[LanguageModelSpec]):
    """The kind of run that trains a causal language model."""

    procedure = LanguageModelSpec

    def check(self, run: RunSpec[LanguageModelRecipe], data_dir: Path | None) -> None:
        from embinit_studies.language_model import runs

        runs.check(run, data_dir)

    def cost(self, run: RunSpec[LanguageModelRecipe]) -> float:
        recipe = run.recipe
        return cost_of_text(recipe.architecture, recipe.data, recipe.training)

    def parameters(self, run: RunSpec[LanguageModelRecipe]) -> Mapping[str, int]:
        from embinit_studies.language_model import runs

        return {"training": runs.parameters_of(run)}

    def describe(self, run: RunSpec[LanguageModelRecipe]) -> Description:
        recipe = run.recipe
        words = f"next words, {text_words(recipe.training)}"
        return Description(model_words(recipe.architecture), words)

    def make(self, cohort: Cohort[LanguageModelRecipe], context: RunContext) -> list[RunResult]:
        from embinit_studies.language_model import runs

        return runs.train(
            cohort, context.data_dir, context.device, context.progress, context.sharers
        )


def text_words(recipe: LanguageModelSpec) -> str:
    """The training of a causal language model, in words."""
    clip = "" if recipe.clip is None else f", gradients clipped at {recipe.clip:g}"
    return (
        f"{epoch_words(recipe.epochs)}, batches of {recipe.batch_size}, rate {recipe.lr:g} that "
        f"rises over {recipe.warm_up:.0%} of the steps and falls to zero{clip}"
    )


def cost_of_text(model: ModelSpec, data: DataSpec, recipe: LanguageModelSpec) -> float:
    """The rough cost of training a language model on a text."""
    outputs = model.table_width * (data.most_words or WHOLE_SPLIT)
    return (cost_of_layers(model) + outputs) * recipe.epochs * examples_of(data)


KIND = LanguageModelKind()
