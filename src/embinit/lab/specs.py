"""The specs of the lab's runs: text, model, table, positions, and how a model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, cast

from typing_extensions import TypeVar

from embinit.errors import InputError
from embinit.lab.draws import ANY_DRAW, at_draw, split_draw
from embinit.specs import Recipe, RunSpec, later


@dataclass(frozen=True)
class Cut:
    """The sizes of a data set's splits on a tier; None keeps a split whole.

    Training examples are a sample drawn once, the same in every arm and seed; other splits are cut
    at the front.
    """

    train: int | None = None
    validation: int | None = None
    test: int | None = None


LEARNED = "learned"
"""The kind of positions whose encodings are trained."""


@dataclass(frozen=True)
class DataSpec:
    """The data of a run: its task, tokenizers, cut and vocabulary."""

    task: str
    tokenizers: tuple[str, ...]  # the encoder's, and the decoder's where there is one
    cut: Cut
    min_freq: int = 2
    max_length: int = 64  # in tokens; longer examples leave training, and are cut elsewhere
    most_words: int | None = later(None)  # a fixed size of the vocabulary, special words included
    # The text that the vocabulary is counted on; None for the task's own.
    vocabulary: DataSpec | None = later(None)  # noqa: RUF009, a field and no default
    # The least sizes of the data set's splits, where no part of it may stand in for the whole.
    whole: Cut | None = later(None)  # noqa: RUF009, likewise

    def on_draw(self, draw: int | str) -> DataSpec:
        """The same data of another draw; its vocabulary too."""
        vocabulary = self.vocabulary and self.vocabulary.on_draw(draw)
        return replace(self, task=at_draw(split_draw(self.task)[0], draw), vocabulary=vocabulary)


@dataclass(frozen=True)
class ModelSpec:
    """The transformer's sizes and variants, by default those of Kim et al. (2024; A.2 and Table 5).

    Their feed-forward width of 512 is inferred.
    """

    dim: int
    heads: int
    layers: int
    feed_forward: int
    dropout: float = 0.1
    norm_after_sum: bool = later(False)  # a LayerNorm after table + positions
    attention: str = later("plain")  # or "relative", "rotary", "untied": positions inside it
    activation: str = later("relu")
    input_width: int | None = later(None)  # E_in; a linear layer leads to another ``dim``
    output_width: int | None = later(None)  # E_out, likewise
    coupled: bool = later(False)  # the input table is the output table too
    norm_position: str = later("post")  # after the residual sum, or "pre": before the sub-layer

    @property
    def table_width(self) -> int:
        """E_in, the width of the input table: ``dim``, unless another is given."""
        return self.dim if self.input_width is None else self.input_width


class Procedure:
    """The procedure of a recipe, a frozen dataclass; each kind of run has its own class."""

    kind: ClassVar[str]
    has_decoder: ClassVar[bool] = False
    """Whether its model has a decoder, with a table of its own, where the text has two sides."""

    @property
    def precision(self) -> str:
        """The precision of matrix products (see ``models.layers.PRECISIONS``)."""
        return "float32"

    def without_extras(self) -> Self:
        """The procedure without extras: curves that are recorded only to be shown."""
        return self

    def on_draw(self, draw: int | str) -> Self:
        """The procedure with what it reads itself on another draw."""
        return self

    def layout(self) -> Self | None:
        """The procedure as it stands in records and keys."""
        return self


@dataclass(frozen=True)
class Evaluation(Procedure):
    """Evaluation of the initial table without training."""

    kind: ClassVar[str] = "evaluation"

    def layout(self) -> None:
        """None: records of evaluations have no procedure."""


@dataclass(frozen=True)
class TrainingSpec(Procedure):
    """The training of a model on a task by Adam."""

    batch_size: int
    epochs: int
    lr: float
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"
    validation_bleu: bool = later(False)  # recorded epoch by epoch
    # "constant": each epoch is measured and the best one counts. "linear": the rate falls to zero
    # over all steps; only the last epoch is measured, and none is chosen.
    schedule: str = later("constant")

    kind: ClassVar[str] = "training"
    has_decoder: ClassVar[bool] = True

    @property
    def falls(self) -> bool:
        """Whether the rate falls to zero; InputError if there is no such schedule."""
        if self.schedule not in ("constant", "linear"):
            raise InputError(f"{self.schedule!r} is no schedule; name 'constant' or 'linear'")
        return self.schedule == "linear"

    def without_extras(self) -> Self:
        """The recipe without BLEU on the validation split."""
        return replace(self, validation_bleu=False)


@dataclass(frozen=True)
class TablePretrainingSpec(Procedure):
    """The pre-training of a table on unlabelled text. The table itself is measured."""

    objective: str
    steps: int
    batch_size: int
    rate: float
    optimizer: str
    start: float  # the sigma of the normal that the table starts from
    relative: bool  # positions inside attention; else they are added to the table's rows

    kind: ClassVar[str] = "table-pretraining"


@dataclass(frozen=True)
class PretrainingSpec:
    """The pre-training of a whole model as a masked language model, by Adam."""

    batch_size: int
    epochs: int
    lr: float
    warm_up: float = 0.1  # the share of the steps over which the rate rises; then it falls to 0
    share: float = 0.15  # of the words, masked
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"


@dataclass(frozen=True)
class DownstreamSpec:
    """A labelled task for a pre-trained model.

    Each of its ``times`` starts where pre-training ended, with an output layer, an order and
    dropout masks of its own. Measures are means over the times, and the curves ``…_by_time`` have
    each one's.
    """

    role: str  # the start of its measures' names (``sentiment`` in ``sentiment_accuracy``)
    data: DataSpec
    training: TrainingSpec
    times: int = later(1)
    removed_layers: int = later(0)  # the last ones, which this fine-tuning does without


@dataclass(frozen=True)
class TransferSpec(Procedure):
    """Pre-training on a run's data, then fine-tuning on each task from the pre-trained model."""

    pretraining: PretrainingSpec
    tasks: tuple[DownstreamSpec, ...]
    probes: tuple[DataSpec, ...] = ()  # classified by linear probes on each frozen layer
    dropped_layers: int = later(0)  # the last ones, pre-trained and then dropped for good
    further: tuple[str, ...] = later(())  # more measures of the pre-trained model, by name

    kind: ClassVar[str] = "transfer"

    def on_draw(self, draw: int | str) -> Self:
        """The procedure with its tasks and probes on another draw."""
        tasks = tuple(replace(task, data=task.data.on_draw(draw)) for task in self.tasks)
        probes = tuple(probe.on_draw(draw) for probe in self.probes)
        return replace(self, tasks=tasks, probes=probes)

    @property
    def precision(self) -> str:
        """The precision of matrix products in pre-training."""
        return self.pretraining.precision


ALL = "all"
"""The sides of a table spec whose source must have vectors for each side."""


@dataclass(frozen=True)
class TableSpec:
    """The embedding tables: init, source, sigma, and whether they are trained."""

    init: str
    source: str | None  # None where the init needs none, so that Xavier is one run for all sources
    trained: bool = True
    sigma: float | None = later(None)  # standardised to it with mean 0; None keeps the table
    rate: float = later(1.0)  # multiplies the learning rate for the tables
    # "covered": a side whose language the source lacks starts from Xavier; "all": it is refused.
    sides: str = later("covered")


@dataclass(frozen=True)
class PositionSpec:
    """The positions that are added to the embeddings, and the factors of both.

    A factor is a key of ``tables.positions.MULTIPLIERS``, or a number as text, such as ``8``.
    """

    kind: str = "sinusoidal"
    multiplier: str = "sqrt(D)"
    pe_scale: str = "one"  # the positions' factor; trained ones start from the product


P = TypeVar("P", bound=Procedure, default=Procedure, covariant=True)


@dataclass(frozen=True)
class ModelRecipe(Recipe, Generic[P]):
    """The recipe of the lab's runs: data, model, procedure, table and positions."""

    data: DataSpec
    model: ModelSpec | None  # None where nothing is trained
    training: P
    table: TableSpec
    positions: PositionSpec

    @property
    def kind(self) -> str:
        """The name of the kind of run, which the procedure has."""
        return self.training.kind

    @property
    def architecture(self) -> ModelSpec:
        """The model, for procedures that train one."""
        assert self.model is not None
        return self.model

    @property
    def task(self) -> str:
        """The data set's name, on any data draw."""
        return split_draw(self.data.task)[0]

    @property
    def arm(self) -> str:
        """The init's name."""
        return self.table.init

    @property
    def columns(self) -> Mapping[str, str]:
        """The init, and the source of its vectors."""
        return {"init": self.table.init, "source": self.table.source or ""}

    @property
    def pace(self) -> str:
        """The settings that decide a run's duration: data, precision and model."""
        return f"{self.kind}/{self.task}/{self.training.precision}/{self.model}"

    @property
    def stacking(self) -> object:
        """The shapes of its tensors, and what its runs share; output tables are each run's own."""
        learned = self.positions.kind == LEARNED
        body = self.model and replace(self.model, output_width=None, coupled=False)
        return (self.data, body, self.training, learned)

    def on_draw(self, draw: int | str) -> Self:
        """The recipe with its data and its source on another draw, a number or ``ANY_DRAW``."""
        source = self.table.source and at_draw(split_draw(self.table.source)[0], draw)
        return replace(
            self,
            data=self.data.on_draw(draw),
            training=self.training.on_draw(draw),
            table=replace(self.table, source=source),
        )

    def without_seed(self) -> Self:
        """The recipe on any data draw, unless it is on the one that names have no number of."""
        return self.on_draw(ANY_DRAW) if split_draw(self.data.task)[1] else self

    def layout(self) -> Mapping[str, Any]:
        """Its fields, the procedure as records have it."""
        return {**super().layout(), "training": self.training.layout()}


ModelRun = RunSpec[ModelRecipe]
"""A run of the lab."""


def recipe_of(run: RunSpec) -> ModelRecipe:
    """The recipe of a run that is known to be of the lab."""
    return cast(ModelRecipe, run.recipe)
