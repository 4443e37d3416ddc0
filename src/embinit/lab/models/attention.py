"""Stacked multi-head attention, without positions or with relative, rotary or untied ones.

The run axis is folded into the batch, so that one call of torch's attention serves all runs.
Shapes: R runs, B sentences (or packs of them), T words, H heads, D width, E = D / H; BT = B * T, RB
= R * B.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.models.layers import StackedLinear
from embinit.lab.specs import ModelSpec
from embinit.registry import Registry

KeysAndValues = tuple[Float[Tensor, "RB H _ E"], Float[Tensor, "RB H _ E"]]
"""One layer's cache of keys and values of earlier tokens, which grows during decoding."""

MOST_KEYS = 28
"""The largest number of tokens, of several sentences, in one attention product on a CPU.

A product of short sentences costs mostly its call. Several sentences that stand in one pack, each
kept from the others by the mask, need a call less each, and more multiplications than that saves
beyond this length.
"""

REACH = 16
"""The largest distance that relative positions tell apart; longer ones count as this."""


def angles(start: int, length: int, width: int, device: torch.device) -> Float[Tensor, "T halfE"]:
    """The angle of each position from ``start`` on, at the frequency of each pair of elements."""
    rate = 10_000 ** (-torch.arange(0, width, 2, device=device) / width)
    return torch.arange(start, start + length, device=device).unsqueeze(1) * rate


def rotated(x: Float[Tensor, "... T E"], start: int = 0) -> Float[Tensor, "... T E"]:
    """Rotary positions (Su et al. 2021): pairs (i, i + E/2) rotated by their position's angle.

    ``start`` is the first word's position. InputError if E is odd.
    """
    length, width = x.shape[-2:]
    if width % 2:
        raise InputError(
            f"rotary positions need an even width per head, not {width}; "
            "use other heads, or plain attention"
        )
    angle = angles(start, length, width, x.device)
    first, second = x.chunk(2, dim=-1)
    sine, cosine = angle.sin(), angle.cos()
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


def pack_size(batch: int, longest: int) -> int:
    """The number of sentences of ``longest`` tokens in one pack, a divisor of ``batch``."""
    most = min(batch, max(1, MOST_KEYS // longest))
    return next(size for size in range(most, 0, -1) if batch % size == 0)


def block_diagonal(
    masks: Float[Tensor, "S B Q T"], size: int
) -> Float[Tensor, "S packs sizeQ sizeT"]:
    """A block-diagonal mask over packs of ``size`` sentences, from one mask per sentence."""
    copies, batch, queries, keys = masks.shape
    shape = (copies, batch // size, size, queries, size, keys)
    blocked = torch.full(shape, -torch.inf, device=masks.device)
    blocks = masks.view(copies, -1, size, queries, keys)
    blocked.diagonal(dim1=2, dim2=4).copy_(blocks.movedim(2, -1))
    return blocked.view(copies, -1, size * queries, size * keys)


class Attention(nn.Module):
    """Multi-head scaled dot-product attention without positions."""

    def __init__(self, spec: ModelSpec, runs: int, precision: str) -> None:
        super().__init__()
        self.runs, self.heads, self.dim = runs, spec.heads, spec.dim
        self.projection = StackedLinear(runs, spec.dim, 3 * spec.dim, precision, parts=3)
        self.output = StackedLinear(runs, spec.dim, spec.dim, precision)

    def query(
        self, x: Float[Tensor, "R BT D"], batch: int, start: int = 0
    ) -> Float[Tensor, "RB H T E"]:
        """Queries of ``x``, whose first words stand at position ``start``."""
        return self.positioned(self._split(self.projection(x, slice(0, self.dim)), batch), start)

    def keys_and_values(
        self, x: Float[Tensor, "R BT D"], batch: int, start: int = 0
    ) -> KeysAndValues:
        """Keys and values of ``x``, whose first words stand at position ``start``."""
        key, value = self.projection(x, slice(self.dim, None)).chunk(2, dim=-1)
        return self.positioned(self._split(key, batch), start), self._split(value, batch)

    def self_attention(
        self,
        x: Float[Tensor, "R BT D"],
        batch: int,
        mask: Float[Tensor, "RB 1 _ T"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "R BT D"]:
        """Each word attends to the words of its sentence that ``mask`` or order allow."""
        query, key, value = (self._split(part, batch) for part in self.projection(x).chunk(3, -1))
        bias = self.bias(batch, key.shape[2])
        if bias is not None and causal:
            later = torch.ones(bias.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            bias, causal = bias.masked_fill(later, -torch.inf), False
        if bias is not None:
            mask = bias if mask is None else bias + mask
        return self.attend(self.positioned(query), self.positioned(key), value, mask, causal)

    def step(
        self, x: Float[Tensor, "R B D"], past: KeysAndValues | None, batch: int
    ) -> tuple[Float[Tensor, "R B D"], KeysAndValues]:
        """A decoding step: a sentence's new token joins ``past`` and attends to all of it."""
        start = 0 if past is None else past[0].shape[2]
        query = self.query(x, batch, start)
        key, value = self.keys_and_values(x, batch, start)
        if past is not None:
            key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        bias = self.bias(batch, start + 1, start)
        return self.attend(query, key, value, bias), (key, value)

    def attend(
        self,
        query: Float[Tensor, "RB H Q E"],
        key: Float[Tensor, "RB H T E"],
        value: Float[Tensor, "RB H T E"],
        mask: Float[Tensor, "RB _ _ T"] | None = None,
        causal: bool = False,
    ) -> Float[Tensor, "R BQ D"]:
        """The attention output; ``mask`` is added to the scores."""
        # Without AVX-512 torch 2.13 reads a float32 mask with float64 queries wrongly.
        mask = mask if mask is None else mask.to(query.dtype)
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
        merged = heads.transpose(1, 2).reshape(self.runs, -1, self.dim)
        output: Tensor = self.output(merged)
        return output

    def bias(self, batch: int, keys: int, start: int = 0) -> Float[Tensor, "RB H Q T"] | None:
        """The bias on the scores of tokens from ``start`` on; None for no bias."""
        return None

    def positioned(self, x: Float[Tensor, "RB H T E"], start: int = 0) -> Float[Tensor, "RB H T E"]:
        """Queries or keys with positions from ``start`` on applied to them."""
        return x

    def _split(self, x: Float[Tensor, "R BT D"], batch: int) -> Float[Tensor, "RB H T E"]:
        return x.reshape(self.runs * batch, -1, self.heads, self.dim // self.heads).transpose(1, 2)


class RelativeAttention(Attention):
    """Attention with a learned score bias per run, head and distance (Raffel et al. 2020).

    Unlike T5's, distances are not bucketed, and each layer has its own.
    """

    def __init__(self, spec: ModelSpec, runs: int, precision: str) -> None:
        super().__init__(spec, runs, precision)
        self.distances = nn.Parameter(torch.zeros(runs, spec.heads, 2 * REACH + 1))

    def bias(self, batch: int, keys: int, start: int = 0) -> Float[Tensor, "RB H Q T"]:
        """The distances' biases between the words from ``start`` on and all words."""
        position = torch.arange(keys, device=self.distances.device)
        distance = (position - position[start:, None]).clamp(-REACH, REACH) + REACH
        return self.distances[:, :, distance].repeat_interleave(batch, dim=0)


class RotaryAttention(Attention):
    """Attention with rotary positions (see ``rotated``)."""

    def positioned(self, x: Float[Tensor, "RB H T E"], start: int = 0) -> Float[Tensor, "RB H T E"]:
        """Rotated queries or keys."""
        return rotated(x, start)


class UntiedAttention(Attention):
    """Untied attention: separate queries and keys for tokens and positions (TUPE; Ke et al. 2021).

    A score is the words' plus the positions', over √2. The positions are sinusoids; TUPE's are
    trained, and its layers share one set of scores.
    """

    def __init__(self, spec: ModelSpec, runs: int, precision: str) -> None:
        super().__init__(spec, runs, precision)
        self.position_projection = StackedLinear(
            runs, spec.dim, 2 * spec.dim, "float32", parts=2, bias=False
        )

    def bias(self, batch: int, keys: int, start: int = 0) -> Float[Tensor, "RB H Q T"]:
        """The scores between the positions from ``start`` on and all positions."""
        weights = self.position_projection.weight
        angle = angles(0, keys, self.dim, weights.device)
        sinusoids = torch.cat((angle.sin(), angle.cos()), dim=-1)[:, : self.dim].to(weights)
        # A product each: those of few rows have other bits in a batch than alone.
        scores = [self._of_positions(sinusoids, weight, start) for weight in weights]
        return torch.stack(scores).repeat_interleave(batch, dim=0)

    def _of_positions(
        self, sinusoids: Float[Tensor, "T D"], weight: Float[Tensor, "D twoD"], start: int
    ) -> Float[Tensor, "H Q T"]:
        split = (sinusoids @ weight).view(len(sinusoids), 2, self.heads, -1)
        query, key = split.permute(1, 2, 0, 3)
        scores: Tensor = query[:, start:] @ key.mT / math.sqrt(2 * key.shape[-1])
        return scores

    def positioned(self, x: Float[Tensor, "RB H T E"], start: int = 0) -> Float[Tensor, "RB H T E"]:
        """Token queries or keys over the fourth root of 2, so that scores are divided by √2."""
        return x * math.sqrt(math.sqrt(0.5))


ATTENTION: Registry[type[Attention]] = Registry("attention", "embinit.attention")
ATTENTION.register("plain", Attention)
ATTENTION.register("relative", RelativeAttention)
ATTENTION.register("rotary", RotaryAttention)
ATTENTION.register("untied", UntiedAttention)


def count_attention(spec: ModelSpec) -> int:
    """The parameters of one layer's self-attention, which is built without values."""
    with torch.device("meta"):
        attention = ATTENTION[spec.attention](spec, 1, "float32")
    return sum(parameter.numel() for parameter in attention.parameters())
