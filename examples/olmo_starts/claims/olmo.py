"""A decoder as OLMo 2 builds it, at a CPU's size, and text that every Python has.

RMSNorm, rotary attention, SwiGLU, no biases, a head of its own. OLMo 2 norms what a layer writes;
here a norm stands before each layer, as in the OLMo models whose starts were compared.
"""

import math
import pydoc_data.topics
import re
from collections import Counter

import torch
from torch import nn
from torch.nn import functional

LAYERS, WIDTH, HEADS, CONTEXT, WORDS = 8, 32, 2, 64, 512
PAPERS_WIDTH = 4096


def ids_of_text():
    """The words of Python's language reference as ids; the rarest share the id 0."""
    words = re.findall(r"\w+|[^\w\s]|\n+", "\n".join(pydoc_data.topics.topics.values()))
    common = [word for word, _ in Counter(words).most_common(WORDS - 1)]
    numbers = {word: number for number, word in enumerate(common, 1)}
    return torch.tensor([numbers.get(word, 0) for word in words])


def rotated(x, angles):
    """Rotary positions: pairs of features turn by their position's angles."""
    first, second = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class Layer(nn.Module):
    """Causal attention and a gated feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self):
        super().__init__()
        self.attention_norm, self.norm = nn.RMSNorm(WIDTH), nn.RMSNorm(WIDTH)
        self.queries_keys_values = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.attended = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate_and_up = nn.Linear(WIDTH, 2 * 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=False)

    def forward(self, x, angles):
        batch, length, _ = x.shape
        triple = self.queries_keys_values(self.attention_norm(x))
        queries, keys, values = triple.view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            rotated(queries, angles), rotated(keys, angles), values, is_causal=True
        )
        x = x + self.attended(mixed.transpose(1, 2).reshape(x.shape))
        gate, up = self.gate_and_up(self.norm(x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


class Decoder(nn.Module):
    """The model; its start is what the claims are about.

    Args:
        sigma: The width of the normal that weights are drawn from, at OLMo's width of 4,096. What a
            matrix does to the size of what it reads depends on sigma times the root of the width,
            which is kept here.
        by_depth: Whether matrices start at 1 / sqrt(width) in place of sigma, and those of layer n
            that write to the residual stream at 1 / sqrt(2 width n), as OLMo's did before OLMo 2.
    """

    def __init__(self, sigma=0.02, by_depth=False):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)
        here = sigma * math.sqrt(PAPERS_WIDTH / WIDTH)
        for name, weights in self.named_parameters():
            if weights.dim() == 1:
                continue
            std = here
            if by_depth and name.startswith("layers"):
                writes = name.endswith(("attended.weight", "down.weight"))
                number = int(name.split(".")[1]) + 1
                std = 1 / math.sqrt(2 * WIDTH * number if writes else WIDTH)
            nn.init.normal_(weights, std=std)

    def states(self, ids):
        """What each layer reads and what the last writes, each of (batch, time, width)."""
        pairs = torch.arange(0, WIDTH // HEADS, 2) / (WIDTH // HEADS)
        angles = torch.arange(ids.shape[1])[:, None] / 10_000**pairs
        states = [self.words(ids)]
        for layer in self.layers:
            states.append(layer(states[-1], angles))
        return states

    def loss(self, ids, states=None):
        """The mean loss of each word but the first, in nats."""
        states = self.states(ids[:, :-1]) if states is None else states
        logits = self.head(self.norm(states[-1]))
        return functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
