"""The stacked embedding layer: table times multiplier, plus positions."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.models.layers import Dropout, StackedLayerNorm, StackedLinear
from embinit.lab.specs import ModelSpec


class Embedding(nn.Module):
    """Each run's table times its multiplier, plus its positions; float32 always.

    A run whose table is frozen gets a zero gradient, and Adam's step from zero moments is zero.
    Where the table's width E is not the model's D, a linear layer leads from one to the other,
    after norm and dropout, as in RemBERT.
    """

    offsets: Tensor
    multipliers: Tensor
    positions: Tensor
    trained: Tensor

    def __init__(
        self,
        *,
        spec: ModelSpec,
        tables: Float[Tensor, "R N E"],
        multipliers: Float[Tensor, " R"],
        positions: Float[Tensor, "R L E"],
        trained: Bool[Tensor, " R"],
        learned_positions: bool = False,
    ) -> None:
        """The embedding of R runs; InputError if tables have another width than the model reads.

        ``trained`` says whether a run's table is, ``learned_positions`` whether all positions are.
        """
        super().__init__()
        runs, words, width = tables.shape
        if width != spec.table_width:
            raise InputError(
                f"the tables are {width} wide and the model reads {spec.table_width}; "
                "give it tables of that width, or set the model's input_width"
            )
        self.norm = StackedLayerNorm(runs, width) if spec.norm_after_sum else nn.Identity()
        self.projection: nn.Module = nn.Identity()
        if width != spec.dim:
            self.projection = StackedLinear(runs, width, spec.dim, "float32")
        self.table = nn.Parameter(tables, requires_grad=bool(trained.any()))
        self.register_buffer("trained", trained.float().view(-1, 1, 1))
        if self.table.requires_grad and not bool(trained.all()):
            self.table.register_hook(lambda gradient: gradient * self.trained)
        offsets = torch.arange(0, runs * words, words, device="cpu").view(-1, 1, 1)
        self.register_buffer("offsets", offsets, persistent=False)  # a place in a stack, no state
        self.register_buffer("multipliers", multipliers.float().view(-1, 1, 1, 1))
        if learned_positions:
            self.positions = nn.Parameter(positions.clone())
        else:
            self.register_buffer("positions", positions)

    def forward(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout, start: int = 0
    ) -> Float[Tensor, "R BT D"]:
        """The vectors of ``ids``, the first of which stand at position ``start``."""
        _, batch, length = ids.shape
        runs, _, width = self.table.shape
        words = F.embedding(ids + self.offsets, self.table.flatten(0, 1))
        positions = self.positions[:, None, start : start + length]
        summed = (words * self.multipliers + positions).reshape(runs, batch * length, width)
        read: Tensor = self.projection(dropout(self.norm(summed)))
        return read
