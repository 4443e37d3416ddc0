"""SICK's entailment as a task of its own: does a wide table cost there, too?

With ``--embinit-data-dir`` the pairs are those of the real file, ``sick/SICK.txt`` in that folder;
without it they are made.
"""

import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass, field

from made import sick_text

from embinit import MEASURES, Family, InputError, Verdict, claim
from embinit.lab.data.tasks import TASKS, Example, Splits
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, TrainingSpec

LABELS = {"ENTAILMENT": 0, "NEUTRAL": 1, "CONTRADICTION": 2}


@dataclass(frozen=True)
class Sick:
    """Three labels of a pair of sentences."""

    name: str = "sick"
    kind: str = "classification"
    classes: int = len(LABELS)
    reports_test: bool = True
    languages: Mapping[str, str] = field(default_factory=lambda: {"encoder": "en"})

    def text(self, data_dir):
        if data_dir is None:
            return sick_text()
        path = data_dir / "sick" / "SICK.txt"
        if not path.is_file():
            raise InputError(f"{path} doesn't exist; put SICK's file there")
        return path.read_text(encoding="utf-8")

    def fingerprint(self, data_dir):
        """Changes when the text does; it is part of a run's key in the store."""
        return hashlib.sha256(self.text(data_dir).encode()).hexdigest()

    def load(self, data_dir, cut):
        rows = csv.DictReader(
            io.StringIO(self.text(data_dir)), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        splits = {"TRAIN": [], "TRIAL": [], "TEST": []}
        for row in rows:
            first, second = row["sentence_A"].lower(), row["sentence_B"].lower()
            label = LABELS[row["entailment_label"]]
            splits[row["SemEval_set"]].append(Example(first, second, label=label))
        train, trial, test = splits.values()
        return Splits(train[: cut.train], trial[: cut.validation], test[: cut.test])


TASKS.register("sick", Sick())

SICK = Family("sick/inits", size=1, says="Findings on SICK's entailment", origin="ours")


def entailment(tier):
    return [
        ModelExperiment(
            name="entailment",
            tier=tier,
            role="inference",
            source="",
            source_label="",
            data=DataSpec("sick", ("whitespace",), Cut(), min_freq=1),
            model=ModelSpec(dim=32, heads=2, layers=1, feed_forward=64, dropout=0.0),
            training=TrainingSpec(batch_size=32, epochs=3, lr=2e-3),
            metric=MEASURES["accuracy"],
            seeds=5,
            most_seeds=10,
            margin=3.0,
        )
    ]


@claim(
    "sick/inits/wide-below-xavier",
    says="A table at a sigma of 1 fares worse than Xavier's",
    where="after Kim et al. 2024, finding 1",
    family=SICK,
    experiments=entailment,
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.with_sigma(1.0)["xavier"] < experiment["xavier"]


@claim(
    "sick/inits/control-falsehood",
    says="Control: a thousandth of the rate fares better",
    where="control",
    family=SICK,
    experiments=entailment,
    expects=Verdict.REFUTED,
)
def test_hardly_any_training_fares_better(experiment):
    assert experiment.with_training("at 2e-6", lr=2e-6)["xavier"] > experiment["xavier"]
