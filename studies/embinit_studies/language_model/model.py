"""A stacked causal language model: each token is predicted from earlier ones.

The layers are the encoder's under a causal mask. With ``norm="rms"``, ``norm_position="pre"``,
``attention="rotary"``, ``activation="silu"``, ``gated`` and no ``bias`` it is Llama (Touvron et al.
2023); with LayerNorm, learned positions, ``gelu_tanh`` and ``coupled`` it is GPT-2 (Radford et al.
2019). ``norm_after_sum`` is a norm right after lookup. The output table is the input table (tied,
``coupled``) or one of its own, without a bias.

A sentence is read from BOS on and predicted up to EOS. Shapes are those of ``transformer``.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.lab.data.vocabulary import BOS, PAD
from embinit.lab.models.attention import block_diagonal
from embinit.lab.models.layers import PRECISIONS, Dropout, count, no_dropout
from embinit.lab.models.losses import NOTHING, OutputLayer
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import ModelSpec
from embinit.lab.tables.inits import NORMAL_SIGMA
from embinit.randomness import stream


class CausalTransformer(StackedTransformer):
    """R stacks of causal layers: each token attends to itself and earlier ones.

    Padding follows the words, so order alone keeps every real word from seeing it.
    """

    def _mask(
        self, ids: Int[Tensor, "S B T"], size: int = 1, queries: int = 1
    ) -> Float[Tensor, "_ 1 _ _"]:
        batch, length = ids.shape[1:]
        mask = torch.full((1, 1, length, length), -torch.inf, device=ids.device).triu(1)
        if size > 1:
            mask = block_diagonal(mask.expand(-1, size, -1, -1), size)
        # Every pack of every run has the same.
        mask = mask.to(self.encoder_embedding.table.dtype)
        return mask.expand(self.runs * batch // size, -1, -1, -1)


class CausalLanguageModel(nn.Module):
    """R causal language models."""

    def __init__(self, stack: StackedTransformer) -> None:
        """A head on the stack, by the spec in the stack's shape."""
        super().__init__()
        shape = stack.shape
        require_usable(shape.spec)
        self.stack = stack
        self.output_table = None
        words, width = shape.encoder_vocabulary, shape.spec.dim
        if not shape.spec.coupled:
            self.output_table = nn.Parameter(torch.empty(stack.runs, words, width))
        self.register_buffer("no_bias", torch.zeros(stack.runs, 1, words), persistent=False)
        self.dtype = PRECISIONS[shape.precision]

    no_bias: Tensor

    @classmethod
    def empty(cls, shape: ModelShape) -> CausalLanguageModel:
        """One run's model whose tensors have shapes and no values, for counting."""
        stack = CausalTransformer.empty(shape)
        with torch.device("meta"):
            return cls(stack)

    def forward(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout = no_dropout
    ) -> Float[Tensor, "R BT D"]:
        """The vectors that are multiplied by the output table, at each of the tokens ``ids``."""
        [x] = deque(self.stack.states(ids, dropout), maxlen=1)
        return x

    def output(self) -> OutputLayer:
        """The output layer: the output table's transpose."""
        table = self.stack.encoder_embedding.table
        if self.output_table is not None:
            table = self.output_table
        return OutputLayer(table.transpose(1, 2), self.no_bias, self.dtype)

    def logits(self, ids: Int[Tensor, "S B T"]) -> Float[Tensor, "R BT N"]:
        """The logits of the token after each of the tokens ``ids``."""
        layer = self.output()
        return torch.bmm(self(ids), layer.weight)

    def initialise(self, run: int, seed: int) -> None:
        """Initialises an untied output table from N(0, 0.02)."""
        if self.output_table is not None:
            own = self.output_table.detach()[run]
            drawn = torch.randn(own.shape, generator=stream(seed, "embedding/output"))
            own.copy_(drawn * NORMAL_SIGMA)


def require_usable(model: ModelSpec) -> None:
    """Refuses a model whose tables do not fit its width.

    Raises:
        InputError: The output table, or a tied table, has another width than the model.
    """
    if model.output_width not in (None, model.dim):
        raise InputError("a causal model's output table is as wide as the model: no output_width")
    if model.coupled and model.table_width != model.dim:
        raise InputError(
            f"a tied table is the output table too, and so {model.dim} wide as the model: "
            "leave input_width out"
        )


@dataclass(frozen=True)
class CausalModelShape(ModelShape):
    """The shape of a causal language model, its head included."""

    @property
    def logits(self) -> int:
        """The number of logits per token."""
        return self.encoder_vocabulary

    @property
    def parameters(self) -> int:
        """The number of parameters of one model of this shape."""
        return count(CausalLanguageModel.empty(self))


def read_and_predicted(
    ids: Int[Tensor, "S B T"],
) -> tuple[Int[Tensor, "S B T"], Int[Tensor, "S BT"]]:
    """A causal model's input tokens and labels, from sentences.

    Args:
        ids: Sentences up to EOS, padded behind.

    Returns:
        The sentences from BOS on without their last word, and the sentences; NOTHING for padding.
    """
    ids = ids.long()
    begun = torch.cat((torch.full_like(ids[..., :1], BOS), ids[..., :-1]), dim=-1)
    return begun, ids.flatten(1).masked_fill(ids.flatten(1) == PAD, NOTHING)
