"""A setting for questions about two embedding tables, in which the studies ask them.

An experiment is a task that a pre-trained encoder is fine-tuned on. Its usual arm is decoupled:
input and output table are two, each as wide as the model. All of a tier's experiments share their
runs, since one pre-training is fine-tuned on every task.

- ``micro``: 7,500 texts of two related synthetic languages, models 64 wide with 2 layers;
  fine-tuned on the made opinion and inference tasks in one language, tested in the other.
- ``paper``: English and German Wikipedia through ``datasets``, BERT-base's sizes, fine-tuned on
  XNLI's English and tested on its German, and on SST-2; for a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

from embinit.claims.comparisons import Quantity, trend
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import task_accuracy, task_transfer
from embinit.lab.specs import (
    Cut,
    DataSpec,
    DownstreamSpec,
    ModelSpec,
    PositionSpec,
    PretrainingSpec,
    TrainingSpec,
    TransferSpec,
)
from embinit_papers.settings import DATA_DRAWS

USUAL = "normal"
"""The init of all arms that don't compare inits: BERT's and RemBERT's."""


MARGIN = 1.5
"""The margin of accuracies on the synthetic language, in points.

A twentieth of what fine-tuning teaches above guessing in the other language, where it teaches least
(26 points), rounded up to half a point.
"""

LAYER_MARGIN = 1.0
"""The margin of what is measured of layers before fine-tuning: one answer in a hundred."""


@dataclass(frozen=True)
class Task:
    """A fine-tuning task of a tier."""

    role: str  # what it represents (``sentiment``, ``inference``)
    data: str
    train: int | None  # training examples that are kept; None keeps all
    training: TrainingSpec
    margin: float  # of its accuracy in either language, in percent
    transfers: bool = False  # whether it has a test in the other language
    times: int = 1  # how often each encoder is fine-tuned


@dataclass(frozen=True)
class Setting:
    """The setting of a tier."""

    text: DataSpec  # that is pre-trained on
    tokenizer: str
    model: ModelSpec  # the usual arm's
    pretraining: PretrainingSpec
    tasks: tuple[Task, ...]
    probes: tuple[tuple[str, int | None], ...]  # tasks with their numbers of training examples
    widths: tuple[int, ...]  # that trends run over; the model's own is one of them
    source: str
    source_label: str
    source_width: int
    seeds: int = 3  # of an arm at the first analysis
    most_seeds: int | None = None  # at the last; None means that there is no other
    says: str = ""  # what its data and its tables are, for people


_PAPER_TUNING = TrainingSpec(32, 3, 2e-5, precision="bf16-mixed")

SETTINGS = {
    "micro": Setting(
        text=DataSpec(
            "micro-two-languages",
            ("whitespace", "whitespace"),
            Cut(train=7_500),
            min_freq=1,
            max_length=32,
            most_words=700,
        ),
        tokenizer="whitespace",
        model=ModelSpec(64, 2, 2, 128, 0.0, norm_after_sum=True, activation="gelu"),
        # docs/noise-floor.md says how these were chosen.
        pretraining=PretrainingSpec(batch_size=24, epochs=2, lr=2e-3, share=0.3),
        tasks=(
            Task(
                "sentiment",
                "micro-sentiment-across",
                1000,
                TrainingSpec(16, 3, 1e-3),
                margin=MARGIN,
                transfers=True,
                times=4,
            ),
            Task(
                "inference",
                "micro-inference-across",
                400,
                TrainingSpec(16, 6, 1e-3, schedule="linear"),
                margin=MARGIN,
                transfers=True,
                times=4,
            ),
        ),
        probes=(("micro-sentiment-across", 800), ("micro-verb", None)),
        widths=(8, 32, 64, 256),
        source="micro-glove",
        source_label="GloVe",
        source_width=64,
        most_seeds=20,
        says="7,500 texts of two related synthetic languages, which each seed draws anew with all "
        "tasks, and small models, fine-tuned on the tasks in one language and tested in the other.",
    ),
    "paper": Setting(
        text=DataSpec(
            "wikipedia-en-de",
            ("hf:mt5", "hf:mt5"),
            Cut(train=2_000_000, validation=800, test=1000),
            max_length=127,
            most_words=100_000,
        ),
        tokenizer="hf:mt5",
        model=ModelSpec(768, 12, 12, 3072, 0.1, norm_after_sum=True, activation="gelu"),
        pretraining=PretrainingSpec(batch_size=256, epochs=4, lr=2e-4, precision="bf16-mixed"),
        tasks=(
            Task("sentiment", "sst2", None, _PAPER_TUNING, 1.0),
            Task("inference", "xnli", None, _PAPER_TUNING, 1.0, True),
        ),
        probes=(("sst2", 20_000), ("xnli", 20_000)),
        widths=(128, 384, 768, 3072),
        source="mt5",
        source_label="mT5",
        source_width=768,
        says="English and German Wikipedia and models of BERT-base's size, fine-tuned on XNLI's "
        "English and on SST-2.",
    ),
}


@cache
def experiments(tier: str) -> tuple[ModelExperiment, ...]:
    """The tier's experiments, one for each task that the encoder is fine-tuned on."""
    setting = SETTINGS[tier]

    def labelled(name: str, train: int | None) -> DataSpec:
        return DataSpec(
            name,
            (setting.tokenizer,),
            Cut(train=train),
            min_freq=setting.text.min_freq,
            max_length=setting.text.max_length,
            vocabulary=setting.text,
        )

    transfer = TransferSpec(
        setting.pretraining,
        tuple(
            DownstreamSpec(task.role, labelled(task.data, task.train), task.training, task.times)
            for task in setting.tasks
        ),
        tuple(labelled(*probe) for probe in setting.probes),
    )
    return tuple(
        ModelExperiment(
            name=f"{setting.text.task}-{task.role}",
            tier=tier,
            role=task.role,
            source=setting.source,
            source_label=setting.source_label,
            data=setting.text,
            model=setting.model,
            training=transfer,
            metric=task_accuracy(task.role),
            seeds=setting.seeds,
            most_seeds=setting.most_seeds,
            margin=task.margin,
            positions=PositionSpec("learned", "one"),
            baseline=USUAL,
            data_draws=DATA_DRAWS.get(tier),
        )
        for task in setting.tasks
    )


LAYER_MEASURES = ("probe_last", "probe_drop", "retrieval_last", "retrieval_drop")
"""Measures of an encoder's layers before fine-tuning, which claims are about."""


def transferring(tier: str) -> list[ModelExperiment]:
    """The experiments whose task has a test in the other language."""
    able = {task.role for task in SETTINGS[tier].tasks if task.transfers}
    return [experiment for experiment in experiments(tier) if experiment.role in able]


def first_experiment(tier: str) -> list[ModelExperiment]:
    """The first experiment, for claims on the encoder before fine-tuning, which all share."""
    return list(experiments(tier)[:1])


Measured = Callable[[ModelExperiment], Quantity]
"""A function that gives a quantity of an experiment's usual arm."""


def accuracy(arms: ModelExperiment) -> Quantity:
    """The usual arm's accuracy on the task that it was fine-tuned on, in percent."""
    return arms[USUAL]


def transfer(arms: ModelExperiment) -> Quantity:
    """The usual arm's accuracy in the other language, in percent; InputError without a test in it.

    The arm was fine-tuned in the first language alone.
    """
    role = arms.role
    [task] = [task for task in _setting_of(arms).tasks if task.role == role]
    if not task.transfers:
        raise InputError(f"{task.data} has no test in the other language")
    return arms[USUAL].measured_by(task_transfer(role), keep_margin=True)


def before_fine_tuning(measure: str) -> Measured:
    """A function that gives a measure of the usual arm's encoder, with ``LAYER_MARGIN``."""
    return lambda arms: (
        arms[USUAL]
        .measured_by(measure)
        .with_margin(LAYER_MARGIN if measure in LAYER_MEASURES else 0.0)
    )


def _setting_of(arms: ModelExperiment) -> Setting:
    return SETTINGS[arms.tier]


def coupled(arms: ModelExperiment) -> ModelExperiment:
    """The same arms with one table for input and output."""
    return arms.with_model("coupled", coupled=True)


def with_output_width(arms: ModelExperiment, width: int) -> ModelExperiment:
    """The same arms with an output table ``width`` wide."""
    return arms.with_model(f"E_out {width}", output_width=own_or(arms, width))


def own_or(experiment: ModelExperiment, width: int) -> int | None:
    """``width``, or None if it is the model's own, so that the usual arm stays the same run."""
    return None if width == _model(experiment).dim else width


def _model(experiment: ModelExperiment) -> ModelSpec:
    assert experiment.model is not None
    return experiment.model


def pretrained_for(arms: ModelExperiment, epochs: int) -> ModelExperiment:
    """The same arms pre-trained for another number of epochs."""
    label = f"{epochs} epoch{'' if epochs == 1 else 's'} of pre-training"
    pretraining = replace(cast(TransferSpec, arms.training).pretraining, epochs=epochs)
    return arms.with_training(label, pretraining=pretraining)


def over_output_widths(arms: ModelExperiment, of: Measured = accuracy) -> Quantity:
    """The trend of a quantity over E_out, the width of the output table."""
    widths = _setting_of(arms).widths
    return trend([(width, of(with_output_width(arms, width))) for width in widths], "E_out")
