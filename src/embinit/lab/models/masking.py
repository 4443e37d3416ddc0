"""Masking for a stack: all arms of a seed mask the same words.

Of the predicted words 80 % become MASK, 10 % a random word and 10 % stay (Devlin et al. 2019). They
depend on the seed and the batch alone, and are drawn anew each time that a sentence comes round, on
the device with static shapes, for CUDA graphs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from embinit.lab.data.vocabulary import MASK
from embinit.lab.models.losses import NOTHING


class Masked(NamedTuple):
    """A batch of masked sentences, with at most K predicted words each, BK = B * K.

    ``labels`` are the words at ``positions``; NOTHING where a sentence has fewer than K.
    """

    seen: Int[Tensor, "S B T"]
    positions: Int[Tensor, "S B K"]
    labels: Int[Tensor, "S BK"]


def mask_tokens(
    ids: Int[Tensor, "S B T"],
    vocabulary_size: int,
    probability: float,
    generators: Sequence[torch.Generator],
) -> Masked:
    """Masks tokens of a batch, by one generator for each of the S.

    A sentence with n ordinary words (ids above MASK) has max(1, round(probability * n)) masked
    words; a sentence without ordinary words has none.
    """
    copies, batch, length = ids.shape
    most = min(length, max(1, math.ceil(probability * length)))

    def draw(*shape: int) -> Tensor:
        drawn = torch.empty(copies, *shape, device=ids.device)
        for row, generator in zip(drawn, generators, strict=True):
            row.uniform_(generator=generator)
        return drawn

    ordinary = ids > MASK
    score, positions = draw(batch, length).masked_fill(~ordinary, -1.0).topk(most, dim=-1)
    wanted = (probability * ordinary.sum(dim=-1, keepdim=True)).round().clamp(min=1)
    chosen = (torch.arange(most, device=ids.device) < wanted) & (score >= 0)
    truth = ids.gather(-1, positions)
    fate, other = draw(batch, most), draw(batch, most)
    random = MASK + 1 + (other * (vocabulary_size - MASK - 1)).long()
    shown = torch.where(fate < 0.8, MASK, torch.where(fate < 0.9, random, truth))
    seen = ids.scatter(-1, positions, torch.where(chosen, shown, truth))
    return Masked(seen, positions, truth.masked_fill(~chosen, NOTHING).flatten(1))
