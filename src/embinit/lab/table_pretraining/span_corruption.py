"""A small T5: a model that restores spans which were cut out (Raffel et al. 2020).

From T5 (section 3.1.4, figure 2, and its first released version): 15 % of the tokens in spans of 3
on average, each replaced by a sentinel; relative position biases in 32 buckets; RMSNorm before each
layer, no biases; a table that starts from N(0, 1), isn't multiplied, and is shared with the output,
whose logits are divided by sqrt(D); Adafactor with steps proportional to the parameter's own root
mean square, rate 0.01 falling with 1/sqrt(step), no weight decay. RMSNorm, the only reader of the
table, does not see its scale, and the steps are proportional to it: nothing shrinks it.

Each sentence is cut by itself, so most lose one span of one or two words. Spans fall anywhere: T5's
own program always cuts the last token, which in a verb-final language would always be the verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn import functional

from embinit.lab.table_pretraining.corpus import Corpus, pad_rows
from embinit.lab.table_pretraining.encoder import (
    BUCKETS,
    Layer,
    padding_mask,
    relative_scores,
)
from embinit.lab.table_pretraining.language_model import LanguageModel
from embinit.lab.tables.positions import sinusoidal

CUT_SHARE = 0.15
MEAN_SPAN = 3.0
START_SIGMA = 1.0
SENTINELS = 16

CorruptedBatch = tuple[Int64[Tensor, "B T"], Int64[Tensor, "B target"]]
"""The remaining text with sentinels, and the spans that were cut out."""


def cut_spans(
    tokens: Sequence[int], first_sentinel: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Cuts spans out of at least two tokens, and puts a sentinel in place of each.

    Returns the remaining tokens with the sentinels, and each span behind its sentinel with one more
    sentinel at the end. Spans never touch; the outermost tokens are cut less often, as fewer spans
    reach them.
    """
    cut = min(max(round(len(tokens) * CUT_SHARE), 1), len(tokens) - 1)
    kept = len(tokens) - cut
    spans = min(max(round(cut / MEAN_SPAN), 1), kept + 1, SENTINELS - 1)
    ends = np.sort(rng.choice(np.arange(1, cut), spans - 1, replace=False))
    lengths = np.diff(ends, prepend=0, append=cut).tolist()
    # A span begins before the kept token of its slot; distinct slots keep spans apart.
    slots = np.sort(rng.choice(kept + 1, spans, replace=False)).tolist()
    remaining: list[int] = []
    removed: list[int] = []
    position = used = 0
    for number, (slot, length) in enumerate(zip(slots, lengths, strict=True)):
        start = position + slot - used
        remaining += [*tokens[position:start], first_sentinel + number]
        removed += [first_sentinel + number, *tokens[start : start + length]]
        position, used = start + length, slot
    return remaining + list(tokens[position:]), [*removed, first_sentinel + spans]


class SpanCorruptionModel(LanguageModel):
    """Two encoder and two decoder layers over N words, padding, end and ``SENTINELS`` sentinels.

    The table starts from sigma ``start``. With ``relative``, positions are T5's biases inside
    attention, instead of Vaswani's PE that is added to the table's rows.
    """

    objective = "span corruption"
    batch, rate, optimizer = 48, 1e-2, "adafactor"

    def __init__(
        self,
        corpus: Corpus,
        dim: int,
        heads: int = 4,
        start: float = START_SIGMA,
        relative: bool = True,
    ) -> None:
        super().__init__()
        size = corpus.padding
        self.padding, self.scale, self.relative = size, dim**-0.5, relative
        self.words = nn.Embedding(size + 2 + SENTINELS, dim)
        self.encoder_biases, self.decoder_biases = (nn.Embedding(BUCKETS, heads) for _ in range(2))
        self.encoder = nn.ModuleList(Layer(dim, heads, of_t5=True) for _ in range(2))
        self.decoder = nn.ModuleList(Layer(dim, heads, of_t5=True, cross=True) for _ in range(2))
        self.encoder_norm, self.decoder_norm = (nn.RMSNorm(dim, eps=1e-6) for _ in range(2))
        self._start_as_t5(dim, heads, start)

    def _start_as_t5(self, dim: int, heads: int, start: float) -> None:
        nn.init.normal_(self.words.weight, std=start)
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2 or name.startswith("words"):
                continue
            fan_in = parameter.shape[1] if "biases" not in name else dim
            # Queries carry the 1/sqrt(d) that T5's attention leaves out.
            shrink = (dim // heads) ** -0.5 if "query" in name else 1.0
            nn.init.normal_(parameter, std=fan_in**-0.5 * shrink)

    def forward(
        self, ids: Int64[Tensor, "B T"], shifted: Int64[Tensor, "B target"]
    ) -> Float[Tensor, "B target tokens"]:
        """Logits over N + 2 + ``SENTINELS`` tokens; ``shifted`` is the target one token later."""
        memory_mask = padding_mask(ids, self.padding)
        hidden, relative = self._with_positions(ids, self.encoder_biases, both_ways=True)
        for layer in self.encoder:
            hidden = layer(hidden, relative + memory_mask)
        memory = self.encoder_norm(hidden)
        length = shifted.shape[1]
        hidden, relative = self._with_positions(shifted, self.decoder_biases, both_ways=False)
        future = torch.full((length, length), -torch.inf).triu(1)
        for layer in self.decoder:
            hidden = layer(hidden, relative + future, memory, memory_mask)
        return functional.linear(self.decoder_norm(hidden) * self.scale, self.words.weight)

    def _with_positions(
        self, ids: Int64[Tensor, "B T"], biases: nn.Embedding, both_ways: bool
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "#heads T T"]]:
        """The rows of the words, and the biases of attention by relative position."""
        hidden, length = self.words(ids), ids.shape[1]
        if not self.relative:
            return hidden + sinusoidal(length, hidden.shape[-1]), torch.zeros(1, length, length)
        return hidden, relative_scores(biases, length, both_ways)

    @staticmethod
    def batches(corpus: Corpus, size: int, steps: int, seed: int) -> Iterator[CorruptedBatch]:
        """Batches of sentences with spans cut out: the remaining text and the spans, each ended."""
        padding, end = corpus.padding, corpus.padding + 1
        rng = np.random.default_rng(seed)
        for rows in corpus.batches(size, steps, torch.Generator().manual_seed(seed)):
            texts = [[token for token in row if token != padding] for row in rows.tolist()]
            pairs = [cut_spans(text, end + 1, rng) for text in texts]
            remaining = pad_rows([[*kept, end] for kept, _ in pairs], padding)
            yield remaining, pad_rows([[*spans, end] for _, spans in pairs], padding)

    def loss(self, batch: CorruptedBatch) -> Float[Tensor, ""]:
        """The mean cross entropy of the tokens of the spans."""
        remaining, spans = batch
        # The decoder starts from padding, as T5's does.
        shifted = functional.pad(spans[:, :-1], (1, 0), value=self.padding)
        logits = self(remaining, shifted)
        return functional.cross_entropy(
            logits.flatten(0, 1), spans.flatten(), ignore_index=self.padding
        )
