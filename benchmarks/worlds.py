"""Variance between worlds and between seeds: how much of a difference is the made language's.

On each of some registering worlds GloVe's arms are trained with several seeds, which no claim or
spread uses. A difference of two arms of a seed then varies by the world and, within a world, by the
seed; one-way analysis of variance takes the two apart.

    python benchmarks/worlds.py STORE [--worlds 6] [--seeds 4]

It writes ``benchmarks/results/worlds.json`` and prints the table of ``docs/noise-floor.md``. Two
processes at once may share the store.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from embinit.lab.data.microcosm.worlds import REGISTERING
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import ModelRecipe
from embinit.runs.results import versions
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import RunSpec
from embinit_papers.kim2024.experiments import experiments

RESULTS = Path(__file__).parent / "results/worlds.json"
FIRST_SEED = 20_000
"""The first of the seeds, which are no claim's and no spread's."""

DIFFERENCES = (
    ("pretrained", "xavier"),
    ("pretrained_xavier", "pretrained"),
    ("xavier_pretrained", "xavier"),
    ("pretrained_shuffled", "pretrained"),
    ("pretrained_xavier", "xavier"),
)
"""The pairs of arms that are compared."""


class Components(NamedTuple):
    """A one-way analysis of variance of several seeds in each of several worlds.

    Attributes:
        mean: The mean of all.
        worlds: The standard deviation between worlds; 0 where its estimate is negative.
        seeds: That between seeds of one world.
    """

    mean: float
    worlds: float
    seeds: float


def components(values: Sequence[Sequence[float]]) -> Components:
    """The components of variance of a balanced table, a row a world.

    Args:
        values: Of each world, each seed's value; two worlds and two seeds at least.
    """
    seeds = len(values[0])
    within = statistics.fmean(statistics.variance(row) for row in values)
    means = [statistics.fmean(row) for row in values]
    between = statistics.variance(means) - within / seeds
    return Components(statistics.fmean(means), math.sqrt(max(0.0, between)), math.sqrt(within))


def run_of(experiment: ModelExperiment, arm: str, world: int, seed: int) -> RunSpec[ModelRecipe]:
    """An arm's run of a seed in a world."""
    recipe = ModelExperiment.run(experiment.changed(worlds=None), arm, seed).recipe
    return RunSpec(recipe.in_world(world), seed)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--worlds", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    worlds = REGISTERING[: options.worlds]
    seeds = range(FIRST_SEED, FIRST_SEED + options.seeds)
    arms = sorted({arm for pair in DIFFERENCES for arm in pair})
    of_task = {each.data.task: each for each in experiments("micro", sources=("glove",))}
    session = Session(Store(options.store), None, "cpu")
    runs = [
        run_of(each, arm, world, seed)
        for world in worlds
        for each in of_task.values()
        for arm in arms
        for seed in seeds
    ]
    session.set_plan(runs)
    session.ensure(runs)
    table = {}
    for task, each in of_task.items():

        def score(arm: str, world: int, seed: int, of: ModelExperiment = each) -> float:
            result = session.result(run_of(of, arm, world, seed))
            assert result is not None
            return result.measures[of.metric.name]

        for left, right in DIFFERENCES:
            values = [
                [score(left, world, seed) - score(right, world, seed) for seed in seeds]
                for world in worlds
            ]
            found = components(values)
            table[f"{task}: {each.label(left)} - {each.label(right)}"] = found._asdict()
    document = {
        "versions": dict(versions()),
        "worlds": len(worlds),
        "seeds": len(seeds),
        "differences": table,
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    print("| difference | mean | between worlds | between seeds |\n|---|---|---|---|")
    for name, found_of in table.items():
        print(f"| {name} | {' | '.join(f'{value:.1f}' for value in found_of.values())} |")


if __name__ == "__main__":
    main()
