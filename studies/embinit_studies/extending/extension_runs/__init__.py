"""Extension runs: a causal language model is trained, gets new tokens, and is trained further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from embinit.lab.kinds import ModelKind, model_words
from embinit.lab.specs import DataSpec, ModelRecipe, Procedure
from embinit.runs.kinds import MOST_RUNS, Description, RunContext
from embinit.specs import RunSpec
from embinit_studies.language_model import LanguageModelSpec, cost_of_text, text_words

if TYPE_CHECKING:
    from embinit.runs.kinds import Cohort
    from embinit.runs.results import RunResult


@dataclass(frozen=True)
class ExtensionSpec(Procedure):
    """The training of a causal language model that gets new tokens and is trained on other text.

    The run's own data is the text that it is trained on first.

    Attributes:
        base: How it is trained first.
        text: The other text, whose words that the first one's vocabulary lacks are the new tokens.
        training: How it is trained on.
        method: What makes the new tokens' rows: a name in ``extension.METHODS``, or ``zero``.
        output_method: What makes their rows in an output table of its own; "" for ``method``.
        helper: The text of the word vectors that methods compare tokens by, by the vocabulary of
            ``text``; None for that text itself.
        helper_width: The vectors' width.
    """

    base: LanguageModelSpec
    text: DataSpec
    training: LanguageModelSpec
    method: str
    output_method: str = ""
    helper: DataSpec | None = None
    helper_width: int = 48

    kind: ClassVar[str] = "extension"

    @property
    def precision(self) -> str:
        """The precision of matrix products in the base's training."""
        return self.base.precision

    @property
    def label(self) -> str:
        """The method's name."""
        return f"{self.method}, {self.output_method}" if self.output_method else self.method

    def without_arm(self) -> Self:
        """The recipe without the methods: they change rows, and no shape."""
        return replace(self, method="", output_method="")

    def in_world(self, world: int | str) -> Self:
        """The recipe with its other texts in another world."""
        helper = self.helper and self.helper.in_world(world)
        return replace(self, text=self.text.in_world(world), helper=helper)


ExtensionRecipe = ModelRecipe[ExtensionSpec]


class ExtensionKind(ModelKind[ExtensionSpec]):
    """The kind of run that extends a causal language model."""

    procedure = ExtensionSpec
    distributions = ("numpy", "scipy", "torch")

    def reads(self, run: RunSpec[ExtensionRecipe]) -> Sequence[DataSpec]:
        from embinit_studies.extending.extension_runs import training

        return (run.recipe.data, *training.other_texts(run))

    def fingerprint(self, run: RunSpec[ExtensionRecipe], data_dir: Path | None) -> str:
        from embinit_studies.extending.extension_runs import training

        return training.fingerprint(run, data_dir)

    def check(self, run: RunSpec[ExtensionRecipe], data_dir: Path | None) -> None:
        from embinit_studies.extending.extension_runs import training

        training.check(run, data_dir)

    def cost(self, run: RunSpec[ExtensionRecipe]) -> float:
        model, training = run.recipe.architecture, run.recipe.training
        # A cohort of one seed trains one base for all its arms.
        return cost_of_text(model, training.text, training.training) + (
            cost_of_text(model, run.recipe.data, training.base) / MOST_RUNS
        )

    def codes(self, run: RunSpec[ExtensionRecipe]) -> Iterator[str]:
        from embtables.extension.methods import METHODS

        yield from super().codes(run)
        recipe = run.recipe.training
        for name in (recipe.method, recipe.output_method):
            if name in METHODS:
                yield METHODS.code(name, lambda method: method.make)

    def describe(self, run: RunSpec[ExtensionRecipe]) -> Description:
        recipe = run.recipe.training
        return Description(
            model_words(run.recipe.architecture),
            f"next words, {text_words(recipe.base)}; then new tokens and {recipe.text.task}, "
            f"{text_words(recipe.training)}",
        )

    def make(self, cohort: Cohort[ExtensionRecipe], context: RunContext) -> list[RunResult]:
        from embinit_studies.extending.extension_runs import training

        return training.train(
            cohort, context.data_dir, context.device, context.progress, context.sharers
        )


KIND = ExtensionKind()
