"""Regimes of Chung et al. on ``micro``: what pre-training teaches beside the spread, and its price.

A candidate is a way to pre-train (sentences, epochs, learning rate, batch size, share of words
hidden, whether things are said again) and one to fine-tune (the kinds of opinion, examples, batch
size, epochs). Candidates train on seeds from 5000 on, which no claim uses, and two arms alone: the
usual one, and the same that was not pre-trained. What pre-training gains, over the standard
deviation of that difference, is the *effect*. No claim's own comparison is looked at: a claim's
effect is some share of this one, and its margin is twice a spread, so a larger effect in less time
decides more claims a minute.

    python benchmarks/pretraining_regimes.py            every candidate, and the table
    python benchmarks/pretraining_regimes.py table      the table alone, from what was kept

What was trained is kept in ``benchmarks/results/pretraining-regimes.json``, and not trained again
while the ways to fine-tune are the same. Text and tasks are the tier's own, longer.
A run fine-tunes on all tasks, so its seconds less those of a run without pre-training are those of
pre-training. They are CPU seconds of a cohort of all seeds, a run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from embinit.claims.noise_floor import FIRST_SEED
from embinit.data.microcosm import OPINIONS, OpinionWeights, in_related
from embinit.data.preparation import prepare
from embinit.data.tasks import TASKS
from embinit.data.tasks.microcosm import (
    UNDENIED_OPINIONS,
    MicrocosmTask,
    infer,
    judge,
    say_again,
)
from embinit.papers.chung2021 import USUAL, experiments
from embinit.runs.plan import Cohort
from embinit.runs.session import results_of
from embinit.specs import Cut, DownstreamSpec, PretrainingSpec, TrainingSpec, TransferSpec

KEPT = Path(__file__).parent / "results" / "pretraining-regimes.json"
SEEDS = range(FIRST_SEED, FIRST_SEED + 20)
LARGEST_TEXT = (24_000, 400, 300)
LARGEST_TASK = (1600, 2000, 100)


@dataclass(frozen=True)
class Way:
    """A way to pre-train.

    Attributes:
        sentences: How many sentences of text there are.
        epochs: How many epochs; 0 for the arm that is not pre-trained.
        lr: The highest learning rate.
        batch_size: How many sentences a batch has.
        share: The probability that a word is hidden.
        again: Whether actions are said again in other words, as they are in the tier's text.
    """

    sentences: int
    epochs: int
    lr: float
    batch_size: int
    share: float
    again: bool = True


@dataclass(frozen=True)
class Tuning:
    """A way to fine-tune, at a rate of 1e-3.

    Attributes:
        examples: How many examples there are.
        batch_size: How many examples a batch has.
        epochs: How many epochs.
        opinions: Of sentiment, the weights of the kinds of opinion; None for inference.
    """

    examples: int
    batch_size: int
    epochs: int
    opinions: OpinionWeights | None = None

    @property
    def role(self) -> str:
        """Names it in a run's measures."""
        kind = "inference" if self.opinions is None else f"sentiment {ratio(self.opinions)}"
        return f"{kind}, {self.examples}, {self.batch_size}, {self.epochs}"

    @property
    def task(self) -> str:
        """The registered data set: the tier's, with more examples."""
        across = cast(MicrocosmTask, TASKS["micro-inference-across"])
        name, write = "micro-inference-across-larger", infer
        if self.opinions is not None:
            across = cast(MicrocosmTask, TASKS["micro-sentiment-across"])
            name = f"micro-sentiment-across-{ratio(self.opinions)}-larger"
            write = partial(judge, weights=self.opinions)
        if name not in TASKS:
            other = partial(write, language=in_related)
            drawn = replace(across, write=write, write_test=other, sizes=LARGEST_TASK)
            TASKS.register(name, drawn)
        return name


def ratio(weights: OpinionWeights) -> str:
    """Weights as in ``9:3:6:2``."""
    return ":".join(f"{weight:g}" for weight in weights)


NONE = Way(8000, 0, 2e-3, 24, 0.3)
CHOSEN = Way(8000, 2, 2e-3, 24, 0.3)
WAYS = [
    NONE,
    Way(24_000, 2, 2e-3, 64, 0.3, again=False),
    Way(8000, 2, 2e-3, 24, 0.3, again=False),
    CHOSEN,
    Way(8000, 2, 2e-3, 24, 0.4),
    Way(8000, 2, 2e-3, 16, 0.4),
    Way(8000, 2, 3e-3, 24, 0.4),
    Way(6000, 3, 2e-3, 24, 0.4),
]
TUNINGS = [
    Tuning(1600, 32, 4, OPINIONS),
    Tuning(600, 16, 3, UNDENIED_OPINIONS),
    Tuning(1000, 16, 3, UNDENIED_OPINIONS),
    Tuning(900, 32, 5),
    Tuning(600, 16, 5),
    Tuning(400, 16, 6),
]


def transfer(way: Way) -> tuple[Any, TransferSpec]:
    """The text's spec and the recipe: pre-training, then every way to fine-tune."""
    usual = experiments("micro")[0]
    recipe = cast(TransferSpec, usual.training)
    name = f"{usual.data.task}-larger" + ("" if way.again else "-said-once")
    if name not in TASKS:
        task = cast(MicrocosmTask, TASKS[usual.data.task])
        write = partial(say_again, again=way.again)
        TASKS.register(name, replace(task, write=write, sizes=LARGEST_TEXT))
    text = replace(usual.data, task=name, cut=Cut(train=way.sentences))
    tasks = tuple(
        DownstreamSpec(
            tuning.role,
            replace(
                recipe.tasks[0].data,
                task=tuning.task,
                cut=Cut(train=tuning.examples),
                vocabulary=text,
            ),
            TrainingSpec(tuning.batch_size, tuning.epochs, 1e-3),
        )
        for tuning in TUNINGS
    )
    pretraining = PretrainingSpec(way.batch_size, way.epochs, way.lr, share=way.share)
    return text, TransferSpec(pretraining, tasks)


def train(way: Way) -> dict[str, Any]:
    """What is kept of a way: CPU seconds a run, and every seed's accuracy by way to fine-tune."""
    text, recipe = transfer(way)
    usual = replace(experiments("micro")[0], data=text, training=recipe)
    cohort = Cohort(tuple(usual.run(USUAL, seed) for seed in SEEDS))
    for data in (text, *(task.data for task in recipe.tasks)):
        prepare(data, None)  # text is drawn once a process; it isn't training
    started = time.process_time()
    results = results_of(cohort, None, "cpu")
    seconds = (time.process_time() - started) / len(cohort.runs)
    return {
        "way": vars(way),
        "seconds": round(seconds, 3),
        "masked_loss": round(statistics.fmean(each.measures["masked_loss"] for each in results), 4),
        "accuracy": {
            tuning.role: [round(each.measures[f"{tuning.role}_accuracy"], 3) for each in results]
            for tuning in TUNINGS
        },
    }


def table(kept: list[dict[str, Any]]) -> str:
    """One row for each way to pre-train: mean ± sd and effect by way to fine-tune, in Markdown."""
    [none] = [each for each in kept if Way(**each["way"]) == NONE]
    head = ["text, epochs, rate, batch, hidden", "s", *(tuning.role for tuning in TUNINGS)]
    rows = [head, ["---"] * len(head)]
    for each in kept:
        way = Way(**each["way"])
        text = f"{way.sentences:,}" + ("" if way.again else " said once")
        settings = (text, way.epochs, f"{way.lr:g}", way.batch_size, way.share)
        name = ", ".join(map(str, settings)) if way.epochs else "none"
        cells = [f"**{name}**" if way == CHOSEN else name]
        cells.append(f"{each['seconds'] - none['seconds']:.1f}")
        for tuning in TUNINGS:
            ours, theirs = each["accuracy"][tuning.role], none["accuracy"][tuning.role]
            cell = f"{statistics.fmean(ours):.1f} ± {statistics.stdev(ours):.1f}"
            if way.epochs:
                cell += f" ({effect(ours, theirs):.1f})"
            cells.append(cell)
        rows.append(cells)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def effect(ours: list[float], theirs: list[float]) -> float:
    """The difference of two arms' means, in standard deviations of the difference of two runs."""
    sd = math.hypot(statistics.stdev(ours), statistics.stdev(theirs))
    return (statistics.fmean(ours) - statistics.fmean(theirs)) / sd


def main() -> None:
    """Trains what is not kept, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["all", "table"], default="all")
    what = parser.parse_args().what
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    if what == "all":
        roles = [tuning.role for tuning in TUNINGS]
        kept = [each for each in kept if list(each["accuracy"]) == roles]
    known = [Way(**each["way"]) for each in kept]
    for way in WAYS if what == "all" else []:
        if way not in known:
            kept.append(train(way))
            KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
            print(f"{way}: {kept[-1]['seconds']} s a run", flush=True)
    print(table(kept))


if __name__ == "__main__":
    main()
