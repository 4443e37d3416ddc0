"""The base of the lab's kinds of runs: data, table, model and cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic

from embinit.lab.draws import split_draw
from embinit.lab.specs import DataSpec, ModelRecipe, ModelSpec, P, Procedure
from embinit.lab.tables.recipes import INITS
from embinit.runs.kinds import MOST_RUNS, Kind, Making, structured
from embinit.specs import RunSpec

NARROW, FEW_RUNS, MANY_RUNS = 128, 5, 48
"""Models up to ``NARROW`` wide are stacked by ``MOST_RUNS`` on a core, wider ones by ``FEW_RUNS``.

Beyond that width a larger stack is no faster there (benchmarks/README.md). A GPU, on which each
stack records its graphs anew, stacks ``MANY_RUNS``.
"""

TEXTS = {
    "micro-inference": (6_000, 14),
    "micro": (2_000, 8),
    "sst2": (67_000, 11),
    "nli": (393_000, 32),
    "multi30k": (29_000, 14),
    "iwslt2017": (206_000, 17),
    "wikipedia": (2_000_000, 100),
    "": (30_000, 10),
}
"""A guess of a text's training examples and of an example's tokens, by a part of its task's name.

The first that fits counts. A spec that cuts the examples, or limits the tokens, is believed.
"""

MEASURED = 700
"""How many training examples cost as much as measuring an epoch on some 2,000, forward alone."""

PER_WIDTH = 800
"""What a layer does besides its products costs as much as so many more columns of them."""


class ModelKind(Kind[ModelRecipe[P]], Generic[P]):
    """A kind of run that starts from an embedding table."""

    recipe = ModelRecipe
    procedure: ClassVar[type[Procedure]]
    """The class of its runs' procedures."""
    distributions: ClassVar[tuple[str, ...]] = ("numpy", "torch")
    pinned: ClassVar[bool] = True

    def recipe_of(self, layout: Mapping[str, Any]) -> ModelRecipe[P]:
        """The recipe of a record's layout, whose ``training`` is of this kind's procedure."""
        training = {} if layout["training"] is None else layout["training"]
        recipe: ModelRecipe[P] = structured(
            ModelRecipe, {**layout, "training": training}, training=self.procedure
        )
        return recipe

    def reads(self, run: RunSpec[ModelRecipe[P]]) -> Sequence[DataSpec]:
        """The recipe's data."""
        return (run.recipe.data,)

    def codes(self, run: RunSpec[ModelRecipe[P]]) -> Iterator[str]:
        """Digests of the init, the source, the positions, the tasks and the attention."""
        from embinit.lab.data.sources import SOURCES
        from embinit.lab.data.tasks import TASKS
        from embinit.lab.tables.positions import KINDS as POSITIONS

        recipe = run.recipe
        yield INITS.code(recipe.table.init)
        if recipe.table.source is not None:
            yield SOURCES.code(recipe.table.source)
        yield POSITIONS.code(recipe.positions.kind)
        for data in self.reads(run):
            if data.task in TASKS:
                yield TASKS.code(data.task)
        if recipe.model is not None:
            from embinit.lab.models.attention import ATTENTION
            from embinit.lab.models.layers import ACTIVATIONS
            from embinit.lab.models.sizes import NORM_POSITIONS

            model = recipe.model
            yield ATTENTION.code(model.attention)
            _ = NORM_POSITIONS[model.norm_position], ACTIVATIONS[model.activation]

    def fingerprint(self, run: RunSpec[ModelRecipe[P]], data_dir: Path | None) -> str:
        """Digests of the first text, of the source's vectors, and of the other texts."""
        from embinit.lab.data.preparation import data_fingerprint, source

        first, *others = (data_fingerprint(data, data_dir) for data in self.reads(run))
        vectors = run.recipe.table.source
        of_source = [] if vectors is None else [source(vectors, data_dir).fingerprint()]
        return "/".join([first, *of_source, *others])

    def lacks(self, run: RunSpec[ModelRecipe[P]]) -> Sequence[Making]:
        """The table of a data draw, where nobody has made it yet."""
        source = run.recipe.table.source
        if source is None or not split_draw(source)[1]:
            return ()
        from embinit.lab.data.sources.microcosm import lacking_tables

        return lacking_tables(source)

    def check(self, run: RunSpec[ModelRecipe[P]], data_dir: Path | None) -> None:
        """Reads text and vectors."""
        from embinit.lab.tables import initial_tables

        initial_tables.check(run, data_dir)

    def check_key(self, run: RunSpec[ModelRecipe[P]]) -> Hashable:
        """The key of a check: text, source, training and model."""
        recipe = run.recipe
        return (recipe.data, recipe.table.source, recipe.training, recipe.model)

    def stacked(self, run: RunSpec[ModelRecipe[P]], device: str) -> int:
        """The largest useful stack: few runs of a wide model fill a core, and more a GPU."""
        if device != "cpu":
            return MANY_RUNS
        model = run.recipe.model
        wide = model is not None and model.dim > NARROW
        return FEW_RUNS if wide else MOST_RUNS


def cost_of_layers(model: ModelSpec) -> float:
    """The rough cost of a model's layers for each token."""
    return float(model.layers * model.dim * (4 * model.dim + 2 * model.feed_forward + PER_WIDTH))


def tokens_of(data: DataSpec, epochs: int) -> int:
    """The rough number of tokens that so many measured epochs cost."""
    examples, tokens = next(text for name, text in TEXTS.items() if name in data.task)
    return epochs * ((data.cut.train or examples) + MEASURED) * min(tokens, data.max_length)
