"""A small BERT: learn words by guessing hidden ones (Devlin et al. 2019).

From BERT: 15 % of the words are to be guessed, of which 80 % are hidden, 10 % replaced and 10 %
left; learned positions and LayerNorm after the sum; a head with a dense layer, tied to the table,
with a bias; a table that starts from a normal of sigma 0.02, truncated at two sigma; weight decay
0.01; linear warm-up and decline. The LayerNorm makes the table's scale indifferent to the encoder,
the tied head asks for small logits and the decay pulls inwards: the table stays narrow.

Unlike BERT, because the model is 1,000 times smaller: a rate of 2e-3, no dropout (it underfits),
and matrices that start as wide relative to 1/sqrt(D) as BERT's do at D = 768.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from embinit.data.sources.assets import Table
from embinit.runs.table_pretraining.corpus import Corpus, Progress
from embinit.runs.table_pretraining.encoder import (
    BUCKETS,
    PostNormLayer,
    padding_mask,
    relative_scores,
)
from embinit.runs.table_pretraining.optimizers import OPTIMIZERS

MASKED_SHARE = 0.15
START_SIGMA = 0.02
BERT_DIM = 768
RATE = 2e-3
UNMASKED = -100
"""The target of positions that are not to be guessed (cross entropy's own default)."""


class MaskedLanguageModel(nn.Module):
    """An encoder of two post-LN layers over N words, padding (id N) and the mask (id N + 1).

    ``start`` is the sigma that the table starts from. With ``relative`` positions are T5's biases
    inside attention, instead of learned rows added to the table's.
    """

    def __init__(
        self,
        size: int,
        dim: int,
        heads: int = 4,
        longest: int = 64,
        start: float = START_SIGMA,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.padding = size
        self.words = nn.Embedding(size + 2, dim)
        self.positions = None if relative else nn.Embedding(longest, dim)
        self.biases = nn.Embedding(BUCKETS, heads) if relative else None
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(PostNormLayer(dim, heads) for _ in range(2))
        self.head, self.head_norm = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.head_bias = nn.Parameter(torch.zeros(size + 2))
        self.apply(_start_as_bert)
        with torch.no_grad():
            self.words.weight *= start / START_SIGMA

    def forward(self, ids: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Logits (places, N + 2) where ``wanted`` (B, L) is true, for ids (B, L)."""
        summed, length = self.words(ids), ids.shape[1]
        mask = padding_mask(ids, self.padding)
        if self.positions is not None:
            summed = summed + self.positions.weight[:length]
        if self.biases is not None:
            mask = mask + relative_scores(self.biases, length, both_ways=True)
        hidden = self.norm(summed)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        guessed = self.head_norm(functional.gelu(self.head(hidden[wanted])))
        return functional.linear(guessed, self.words.weight, self.head_bias)


def _start_as_bert(module: nn.Module) -> None:
    if isinstance(module, nn.Embedding):
        _truncated_normal(module.weight, START_SIGMA)
    if isinstance(module, nn.Linear):
        _truncated_normal(module.weight, START_SIGMA * (BERT_DIM / module.in_features) ** 0.5)
        nn.init.zeros_(module.bias)


def _truncated_normal(weight: torch.Tensor, sigma: float) -> None:
    nn.init.trunc_normal_(weight, std=sigma, a=-2 * sigma, b=2 * sigma)


def mask_words(
    ids: torch.Tensor, size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the model sees and what it is to guess, both (B, L) int64.

    Ids below ``size`` are words; ``size`` is padding, never chosen; ``size`` + 1 hides a word.
    Targets are ``UNMASKED`` where nothing is to be guessed.
    """
    chosen = (torch.rand(ids.shape, generator=generator) < MASKED_SHARE) & (ids < size)
    fate = torch.rand(ids.shape, generator=generator)
    others = torch.randint(size, ids.shape, generator=generator)
    seen = torch.where(chosen & (fate < 0.8), size + 1, ids)
    seen = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), others, seen)
    return seen, torch.where(chosen, ids, UNMASKED)


def train_masked_language_model(
    corpus: Corpus,
    dim: int = 64,
    steps: int = 8000,
    batch: int = 128,
    seed: int = 0,
    rate: float = RATE,
    optimizer: str = "adamw",
    start: float = START_SIGMA,
    relative: bool = False,
) -> Table:
    """Train for ``steps`` batches; the result is the word table, (N, D).

    ``optimizer`` is one of ``OPTIMIZERS``; ``start`` and ``relative`` are the model's.
    """
    size = len(corpus.words)
    generator = torch.Generator().manual_seed(seed)
    progress = Progress("masked language model (steps)", steps)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        longest = corpus.ids.shape[1]
        model = MaskedLanguageModel(size, dim, longest=longest, start=start, relative=relative)
        step_on = OPTIMIZERS[optimizer](model, rate, steps)
        for step, ids in enumerate(corpus.batches(batch, steps, generator), start=1):
            seen, targets = mask_words(ids, size, generator)
            wanted = targets != UNMASKED
            loss = functional.cross_entropy(model(seen, wanted), targets[wanted])
            torch.autograd.backward(loss)
            step_on()
            progress.tell(step, loss)
    record = {
        "objective": "masked language model",
        "steps": str(steps),
        "sentences": str(len(corpus.ids)),
        "seed": str(seed),
        "loss": f"{progress.recent_loss:.4f}",
    }
    return Table(corpus.words, model.words.weight.detach()[:size].clone(), record)
