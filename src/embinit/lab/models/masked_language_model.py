"""A stacked masked language model: the stacked encoder with an output table on top.

After BERT (Devlin et al. 2019) and RemBERT (Chung et al. 2021): a dense layer to the output table's
width, GELU, a norm, and the table's transpose with a bias. The output table is the input table
(coupled) or one of its own (decoupled), which fine-tuning throws away.

K masked positions a sentence, O the output table's width; other shapes are ``transformer``'s.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.lab.models.layers import (
    PRECISIONS,
    Dropout,
    StackedLayerNorm,
    StackedLinear,
    count,
    draw_xavier,
    no_dropout,
)
from embinit.lab.models.losses import OutputLayer
from embinit.lab.models.sizes import Parameters, output_width
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import ModelSpec
from embinit.lab.tables.inits import NORMAL_SIGMA
from embinit.randomness import stream


class MaskedLanguageModel(nn.Module):
    """R encoders that predict masked words."""

    def __init__(self, encoder: StackedTransformer) -> None:
        """A head on ``encoder``, by the spec in the encoder's shape."""
        super().__init__()
        shape, runs = encoder.shape, encoder.runs
        separate = output_width(shape.spec)
        width = shape.spec.table_width if separate is None else separate
        self.encoder = encoder
        self.dense = StackedLinear(runs, shape.spec.dim, width, shape.precision)
        self.norm = StackedLayerNorm(runs, width)
        self.bias = nn.Parameter(torch.zeros(runs, 1, shape.encoder_vocabulary))
        self.output_table = None
        if separate is not None:
            self.output_table = nn.Parameter(torch.empty(runs, shape.encoder_vocabulary, width))
        self.dtype = PRECISIONS[shape.precision]

    @classmethod
    def empty(cls, shape: ModelShape) -> MaskedLanguageModel:
        """One run's model whose tensors have shapes and no values, for counting."""
        encoder = StackedTransformer.empty(shape)
        with torch.device("meta"):
            return cls(encoder)

    def forward(
        self,
        ids: Int[Tensor, "S B T"],
        positions: Int[Tensor, "S B K"],
        dropout: Dropout = no_dropout,
    ) -> Float[Tensor, "R BK O"]:
        """The vectors that are multiplied by the output table, at the masked ``positions``."""
        x, _ = self.encoder.encode(ids, dropout)
        runs, (_, batch, most) = self.encoder.runs, positions.shape
        index = positions.expand(runs, batch, most).unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])
        hidden = x.view(runs, batch, -1, x.shape[-1]).gather(2, index).flatten(1, 2)
        read: Tensor = self.norm(F.gelu(self.dense(hidden)))
        return read

    def output(self) -> OutputLayer:
        """The output layer: the output table's transpose and its bias."""
        table = self.encoder.encoder_embedding.table
        if self.output_table is not None:
            table = self.output_table
        return OutputLayer(table.transpose(1, 2), self.bias, self.dtype)

    def initialise(self, run: int, seed: int) -> None:
        """Initialises the head randomly, each tensor from its own random stream."""
        draw_xavier(self.dense, run, stream(seed, "weights/head"))
        if self.output_table is not None:
            own = self.output_table.detach()[run]
            drawn = torch.randn(own.shape, generator=stream(seed, "embedding/output"))
            own.copy_(drawn * NORMAL_SIGMA)


@dataclass(frozen=True)
class MaskedModelShape(ModelShape):
    """The shape of a masked language model, its head included."""

    @property
    def logits(self) -> int:
        """The number of logits per masked token."""
        return self.encoder_vocabulary

    @property
    def parameters(self) -> int:
        """The number of parameters of one model of this shape, encoder and head."""
        return count(MaskedLanguageModel.empty(self))


def built_parameters(model: ModelSpec, words: int, length: int) -> Parameters:
    """Parameter counts as ``count_parameters`` gives them, from models built without values."""
    return Parameters(
        MaskedModelShape(model, words, learned_positions=length).parameters,
        ModelShape(model, words, learned_positions=length).parameters,
    )
