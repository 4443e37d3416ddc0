"""Attention and feed-forward layers that BERT's and T5's small likenesses share.

The two differ where it matters for a table's width: BERT normalises after each sum (post-LN, with
biases, GELU), T5 before each layer (RMSNorm without shift, no biases, ReLU, attention unscaled).
"""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn import functional

BUCKETS, FARTHEST = 32, 128
"""T5's buckets of relative distance, and from where on all distances share the last."""


class Attention(nn.Module):
    """Attention with ``heads`` heads over D = ``dim``; ``scale`` None means 1/sqrt(D/heads)."""

    def __init__(self, dim: int, heads: int, bias: bool, scale: float | None = None) -> None:
        super().__init__()
        self.heads, self.scale = heads, scale
        self.query, self.key, self.value, self.output = (
            nn.Linear(dim, dim, bias=bias) for _ in range(4)
        )

    def forward(
        self, hidden: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(B, L, D) attends to ``memory`` (B, M, D); ``mask`` is added to the scores.

        ``mask`` broadcasts to (B, heads, L, M).
        """

        def split(projected: torch.Tensor) -> torch.Tensor:
            return projected.view(*projected.shape[:2], self.heads, -1).transpose(1, 2)

        mixed = functional.scaled_dot_product_attention(
            split(self.query(hidden)),
            split(self.key(memory)),
            split(self.value(memory)),
            attn_mask=mask,
            scale=self.scale,
        )
        output: torch.Tensor = self.output(mixed.transpose(1, 2).flatten(2))
        return output


class PostNormLayer(nn.Module):
    """BERT's layer: attention, then GELU feed-forward 4D wide, LayerNorm after each sum."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim, heads, bias=True)
        self.wide, self.narrow = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """(B, L, D) to (B, L, D)."""
        hidden = self.norm_attention(hidden + self.attention(hidden, hidden, mask))
        fed = self.narrow(functional.gelu(self.wide(hidden)))
        output: torch.Tensor = self.norm_feed_forward(hidden + fed)
        return output


class PreNormLayer(nn.Module):
    """T5's layer: RMSNorm before each part, ReLU feed-forward 4D wide, no biases, no 1/sqrt(d).

    With ``cross`` it also attends to an encoder's output.
    """

    def __init__(self, dim: int, heads: int, cross: bool) -> None:
        super().__init__()
        self.attention = Attention(dim, heads, bias=False, scale=1.0)
        self.cross = Attention(dim, heads, bias=False, scale=1.0) if cross else None
        self.wide = nn.Linear(dim, 4 * dim, bias=False)
        self.narrow = nn.Linear(4 * dim, dim, bias=False)
        self.norm_attention, self.norm_cross, self.norm_feed_forward = (
            nn.RMSNorm(dim, eps=1e-6) for _ in range(3)
        )

    def forward(
        self,
        hidden: torch.Tensor,
        mask: torch.Tensor,
        memory: torch.Tensor | None = None,
        memory_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """(B, L, D) to (B, L, D)."""
        normed = self.norm_attention(hidden)
        hidden = hidden + self.attention(normed, normed, mask)
        if self.cross is not None:
            hidden = hidden + self.cross(self.norm_cross(hidden), memory, memory_mask)
        fed = self.narrow(functional.relu(self.wide(self.norm_feed_forward(hidden))))
        output: torch.Tensor = hidden + fed
        return output


def padding_mask(ids: torch.Tensor, padding: int) -> torch.Tensor:
    """(B, L) ids to (B, 1, 1, L): minus infinity where nothing may be attended to, else 0."""
    mask = torch.zeros(ids.shape).masked_fill_(ids == padding, -torch.inf)
    return mask[:, None, None, :]


def relative_buckets(queries: int, keys: int, both_ways: bool) -> torch.Tensor:
    """(queries, keys) int64: T5's bucket of each distance, exact when near, logarithmic when far.

    ``both_ways`` halves the buckets between keys before and behind; else those behind share 0.
    """
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    buckets = BUCKETS // 2 if both_ways else BUCKETS
    side = (distance > 0).long() * buckets if both_ways else torch.zeros_like(distance)
    distance = distance.abs() if both_ways else (-distance).clamp(min=0)
    exact = buckets // 2
    growth = (distance.clamp(min=1) / exact).log() / math.log(FARTHEST / exact)
    far = (exact + (growth * (buckets - exact)).long()).clamp(max=buckets - 1)
    return side + torch.where(distance < exact, distance, far)


def relative_scores(biases: nn.Embedding, length: int, both_ways: bool) -> torch.Tensor:
    """(heads, L, L): what each head adds to a score for the distance between two places."""
    scores: torch.Tensor = biases(relative_buckets(length, length, both_ways))
    return scores.permute(2, 0, 1)
