"""A small BERT: a masked language model (Devlin et al. 2019).

From BERT: 15 % of the words are predicted, of which 80 % are masked, 10 % replaced and 10 % left;
learned positions and LayerNorm after the sum; a head with a dense layer, tied to the table, with a
bias; a table that starts from a normal of sigma 0.02, truncated at two sigma; weight decay 0.01;
linear warm-up and decline. After the LayerNorm the encoder does not see the table's scale, the tied
head needs small logits and the decay shrinks weights, so the table's sigma stays small.

Unlike BERT, because the model is 1,000 times smaller: a rate of 2e-3, no dropout (it underfits),
and matrices whose sigma at the start, relative to 1/sqrt(D), is that of BERT's at D = 768.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.encoder import (
    BUCKETS,
    Layer,
    padding_mask,
    relative_scores,
)
from embinit.lab.table_pretraining.language_model import LanguageModel

MASK_PROBABILITY = 0.15
START_SIGMA = 0.02
BERT_DIM = 768
UNMASKED = -100
"""The target of words that are not to be predicted (cross entropy's own default)."""

MaskedBatch = tuple[Int64[Tensor, "B T"], Int64[Tensor, "B T"]]
"""The ids that the model sees, and the targets."""


class MaskedLanguageModel(LanguageModel):
    """An encoder of two post-LN layers over N words, padding (id N) and the mask (id N + 1).

    The table starts from sigma ``start``. With ``relative``, positions are T5's biases inside
    attention, instead of learned rows that are added to the table's.
    """

    objective = "masked language model"
    batch, rate, optimizer = 128, 2e-3, "adamw"  # the rate is that after warm-up

    def __init__(
        self,
        corpus: Corpus,
        dim: int,
        heads: int = 4,
        start: float = START_SIGMA,
        relative: bool = False,
    ) -> None:
        super().__init__()
        size, longest = corpus.padding, corpus.ids.shape[1]
        self.padding = size
        self.words = nn.Embedding(size + 2, dim)
        self.positions = None if relative else nn.Embedding(longest, dim)
        self.biases = nn.Embedding(BUCKETS, heads) if relative else None
        self.norm = nn.LayerNorm(dim)
        self.layers = nn.ModuleList(Layer(dim, heads, of_t5=False) for _ in range(2))
        self.head, self.head_norm = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.head_bias = nn.Parameter(torch.zeros(size + 2))
        self.apply(_start_as_bert)
        with torch.no_grad():
            self.words.weight *= start / START_SIGMA

    def forward(
        self, ids: Int64[Tensor, "B T"], masked: Bool[Tensor, "B T"]
    ) -> Float[Tensor, "predictions tokens"]:
        """The logits over all N + 2 tokens, of each word where ``masked`` is true."""
        summed, length = self.words(ids), ids.shape[1]
        mask = padding_mask(ids, self.padding)
        if self.positions is not None:
            summed = summed + self.positions.weight[:length]
        if self.biases is not None:
            mask = mask + relative_scores(self.biases, length, both_ways=True)
        hidden = self.norm(summed)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        predicting = self.head_norm(functional.gelu(self.head(hidden[masked])))
        return functional.linear(predicting, self.words.weight, self.head_bias)

    @staticmethod
    def batches(corpus: Corpus, size: int, steps: int, seed: int) -> Iterator[MaskedBatch]:
        """Batches of sentences: the ids that the model sees, and the targets."""
        generator = torch.Generator().manual_seed(seed)
        for ids in corpus.batches(size, steps, generator):
            yield mask_tokens(ids, len(corpus.words), generator)

    def loss(self, batch: MaskedBatch) -> Float[Tensor, ""]:
        """The mean cross entropy of the words to predict."""
        seen, targets = batch
        masked = targets != UNMASKED
        return functional.cross_entropy(self(seen, masked), targets[masked])


def _start_as_bert(module: nn.Module) -> None:
    if isinstance(module, nn.Embedding):
        _truncated_normal(module.weight, START_SIGMA)
    if isinstance(module, nn.Linear):
        _truncated_normal(module.weight, START_SIGMA * (BERT_DIM / module.in_features) ** 0.5)
        nn.init.zeros_(module.bias)


def _truncated_normal(weight: Tensor, sigma: float) -> None:
    nn.init.trunc_normal_(weight, std=sigma, a=-2 * sigma, b=2 * sigma)


def mask_tokens(ids: Int64[Tensor, "B T"], size: int, generator: torch.Generator) -> MaskedBatch:
    """Chooses words to predict, and masks most: the ids that the model sees, and the targets.

    Ids below ``size`` are words, ``size`` is padding, the mask is ``size`` + 1. The target of words
    that are not to be predicted is ``UNMASKED``.
    """
    chosen = (torch.rand(ids.shape, generator=generator) < MASK_PROBABILITY) & (ids < size)
    fate = torch.rand(ids.shape, generator=generator)
    random_words = torch.randint(size, ids.shape, generator=generator)
    seen = torch.where(chosen & (fate < 0.8), size + 1, ids)
    seen = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), random_words, seen)
    return seen, torch.where(chosen, ids, UNMASKED)
