"""What is trained: the specs of runs, and how runs are grouped into cohorts.

A ``RunSpec`` says everything that decides a run's outcome, so that two runs with the same spec
are the same run, whoever asks for it. An ``Experiment`` is a setting in which arms (inits) are
compared; the same arm asked for by several experiments gives equal specs and is trained once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from embinit.errors import InputError
from embinit.init import INITS
from embinit.positions import LEARNED
from embinit.tasks import Cut

LATER = {"later": True}
"""Marks a setting that specs got later: at its default it is left out of a run's digest.

So what was stored before the setting existed stays the same run.
"""


def _later(default: Any) -> Any:
    return field(default=default, metadata=LATER)


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
    vocabulary: DataSpec | None = field(default=None, metadata=LATER)


@dataclass(frozen=True)
class ModelSpec:
    """Sizes of the vanilla transformer (paper, A.2 and Table 5; feed-forward inferred: 512).

    ``norm_after_sum`` puts a LayerNorm after table + positions, which the paper's model lacks;
    ``attention`` tells the positions inside self-attention: ``relative`` adds a learned bias for
    each distance to the scores, ``rotary`` turns queries and keys by their place.

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

    @property
    def table_width(self) -> int:
        """E_in, the width of the input table: the model's, unless another is given."""
        return self.dim if self.input_width is None else self.input_width


@dataclass(frozen=True)
class TrainingSpec:
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


@dataclass(frozen=True)
class PretrainingSpec:
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


@dataclass(frozen=True)
class MaskingSpec:
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
class TransferSpec:
    """Pre-train on a run's data, then fine-tune on each of ``tasks``, each time from there.

    ``probes`` are classifications that a linear probe reads off each frozen layer.
    """

    pretraining: MaskingSpec
    tasks: tuple[DownstreamSpec, ...]
    probes: tuple[DataSpec, ...] = ()


Training = TrainingSpec | PretrainingSpec | TransferSpec
"""How a run's numbers come about; probes of tables train nothing."""


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
    training: Training | None
    table: TableSpec
    positions: PositionSpec
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Plain nested dict, as kept in the run's record."""
        return dataclasses.asdict(self)

    def digest(self) -> str:
        """Hex SHA-256 of the spec in canonical JSON, later settings at their default left out."""
        return hashlib.sha256(canonical(self.as_dict()).encode()).hexdigest()

    @property
    def cohort_key(self) -> tuple[object, ...]:
        """Runs with equal keys have tensors of the same shapes and train as one stacked model."""
        return (self.data, self.model, self.training, self.positions.kind == LEARNED)


_LATER = {"data": DataSpec, "model": ModelSpec, "training": TrainingSpec, "table": TableSpec}


def canonical(spec: Mapping[str, Any]) -> str:
    """A spec's (or a record's) dict as canonical JSON, later settings at their default left out."""
    plain = {name: dict(part) if isinstance(part, Mapping) else part for name, part in spec.items()}
    for name, kind in _LATER.items():
        part = plain.get(name) or {}
        for one in dataclasses.fields(kind):
            if one.metadata.get("later") and part.get(one.name) == one.default:
                part.pop(one.name, None)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Experiment:
    """A task x source x settings, in which arms are compared over ``seeds`` replicates.

    ``role`` is what the task stands for in the paper (``translation``, ``sentiment``,
    ``inference``, ``analogies``); ``margin`` is the registered margin of ``metric``, from the noise
    of the arm ``baseline``.
    """

    name: str
    role: str
    source: str
    source_label: str
    data: DataSpec
    model: ModelSpec | None
    training: Training | None
    metric: str
    unit: str
    seeds: int
    margin: float
    positions: PositionSpec = field(default_factory=PositionSpec)
    trained: bool = True
    sigma: float | None = None
    baseline: str = "xavier"

    def run(self, init: str, seed: int) -> RunSpec:
        """The spec of one replicate of the arm ``init``; InputError for an unknown init."""
        entry = INITS[init]
        return RunSpec(
            data=self.data,
            model=self.model,
            training=self.training,
            table=TableSpec(
                init, self.source if entry.needs_source else None, self.trained, self.sigma
            ),
            positions=self.positions,
            seed=seed,
        )

    def label(self, init: str) -> str:
        """The arm's name as the paper writes it (``GloVe_Xavier``)."""
        return INITS[init].label.format(source=self.source_label)

    def changed(self, **changes: Any) -> Experiment:
        """The same in a setting that is not the paper's, where Figure 1's curve is not followed."""
        training = self.training
        if isinstance(training, TrainingSpec):
            training = replace(training, validation_bleu=False)
        return replace(self, **{"training": training, **changes})

    def without_positions(self) -> Experiment:
        """The same with nothing added to the embeddings."""
        return self.with_positions("none")

    def with_positions(self, kind: str) -> Experiment:
        """The same with another kind of positions (see ``positions.KINDS``)."""
        return self.changed(positions=replace(self.positions, kind=kind))

    def scaled(self, multiplier: str, pe_scale: str = "one") -> Experiment:
        """The same with another multiplier of the table and another scale of the PE."""
        return self.changed(
            positions=replace(self.positions, multiplier=multiplier, pe_scale=pe_scale)
        )

    def with_sigma(self, sigma: float) -> Experiment:
        """The same with every arm's table standardised to ``sigma``."""
        return self.changed(sigma=sigma)

    def with_model(self, **changes: Any) -> Experiment:
        """The same with another model (see ``ModelSpec``); a probe has none to change."""
        assert self.model is not None
        return self.changed(model=replace(self.model, **changes))

    def with_masking(self, **changes: Any) -> Experiment:
        """The same pre-trained otherwise (see ``MaskingSpec``)."""
        assert isinstance(self.training, TransferSpec)
        pretraining = replace(self.training.pretraining, **changes)
        return self.changed(training=replace(self.training, pretraining=pretraining))

    def for_times_the_epochs(self, times: int) -> Experiment:
        """The same trained ``times`` as long."""
        longer = self.changed()
        assert isinstance(longer.training, TrainingSpec)
        training = replace(longer.training, epochs=times * longer.training.epochs)
        return replace(longer, training=training)

    def frozen(self) -> Experiment:
        """The same with the embedding tables left as they start."""
        return self.changed(trained=False)

    def with_pretraining(self, **changes: Any) -> Experiment:
        """The same pre-trained otherwise (see ``PretrainingSpec``)."""
        assert isinstance(self.training, PretrainingSpec)
        return self.changed(training=replace(self.training, **changes))


@dataclass(frozen=True)
class Cohort:
    """Runs that are trained together as one stacked model."""

    runs: tuple[RunSpec, ...]

    def __post_init__(self) -> None:
        if len({run.cohort_key for run in self.runs}) != 1:
            raise InputError("a cohort's runs must share data, model and training settings")

    @property
    def digest(self) -> str:
        """Names the cohort: the same runs, in whatever order they were asked for."""
        joined = "".join(run.digest() for run in self.runs)
        return hashlib.sha256(joined.encode()).hexdigest()

    @property
    def cost(self) -> float:
        """Rough relative cost (tokens x parameters), to train the longest first."""
        return _cost(self.runs[0]) * len(self.runs)


def _cost(run: RunSpec) -> float:
    model, training = run.model, run.training
    if model is None or training is None or isinstance(training, PretrainingSpec):
        return 1.0
    width = float(model.layers * model.dim * (4 * model.dim + 2 * model.feed_forward))
    if isinstance(training, TrainingSpec):
        return width * training.epochs * (run.data.cut.train or 30_000)
    masking = training.pretraining
    outputs = model.table_width if model.coupled else model.output_width or model.dim
    guessing = masking.share * outputs * (run.data.most_words or 30_000)
    of_text = (width + guessing) * masking.epochs * (run.data.cut.train or 30_000)
    tuning = (task.training.epochs * (task.data.cut.train or 30_000) for task in training.tasks)
    return of_text + width * sum(tuning)


MOST_RUNS = 16
"""How many runs a cohort has at most, where nothing else limits it."""

FEW_ARMS = 4
"""Below this, a seed's runs gain more from joining other seeds' than from their own masks."""


def plan(
    runs: Iterable[RunSpec], most: Callable[[RunSpec], int] = lambda _: MOST_RUNS
) -> list[Cohort]:
    """Group ``runs`` into cohorts, costliest first; ``most`` says how many of a run's kind fit.

    A cohort prefers one seed and many arms, since arms of a seed share batches and dropout
    masks; seeds with a few arms each join up. The result is a function of the set of runs alone,
    so that every worker finds the same cohorts without talking to the others.
    """
    groups: dict[tuple[object, ...], dict[int, list[RunSpec]]] = {}
    for run in sorted(set(runs), key=lambda run: (run.seed, run.digest())):
        groups.setdefault(run.cohort_key, {}).setdefault(run.seed, []).append(run)
    cohorts: list[Cohort] = []
    for seeds in groups.values():
        few = [run for group in seeds.values() if len(group) < FEW_ARMS for run in group]
        many = [group for group in seeds.values() if len(group) >= FEW_ARMS]
        for group in (*many, few):
            if group:
                cohorts += map(Cohort, _even_parts(group, most(group[0])))
    return sorted(cohorts, key=lambda cohort: (-cohort.cost, cohort.digest))


def _even_parts(runs: Sequence[RunSpec], most: int) -> list[tuple[RunSpec, ...]]:
    """Cut into the fewest parts of at most ``most``, as even as can be."""
    parts = -(-len(runs) // most)
    bounds = [round(part * len(runs) / parts) for part in range(parts + 1)]
    return [tuple(runs[low:high]) for low, high in itertools.pairwise(bounds)]
