"""Length-bucketed batches, whose shapes are the same for every seed.

Each seed shuffles examples within groups of similar length, and all seeds visit the groups in one
order. So runs of different seeds can be stacked, and padding stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from embinit.randomness import stream


@dataclass(frozen=True)
class Group:
    """Indices of examples of similar length, and the lengths in words that they are padded to."""

    members: Int[Tensor, "B"]
    source: int
    target: int


@dataclass(frozen=True)
class Batch:
    """Examples ``low:high`` (excluded) of the group of that number, in the order of each seed."""

    group: int
    low: int
    high: int


class Buckets:
    """Length buckets of a training split, and the schedule of batches over them."""

    def __init__(
        self,
        sources: Int[Tensor, "B"],
        targets: Int[Tensor, "B"],
        batch_size: int,
        batches_per_group: int = 4,
    ) -> None:
        """Buckets for examples whose inputs and targets have these lengths, in words."""
        longest = int(max(sources.max(), targets.max())) + 1
        order = torch.argsort(sources * longest + targets, stable=True)
        self.groups = [
            Group(members, int(sources[members].max()), int(targets[members].max()))
            for members in order.split(batch_size * batches_per_group)
        ]
        self._batches = [
            Batch(number, low, min(low + batch_size, len(group.members)))
            for number, group in enumerate(self.groups)
            for low in range(0, len(group.members), batch_size)
        ]

    def schedule(self, epoch: int) -> list[Batch]:
        """The batches of epoch number ``epoch``, in the order that all seeds share."""
        order = torch.randperm(len(self._batches), generator=stream(epoch, "schedule"))
        return [self._batches[index] for index in order.tolist()]

    def shuffle(self, generator: torch.Generator) -> list[Int[Tensor, "_"]]:
        """One seed's order of the examples in each group, for one epoch."""
        return [
            group.members[torch.randperm(len(group.members), generator=generator)]
            for group in self.groups
        ]

    @property
    def steps(self) -> int:
        """The number of batches in an epoch."""
        return len(self._batches)


def in_order(lengths: Int[Tensor, "B"], batch_size: int) -> Sequence[Int[Tensor, "_"]]:
    """Batches of indices for evaluation: each example once, the longest (in words) first."""
    return list(torch.argsort(lengths, descending=True, stable=True).split(batch_size))
