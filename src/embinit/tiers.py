"""Tiers: the same claims at three sizes, and the margins they are judged by.

- ``micro``: the made language, no downloads, minutes on a CPU; its tables are embinit's own.
- ``sample``: real text and real vectors from the data directory, cut to what two CPU cores can
  train: SST-2 to 4,000 training phrases and the whole validation split, 4 epochs at 5e-4, 1 layer;
  Multi30k to 3,000 training pairs, 300 for validation and 300 for test, 8 epochs at 5e-4, 1 + 1
  layers. Widths are the vectors' own. English vectors go to the English side, the encoder.
- ``paper``: the paper's setting (A.2, Table 5), for a GPU.

Margins stand here, before any run that they judge. They are twice the standard deviation of the
baseline arm over seeds that no claim uses, rounded up to half a unit
(``benchmarks/noise_floor.py``); for ``sample`` and ``paper`` they are twice the largest Xavier
standard deviation that the paper's Table 1 prints for the task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.errors import InputError
from embinit.experiments import (
    DataSpec,
    Experiment,
    ModelSpec,
    PositionSpec,
    TrainingSpec,
)
from embinit.init import INITS
from embinit.tasks import Cut

SOURCES = ("glove", "bert", "t5")
"""The paper's three families of tables; a tier says which real source plays each."""

LABELS = {"glove": "GloVe", "bert": "BERT", "t5": "T5"}


@dataclass(frozen=True)
class TaskSetting:
    """One task of a tier: its data, model and training but for the width, which is a source's."""

    role: str
    task: str
    metric: str
    unit: str
    margin: float
    cut: Cut
    layers: int
    feed_forward: int
    batch_size: int
    epochs: int
    lr: float
    sides: int = 1
    min_freq: int = 2
    max_length: int = 64
    precision: str = "float32"


@dataclass(frozen=True)
class SourceSetting:
    """Which source plays a family's part, its width, heads and tokenizer."""

    family: str
    source: str
    label: str
    dim: int
    heads: int
    tokenizer: str


@dataclass(frozen=True)
class Tier:
    """A size at which claims are tested."""

    name: str
    seeds: int
    tasks: tuple[TaskSetting, ...]
    sources: tuple[SourceSetting, ...]
    default_tokenizer: str


MICRO = Tier(
    name="micro",
    seeds=5,
    default_tokenizer="whitespace",
    tasks=(
        TaskSetting(
            role="translation",
            task="micro-translation",
            metric="bleu",
            unit="BLEU",
            margin=10.5,
            cut=Cut(),
            layers=2,
            feed_forward=128,
            batch_size=64,
            epochs=17,
            lr=1e-3,
            sides=2,
            min_freq=1,
        ),
        TaskSetting(
            role="sentiment",
            task="micro-sentiment",
            metric="accuracy",
            unit="% accuracy",
            margin=6.0,
            cut=Cut(),
            layers=2,
            feed_forward=128,
            batch_size=64,
            epochs=12,
            lr=1e-3,
            min_freq=1,
        ),
        TaskSetting(
            role="inference",
            task="micro-inference",
            metric="accuracy",
            unit="% accuracy",
            margin=7.5,
            cut=Cut(),
            layers=2,
            feed_forward=128,
            batch_size=64,
            epochs=12,
            lr=1e-3,
            min_freq=1,
        ),
    ),
    sources=tuple(
        SourceSetting(family, f"micro-{family}", LABELS[family], 64, 2, "whitespace")
        for family in SOURCES
    ),
)

_REAL_SST2 = TaskSetting(
    role="sentiment",
    task="sst2",
    metric="accuracy",
    unit="% accuracy",
    margin=2.0,
    cut=Cut(train=4000),
    layers=1,
    feed_forward=512,
    batch_size=128,
    epochs=4,
    lr=5e-4,
    precision="bfloat16",
)
_REAL_MULTI30K = TaskSetting(
    role="translation",
    task="multi30k-en-de",
    metric="bleu",
    unit="BLEU",
    margin=1.5,
    cut=Cut(train=3000, validation=300, test=300),
    layers=1,
    feed_forward=512,
    batch_size=64,
    epochs=8,
    lr=5e-4,
    precision="bfloat16",
    sides=2,
    max_length=40,
)

SAMPLE = Tier(
    name="sample",
    seeds=5,
    default_tokenizer="spacy",
    tasks=(_REAL_SST2, _REAL_MULTI30K),
    sources=(
        SourceSetting("glove", "glove", "GloVe", 300, 10, "spacy"),
        SourceSetting("bert", "minilm", "MiniLM", 384, 8, "hf"),
    ),
)

PAPER = Tier(
    name="paper",
    seeds=5,
    default_tokenizer="spacy",
    tasks=(
        TaskSetting(
            role="sentiment",
            task="sst2",
            metric="accuracy",
            unit="% accuracy",
            margin=2.0,
            cut=Cut(),
            layers=3,
            feed_forward=512,
            batch_size=128,
            epochs=5,
            lr=1e-4,
        ),
        TaskSetting(
            role="translation",
            task="multi30k-en-de",
            metric="bleu",
            unit="BLEU",
            margin=1.5,
            cut=Cut(),
            layers=3,
            feed_forward=512,
            batch_size=64,
            epochs=20,
            lr=2e-4,
            sides=2,
            max_length=64,
        ),
    ),
    sources=(
        SourceSetting("glove", "glove", "GloVe", 300, 10, "spacy"),
        SourceSetting("bert", "minilm", "MiniLM", 384, 8, "hf"),
    ),
)

TIERS = {tier.name: tier for tier in (MICRO, SAMPLE, PAPER)}


def tier(name: str) -> Tier:
    """The tier called ``name``; InputError for an unknown one."""
    try:
        return TIERS[name]
    except KeyError:
        raise InputError(f"unknown tier {name!r}: known are {', '.join(TIERS)}") from None


def arm_label(spec: Mapping[str, Any]) -> str:
    """A run's arm as the paper writes it (``GloVe_Xavier``), from its stored spec."""
    table = spec["table"]
    labels = {one.source: one.label for found in TIERS.values() for one in found.sources}
    name = table["source"]
    return INITS[table["init"]].label.format(source=labels.get(name, name))


def experiments(
    name: str,
    sources: Sequence[str] = SOURCES,
    roles: Sequence[str] = ("translation", "sentiment", "inference"),
) -> list[Experiment]:
    """The tier's experiments: each of its tasks with each of the families it has a source for."""
    found = tier(name)
    return [
        _experiment(found, setting, task)
        for setting in found.sources
        if setting.family in sources
        for task in found.tasks
        if task.role in roles
    ]


def _experiment(found: Tier, setting: SourceSetting, task: TaskSetting) -> Experiment:
    encoder = f"hf:{setting.source}" if setting.tokenizer == "hf" else setting.tokenizer
    tokenizers = (encoder, found.default_tokenizer)[: task.sides]
    return Experiment(
        name=f"{setting.family}-{task.task}",
        role=task.role,
        source=setting.source,
        source_label=setting.label,
        data=DataSpec(task.task, tokenizers, task.cut, task.min_freq, task.max_length),
        model=ModelSpec(setting.dim, setting.heads, task.layers, task.feed_forward),
        training=TrainingSpec(task.batch_size, task.epochs, task.lr, precision=task.precision),
        metric=task.metric,
        unit=task.unit,
        seeds=found.seeds,
        margin=task.margin,
    )


PROBE_MARGIN = 2.5
"""In percent: twice the standard deviation of 81 % right among 1,008 questions."""


def probes(name: str) -> list[Experiment]:
    """The tier's probes of what a table knows (``probing``); nothing is trained."""
    found = tier(name)
    task = "micro-neighbours" if found is MICRO else "analogies"
    return [
        Experiment(
            name=f"{setting.family}-{task}",
            role="analogies",
            source=setting.source,
            source_label=setting.label,
            data=DataSpec(task, (), Cut()),
            model=None,
            training=None,
            metric="accuracy",
            unit="% right",
            seeds=found.seeds,
            margin=PROBE_MARGIN,
            positions=PositionSpec(kind="none", multiplier="one"),
            trained=False,
        )
        for setting in found.sources
        if setting.family == "glove"
    ]
