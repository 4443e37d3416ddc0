"""A stacked masked language model: the stacked encoder with an output table on top.

After BERT (Devlin et al. 2019) and RemBERT (Chung et al. 2021): a dense layer to the output table's
width, GELU, a norm, and the table's transpose with a bias. The output table is the input table
(coupled) or one of its own (decoupled), which fine-tuning throws away.

All arms of a seed mask the same words. Of the predicted words 80 % become MASK, 10 % a random word
and 10 % stay (Devlin et al. 2019). They depend on the seed and the batch alone, and are drawn anew
each time that a sentence comes round, on the device with static shapes, for CUDA graphs.

K masked positions a sentence, O the output table's width; other shapes are ``transformer``'s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.lab.data.vocabulary import MASK
from embinit.lab.models.layers import (
    Dropout,
    StackedLayerNorm,
    StackedLinear,
    draw_xavier,
    no_dropout,
)
from embinit.lab.models.losses import NOTHING, OutputLayer, cross_entropy
from embinit.lab.models.sizes import output_width
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import ModelSpec
from embinit.lab.tables.inits import NORMAL_SIGMA
from embinit.randomness import stream


class MaskedHead(nn.Module):
    """The layers from hidden words to logits, for the H runs of a stack with one output width."""

    runs: Int[Tensor, " H"]

    def __init__(self, shape: ModelShape, separate: int | None, runs: Sequence[int]) -> None:
        """The head of ``runs``, whose output table is ``separate`` wide or the input table."""
        super().__init__()
        width = shape.spec.table_width if separate is None else separate
        self.dense = StackedLinear(len(runs), shape.spec.dim, width, shape.precision)
        self.norm = StackedLayerNorm(len(runs), width)
        self.bias = nn.Parameter(torch.zeros(len(runs), 1, shape.encoder_vocabulary))
        self.output_table = None
        if separate is not None:
            rows = shape.encoder_vocabulary
            self.output_table = nn.Parameter(torch.empty(len(runs), rows, width))
        self.precision = shape.precision
        self.register_buffer("runs", torch.tensor(runs), persistent=False)

    def own(self, of_all: Shaped[Tensor, "R ..."]) -> Shaped[Tensor, "H ..."]:
        """This head's runs of ``of_all``."""
        return of_all if len(of_all) == len(self.runs) else of_all.index_select(0, self.runs)

    def forward(self, hidden: Float[Tensor, "H M D"]) -> Float[Tensor, "H M O"]:
        """The vectors that are multiplied by the output table."""
        read: Tensor = self.norm(F.gelu(self.dense(hidden)))
        return read

    def output(self, input_table: Float[Tensor, "R N E"]) -> OutputLayer:
        """The output layer: the output table's transpose and its bias."""
        table = self.own(input_table) if self.output_table is None else self.output_table
        return OutputLayer(table.transpose(1, 2), self.bias, self.precision)

    def initialise(self, place: int, seed: int) -> None:
        """Initialises the run at ``place`` randomly, each tensor from its own random stream."""
        draw_xavier(self.dense, place, stream(seed, "weights/head"))
        if self.output_table is not None:
            own = self.output_table.detach()[place]
            drawn = torch.randn(own.shape, generator=stream(seed, "embedding/output"))
            own.copy_(drawn * NORMAL_SIGMA)


class MaskedLanguageModel(nn.Module):
    """R encoders that predict masked words; runs of one output width share a head."""

    _place: Int[Tensor, " R"]

    def __init__(self, encoder: StackedTransformer, models: Sequence[ModelSpec]) -> None:
        """Heads on ``encoder``, by each run's model."""
        super().__init__()
        self.encoder = encoder
        runs_of: dict[int | None, list[int]] = {}
        for run, model in enumerate(models):
            runs_of.setdefault(output_width(model), []).append(run)
        self.heads = [MaskedHead(encoder.shape, *item) for item in runs_of.items()]
        self._registered = nn.ModuleList(self.heads)
        order = torch.tensor([run for runs in runs_of.values() for run in runs])
        self.register_buffer("_place", order.argsort(), persistent=False)

    def forward(
        self,
        ids: Int[Tensor, "S B T"],
        positions: Int[Tensor, "S B K"],
        dropout: Dropout = no_dropout,
    ) -> list[tuple[MaskedHead, Float[Tensor, "H BK O"], OutputLayer]]:
        """Each head's vectors at the masked ``positions``, and the layer that reads them."""
        x = self.encoder.encode(ids, dropout)
        runs, (_, batch, most) = self.encoder.runs, positions.shape
        index = positions.expand(runs, batch, most).unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])
        hidden = x.view(runs, batch, -1, x.shape[-1]).gather(2, index).flatten(1, 2)
        table = self.encoder.encoder_embedding.table
        return [(head, head(head.own(hidden)), head.output(table)) for head in self.heads]

    def losses(
        self, masked: Masked, dropout: Dropout
    ) -> tuple[Float[Tensor, " R"], Int[Tensor, " S"]]:
        """Each run's summed cross-entropy, and the number of masked words that it is of."""
        labels = masked.labels.expand(self.encoder.runs, -1)
        losses = [
            cross_entropy(read, layer, head.own(labels))[0]
            for head, read, layer in self(masked.seen, masked.positions, dropout)
        ]
        return torch.cat(losses)[self._place], (masked.labels != NOTHING).sum(dim=1)

    def right(self, masked: Masked) -> tuple[Float[Tensor, " R"], Int[Tensor, " S"]]:
        """Each run's number of masked words that it predicts, and the number of masked words."""
        labels = masked.labels.expand(self.encoder.runs, -1)
        found: list[Tensor] = []
        for head, read, layer in self(masked.seen, masked.positions):
            parts = zip(read, layer.weight, layer.bias, head.own(labels), strict=True)
            # Run by run, since logits over a large vocabulary are large.
            found += [((x @ w + bias).argmax(dim=-1) == true).sum() for x, w, bias, true in parts]
        return torch.stack(found)[self._place].float(), (masked.labels != NOTHING).sum(dim=1)

    def initialise(self, seeds: Sequence[int]) -> None:
        """Initialises the heads, by each run's seed."""
        for head in self.heads:
            for place, run in enumerate(head.runs.tolist()):
                head.initialise(place, seeds[run])


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
