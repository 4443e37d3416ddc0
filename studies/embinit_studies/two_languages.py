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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from embinit.claims.comparisons import Quantity, trend
from embinit.lab.data.microcosm.draws import REGISTERING
from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import task_accuracy, task_transfer
from embinit.lab.specs import ModelSpec, TrainingSpec
from embinit_papers.chung2021 import setting as chung2021
from embinit_papers.chung2021.setting import USUAL, Task
from embinit_papers.kim2024 import Query
from embinit_papers.settings import DATA_DRAWS


@dataclass(frozen=True, kw_only=True)
class Setting(chung2021.Setting):
    """The setting of a tier, with what the studies vary."""

    widths: tuple[int, ...]  # that trends run over; the model's own is one of them
    source_label: str
    source_width: int


_MICRO, _PAPER = chung2021.SETTINGS["micro"], chung2021.SETTINGS["paper"]
_TUNING = TrainingSpec(32, 3, 2e-5, precision="bf16-mixed")

SETTINGS = {
    "micro": Setting(
        text=_MICRO.text,
        model=ModelSpec(64, 2, 2, 128, 0.0, norm_after_sum=True, activation="gelu"),
        pretraining=_MICRO.pretraining,
        tasks=(
            Task("sentiment", "micro-sentiment-across", 1000, TrainingSpec(16, 3, 1e-3)),
            *_MICRO.tasks,
        ),
        probes=(("micro-sentiment-across", 800), ("micro-verb", None)),
        times=4,
        # A twentieth of what fine-tuning teaches above guessing in the other language, where it
        # teaches least (26 points), rounded up to half a point.
        margin=1.5,
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
        text=replace(_PAPER.text, most_words=100_000),
        model=replace(_PAPER.model, dropout=0.1),
        pretraining=_PAPER.pretraining,
        tasks=(
            Task("sentiment", "sst2", None, _TUNING),
            Task("inference", "xnli", None, _TUNING),
        ),
        probes=(("sst2", 20_000), ("xnli", 20_000)),
        times=1,
        margin=1.0,
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
def experiments(tier: str) -> Sequence[ModelExperiment]:
    """The tier's experiments, one for each task that the encoder is fine-tuned on."""
    if tier not in SETTINGS:
        return ()
    setting = SETTINGS[tier]
    return tuple(
        replace(
            setting.experiment(tier, role),
            source_label=setting.source_label,
            metric=task_accuracy(role),
            data_draws=DATA_DRAWS.get(tier),
            registering_draws=REGISTERING,
        )
        for role in setting.roles
    )


def first_experiment(tier: str) -> Sequence[ModelExperiment]:
    """The first experiment, for claims on the encoder before fine-tuning, which all share."""
    return experiments(tier)[:1]


def inference(tier: str) -> Sequence[ModelExperiment]:
    """The experiment on inference, which has a test in the other language on every tier."""
    return [setting for setting in experiments(tier) if setting.role == "inference"]


def from_vectors(tier: str) -> Sequence[ModelExperiment]:
    """The experiments with an input table as wide as the source's vectors."""
    return [
        setting.with_model(input_width=_own_or(setting, SETTINGS[tier].source_width))
        for setting in experiments(tier)
    ]


def resolved(query: Query) -> Query:
    """A query without ``micro``'s inference, where 20 draws resolve 2.1 points at best."""
    return lambda tier: [
        setting for setting in query(tier) if (tier, setting.role) != ("micro", "inference")
    ]


def wider(arms: ModelExperiment) -> ModelExperiment:
    """The same arms in a model twice as wide, in tables, heads and feed-forward layers."""
    model = arms.model
    assert model is not None
    return arms.with_model(
        "twice as wide",
        dim=2 * model.dim,
        heads=2 * model.heads,
        feed_forward=2 * model.feed_forward,
    )


LAYER_MARGIN = 1.0
"""The margin of what is measured of layers before fine-tuning: one answer in a hundred."""

Measured = Callable[[ModelExperiment], Quantity]
"""A function that gives a quantity of an experiment's usual arm."""


def accuracy(arms: ModelExperiment) -> Quantity:
    """The usual arm's accuracy on the task that it was fine-tuned on, in percent."""
    return arms[USUAL]


def transfer(arms: ModelExperiment) -> Quantity:
    """The usual arm's accuracy in the other language, in percent.

    The arm was fine-tuned in the first language alone.
    """
    return arms[USUAL].measured_by(task_transfer(arms.role), keep_margin=True)


def before_fine_tuning(measure: str) -> Measured:
    """A function that gives a measure of the usual arm's layers."""
    return lambda arms: arms[USUAL].measured_by(measure).with_margin(LAYER_MARGIN)


def over_output_widths(arms: ModelExperiment, of: Measured = accuracy) -> Quantity:
    """The trend of a quantity over E_out, the width of the output table."""
    return _over_widths(arms, "E_out", "output_width", of)


def over_input_widths(arms: ModelExperiment) -> Quantity:
    """The trend of the accuracy over E_in, the width of the input table."""
    return _over_widths(arms, "E_in", "input_width", accuracy)


def _over_widths(arms: ModelExperiment, name: str, field: str, of: Measured) -> Quantity:
    changed = {
        width: arms.with_model(f"{name} {width}", **{field: _own_or(arms, width)})
        for width in SETTINGS[arms.tier].widths
    }
    return trend([(width, of(other)) for width, other in changed.items()], name)


def _own_or(arms: ModelExperiment, width: int) -> int | None:
    """``width``, or None if it is the model's own, so that the usual arm stays the same run."""
    assert arms.model is not None
    return None if width == arms.model.dim else width
