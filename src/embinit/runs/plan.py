"""Plans of training: the runs that wait, in order, stacked as they are taken."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence

from embinit.runs.kinds import MOST_RUNS, Making, Stack
from embinit.specs import RunSpec

FEW_ARMS = 4
"""A seed with fewer arms is stacked with other seeds: that gains more than sharing masks does."""


class TrainingPlan:
    """What waits for a trainer: runs, and what they read and is made first, in order.

    A run is taken in its turn, stacked with those that wait and have its ``stack_key``; ``most``
    gives the most runs of its stack. Each step takes time for one run's group alone.
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
        for work in more:
            self._waiting.setdefault(work.stack_key, {})[work] = None
        if first:  # where one waited before is passed over once it is taken
            self._order.extendleft(reversed(more))
        else:
            self._order.extend(more)

    def take(self) -> Stack | Making | None:
        """The first that waits, a run with its stack, which wait no more; None where none does."""
        while self._order:
            first = self._order.popleft()
            group = self._waiting.get(first.stack_key, {})
            if first not in group:
                continue
            if isinstance(first, Making):
                del self._waiting[first.stack_key]
                return first
            runs = [run for run in group if isinstance(run, RunSpec)]
            stack = Stack(_stack(first, runs, self._most(first)))
            for run in stack.runs:
                del group[run]
            if not group:
                del self._waiting[first.stack_key]
            return stack
        return None


def _stack(first: RunSpec, runs: Sequence[RunSpec], most: int) -> tuple[RunSpec, ...]:
    """The runs that are trained with a run, of those that can be, itself among them.

    They are of one seed where it has many arms, since arms of a seed share batches and dropout
    masks. Seeds with fewer than ``FEW_ARMS`` arms join up, or with as many more as a stack has.
    """
    if most == 1:
        return (first,)
    seeds: dict[int, list[RunSpec]] = {}
    for run in sorted(runs, key=lambda run: (run.seed, run.digest())):
        seeds.setdefault(run.seed, []).append(run)
    fewest = max(FEW_ARMS, FEW_ARMS * most // MOST_RUNS)
    together = seeds[first.seed]
    if len(together) < fewest:
        together = [run for arms in seeds.values() if len(arms) < fewest for run in arms]
    # As few parts as can be, of nearly equal length.
    parts = -(-len(together) // most)
    bounds = [round(index * len(together) / parts) for index in range(parts + 1)]
    cuts = (tuple(together[low:high]) for low, high in itertools.pairwise(bounds))
    return next(part for part in cuts if first in part)
