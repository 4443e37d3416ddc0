"""The specs of runs: everything that decides what a run comes to, and nothing else.

Two runs with equal specs are the same run, whoever asks for it. A spec is a frozen dataclass of
plain values, so that it is hashed, compared and stored as it is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

R = TypeVar("R", bound="Recipe")


def _later(default: Any) -> Any:
    """A field that its class got after runs were stored.

    At its default it is left out of the digest, so older records keep their key.
    """
    return field(default=default, metadata={"later": True})


@dataclass(frozen=True)
class Cut:
    """How much of a data set a tier uses; None keeps a split whole.

    A cut training split is a sample drawn once from a fixed generator, the same in every arm and
    seed; validation and test are cut from the front. Examples longer than ``max_length`` tokens
    are dropped from training and truncated elsewhere (see ``vocabulary``).
    """

    train: int | None = None
    validation: int | None = None
    test: int | None = None


EVALUATION = "evaluation"
"""The kind of the runs that train nothing: a table is evaluated as it starts."""

LEARNED = "learned"
"""The kind whose rows are trained."""


@dataclass(frozen=True)
class DataSpec:
    """Which text, cut how, turned into ids how.

    ``tokenizers`` names the encoder's and the decoder's tokenizer (one for classification).
    ``most_words`` is the size of the vocabulary, special words included, where it is fixed
    beforehand; ``vocabulary`` is the text that it is counted on, where that is not the task's own.
    """

    task: str
    tokenizers: tuple[str, ...]
    cut: Cut
    min_freq: int = 2
    max_length: int = 64
    most_words: int | None = _later(None)
    vocabulary: DataSpec | None = _later(None)  # noqa: RUF009, a field and no default


@dataclass(frozen=True)
class ModelSpec:
    """Sizes of the vanilla transformer (paper, A.2 and Table 5; feed-forward inferred: 512).

    ``norm_after_sum`` puts a LayerNorm after table + positions, which the paper's model lacks;
    ``attention`` tells the positions inside self-attention: ``relative`` adds a learned bias for
    each distance to the scores, ``rotary`` turns queries and keys by their position.

    ``norm_position`` is where each sub-layer's norm stands: ``post``, after the residual sum, as
    in the paper, or ``pre``, before the sub-layer, with a norm after the last layer. ``norm`` is
    the kind of all the model's norms: ``layer`` for LayerNorm, ``rms`` for RMSNorm.

    ``input_width`` (E_in) and ``output_width`` (E_out) are the widths of the tables that a model
    is pre-trained with, None being the model's own; a linear layer stands between where they
    differ from it. ``coupled``: the input table is the output table too.
    """

    dim: int
    heads: int
    layers: int
    feed_forward: int
    dropout: float = 0.1
    norm_after_sum: bool = _later(False)
    attention: str = _later("plain")
    activation: str = _later("relu")
    input_width: int | None = _later(None)
    output_width: int | None = _later(None)
    coupled: bool = _later(False)
    norm_position: str = _later("post")
    norm: str = _later("layer")

    @property
    def table_width(self) -> int:
        """E_in, the width of the input table: the model's, unless another is given."""
        return self.dim if self.input_width is None else self.input_width


class Recipe:
    """How a run's numbers come about; each kind of run has a recipe of its own.

    A recipe is a frozen dataclass. ``kind`` names its kind in ``runs.kinds.KINDS``.
    """

    kind: ClassVar[str]

    @property
    def precision(self) -> str:
        """The precision of matrix products (see ``models.transformer.PRECISIONS``)."""
        return "float32"

    def without_extras(self) -> Self:
        """The recipe without what is followed only to be shown, such as a curve."""
        return self


@dataclass(frozen=True)
class TrainingSpec(Recipe):
    """How it is trained: Adam with the paper's constants and a constant learning rate.

    ``validation_bleu`` has BLEU on the validation split followed epoch by epoch (Figure 1).
    """

    batch_size: int
    epochs: int
    lr: float
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    precision: str = "float32"
    validation_bleu: bool = _later(False)

    kind: ClassVar[str] = "training"

    def without_extras(self) -> Self:
        """The recipe without BLEU on the validation split."""
        return replace(self, validation_bleu=False)


@dataclass(frozen=True)
class TablePretrainingSpec(Recipe):
    """How a table is pre-trained on unlabelled text, where the table itself is what is measured.

    ``objective`` is one of ``pretraining.OBJECTIVES`` and ``optimizer`` one of its ``OPTIMIZERS``;
    the table starts from a normal of sigma ``start``; ``relative`` positions stand inside
    attention, others are added to the table's rows.
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
    """How a whole model is pre-trained by guessing hidden words (see ``transfer``).

    Adam with a rate that rises over the first ``warm_up`` of the steps and falls to zero.
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

    ``role`` names its measures (``sentiment_accuracy``).
    """

    role: str
    data: DataSpec
    training: TrainingSpec


@dataclass(frozen=True)
class TransferSpec(Recipe):
    """Pre-train on a run's data, then fine-tune on each of ``tasks``, each time from there.

    ``probes`` are classifications that a linear probe reads off each frozen layer.
    """

    pretraining: PretrainingSpec
    tasks: tuple[DownstreamSpec, ...]
    probes: tuple[DataSpec, ...] = ()

    kind: ClassVar[str] = "transfer"

    @property
    def precision(self) -> str:
        """That of pre-training, from whose model fine-tuning goes on."""
        return self.pretraining.precision


@dataclass(frozen=True)
class TableSpec:
    """How the embedding tables start, and whether they are trained on.

    ``source`` is None for an init that uses none, so that Xavier is one run for all sources that
    share tokenizer and width. ``sigma`` standardises what the init made to that width (and to
    mean zero): scale with the content held fixed.
    """

    init: str
    source: str | None
    trained: bool = True
    sigma: float | None = _later(None)


@dataclass(frozen=True)
class PositionSpec:
    """What is added to the embeddings, and what they are multiplied by before."""

    kind: str = "sinusoidal"
    multiplier: str = "sqrt(D)"
    pe_scale: str = "one"


@dataclass(frozen=True)
class RunSpec:
    """One replicate of one arm: everything that decides the outcome, and nothing else."""

    data: DataSpec
    model: ModelSpec | None
    training: Recipe | None
    table: TableSpec
    positions: PositionSpec
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Plain nested dict, as kept in the run's record."""
        return dataclasses.asdict(self)

    @property
    def kind(self) -> str:
        """The name of the kind of run; a run without a recipe evaluates a table."""
        return EVALUATION if self.training is None else self.training.kind

    def recipe(self, kind: type[R]) -> R:
        """The recipe as its own kind of run knows it.

        Args:
            kind: The recipe's class.
        """
        assert isinstance(self.training, kind)
        return self.training

    @property
    def precision(self) -> str:
        """The precision of its matrix products."""
        return "float32" if self.training is None else self.training.precision

    def digest(self) -> str:
        """Hex SHA-256 of the spec in canonical JSON."""
        return hashlib.sha256(canonical(self).encode()).hexdigest()

    @property
    def cohort_key(self) -> tuple[object, ...]:
        """Runs with equal keys have tensors of the same shapes and train as one stacked model."""
        return (self.data, self.model, self.training, self.positions.kind == LEARNED)


def canonical(spec: object) -> str:
    """Canonical JSON of a spec, or of specs in a mapping.

    Later fields at their default are left out, however deep they lie.
    """
    return json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))


def _plain(value: object) -> object:
    if dataclasses.is_dataclass(value):
        return {
            one.name: _plain(content)
            for one in dataclasses.fields(value)
            if (content := getattr(value, one.name)) != one.default or "later" not in one.metadata
        }
    if isinstance(value, Mapping):
        return {name: _plain(content) for name, content in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(content) for content in value]
    return value
