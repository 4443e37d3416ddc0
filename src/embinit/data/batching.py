"""Batches of similar length, of the same shapes for every seed.

Examples are sorted by length and cut into groups of a few batches. In every epoch each seed
shuffles its examples within the groups, while the order in which groups are visited is the same
for all seeds: so runs of different seeds can be stacked, and padding stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from embinit.randomness import stream


@dataclass(frozen=True)
class Group:
    """Examples of similar length: their indices (n,), padded to ``source`` and ``target`` words."""

    members: Tensor
    source: int
    target: int


@dataclass(frozen=True)
class Batch:
    """Which examples of a group make a batch: positions low to high in the seed's shuffling."""

    group: int
    low: int
    high: int


class Buckets:
    """Length buckets of a training split, and the schedule of batches over them."""

    def __init__(
        self, sources: Tensor, targets: Tensor, batch_size: int, batches_per_group: int = 4
    ) -> None:
        """``sources`` and ``targets``: each example's length in words, (n,)."""
        longest = int(max(sources.max(), targets.max())) + 1
        order = torch.argsort(sources * longest + targets, stable=True)
        parts = order.split(batch_size * batches_per_group)
        self.groups = [
            Group(part, int(sources[part].max()), int(targets[part].max())) for part in parts
        ]
        self._batches = [
            Batch(number, low, min(low + batch_size, len(group.members)))
            for number, group in enumerate(self.groups)
            for low in range(0, len(group.members), batch_size)
        ]

    def schedule(self, epoch: int) -> list[Batch]:
        """The batches of an epoch in the order that all seeds share."""
        order = torch.randperm(len(self._batches), generator=stream(epoch, "schedule"))
        return [self._batches[index] for index in order.tolist()]

    def shuffle(self, generator: torch.Generator) -> list[Tensor]:
        """One seed's order of the examples in each group, for one epoch."""
        return [
            group.members[torch.randperm(len(group.members), generator=generator)]
            for group in self.groups
        ]

    @property
    def steps(self) -> int:
        """How many batches an epoch has."""
        return len(self._batches)


def in_order(lengths: Tensor, batch_size: int) -> Sequence[Tensor]:
    """Batches of indices for evaluation, longest first; each example once."""
    return list(torch.argsort(lengths, descending=True, stable=True).split(batch_size))
