"""Where the second paper's spread over seeds is made on ``micro``: in pre-training or after it.

Encoders are pre-trained from reserved seeds, which no claim uses, by two arms alone: the usual one,
and the same that was not pre-trained. Each encoder is fine-tuned four times in each of several
ways, every time from another output layer and in another order. So the variance over seeds falls
into two parts, that of encoders and that of fine-tunings (an analysis of variance, one factor).
What pre-training gains, in standard deviations of the difference of two independent runs, is the
*effect*; a run's score is that of one fine-tuning, or the mean of four. No claim's own comparison
is looked at.

    python benchmarks/fine_tunings.py            every way, and the table
    python benchmarks/fine_tunings.py table      the table alone, from what was kept

What was trained is kept in ``benchmarks/results/fine-tunings.json``, and not trained again.
Seconds are CPU seconds of one fine-tuning, in a cohort of all seeds.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from embinit.claims.noise_floor import FIRST_SEED
from embinit.data.preparation import prepare
from embinit.papers.chung2021 import USUAL, experiments
from embinit.runs.kinds import kind_of
from embinit.runs.plan import Cohort
from embinit.runs.session import results_of
from embinit.specs import DownstreamSpec, TrainingSpec, TransferSpec

KEPT = Path(__file__).parent / "results" / "fine-tunings.json"
SEEDS = range(FIRST_SEED, FIRST_SEED + 20)
TIMES = 4


@dataclass(frozen=True)
class Way:
    """A way to fine-tune on one of the tier's tasks.

    Attributes:
        role: The task's role.
        batch_size: How many examples a batch has.
        epochs: How many epochs.
        lr: The learning rate, or the highest.
        schedule: ``TrainingSpec.schedule``.
    """

    role: str
    batch_size: int
    epochs: int
    lr: float
    schedule: str

    @property
    def training(self) -> TrainingSpec:
        """How an encoder is fine-tuned."""
        return TrainingSpec(self.batch_size, self.epochs, self.lr, schedule=self.schedule)


WAYS = (
    Way("sentiment", 16, 3, 1e-3, "constant"),
    Way("sentiment", 16, 3, 2e-3, "linear"),
    Way("sentiment", 16, 4, 1.5e-3, "linear"),
    Way("inference", 16, 6, 1e-3, "constant"),
    Way("inference", 16, 6, 1e-3, "linear"),
    Way("inference", 16, 8, 1e-3, "linear"),
    Way("inference", 16, 10, 5e-4, "linear"),
    Way("inference", 8, 6, 1e-3, "linear"),
)


def train(pretrained: bool, ways: Sequence[Way]) -> list[dict[str, Any]]:
    """What is kept of each way: every encoder's accuracies, one a time."""
    usual = experiments("micro")[0]
    recipe = cast(TransferSpec, usual.training)
    epochs = recipe.pretraining.epochs if pretrained else 0
    pretraining = replace(recipe.pretraining, epochs=epochs)
    tasks = tuple(
        DownstreamSpec(f"{number} {way.role}", task.data, way.training, TIMES)
        for number, way in enumerate(ways)
        for task in recipe.tasks
        if task.role == way.role
    )
    made = replace(usual, training=TransferSpec(pretraining, tasks))
    cohort = Cohort(tuple(made.run(USUAL, seed) for seed in SEEDS))
    results = results_of(cohort, None, "cpu")

    def scores(role: str, name: str) -> list[list[float]]:
        curve = f"{role}_{name}_by_time"
        return [[round(float(x), 3) for x in result.curves[curve]] for result in results]

    return [
        {
            "pretrained": pretrained,
            "way": vars(way),
            "accuracy": scores(task.role, "accuracy"),
            "test": scores(task.role, "test"),
        }
        for way, task in zip(ways, tasks, strict=True)
    ]


def seconds(way: Way) -> float:
    """CPU seconds of one fine-tuning; encoders that were not pre-trained take as long."""
    spent = []
    for ways in ([], [way]):
        started = time.process_time()
        train(False, ways)
        spent.append(time.process_time() - started)
    return round((spent[1] - spent[0]) / len(SEEDS) / TIMES, 3)


def parts(scores: list[list[float]]) -> tuple[float, float]:
    """The standard deviations that encoders and that fine-tunings make, of a score of one time.

    Args:
        scores: For each encoder its scores, one a time.
    """
    within = statistics.fmean(map(statistics.variance, scores))
    between = statistics.variance(map(statistics.fmean, scores)) - within / len(scores[0])
    return math.sqrt(max(between, 0.0)), math.sqrt(within)


def effect(ours: list[list[float]], theirs: list[list[float]], times: int) -> float:
    """How many standard deviations lie between two arms' means, if a score is a mean of so many."""
    variance = sum(
        encoders**2 + tunings**2 / times for encoders, tunings in map(parts, (ours, theirs))
    )
    apart = statistics.fmean(map(statistics.fmean, ours)) - statistics.fmean(
        map(statistics.fmean, theirs)
    )
    return apart / math.sqrt(variance)


def table(kept: list[dict[str, Any]]) -> str:
    """A row for each way, in Markdown."""
    head = [
        "fine-tuned on, batch, epochs, rate",
        "s",
        "accuracy",
        "sd by encoders",
        "by fine-tuning",
        "effect, once",
        f"{TIMES} times",
        "other language",
        "sd by encoders",
        "by fine-tuning",
    ]
    rows = [head, ["---"] * len(head)]
    usual, raw = (
        {Way(**each["way"]): each for each in kept if each["pretrained"] is pretrained}
        for pretrained in (True, False)
    )
    for way in WAYS:
        rate = f"{way.lr:g}" + (", falling" if way.schedule == "linear" else "")
        row = [
            f"{way.role}, {way.batch_size}, {way.epochs}, {rate}",
            f"{raw[way]['seconds']:.2f}",
        ]
        for name in ("accuracy", "test"):
            ours, theirs = (each[way][name] for each in (usual, raw))
            row.append(f"{statistics.fmean(map(statistics.fmean, ours)):.1f}")
            row += [f"{part:.1f}" for part in parts(ours)]
            if name == "accuracy":
                row += [f"{effect(ours, theirs, times):.1f}" for times in (1, TIMES)]
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", nargs="?", default="all", choices=("all", "table"))
    what = parser.parse_args().what
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    if what == "all":
        run = experiments("micro")[0].run(USUAL, SEEDS[0])
        for data in kind_of(run).reads(run):
            prepare(data, None)  # text is drawn once a process; it isn't training
        for pretrained in (False, True):
            known = [Way(**each["way"]) for each in kept if each["pretrained"] is pretrained]
            kept += train(pretrained, [way for way in WAYS if way not in known])
            KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
        for each in kept:
            if not each["pretrained"] and "seconds" not in each:
                each["seconds"] = seconds(Way(**each["way"]))
                KEPT.write_text(json.dumps(kept) + "\n", encoding="utf-8")
    print(table(kept))


if __name__ == "__main__":
    main()
