"""GPT-2 at a CPU's size, as llm.c starts it from scratch, and text that every Python has.

Weights are drawn from N(0, .02²), those that write to the residual stream from a normal narrower by
the root of twice the layers. The output table is the token table. There is no dropout.
"""

import pydoc_data.topics
import re
from collections import Counter

import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, CONTEXT, WORDS = 2, 32, 2, 64, 512
SIGMA = 0.02


def ids_of_text():
    """The words of Python's language reference as ids; the rarest share the id 0."""
    words = re.findall(r"\w+|[^\w\s]|\n+", "\n".join(pydoc_data.topics.topics.values()))
    common = [word for word, _ in Counter(words).most_common(WORDS - 1)]
    numbers = {word: number for number, word in enumerate(common, 1)}
    return torch.tensor([numbers.get(word, 0) for word in words])


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self):
        super().__init__()
        self.attention_norm, self.norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        triple = self.queries_keys_values(self.attention_norm(x))
        heads = triple.view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.attended(mixed.transpose(1, 2).reshape(x.shape))
        return x + self.narrow(functional.gelu(self.wide(self.norm(x)), approximate="tanh"))


class GPT2(nn.Module):
    """The model; ``position_sigma`` is what the claim is about."""

    def __init__(self, position_sigma):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        for name, weights in self.named_parameters():
            if weights.dim() == 1:
                continue
            writes = name.endswith(("attended.weight", "narrow.weight"))
            nn.init.normal_(weights, std=SIGMA / (2 * LAYERS) ** 0.5 if writes else SIGMA)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)
        # The same draws in every arm, at another width.
        with torch.no_grad():
            self.positions.weight.mul_(position_sigma / SIGMA)

    def loss(self, ids):
        """The mean loss of each word but the first, in nats."""
        x = self.tokens(ids[:, :-1]) + self.positions.weight[: ids.shape[1] - 1]
        logits = self.norm(self.blocks(x)) @ self.tokens.weight.T
        return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
