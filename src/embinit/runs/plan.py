"""How runs are grouped into cohorts, which are trained together as one stacked model."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from embinit.errors import InputError
from embinit.runs.kinds import MOST_RUNS, kind_of
from embinit.specs import RunSpec


@dataclass(frozen=True)
class Cohort:
    """Runs that are trained together as one stacked model."""

    runs: tuple[RunSpec, ...]

    def __post_init__(self) -> None:
        if len({run.cohort_key for run in self.runs}) != 1:
            raise InputError("a cohort's runs must share data, model and training settings")

    @property
    def digest(self) -> str:
        """Names the cohort: the same runs, in whatever order they were asked for."""
        joined = "".join(run.digest() for run in self.runs)
        return hashlib.sha256(joined.encode()).hexdigest()

    @property
    def cost(self) -> float:
        """Rough relative cost (tokens x parameters), to train the longest first."""
        return kind_of(self.runs[0]).cost(self.runs[0]) * len(self.runs)


FEW_ARMS = 4
"""Below this, a seed's runs gain more from joining other seeds' than from their own masks."""


def plan(
    runs: Iterable[RunSpec], most: Callable[[RunSpec], int] = lambda _: MOST_RUNS
) -> list[Cohort]:
    """Group ``runs`` into cohorts, costliest first; ``most`` says how many of a run's kind fit.

    A cohort prefers one seed and many arms, since arms of a seed share batches and dropout
    masks; seeds with a few arms each join up. The result is a function of the set of runs alone,
    so that every worker finds the same cohorts without talking to the others.
    """
    groups: dict[tuple[object, ...], dict[int, list[RunSpec]]] = {}
    for run in sorted(set(runs), key=lambda run: (run.seed, run.digest())):
        groups.setdefault(run.cohort_key, {}).setdefault(run.seed, []).append(run)
    cohorts: list[Cohort] = []
    for seeds in groups.values():
        few = [run for group in seeds.values() if len(group) < FEW_ARMS for run in group]
        many = [group for group in seeds.values() if len(group) >= FEW_ARMS]
        for group in (*many, few):
            if group:
                cohorts += map(Cohort, _even_parts(group, most(group[0])))
    return sorted(cohorts, key=lambda cohort: (-cohort.cost, cohort.digest))


def _even_parts(runs: Sequence[RunSpec], most: int) -> list[tuple[RunSpec, ...]]:
    """Cut into the fewest parts of at most ``most``, as even as can be."""
    parts = -(-len(runs) // most)
    bounds = [round(part * len(runs) / parts) for part in range(parts + 1)]
    return [tuple(runs[low:high]) for low, high in itertools.pairwise(bounds)]
