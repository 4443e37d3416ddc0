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
from dataclasses import dataclass
from functools import cache

from embinit.claims.comparisons import Quantity, trend
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import task_accuracy, task_transfer
from embinit.lab.specs import (
    Cut,
    DataSpec,
    ModelSpec,
    PositionSpec,
    PretrainingSpec,
    TrainingSpec,
)
from embinit_papers.chung2021 import setting as chung2021
from embinit_papers.chung2021.setting import USUAL, Task
from embinit_papers.settings import DATA_DRAWS


@dataclass(frozen=True, kw_only=True)
class Setting(chung2021.Setting):
    """The setting of a tier, with what the studies vary."""

    widths: tuple[int, ...]  # that trends run over; the model's own is one of them
    source_label: str
    source_width: int
    transferring: tuple[str, ...]  # the roles of tasks that have a test in the other language


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
        model=ModelSpec(64, 2, 2, 128, 0.0, norm_after_sum=True, activation="gelu"),
        pretraining=PretrainingSpec(batch_size=24, epochs=2, lr=2e-3, share=0.3),
        tasks=(
            Task("sentiment", "micro-sentiment-across", 1000, TrainingSpec(16, 3, 1e-3)),
            Task(
                "inference",
                "micro-inference-across",
                400,
                TrainingSpec(16, 6, 1e-3, schedule="linear"),
            ),
        ),
        transferring=("sentiment", "inference"),
        probes=(("micro-sentiment-across", 800), ("micro-verb", None)),
        removed=(),
        times=4,
        # A twentieth of what fine-tuning teaches above guessing in the other language, where it
        # teaches least (26 points), rounded up to half a point.
        margin=1.5,
        further=(),
        widths=(8, 32, 64, 256),
        source="micro-glove",
        source_label="GloVe",
        source_width=64,
        seeds=3,
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
        model=ModelSpec(768, 12, 12, 3072, 0.1, norm_after_sum=True, activation="gelu"),
        pretraining=PretrainingSpec(batch_size=256, epochs=4, lr=2e-4, precision="bf16-mixed"),
        tasks=(
            Task("sentiment", "sst2", None, _PAPER_TUNING),
            Task("inference", "xnli", None, _PAPER_TUNING),
        ),
        transferring=("inference",),
        probes=(("sst2", 20_000), ("xnli", 20_000)),
        removed=(),
        times=1,
        margin=1.0,
        further=(),
        widths=(128, 384, 768, 3072),
        source="mt5",
        source_label="mT5",
        source_width=768,
        seeds=3,
        says="English and German Wikipedia and models of BERT-base's size, fine-tuned on XNLI's "
        "English and on SST-2.",
    ),
}


@cache
def experiments(tier: str) -> tuple[ModelExperiment, ...]:
    """The tier's experiments, one for each task that the encoder is fine-tuned on."""
    setting = SETTINGS[tier]
    return tuple(
        ModelExperiment(
            name=f"{setting.text.task}-{role}",
            tier=tier,
            role=role,
            source=setting.source,
            source_label=setting.source_label,
            data=setting.text,
            model=setting.model,
            training=setting.transfer,
            metric=task_accuracy(role),
            seeds=setting.seeds,
            most_seeds=setting.most_seeds,
            margin=setting.margin,
            positions=PositionSpec("learned", "one"),
            baseline=USUAL,
            data_draws=DATA_DRAWS.get(tier),
        )
        for role in setting.roles
    )


LAYER_MARGIN = 1.0
"""The margin of what is measured of layers before fine-tuning: one answer in a hundred."""


def transferring(tier: str) -> list[ModelExperiment]:
    """The experiments whose task has a test in the other language."""
    able = SETTINGS[tier].transferring
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
    if arms.role not in SETTINGS[arms.tier].transferring:
        raise InputError(f"{arms.name} has no test in the other language")
    return arms[USUAL].measured_by(task_transfer(arms.role), keep_margin=True)


def before_fine_tuning(measure: str) -> Measured:
    """A function that gives a measure of the usual arm's layers."""
    return lambda arms: arms[USUAL].measured_by(measure).with_margin(LAYER_MARGIN)


def own_or(experiment: ModelExperiment, width: int) -> int | None:
    """``width``, or None if it is the model's own, so that the usual arm stays the same run."""
    assert experiment.model is not None
    return None if width == experiment.model.dim else width


def over_output_widths(arms: ModelExperiment, of: Measured = accuracy) -> Quantity:
    """The trend of a quantity over E_out, the width of the output table."""
    return trend(
        [
            (width, of(arms.with_model(f"E_out {width}", output_width=own_or(arms, width))))
            for width in SETTINGS[arms.tier].widths
        ],
        "E_out",
    )
