"""The settings of the tiers: one experiment on the average over tasks, and one for each task.

``choosing.md`` says how the setting of ``micro`` was chosen. All experiments of a tier share their
runs, since one pre-training is fine-tuned on every task, whole and without its last layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from embinit.lab.data.microcosm.draws import PRETRAINING_CLAIMING, PRETRAINING_REGISTERING
from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import over_languages
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
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit_papers.settings import DATA_DRAWS

USUAL = "normal"
"""The init of all arms: BERT's and RemBERT's."""

AVERAGE = "average"
"""The role of the experiment on the mean over tasks, as the paper's column Avg."""


@dataclass(frozen=True)
class Task:
    """A fine-tuning task of a tier, which has a test in the other language."""

    role: str  # what it represents (``sentiment``, ``inference``)
    data: str
    train: int | None  # training examples that are kept; None keeps all
    training: TrainingSpec


@dataclass(frozen=True)
class Setting:
    """The setting of a tier."""

    text: DataSpec  # that is pre-trained on
    model: ModelSpec  # the usual arm's: decoupled, both tables as wide as the model
    pretraining: PretrainingSpec
    tasks: tuple[Task, ...]
    times: int  # how often each encoder is fine-tuned
    margin: float  # of accuracies, in points
    further: tuple[str, ...] = ()  # what is measured before fine-tuning besides probes
    probes: tuple[tuple[str, int | None], ...] = ()  # tasks with numbers of training examples
    removed: tuple[int, ...] = ()  # the last layers that the last task is fine-tuned without
    source: str = "micro-glove"
    seeds: int = 2  # of an arm at the first analysis
    most_seeds: int | None = None  # at the last; None means that there is no other
    draws: range | None = None
    found: tuple[str, ...] = ()  # the controls that trials found, or that are asked untried
    says: str = ""

    @property
    def roles(self) -> tuple[str, ...]:
        """The tasks' roles."""
        return tuple(task.role for task in self.tasks)

    @property
    def transfer(self) -> TransferSpec:
        """The procedure of all runs."""
        tasks = [
            DownstreamSpec(
                task.role, self.labelled(task.data, task.train), task.training, self.times
            )
            for task in self.tasks
        ]
        last = tasks[-1]
        tasks += [
            replace(last, role=without(last.role, layers), removed_layers=layers)
            for layers in self.removed
        ]
        probes = tuple(self.labelled(*probe) for probe in self.probes)
        return TransferSpec(self.pretraining, tuple(tasks), probes, further=self.further)

    def labelled(self, task: str, train: int | None) -> DataSpec:
        """A labelled task in the words of the pre-trained text."""
        return replace(
            self.text,
            task=task,
            tokenizers=self.text.tokenizers[:1],
            cut=Cut(train=train),
            vocabulary=self.text,
            most_words=None,
        )

    def experiment(self, tier: str, role: str) -> ModelExperiment:
        """The experiment on a task's accuracy over languages, or on the average over tasks."""
        return ModelExperiment(
            name=f"{self.text.task}-{role}",
            tier=tier,
            role=role,
            source=self.source,
            data=self.text,
            model=self.model,
            training=self.transfer,
            metric=average(self.roles) if role == AVERAGE else over_languages(role),
            seeds=self.seeds,
            most_seeds=self.most_seeds,
            margin=self.margin,
            positions=PositionSpec("learned", "one"),
            baseline=USUAL,
            data_draws=self.draws if tier in DATA_DRAWS else None,
            registering_draws=PRETRAINING_REGISTERING,
        )


def without(role: str, layers: int) -> str:
    """The role of a task that is fine-tuned without the last layers."""
    return f"{role}-{layers}"


def average(roles: Sequence[str]) -> Measure:
    """The mean of tasks' accuracies over both languages, as the paper's column Avg."""

    def read(result: RunResult) -> float | None:
        scores = [over_languages(role).of(result) for role in roles]
        known = [score for score in scores if score is not None]
        return sum(known) / len(known) if len(known) == len(scores) else None

    return Measure("average", "% accuracy", "accuracy, mean over tasks and languages", read=read)


SETTINGS = {
    # ``choosing.md`` says how it was chosen; heads are 8 wide.
    "micro": Setting(
        text=DataSpec(
            "micro-two-languages",
            ("whitespace", "whitespace"),
            Cut(train=7_500),
            min_freq=1,
            max_length=32,
            most_words=700,
        ),
        model=ModelSpec(48, 6, 2, 4 * 48, 0.0, norm_after_sum=True, activation="gelu"),
        pretraining=PretrainingSpec(batch_size=24, epochs=2, lr=2e-3, share=0.3),
        tasks=(
            Task(
                "inference",
                "micro-inference-across",
                400,
                TrainingSpec(16, 6, 1e-3, schedule="linear"),
            ),
        ),
        times=4,
        margin=1.5,
        further=("guesses",),
        seeds=3,
        most_seeds=len(PRETRAINING_CLAIMING),
        draws=PRETRAINING_CLAIMING,
        found=("fine-tuning", "masked words"),
        says="7,500 texts of two related synthetic languages in 700 words, drawn anew for each "
        "seed with all tasks; models of 2 layers, fine-tuned on inference in one language and "
        "tested in both.",
    ),
    # The paper's settings, with two of its 104 languages and one of its six tasks. It sweeps the
    # rate of fine-tuning, which is one here.
    "paper": Setting(
        text=DataSpec(
            "wikipedia-en-de",
            ("hf:mt5", "hf:mt5"),
            Cut(train=2_000_000, validation=800, test=1000),
            max_length=127,
            most_words=120_000,
        ),
        model=ModelSpec(768, 12, 12, 3072, 0.0, norm_after_sum=True, activation="gelu"),
        pretraining=PretrainingSpec(batch_size=256, epochs=4, lr=2e-4, precision="bf16-mixed"),
        tasks=(Task("inference", "xnli", None, TrainingSpec(32, 3, 2e-5, precision="bf16-mixed")),),
        probes=(("xnli", 20_000),),
        removed=(1, 2, 3, 4),
        times=3,
        margin=1.0,
        further=("guesses", "mixed-probes", "neighbours"),
        source="mt5",
        seeds=3,
        found=(
            "fine-tuning",
            "masked words",
            "width",
            "layers",
            "removal",
            "probes",
            "translations",
        ),
        says="English and German Wikipedia and models of BERT-base's size, fine-tuned on XNLI's "
        "English and tested on English and German.",
    ),
}


@cache
def experiments(tier: str) -> tuple[ModelExperiment, ...]:
    """The tier's experiments: the average over tasks first, then each task."""
    setting = SETTINGS[tier]
    return tuple(setting.experiment(tier, role) for role in (AVERAGE, *setting.roles))


def shown(control: str, tier: str) -> bool:
    """Whether a tier's setting can show what a control is for."""
    return control in SETTINGS[tier].found
