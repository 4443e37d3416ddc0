"""The noise floor: how far apart two trainings of the same arm come out by the seed alone.

Trains the baseline arm (Xavier) of each translation or classification task of a tier on
seeds that no claim uses, and prints the standard deviation over them. The margins in
``embinit.tiers`` are twice that, rounded up to half a unit: a difference that two trainings of the
very same model show in one case of six is not one that a finding should rest on.

    python benchmarks/noise_floor.py [--seeds 10] [--tier sample --data-dir DIR] [--task sst2]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from embinit.experiments import Cohort
from embinit.tiers import experiments
from embinit.training import train

FIRST_SEED = 5000


def main() -> None:
    """Measure and print one line a task."""
    parser = argparse.ArgumentParser(description="noise floor of the baseline arm")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tier", default="micro")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--task", help="only this task")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for experiment in experiments(arguments.tier, sources=("glove",)):
        if arguments.task not in (None, experiment.data.task):
            continue
        started = time.perf_counter()
        seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
        cohort = Cohort(tuple(experiment.run("xavier", seed) for seed in seeds))
        results = train(cohort, arguments.data_dir)
        values = [result.measures[experiment.metric] for result in results]
        print(
            f"{experiment.name}: {experiment.metric} mean {np.mean(values):.2f}, "
            f"sd {np.std(values, ddof=1):.2f}, {len(values)} seeds, "
            f"{(time.perf_counter() - started) / len(values):.1f} s a run",
            flush=True,
        )


if __name__ == "__main__":
    main()
