"""Attention and feed-forward layers of the small BERT and the small T5.

The two differ where it matters for a table's sigma: BERT normalises after each sum (post-LN, with
biases, GELU), T5 before each layer (RMSNorm without shift, no biases, ReLU, attention unscaled).

Sentences are short and of unequal length. So the tokens of all of them stand in rows, one after the
other, and are put into their places (``Places``) where they attend to each other.

Letters: B sentences, T words (queries), S words (keys), n and m rows of them, D the width.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor, nn
from torch.nn import functional

BUCKETS, MAX_DISTANCE = 32, 128
"""T5's number of buckets of relative distance. All larger distances share the last bucket."""


class Places:
    """The places of some tokens in their sentences.

    Args:
        present: Where a sentence has one of them.
    """

    def __init__(self, present: Bool[Tensor, "B T"]) -> None:
        self.sentences, self.length = present.shape
        self.numbers = present.flatten().nonzero().flatten()
        self.positions = self.numbers % self.length
        mask = torch.zeros(present.shape).masked_fill_(~present, -torch.inf)
        self.mask = mask[:, None, None, :]
        """Minus infinity for keys that are elsewhere, else 0; to be added to attention's scores."""

    def rows(self, values: Shaped[Tensor, "B T *rest"]) -> Shaped[Tensor, "n *rest"]:
        """The rows of ``values`` at these places."""
        return values.flatten(0, 1)[self.numbers]

    def spread(self, rows: Float[Tensor, "n D"]) -> Float[Tensor, "B T D"]:
        """The rows at their places, and 0 elsewhere."""
        places = rows.new_zeros(self.sentences * self.length, rows.shape[1])
        return places.index_copy(0, self.numbers, rows).view(self.sentences, self.length, -1)


class Attention(nn.Module):
    """Multi-head attention.

    Args:
        dim: D, the width.
        heads: The number of heads, which divides D.
        bias: Whether the projections have biases.
        scale: The factor of the scores.
    """

    def __init__(self, dim: int, heads: int, bias: bool, scale: float) -> None:
        super().__init__()
        self.heads, self.scale = heads, scale
        self.query, self.key, self.value, self.output = (
            nn.Linear(dim, dim, bias=bias) for _ in range(4)
        )

    def forward(
        self,
        hidden: Float[Tensor, "n D"],
        queries: Places,
        memory: Float[Tensor, "m D"],
        keys: Places,
        mask: Float[Tensor, "#B #heads #T #S"],
    ) -> Float[Tensor, "n D"]:
        """Lets ``hidden`` attend to ``memory``.

        Args:
            hidden: The states of the queries.
            queries: Their places.
            memory: The states of the keys.
            keys: Their places in the same sentences.
            mask: Added to the scores.
        """

        def split(projected: Tensor, places: Places) -> Tensor:
            spread = places.spread(projected)
            return spread.view(*spread.shape[:2], self.heads, -1).transpose(1, 2)

        query = split(self.query(hidden) * self.scale, queries)
        scores = query @ split(self.key(memory), keys).transpose(2, 3) + mask
        # A softmax over rows of ten takes eight times as long as one over ten long columns.
        columns = scores.flatten(0, 2).T.contiguous().softmax(dim=0)
        mixed = columns.T.view(scores.shape) @ split(self.value(memory), keys)
        output: Tensor = self.output(queries.rows(mixed.transpose(1, 2)).flatten(1))
        return output


class PostNormLayer(nn.Module):
    """BERT's layer: attention, then GELU feed-forward 4D wide, LayerNorm after each sum.

    Args:
        dim: D, the width.
        heads: The number of heads.
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention = Attention(dim, heads, bias=True, scale=(dim // heads) ** -0.5)
        self.wide, self.narrow = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.norm_attention, self.norm_feed_forward = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(
        self,
        hidden: Float[Tensor, "n D"],
        queries: Places,
        memory: Float[Tensor, "m D"],
        keys: Places,
        mask: Float[Tensor, "#B #heads #T #T"],
    ) -> Float[Tensor, "n D"]:
        """The states after this layer, of some or all tokens.

        Args:
            hidden: Their states before it.
            queries: Their places.
            memory: The states of all tokens before it.
            keys: The places of all tokens.
            mask: Added to the scores.
        """
        mixed = self.attention(hidden, queries, memory, keys, mask)
        hidden = self.norm_attention(hidden + mixed)
        fed = self.narrow(functional.gelu(self.wide(hidden)))
        output: Tensor = self.norm_feed_forward(hidden + fed)
        return output


class PreNormLayer(nn.Module):
    """T5's layer: RMSNorm first, ReLU feed-forward 4D wide, no biases, unscaled attention.

    Args:
        dim: D, the width.
        heads: The number of heads.
        cross: Whether the layer also attends to an encoder's output.
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
        hidden: Float[Tensor, "n D"],
        places: Places,
        mask: Float[Tensor, "#B #heads #T #T"],
        memory: tuple[Float[Tensor, "m D"], Places] | None = None,
    ) -> Float[Tensor, "n D"]:
        """The states after this layer.

        Args:
            hidden: The states before it.
            places: Their places.
            mask: Added to the scores of self-attention.
            memory: The encoder's output and its places, for a layer with cross-attention.
        """
        normed = self.norm_attention(hidden)
        hidden = hidden + self.attention(normed, places, normed, places, mask)
        if self.cross is not None and memory is not None:
            read, keys = memory
            normed = self.norm_cross(hidden)
            hidden = hidden + self.cross(normed, places, read, keys, keys.mask)
        fed = self.narrow(functional.relu(self.wide(self.norm_feed_forward(hidden))))
        output: Tensor = hidden + fed
        return output


def relative_buckets(queries: int, keys: int, both_ways: bool) -> Int64[Tensor, "{queries} {keys}"]:
    """T5's bucket of each distance: exact for near keys, logarithmic for far ones.

    Args:
        queries: T, the number of queries.
        keys: S, the number of keys.
        both_ways: Whether keys behind the query have half of the buckets. If not, they all share
            bucket 0.
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
    """The bias that each head adds to a score, by the distance between query and key.

    Args:
        biases: A row of one bias per head for each bucket.
        length: T, the number of words.
        both_ways: See ``relative_buckets``.
    """
    scores: Tensor = biases(relative_buckets(length, length, both_ways))
    return scores.permute(2, 0, 1)
