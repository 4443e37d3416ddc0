"""Attention and feed-forward layers of the small BERT and the small T5.

The two differ where it matters for a table's sigma: BERT normalises after each sum (post-LN, with
biases, GELU), T5 before each layer (RMSNorm without shift, no biases, ReLU, attention unscaled).

Letters: B sentences, T words (queries), S words (keys), D the width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

BUCKETS, MAX_DISTANCE = 32, 128
"""T5's number of buckets of relative distance. All larger distances share the last bucket."""


class Attention(nn.Module):
    """Multi-head attention; ``scale`` is the factor of the scores, None means 1/sqrt(D/heads)."""

    def __init__(self, dim: int, heads: int, bias: bool, scale: float | None = None) -> None:
        super().__init__()
        self.heads, self.scale = heads, scale
        self.query, self.key, self.value, self.output = (
            nn.Linear(dim, dim, bias=bias) for _ in range(4)
        )

    def forward(
        self,
        hidden: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S D"],
        mask: Float[Tensor, "#B #heads #T #S"] | Float[Tensor, "#heads #T #S"],
    ) -> Float[Tensor, "B T D"]:
        """Lets ``hidden`` attend to ``memory``. ``mask`` is added to the scores."""

        def split(projected: Tensor) -> Tensor:
            return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(
            split(self.query(hidden)),
            split(self.key(memory)),
            split(self.value(memory)),
            attn_mask=mask,
            scale=self.scale,
        )
        output: Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output


class Layer(nn.Module):
    """BERT's layer, or T5's: attention and a feed-forward layer 4D wide, each with its norm."""

    def __init__(self, dim: int, heads: int, of_t5: bool, cross: bool = False) -> None:
        super().__init__()
        norm = partial(nn.RMSNorm, dim, eps=1e-6) if of_t5 else partial(nn.LayerNorm, dim)
        attention = partial(Attention, dim, heads, not of_t5, 1.0 if of_t5 else None)
        self.pre, self.activation = of_t5, functional.relu if of_t5 else functional.gelu
        self.attention, self.cross = attention(), attention() if cross else None
        self.wide = nn.Linear(dim, 4 * dim, bias=not of_t5)
        self.narrow = nn.Linear(4 * dim, dim, bias=not of_t5)
        self.norm_attention, self.norm_cross, self.norm_feed_forward = norm(), norm(), norm()

    def forward(
        self,
        hidden: Float[Tensor, "B T D"],
        mask: Float[Tensor, "#B #heads #T #T"] | Float[Tensor, "#heads #T #T"],
        memory: Float[Tensor, "B S D"] | None = None,
        memory_mask: Float[Tensor, "#B #heads #T #S"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """The states after this layer. Masks are added to scores; ``memory`` is for ``cross``."""

        def added(norm: nn.Module, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
            if self.pre:
                return hidden + sublayer(norm(hidden))
            summed: Tensor = norm(hidden + sublayer(hidden))
            return summed

        hidden = added(self.norm_attention, lambda x: self.attention(x, x, mask))
        if (cross := self.cross) is not None:
            hidden = added(self.norm_cross, lambda x: cross(x, memory, memory_mask))
        return added(self.norm_feed_forward, lambda x: self.narrow(self.activation(self.wide(x))))


def padding_mask(ids: Int64[Tensor, "B S"], padding: int) -> Float[Tensor, "B 1 1 S"]:
    """Minus infinity for keys that are padding, else 0; to be added to attention's scores."""
    mask = torch.zeros(ids.shape).masked_fill_(ids == padding, -torch.inf)
    return mask[:, None, None, :]


def relative_buckets(queries: int, keys: int, both_ways: bool) -> Int64[Tensor, "{queries} {keys}"]:
    """T5's bucket of each distance: exact for near keys, logarithmic for far ones.

    If ``both_ways``, keys behind the query have half of the buckets, else they share bucket 0.
    """
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    buckets = BUCKETS // 2 if both_ways else BUCKETS
    side = (distance > 0).long() * buckets if both_ways else torch.zeros_like(distance)
    distance = distance.abs() if both_ways else (-distance).clamp(min=0)
    exact = buckets // 2
    growth = (distance.clamp(min=1) / exact).log() / math.log(MAX_DISTANCE / exact)
    far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
    return side + torch.where(distance < exact, distance, far)


def relative_scores(
    biases: nn.Embedding, length: int, both_ways: bool
) -> Float[Tensor, "heads {length} {length}"]:
    """What each head adds to a score by distance; ``biases`` has a row for each bucket."""
    scores: Tensor = biases(relative_buckets(length, length, both_ways))
    return scores.permute(2, 0, 1)
