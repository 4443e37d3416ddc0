"""The specs of the lab's runs: text, model, table, positions, and how a model is trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, Self, cast

from typing_extensions import TypeVar

from embinit.errors import InputError
from embinit.registry import ANY_WORLD, at_world, split_world
from embinit.specs import Recipe, RunSpec, later


@dataclass(frozen=True)
class Cut:
    """The sizes of a data set's splits on a tier; None keeps a split whole.

    Examples longer than ``DataSpec.max_length`` tokens are dropped from training and truncated
    elsewhere.

    Attributes:
        train: How many training examples are kept. They are a sample drawn once from a fixed
            generator, the same in every arm and seed.
        validation: How many examples are kept from the front of the validation split.
        test: How many examples are kept from the front of the test split.
    """

    train: int | None = None
    validation: int | None = None
    test: int | None = None


LEARNED = "learned"
"""The kind of positions whose encodings are trained."""


@dataclass(frozen=True)
class DataSpec:
    """The data of a run: its task, tokenizers, cut and vocabulary.

    Attributes:
        task: The data set's name.
        tokenizers: The encoder's and the decoder's tokenizer; one alone for classification.
        cut: How much of the data set is used.
        min_freq: How often a word must occur in training to be in the vocabulary.
        max_length: The longest example, in tokens.
        most_words: The size of the vocabulary, special words included, where it is fixed
            beforehand; else None.
        vocabulary: The text that the vocabulary is counted on; None for the task's own.
    """

    task: str
    tokenizers: tuple[str, ...]
    cut: Cut
    min_freq: int = 2
    max_length: int = 64
    most_words: int | None = later(None)
    vocabulary: DataSpec | None = later(None)  # noqa: RUF009, a field and no default

    def in_world(self, world: int | str) -> DataSpec:
        """The same data of another world; its vocabulary too."""
        vocabulary = self.vocabulary and self.vocabulary.in_world(world)
        return replace(self, task=at_world(split_world(self.task)[0], world), vocabulary=vocabulary)


@dataclass(frozen=True)
class ModelSpec:
    """The transformer's sizes and variants.

    The defaults are those of Kim et al. (2024; A.2 and Table 5). Their feed-forward width of 512
    is inferred.

    Attributes:
        dim: The width of the hidden states.
        heads: How many attention heads a layer has.
        layers: How many layers the encoder has, and the decoder where there is one.
        feed_forward: The width of the feed-forward layers.
        dropout: The dropout probability.
        norm_after_sum: Whether a LayerNorm stands after table + positions.
        attention: The positions inside self-attention: ``plain`` for none, ``relative`` for a
            learned bias of the scores for each distance, ``rotary`` for queries and keys that are
            rotated by their position, ``untied`` for scores of the positions' own queries and keys.
        activation: The activation of the feed-forward layers.
        input_width: The width of the input table (E_in); None for ``dim``. A linear layer leads
            from it to ``dim`` where the two differ.
        output_width: The width of the output table (E_out), likewise.
        coupled: Whether the input table is the output table too.
        norm_position: Where each sub-layer's norm stands: ``post``, after the residual sum, or
            ``pre``, before the sub-layer, with a norm after the last layer.
    """

    dim: int
    heads: int
    layers: int
    feed_forward: int
    dropout: float = 0.1
    norm_after_sum: bool = later(False)
    attention: str = later("plain")
    activation: str = later("relu")
    input_width: int | None = later(None)
    output_width: int | None = later(None)
    coupled: bool = later(False)
    norm_position: str = later("post")

    @property
    def table_width(self) -> int:
        """E_in, the width of the input table: ``dim``, unless another is given."""
        return self.dim if self.input_width is None else self.input_width


class Procedure:
    """The procedure of a recipe: training or evaluation; each kind of run has its own class.

    A procedure is a frozen dataclass.

    Attributes:
        kind: The name of the kind of run.
    """

    kind: ClassVar[str]

    @property
    def precision(self) -> str:
        """The precision of matrix products (see ``models.layers.PRECISIONS``)."""
        return "float32"

    @property
    def label(self) -> str:
        """The arm's name for people; "" where the init names it."""
        return ""

    def without_extras(self) -> Self:
        """The procedure without extras: curves that are recorded only to be shown."""
        return self

    def without_arm(self) -> Self:
        """The procedure without the settings in which runs of a cohort may differ."""
        return self

    def in_world(self, world: int | str) -> Self:
        """The procedure with what it reads itself in another world."""
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
    """The training of a model on a task by Adam.

    Attributes:
        batch_size: How many examples a batch has.
        epochs: How many epochs the model is trained for.
        lr: The learning rate, or what it falls from.
        betas: Adam's betas.
        eps: Adam's epsilon.
        precision: The precision of matrix products.
        validation_bleu: Whether BLEU on the validation split is recorded epoch by epoch.
        schedule: ``constant`` for a constant rate; each epoch is measured and the best one counts.
            ``linear`` for a rate that falls to zero over all steps; only the last epoch is
            measured, as it is what such a schedule leads to, and no epoch is chosen.
    """

    batch_size: int
    epochs: int
    lr: float
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"
    validation_bleu: bool = later(False)
    schedule: str = later("constant")

    kind: ClassVar[str] = "training"

    @property
    def falls(self) -> bool:
        """Whether the rate falls to zero.

        Raises:
            InputError: There is no such schedule.
        """
        if self.schedule not in ("constant", "linear"):
            raise InputError(f"{self.schedule!r} is no schedule; name 'constant' or 'linear'")
        return self.schedule == "linear"

    def without_extras(self) -> Self:
        """The recipe without BLEU on the validation split."""
        return replace(self, validation_bleu=False)


@dataclass(frozen=True)
class TablePretrainingSpec(Procedure):
    """The pre-training of a table on unlabelled text. The table itself is measured.

    Attributes:
        objective: The training objective, such as ``span corruption``.
        steps: How many steps are made.
        batch_size: How many sentences a batch has.
        rate: The learning rate.
        optimizer: ``adafactor`` or ``adamw``.
        start: The standard deviation of the normal that the table starts from.
        relative: Whether positions stand inside attention; else they are added to the table's
            rows.
    """

    objective: str
    steps: int
    batch_size: int
    rate: float
    optimizer: str
    start: float
    relative: bool

    kind: ClassVar[str] = "table-pretraining"


@dataclass(frozen=True)
class PretrainingSpec:
    """The pre-training of a whole model as a masked language model, by Adam.

    Attributes:
        batch_size: How many sentences a batch has.
        epochs: How many epochs the model is trained for.
        lr: The highest learning rate.
        warm_up: The share of the steps over which the rate rises; then it falls to zero.
        share: The probability that a word is masked.
        betas: Adam's betas.
        eps: Adam's epsilon.
        precision: The precision of matrix products.
    """

    batch_size: int
    epochs: int
    lr: float
    warm_up: float = 0.1
    share: float = 0.15
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"


@dataclass(frozen=True)
class DownstreamSpec:
    """A labelled task for a pre-trained model.

    Attributes:
        role: The name that its measures begin with (``sentiment`` in ``sentiment_accuracy``).
        data: The task's text.
        training: How the model is fine-tuned.
        times: How often it is fine-tuned from where pre-training ended, at least once; each time
            has an output layer, an order and dropout masks of its own. Measures are means over the
            times, and the curves ``…_by_time`` have each one's.
    """

    role: str
    data: DataSpec
    training: TrainingSpec
    times: int = later(1)


@dataclass(frozen=True)
class TransferSpec(Procedure):
    """Pre-training on a run's data, then fine-tuning on several tasks.

    Attributes:
        pretraining: How the model is pre-trained.
        tasks: The tasks. Fine-tuning on each starts from the pre-trained model.
        probes: The classification tasks of the linear probes on each frozen layer.
    """

    pretraining: PretrainingSpec
    tasks: tuple[DownstreamSpec, ...]
    probes: tuple[DataSpec, ...] = ()

    kind: ClassVar[str] = "transfer"

    def in_world(self, world: int | str) -> Self:
        """The procedure with its tasks and probes in another world."""
        tasks = tuple(replace(each, data=each.data.in_world(world)) for each in self.tasks)
        probes = tuple(each.in_world(world) for each in self.probes)
        return replace(self, tasks=tasks, probes=probes)

    @property
    def precision(self) -> str:
        """The precision of matrix products in pre-training."""
        return self.pretraining.precision


@dataclass(frozen=True)
class TableSpec:
    """The embedding tables: init, source, sigma, and whether they are trained.

    Attributes:
        init: The init's name in ``tables.inits.INITS``.
        source: The name of the source of pre-trained vectors. It is None for an init that uses
            none, so that Xavier is one run for all sources that share tokenizer and width.
        trained: Whether the tables are trained; else they are frozen.
        sigma: The standard deviation that the init's table is standardised to, with mean zero;
            None keeps the table. It changes the scale and holds the content fixed.
        rate: What the learning rate is multiplied by for the tables. Adam moves a table by the
            rate, whatever the table's width.
    """

    init: str
    source: str | None
    trained: bool = True
    sigma: float | None = later(None)
    rate: float = later(1.0)


@dataclass(frozen=True)
class PositionSpec:
    """The positions that are added to the embeddings, and the factor applied before.

    Attributes:
        kind: The kind of positions, a key of ``tables.positions.KINDS``.
        multiplier: What the embeddings are multiplied by: a key of ``tables.positions.MULTIPLIERS``
            such as ``one`` or ``sqrt(D)``, or a number as text, such as ``8``.
        pe_scale: What the positions are multiplied by, likewise. Positions that are trained start
            from the product.
    """

    kind: str = "sinusoidal"
    multiplier: str = "sqrt(D)"
    pe_scale: str = "one"


P = TypeVar("P", bound=Procedure, default=Procedure, covariant=True)


@dataclass(frozen=True)
class ModelRecipe(Recipe, Generic[P]):
    """The recipe of the lab's runs: data, model, procedure, table and positions.

    Attributes:
        data: The text that it reads.
        model: The model that is trained; None where none is.
        training: How it is trained.
        table: How its tables start.
        positions: What is added to the embeddings.
    """

    data: DataSpec
    model: ModelSpec | None
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
        """The data set's name."""
        return self.data.task

    @property
    def arm(self) -> str:
        """The procedure's label, or the init's name."""
        return self.training.label or self.table.init

    @property
    def columns(self) -> Mapping[str, str]:
        """The init, and the source of its vectors."""
        return {"init": self.table.init, "source": self.table.source or ""}

    @property
    def pace(self) -> str:
        """The settings that decide a run's duration: data, precision and model."""
        task, _ = split_world(self.task)
        return f"{self.kind}/{task}/{self.training.precision}/{self.model}"

    @property
    def stacking(self) -> object:
        """The shapes of its tensors, and what its runs share."""
        learned = self.positions.kind == LEARNED
        return (self.data, self.model, self.training.without_arm(), learned)

    def in_world(self, world: int | str) -> Self:
        """The recipe with its data and its source in another world.

        Args:
            world: The world's number, or ``registry.ANY_WORLD``.
        """
        source = self.table.source and at_world(split_world(self.table.source)[0], world)
        return replace(
            self,
            data=self.data.in_world(world),
            training=self.training.in_world(world),
            table=replace(self.table, source=source),
        )

    def without_world(self) -> Self:
        """The recipe in any world, unless it is of the one that names have no number of."""
        return self.in_world(ANY_WORLD) if split_world(self.data.task)[1] else self

    def layout(self) -> Mapping[str, Any]:
        """Its fields."""
        return {
            "data": self.data,
            "model": self.model,
            "training": self.training.layout(),
            "table": self.table,
            "positions": self.positions,
        }


ModelRun = RunSpec[ModelRecipe]
"""A run of the lab."""


def recipe_of(run: RunSpec) -> ModelRecipe:
    """The recipe of a run that is known to be of the lab."""
    return cast(ModelRecipe, run.recipe)
