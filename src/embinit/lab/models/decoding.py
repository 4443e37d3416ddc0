"""Greedy decoding of all runs of a stacked model at once."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from embinit.lab.data.vocabulary import BOS, EOS, PAD
from embinit.lab.models.transformer import StackedTransformer


@torch.inference_mode()
def greedy(
    model: StackedTransformer, source: Int[Tensor, "B T"], longest: int
) -> Int[Tensor, "R B L"]:
    """Greedy translations of at most ``longest`` tokens; after a sentence's EOS comes padding."""
    memory = model.encode_memory(source.unsqueeze(0))
    runs, batch = model.runs, len(source)
    words = torch.full((runs, batch), BOS, device=source.device)
    ended = torch.zeros_like(words, dtype=torch.bool)
    past = model.empty_past()
    decoded = []
    for position in range(longest):
        logits, past = model.step(words, position, past, memory)
        words = logits.argmax(dim=-1).masked_fill(ended, PAD)
        decoded.append(words)
        ended |= words == EOS
        if bool(ended.all()):
            break
    return torch.stack(decoded, dim=-1)
