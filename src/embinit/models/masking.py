"""Hiding words for a cohort: the same of a seed's in every arm, on the device, of fixed shapes.

Of each sentence's words a share is to be guessed; of these 80 % are hidden, 10 % replaced by a
random word and 10 % left (Devlin et al. 2019). What is drawn depends on the seed and the batch
alone, and is drawn anew each time that a sentence comes round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from embinit.data.vocabulary import MASK
from embinit.models.losses import NOTHING


class Masked(NamedTuple):
    """``seen`` (S, B, T) ids, and K ``places`` (S, B, K) in each with their ``labels`` (S, B * K).

    Shorter sentences leave places over, whose label is NOTHING.
    """

    seen: Tensor
    places: Tensor
    labels: Tensor


def hide_words(
    ids: Tensor, words: int, share: float, generators: Sequence[torch.Generator]
) -> Masked:
    """Hide words of ``ids`` (S, B, T), a generator for each of the S.

    Ordinary words have ids above MASK and below ``words``; of a sentence with n of them
    max(1, round(share * n)) are to be guessed, of one with none none.
    """
    copies, batch, length = ids.shape
    most = min(length, max(1, math.ceil(share * length)))

    def draw(*shape: int) -> Tensor:
        drawn = torch.empty(copies, *shape, device=ids.device)
        for part, generator in zip(drawn, generators, strict=True):
            part.uniform_(generator=generator)
        return drawn

    ordinary = ids > MASK
    score, places = draw(batch, length).masked_fill(~ordinary, -1.0).topk(most, dim=-1)
    wanted = (share * ordinary.sum(dim=-1, keepdim=True)).round().clamp(min=1)
    chosen = (torch.arange(most, device=ids.device) < wanted) & (score >= 0)
    truth = ids.gather(-1, places)
    fate, other = draw(batch, most), draw(batch, most)
    random = MASK + 1 + (other * (words - MASK - 1)).long()
    shown = torch.where(fate < 0.8, MASK, torch.where(fate < 0.9, random, truth))
    seen = ids.scatter(-1, places, torch.where(chosen, shown, truth))
    return Masked(seen, places, truth.masked_fill(~chosen, NOTHING).flatten(1))
