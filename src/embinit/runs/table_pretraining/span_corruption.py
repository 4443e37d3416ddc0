"""A small T5: learn words by restoring spans that were cut out (Raffel et al. 2020).

From T5 (section 3.1.4, figure 2, and its first released version): 15 % of the tokens in spans of 3
on average, each replaced by a sentinel; relative position biases in 32 buckets; RMSNorm before
each layer, no biases; a table that starts from N(0, 1), isn't multiplied, and is shared with the
output, whose logits are divided by sqrt(D); Adafactor with steps proportional to the parameter's
own root mean square, rate 0.01 falling with 1/sqrt(step), no weight decay. Only RMSNorm reads the
table, which is blind to scale, and the steps are proportional to it: nothing pulls it inwards.

Each sentence is cut by itself; they are short, so most lose one span of one or two words. Spans
fall anywhere; T5's own program always cuts the last token, which in a verb-final language would
always be the verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from embinit.data.sources.assets import Table
from embinit.runs.table_pretraining.corpus import Corpus, Progress, pad_rows
from embinit.runs.table_pretraining.encoder import (
    BUCKETS,
    PreNormLayer,
    padding_mask,
    relative_scores,
)
from embinit.runs.table_pretraining.optimizers import OPTIMIZERS
from embinit.tables.positions import sinusoidal

CUT_SHARE = 0.15
MEAN_SPAN = 3.0
RATE = 1e-2
START_SIGMA = 1.0
SENTINELS = 16


def cut_spans(
    tokens: Sequence[int], first_sentinel: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """Cut spans out of at least two tokens: what is left, and what was cut.

    Both have a sentinel (``first_sentinel`` and up, in order) for each span; what was cut ends with
    one sentinel more. Spans never touch, so each sentinel stands for one run of tokens. Any place
    may be cut; the outermost tokens less often, as fewer spans reach them.
    """
    cut = min(max(round(len(tokens) * CUT_SHARE), 1), len(tokens) - 1)
    kept = len(tokens) - cut
    spans = min(max(round(cut / MEAN_SPAN), 1), kept + 1, SENTINELS - 1)
    ends = np.sort(rng.choice(np.arange(1, cut), spans - 1, replace=False))
    lengths = np.diff(ends, prepend=0, append=cut).tolist()
    # A span begins before the kept token of its slot; distinct slots keep spans apart.
    slots = np.sort(rng.choice(kept + 1, spans, replace=False)).tolist()
    left: list[int] = []
    taken: list[int] = []
    position = used = 0
    for number, (slot, length) in enumerate(zip(slots, lengths, strict=True)):
        start = position + slot - used
        left += [*tokens[position:start], first_sentinel + number]
        taken += [first_sentinel + number, *tokens[start : start + length]]
        position, used = start + length, slot
    return left + list(tokens[position:]), [*taken, first_sentinel + spans]


class SpanCorruptionModel(nn.Module):
    """Two encoder and two decoder layers over N words, padding, end and ``SENTINELS`` sentinels.

    ``start`` is the sigma that the table starts from. With ``relative`` False positions are
    Vaswani's, added to the table's rows, instead of T5's biases inside attention.
    """

    def __init__(
        self, size: int, dim: int, heads: int = 4, start: float = START_SIGMA, relative: bool = True
    ) -> None:
        super().__init__()
        self.padding, self.scale, self.relative = size, dim**-0.5, relative
        self.words = nn.Embedding(size + 2 + SENTINELS, dim)
        self.encoder_biases, self.decoder_biases = (nn.Embedding(BUCKETS, heads) for _ in range(2))
        self.encoder = nn.ModuleList(PreNormLayer(dim, heads, cross=False) for _ in range(2))
        self.decoder = nn.ModuleList(PreNormLayer(dim, heads, cross=True) for _ in range(2))
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

    def forward(self, ids: torch.Tensor, shifted: torch.Tensor) -> torch.Tensor:
        """Logits (B, M, N + 2 + sentinels) for the cut text after ``shifted`` (B, M)."""
        memory_mask = padding_mask(ids, self.padding)
        hidden, near = self._placed(ids, self.encoder_biases, both_ways=True)
        for layer in self.encoder:
            hidden = layer(hidden, near + memory_mask)
        memory = self.encoder_norm(hidden)
        length = shifted.shape[1]
        hidden, before = self._placed(shifted, self.decoder_biases, both_ways=False)
        future = torch.full((length, length), -torch.inf).triu(1)
        for layer in self.decoder:
            hidden = layer(hidden, before + future, memory, memory_mask)
        return functional.linear(self.decoder_norm(hidden) * self.scale, self.words.weight)

    def _placed(
        self, ids: torch.Tensor, biases: nn.Embedding, both_ways: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The words' rows (B, L, D), and what is added to scores for where they stand."""
        hidden, length = self.words(ids), ids.shape[1]
        if not self.relative:
            return hidden + sinusoidal(length, hidden.shape[-1]), torch.zeros(1, length, length)
        return hidden, relative_scores(biases, length, both_ways)


def _corrupted(
    corpus: Corpus, batch: int, steps: int, seed: int
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Batches of sentences with spans cut out: what is left and what was cut, each row ended."""
    padding, end = corpus.padding, corpus.padding + 1
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    for rows in corpus.batches(batch, steps, generator):
        texts = [[token for token in row if token != padding] for row in rows.tolist()]
        pairs = [cut_spans(text, end + 1, rng) for text in texts]
        left = pad_rows([[*kept, end] for kept, _ in pairs], padding)
        yield left, pad_rows([[*taken, end] for _, taken in pairs], padding)


def train_span_corruption(
    corpus: Corpus,
    dim: int = 64,
    steps: int = 10_000,
    batch: int = 48,
    seed: int = 0,
    rate: float = RATE,
    optimizer: str = "adafactor",
    start: float = START_SIGMA,
    relative: bool = True,
) -> Table:
    """Train for ``steps`` batches; the result is the word table without sentinels, (N, D).

    ``optimizer`` is one of ``OPTIMIZERS``; ``start`` and ``relative`` are the model's.
    """
    size = len(corpus.words)
    progress = Progress("span corruption (steps)", steps)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = SpanCorruptionModel(size, dim, start=start, relative=relative)
        step_on = OPTIMIZERS[optimizer](model, rate, steps)
        for step, (left, taken) in enumerate(_corrupted(corpus, batch, steps, seed), start=1):
            # The decoder starts from padding, as T5's does.
            shifted = functional.pad(taken[:, :-1], (1, 0), value=size)
            logits = model(left, shifted)
            loss = functional.cross_entropy(
                logits.flatten(0, 1), taken.flatten(), ignore_index=size
            )
            torch.autograd.backward(loss)
            step_on()
            progress.tell(step, loss)
    record = {
        "objective": "span corruption",
        "steps": str(steps),
        "sentences": str(len(corpus.ids)),
        "seed": str(seed),
        "loss": f"{progress.recent_loss:.4f}",
    }
    return Table(corpus.words, model.words.weight.detach()[:size].clone(), record)
