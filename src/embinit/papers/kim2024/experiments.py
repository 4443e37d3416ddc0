"""Tiers: the same claims at three sizes, and the margins they are judged by.

- ``micro``: the made language, no downloads, minutes on a CPU; its tables are embinit's own.
- ``sample``: real text and real vectors from the data directory, cut to what two CPU cores can
  train: SST-2 to 4,000 training phrases and the whole validation split, 3 epochs at 5e-4, 1 layer;
  Multi30k to 3,000 training pairs, 300 for validation and 300 for test, 4 epochs at 7e-4, 1 + 1
  layers; MNLI to 9,000 training pairs and 1,000 for validation, 3 epochs at 5e-4, 1 layer;
  IWSLT2017 to 5,000 training pairs, less those of over 30 tokens, 300 for validation and 300 for
  test, trained as Multi30k. Products are bfloat16. Batches are small, since that learns as much in
  fewer epochs. Widths are the vectors' own. English vectors go to the English side, the encoder;
  MiniLM plays BERT's part.
- ``paper``: the paper's twelve experiments (Tables 1 and 5, A.2), for a GPU.

Margins stand here, before any run that they judge; ``noise_floor`` says where they come from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.claims.experiments import Experiment
from embinit.errors import InputError
from embinit.specs import Cut, DataSpec, ModelSpec, PositionSpec, TablePretrainingSpec, TrainingSpec
from embinit.tables.inits import INITS

SOURCES = ("glove", "bert", "t5")
"""The paper's three families of tables; a tier says which real source plays each."""

_WORDS = ("whitespace", "whitespace")

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
    seeds: int = 5
    validation_bleu: bool = False


@dataclass(frozen=True)
class SourceSetting:
    """Which source plays a family's part, its width, heads and tokenizer."""

    family: str
    source: str
    label: str
    dim: int
    heads: int
    tokenizer: str
    decoder_tokenizer: str


@dataclass(frozen=True)
class Tier:
    """A size at which claims are tested: the settings of its experiments, a task and a source.

    ``says`` what its data and its tables are, for people.
    """

    name: str
    settings: tuple[tuple[TaskSetting, SourceSetting], ...]
    says: str = ""

    @property
    def seeds(self) -> int:
        """The most replicates that an arm has."""
        return max(task.seeds for task, _ in self.settings)


_MICRO_SENTIMENT = TaskSetting(
    role="sentiment",
    task="micro-sentiment",
    metric="accuracy",
    unit="% accuracy",
    margin=4.0,
    cut=Cut(),
    layers=1,
    feed_forward=128,
    batch_size=32,
    epochs=4,
    lr=3e-3,
    min_freq=1,
)
_MICRO_INFERENCE = replace(
    _MICRO_SENTIMENT, role="inference", task="micro-inference", margin=4.5, batch_size=24, lr=2e-3
)
_MICRO_TRANSLATION = replace(
    _MICRO_SENTIMENT,
    role="translation",
    task="micro-translation",
    metric="bleu",
    unit="BLEU",
    margin=8.0,
    epochs=5,
    sides=2,
    validation_bleu=True,
)

MICRO = Tier(
    "micro",
    tuple(
        (task, SourceSetting(family, f"micro-{family}", LABELS[family], 64, 2, *_WORDS))
        for family in SOURCES
        for task in (_MICRO_TRANSLATION, _MICRO_SENTIMENT, _MICRO_INFERENCE)
    ),
    says="a miniature: text of a language that code makes from a seed, with its translation into "
    "another, and small models. The tables called GloVe, BERT and T5 here are 64 wide and were "
    "trained on that text by those methods' objectives; they are not the published ones.",
)

_SAMPLE_SST2 = TaskSetting(
    role="sentiment",
    task="sst2",
    metric="accuracy",
    unit="% accuracy",
    margin=2.0,
    cut=Cut(train=4000),
    layers=1,
    feed_forward=512,
    batch_size=64,
    epochs=3,
    lr=5e-4,
    precision="bfloat16",
)
_SAMPLE_MULTI30K = TaskSetting(
    role="translation",
    task="multi30k-en-de",
    metric="bleu",
    unit="BLEU",
    margin=2.0,
    cut=Cut(train=3000, validation=300, test=300),
    layers=1,
    feed_forward=512,
    batch_size=16,
    epochs=4,
    lr=7e-4,
    precision="bfloat16",
    sides=2,
    max_length=40,
)

SAMPLE = Tier(
    "sample",
    tuple(
        (task, source)
        for source in (
            SourceSetting("glove", "glove", "GloVe", 300, 10, "spacy", "spacy"),
            SourceSetting("bert", "minilm", "MiniLM", 384, 8, "hf:minilm", "spacy"),
            SourceSetting("t5", "t5", "T5", 512, 8, "hf:t5", "spacy"),
        )
        for task in (
            _SAMPLE_SST2,
            _SAMPLE_MULTI30K,
            replace(
                _SAMPLE_SST2,
                role="inference",
                task="mnli",
                margin=4.0,
                cut=Cut(train=9000, validation=1000),
                batch_size=32,
                epochs=3,
            ),
            replace(
                _SAMPLE_MULTI30K,
                task="iwslt2017-en-de",
                margin=2.0,
                cut=Cut(train=5000, validation=300, test=300),
                max_length=30,
            ),
        )
    ),
    says="real data cut to what a CPU can train on, and small models: parts of SST-2, MNLI, and of "
    "Multi30k and IWSLT2017 from English to German; GloVe's published vectors (or a subset), and "
    "MiniLM's table in BERT's place.",
)


def _classification(task: str, role: str, margin: float, epochs: int, seeds: int) -> TaskSetting:
    return TaskSetting(
        role=role,
        task=task,
        metric="accuracy",
        unit="% accuracy",
        margin=margin,
        cut=Cut(),
        layers=3,
        feed_forward=512,
        batch_size=128,
        epochs=epochs,
        lr=1e-4,
        max_length=128,
        seeds=seeds,
    )


def _translation(task: str, margin: float, min_freq: int, batch_size: int) -> TaskSetting:
    return TaskSetting(
        role="translation",
        task=task,
        metric="bleu",
        unit="BLEU",
        margin=margin,
        cut=Cut(),
        layers=3,
        feed_forward=512,
        batch_size=batch_size,
        epochs=20,
        lr=2e-4,
        sides=2,
        min_freq=min_freq,
        max_length=128,
        seeds=4,
        validation_bleu=True,
    )


_ENGLISH = {
    "glove": SourceSetting("glove", "glove", "GloVe", 300, 10, "spacy", "spacy"),
    "bert": SourceSetting("bert", "bert", "BERT", 768, 8, "hf:bert", "hf:bert"),
    "t5": SourceSetting("t5", "t5", "T5", 512, 8, "hf:t5", "hf:t5"),
}
_BILINGUAL = {
    "glove": SourceSetting("glove", "glove-de-en", "GloVe", 300, 10, "spacy", "spacy"),
    "bert": SourceSetting("bert", "mbert", "mBERT", 768, 8, "hf:mbert", "hf:mbert"),
    "t5": SourceSetting("t5", "mt5", "mT5", 768, 8, "hf:mt5", "hf:mt5"),
}

# Table 5: MNLI's epochs and the batches of the translation tasks differ from source to source.
PAPER = Tier(
    "paper",
    tuple(
        setting
        for family, mnli_epochs, multi30k_batch, iwslt_batch in (
            ("glove", 9, 64, 128),
            ("bert", 10, 128, 128),
            ("t5", 10, 96, 112),
        )
        for setting in (
            (_classification("sst2", "sentiment", 2.0, 5, seeds=5), _ENGLISH[family]),
            (_classification("mnli", "inference", 4.0, mnli_epochs, seeds=3), _ENGLISH[family]),
            (_translation("multi30k-de-en", 1.5, 2, multi30k_batch), _BILINGUAL[family]),
            (_translation("iwslt2017-de-en", 2.0, 5, iwslt_batch), _BILINGUAL[family]),
        )
    ),
    says="the paper's own data, sizes and settings (its sections 4, A.1 and A.2).",
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
    labels = {one.source: one.label for found in TIERS.values() for _, one in found.settings}
    name = table["source"]
    return INITS[table["init"]].label.format(source=labels.get(name, name))


def experiments(
    name: str,
    sources: Sequence[str] = SOURCES,
    roles: Sequence[str] = ("translation", "sentiment", "inference"),
) -> list[Experiment]:
    """The tier's experiments: each of its tasks with each of the families it has a source for."""
    return [
        _experiment(task, source)
        for task, source in tier(name).settings
        if source.family in sources and task.role in roles
    ]


def _experiment(task: TaskSetting, source: SourceSetting) -> Experiment:
    tokenizers = (source.tokenizer, source.decoder_tokenizer)[: task.sides]
    return Experiment(
        name=f"{source.family}-{task.task}",
        role=task.role,
        source=source.source,
        source_label=source.label,
        data=DataSpec(task.task, tokenizers, task.cut, task.min_freq, task.max_length),
        model=ModelSpec(source.dim, source.heads, task.layers, task.feed_forward),
        training=TrainingSpec(
            task.batch_size,
            task.epochs,
            task.lr,
            precision=task.precision,
            validation_bleu=task.validation_bleu,
        ),
        metric=task.metric,
        unit=task.unit,
        seeds=task.seeds,
        margin=task.margin,
    )


PROBE_MARGIN = 2.5
"""In percent: twice the standard deviation of 81 % right among 1,008 questions."""


def probes(name: str) -> list[Experiment]:
    """The tier's word analogies of English GloVe (``runs.analogies``); nothing is trained."""
    found = tier(name)
    task = "micro-neighbours" if found is MICRO else "analogies"
    setting = found.settings[0][1]
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
            seeds=5,
            margin=PROBE_MARGIN,
            positions=PositionSpec(kind="none", multiplier="one"),
            trained=False,
        )
    ]


PRETRAINING_STEPS = 100
T5_RATE = 0.01 * (10_000 / PRETRAINING_STEPS) ** 0.5
"""The shipped T5's 10,000 steps at 0.01 in fewer, larger ones: steps x rate squared is the same.

Steps that are proportional to a table and at right angles to it widen it by exp(half of that).
"""

_PRETRAININGS = {
    "t5": TablePretrainingSpec(
        objective="span corruption",
        steps=PRETRAINING_STEPS,
        batch_size=16,
        rate=T5_RATE,
        optimizer="adafactor",
        start=1.0,
        relative=True,
    ),
    "bert": TablePretrainingSpec(
        objective="masked language model",
        steps=PRETRAINING_STEPS,
        batch_size=32,
        rate=2e-3,
        optimizer="adamw",
        start=0.02,
        relative=False,
    ),
}


def pretrainings(name: str) -> list[Experiment]:
    """How the tier's language models come by their tables; only the made ones are trained here."""
    if tier(name) is not MICRO:
        return []
    return [
        Experiment(
            name=f"{family}-micro-text",
            role="pretraining",
            source=f"micro-{family}",
            source_label=LABELS[family],
            data=DataSpec("micro-text", (), Cut(train=6000)),
            model=None,
            training=training,
            metric="sigma",
            unit="",
            seeds=5,
            margin=0.0,
        )
        for family, training in _PRETRAININGS.items()
    ]
