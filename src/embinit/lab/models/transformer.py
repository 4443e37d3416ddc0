"""The vanilla transformer (Vaswani et al. 2017) with a leading run axis on every parameter.

Conventions, after the paper's A.1 and A.2 and Vaswani et al. section 5.4, unless the spec says
otherwise: the table is multiplied by the run's multiplier, then the positions are added; no
LayerNorm after the sum; LayerNorm after each residual (post-norm); ReLU; dropout on the embedding
sum and on each sub-layer's output; the output projection is not tied. The classifier averages the
encoder's output over the words.

Shapes: R runs, S batches of ids (1 where all runs read the same, else R), B sentences, T words, D
width, H heads, E width of a head; BT = B * T rows, RB = R * B sentences of all runs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.lab.data.vocabulary import PAD
from embinit.lab.models.attention import (
    ATTENTION,
    Attention,
    KeysAndValues,
    block_diagonal,
    pack_size,
)
from embinit.lab.models.embedding import Embedding
from embinit.lab.models.layers import (
    Dropout,
    FeedForward,
    Residual,
    StackedLinear,
    draw_xavier,
    final_norm,
    no_dropout,
)
from embinit.lab.models.sizes import linear_parameters, require_heads, side_parameters
from embinit.lab.specs import ModelSpec


@dataclass(frozen=True)
class ModelShape:
    """The shape of a stacked model: all that decides its tensors and number of parameters."""

    spec: ModelSpec
    encoder_vocabulary: int
    decoder_vocabulary: int = 0  # 0 without a decoder
    outputs: int = 0  # the decoder's vocabulary, the number of classes, or 0 for an encoder alone
    precision: str = "float32"
    learned_positions: int = 0  # of each side; 0 where they are fixed

    @property
    def translates(self) -> bool:
        """Whether it is an encoder-decoder; otherwise it is an encoder-classifier."""
        return self.decoder_vocabulary > 0

    @property
    def parameters(self) -> int:
        """The number of parameters of one model of this shape, tables included (Table 5)."""
        spec, length = self.spec, self.learned_positions
        decoder = self.decoder_vocabulary
        sides = side_parameters(spec, self.encoder_vocabulary, length)
        if self.translates:
            sides += side_parameters(spec, decoder, length, decodes=True)
        return sides + linear_parameters(spec.dim, self.outputs)

    def embedding(self, **tensors: Any) -> Embedding:
        """One side's embedding layer; ``tensors`` are as ``Embedding`` takes them."""
        return Embedding(spec=self.spec, learned_positions=self.learned_positions > 0, **tensors)


@dataclass(frozen=True)
class Memory:
    """The encoded source: each decoder layer's keys and values, and the mask of its tokens.

    ``batch`` counts sentences, or packs of them; ``earlier`` masks the target's earlier words in
    such packs (None where order alone does). ``past`` is None where all of the target is read at
    once, else it has the keys and values of the words that were decoded, by layer.
    """

    keys_and_values: tuple[KeysAndValues, ...]
    mask: Float[Tensor, "RB 1 _ T"]
    batch: int
    earlier: Float[Tensor, "RB 1 U U"] | None = None
    past: dict[int, KeysAndValues] | None = None


class Layer(nn.Module):
    """Self-attention, a decoder's attention to the encoder, feed-forward, each with a residual."""

    def __init__(self, shape: ModelShape, runs: int, number: int, decodes: bool = False) -> None:
        super().__init__()
        spec, precision = shape.spec, shape.precision
        self.number = number
        # The first attention reads the sum with positions. At T5's sigma bfloat16 would round the
        # sum by more than the positions that it has.
        of_attention = precision if number else "float32"
        self.attention = ATTENTION[spec.attention](spec, runs, of_attention)
        self.attention_residual = Residual(spec, runs)
        if decodes:
            self.memory_attention = Attention(spec, runs, precision)
            self.memory_residual = Residual(spec, runs)
        self.feed_forward = FeedForward(spec, runs, precision)
        self.feed_forward_residual = Residual(spec, runs)

    def forward(
        self,
        x: Float[Tensor, "R BT D"],
        batch: int,
        mask: Float[Tensor, "_ 1 _ _"] | None,
        dropout: Dropout,
        memory: Memory | None = None,
    ) -> Float[Tensor, "R BT D"]:
        """All tokens of ``batch`` sentences or packs at once; ``mask`` says what each may see.

        A decoder's layer reads ``memory`` too; without a mask its tokens see earlier ones alone.
        With a ``past`` in it ``x`` is each sentence's next token, which joins the past.
        """
        read = self.attention_residual.read(x)
        if memory is not None and (past := memory.past) is not None:
            attended, past[self.number] = self.attention.step(read, past.get(self.number), batch)
        else:
            causal = memory is not None and mask is None
            attended = self.attention.self_attention(read, batch, mask, causal)
        x = self.attention_residual.add(x, attended, dropout)
        if memory is not None:
            query = self.memory_attention.query(self.memory_residual.read(x), memory.batch)
            key, value = memory.keys_and_values[self.number]
            attended = self.memory_attention.attend(query, key, value, memory.mask)
            x = self.memory_residual.add(x, attended, dropout)
        fed = self.feed_forward(self.feed_forward_residual.read(x))
        return self.feed_forward_residual.add(x, fed, dropout)


def mean_over_words(
    x: Float[Tensor, "R BT D"], ids: Int[Tensor, "S B T"]
) -> Float[Tensor, "R B D"]:
    """The mean of ``x`` over the tokens of ``ids`` without padding."""
    _, batch, length = ids.shape
    real = (ids != PAD).float().unsqueeze(-1)
    total = (x.view(len(x), batch, length, -1) * real).sum(dim=2)
    return total / real.sum(dim=2)


class StackedTransformer(nn.Module):
    """R encoder-decoders, encoder-classifiers or encoders of one shape."""

    def __init__(
        self, shape: ModelShape, encoder: Embedding, decoder: Embedding | None = None
    ) -> None:
        super().__init__()
        spec = shape.spec
        require_heads(spec)
        if shape.translates != (decoder is not None):
            raise InputError("an encoder-decoder needs a decoder's embedding, a classifier none")
        self.shape, self.runs = shape, encoder.table.shape[0]
        self.encoder_embedding, self.decoder_embedding = encoder, decoder
        layers = range(spec.layers)
        self.encoder_layers = nn.ModuleList(Layer(shape, self.runs, n) for n in layers)
        self.decoder_layers = nn.ModuleList(
            Layer(shape, self.runs, n, decodes=True) for n in layers if shape.translates
        )
        self.encoder_norm = final_norm(spec, self.runs)
        self.decoder_norm = final_norm(spec, self.runs) if shape.translates else nn.Identity()
        self.output = StackedLinear(self.runs, spec.dim, shape.outputs, shape.precision)

    def encode(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout = no_dropout
    ) -> Float[Tensor, "R BT D"]:
        """The encoder's output."""
        [x] = deque(self.states(ids, dropout), maxlen=1)
        return x

    def states(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout = no_dropout
    ) -> Iterator[Float[Tensor, "R BT D"]]:
        """The embeddings of ``ids``, then each layer's states, the last after any final norm."""
        _, batch, length = ids.shape
        size = self._pack_size(ids, length)
        mask, packs = self._mask(ids, size, length), batch // size
        x = self.encoder_embedding(ids, dropout)
        yield x
        *layers, last = self.encoder_layers
        for layer in layers:
            x = layer(x, packs, mask, dropout)
            yield x
        yield self.encoder_norm(last(x, packs, mask, dropout))

    def _pack_size(self, ids: Int[Tensor, "S B T"], longest: int) -> int:
        """The number of sentences per pack; attention with positions needs each alone."""
        alone = ids.is_cuda or self.shape.spec.attention != "plain"
        return 1 if alone else pack_size(ids.shape[1], longest)

    def _mask(
        self, ids: Int[Tensor, "S B T"], size: int = 1, queries: int = 1
    ) -> Float[Tensor, "_ 1 _ _"]:
        """The additive mask over packs of ``size`` sentences: minus infinity at padding."""
        blocked = torch.zeros(ids.shape, device=ids.device).masked_fill_(ids == PAD, -torch.inf)
        mask = blocked.unsqueeze(2)
        if size > 1:
            mask = block_diagonal(mask.expand(-1, -1, queries, -1), size)
        return self._of_runs(mask)

    def _of_runs(self, mask: Float[Tensor, "S _ Q T"]) -> Float[Tensor, "_ 1 Q T"]:
        """Each run's mask, from a shared one or one per run."""
        return mask.expand(self.runs, -1, -1, -1).flatten(0, 1).unsqueeze(1)

    def mean_pool(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout = no_dropout
    ) -> Float[Tensor, "R B D"]:
        """The encoder's output averaged over tokens, which a classifier's output layer reads."""
        return mean_over_words(self.encode(ids, dropout), ids)

    def encode_memory(
        self, ids: Int[Tensor, "S B T"], dropout: Dropout = no_dropout, words: int | None = None
    ) -> Memory:
        """The encoded source for ``words`` tokens at once, or for decoding steps."""
        x = self.encode(ids, dropout)
        _, batch, length = ids.shape
        past: dict[int, KeysAndValues] | None = {} if words is None else None
        words = words or 1
        size = self._pack_size(ids, max(length, words)) if words > 1 else 1
        pairs = []
        for layer in self.decoder_layers:
            assert isinstance(layer, Layer)
            pairs.append(layer.memory_attention.keys_and_values(x, batch // size))
        earlier = None
        if size > 1:
            later = torch.full((words, words), -torch.inf, device=ids.device).triu(1)
            earlier = self._of_runs(block_diagonal(later.expand(1, batch, -1, -1), size))
        return Memory(tuple(pairs), self._mask(ids, size, words), batch // size, earlier, past)

    def decode(
        self,
        source: Int[Tensor, "S B T"],
        target: Int[Tensor, "S B U"],
        dropout: Dropout = no_dropout,
    ) -> Float[Tensor, "R BU D"]:
        """The output layer's input at each token of ``target``.

        Padding follows the words, so order alone keeps every real word from seeing it.
        """
        return self._read(target, self.encode_memory(source, dropout, target.shape[-1]), dropout)

    def step(
        self, ids: Int[Tensor, "R B"], position: int, memory: Memory
    ) -> Float[Tensor, "R B N"]:
        """Logits after one more token per sentence, which joins the memory's ``past``."""
        logits: Tensor = self.output(self._read(ids.unsqueeze(-1), memory, start=position))
        return logits

    def _read(
        self,
        ids: Int[Tensor, "_ B U"],
        memory: Memory,
        dropout: Dropout = no_dropout,
        start: int = 0,
    ) -> Float[Tensor, "R BU D"]:
        """The decoder's output at tokens that begin at position ``start``."""
        assert self.decoder_embedding is not None
        x = self.decoder_embedding(ids, dropout, start)
        for layer in self.decoder_layers:
            x = layer(x, memory.batch, memory.earlier, dropout, memory)
        read: Tensor = self.decoder_norm(x)
        return read

    def initialise(self, run: int, generator: torch.Generator) -> None:
        """Initialises run ``run``'s weights: matrices Xavier-uniform, biases 0, gains 1 (A.2).

        Draws are in the order of the modules, the embeddings' last, and no table takes part: so a
        seed's weights are the same whatever the embeddings start from, and the layers' whatever the
        tables' widths.
        """
        sides = (self.encoder_embedding, self.decoder_embedding)
        of_embeddings = [module for side in sides if side is not None for module in side.modules()]
        rest = [module for module in self.modules() if module not in of_embeddings]
        for module in (*rest, *of_embeddings):
            if isinstance(module, StackedLinear):
                draw_xavier(module, run, generator)
