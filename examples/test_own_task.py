"""A task of your own, a measure of your own, and an experiment from nothing.

Run it by ``pytest examples/test_own_task.py``.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from embinit.claims import Family, claim
from embinit.lab.data.tasks import TASKS, Example, Splits
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, TrainingSpec
from embinit.runs.measures import MEASURES, Measure

COLOURS = ("red", "green", "blue", "grey")


@dataclass(frozen=True)
class FirstColour:
    """Which of two colours comes first? Order decides, so positions are needed."""

    name: str = "first-colour"
    kind: str = "classification"
    classes: int = 2
    reports_test: bool = False
    languages: Mapping[str, str] = field(default_factory=lambda: {"encoder": "en"})

    def fingerprint(self, data_dir):
        """Changes when the text does; it is part of a run's key in the store."""
        return "first-colour/1"

    def load(self, data_dir, cut):
        """The three splits; ``cut.train`` is how many examples to train on."""
        train, rest = self._examples(cut.train or 600, 1), self._examples(200, 2)
        return Splits(train, rest, rest)

    def _examples(self, count, seed):
        draw = random.Random(seed)
        pairs = [draw.sample(COLOURS, 2) for _ in range(count)]
        return [
            Example(f"the {first} and the {second}", label=int(first < second))
            for first, second in pairs
        ]


TASKS.register("first-colour", FirstColour())


def _recall(result):
    """Recall of label 1 in percent, from what the run put out at its best epoch."""
    pairs = zip(result.outputs, result.references, strict=True)
    right = [out == "1" for out, want in pairs if want == "1"]
    return 100 * sum(right) / len(right) if right else None


RECALL = MEASURES.register(
    "recall", Measure("recall", "% recall", "recall of label 1", better="up", read=_recall)
)

OWN = Family("example/task", {"micro": 2}, says="Order needs positions")


def experiments(tier):
    """One experiment: the task, the model, the training, and how it is judged."""
    if tier != "micro":
        return []
    return [
        ModelExperiment(
            name="first-colour",
            tier="micro",
            role="order",
            source="",
            source_label="",
            data=DataSpec("first-colour", ("whitespace",), Cut(train=600), min_freq=1),
            model=ModelSpec(dim=32, heads=2, layers=1, feed_forward=64),
            training=TrainingSpec(batch_size=32, epochs=2, lr=3e-3),
            metric=MEASURES["accuracy"],
            seeds=5,
            margin=5.0,
        )
    ]


@claim(
    "example/task/order-needs-positions",
    says="Without positions the order of two words cannot be told",
    family=OWN,
    experiments=experiments,
)
def test_order_needs_positions(experiment):
    assert experiment["xavier"] > experiment.without_positions()["xavier"]


@claim(
    "example/task/recall-above-half",
    says="With positions more than half of label 1 is found",
    family=OWN,
    experiments=experiments,
)
def test_recall_is_above_half(experiment):
    assert experiment["xavier"].measured_by(RECALL) > 50
