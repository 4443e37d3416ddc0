"""Plans of training: the runs that wait, in order, stacked as they are taken."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from embinit.runs.kinds import MOST_RUNS, Cohort, Making
from embinit.specs import RunSpec

FEW_ARMS = 4
"""A seed with fewer arms is stacked with other seeds: that gains more than sharing masks does."""


class Plan:
    """What waits for a trainer: runs, and what they read and is made first, in order.

    A run is taken in its turn, stacked with those that wait and have its ``cohort_key``; ``most``
    gives the most runs of its cohort. Each step takes time for one run's group alone.
    """

    def __init__(self, most: Callable[[RunSpec], int] = lambda _: MOST_RUNS) -> None:
        self._most = most
        self._order: deque[RunSpec | Making] = deque()
        self._waiting: dict[object, dict[RunSpec | Making, None]] = {}

    def __bool__(self) -> bool:
        """Whether any wait."""
        return bool(self._waiting)

    def add(self, more: Sequence[RunSpec | Making], first: bool = False) -> None:
        """Lets more wait, in their order, behind the others or with ``first`` before them."""
        for each in more:
            self._waiting.setdefault(each.cohort_key, {})[each] = None
        if first:  # where one waited before is passed over once it is taken
            self._order.extendleft(reversed(more))
        else:
            self._order.extend(more)

    def take(self) -> Cohort | Making | None:
        """The first that waits, a run with its cohort, which wait no more; None where none does."""
        while self._order:
            first = self._order.popleft()
            group = self._waiting.get(first.cohort_key, {})
            if first not in group:
                continue
            if isinstance(first, Making):
                del self._waiting[first.cohort_key]
                return first
            cohort: Cohort = Cohort((first,))
            if (most := self._most(first)) > 1:
                runs = [run for run in group if isinstance(run, RunSpec)]
                cohort = next(each for each in plan(runs, lambda _: most) if first in each.runs)
            for run in cohort.runs:
                del group[run]
            if not group:
                del self._waiting[first.cohort_key]
            return cohort
        return None


def plan(
    runs: Iterable[RunSpec], most: Callable[[RunSpec], int] = lambda _: MOST_RUNS
) -> list[Cohort]:
    """Groups runs into cohorts, those that are wanted first in front.

    A cohort has one seed and many arms where it can, since arms of a seed share batches and dropout
    masks. Seeds with fewer than ``FEW_ARMS`` arms join up. ``most`` gives the most of a cohort.
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
