"""Plans of training: runs grouped into cohorts, each trained as one stacked model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence

from embinit.runs.kinds import MOST_RUNS, Cohort
from embinit.specs import RunSpec

FEW_ARMS = 4
"""A seed with fewer arms is stacked with other seeds: that gains more than sharing masks does."""


def plan(
    runs: Iterable[RunSpec], most: Callable[[RunSpec], int] = lambda _: MOST_RUNS
) -> list[Cohort]:
    """Groups runs into cohorts, those that are wanted first in front.

    A cohort has one seed and many arms where it can, since arms of a seed share batches and dropout
    masks. Seeds with fewer than ``FEW_ARMS`` arms join up. Which runs join up depends on their set
    alone, so that every worker finds the same cohorts. ``most`` gives the most runs of a cohort.
    """
    wanted = {run: place for place, run in enumerate(dict.fromkeys(runs))}
    groups: dict[tuple[object, ...], dict[int, list[RunSpec]]] = {}
    for run in sorted(wanted, key=lambda run: (run.seed, run.digest())):
        groups.setdefault(run.cohort_key, {}).setdefault(run.seed, []).append(run)
    cohorts: list[Cohort] = []
    for seeds in groups.values():
        largest = most(next(iter(seeds.values()))[0])
        fewest = max(FEW_ARMS, FEW_ARMS * largest // MOST_RUNS)
        few = [run for group in seeds.values() if len(group) < fewest for run in group]
        many = [group for group in seeds.values() if len(group) >= fewest]
        for group in (*many, few):
            if group:
                cohorts += map(Cohort, _even_parts(group, largest))
    return sorted(cohorts, key=lambda cohort: min(wanted[run] for run in cohort.runs))


def _even_parts(runs: Sequence[RunSpec], most: int) -> list[tuple[RunSpec, ...]]:
    """Cuts ``runs`` into as few parts as ``most`` allows, of nearly equal length."""
    parts = -(-len(runs) // most)
    bounds = [round(index * len(runs) / parts) for index in range(parts + 1)]
    return [tuple(runs[low:high]) for low, high in itertools.pairwise(bounds)]
