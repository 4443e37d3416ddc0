"""The vanilla transformer (Vaswani et al. 2017) with a leading run axis on every parameter.

One set of stacked parameters holds R models of the same shape; a batched matrix product takes the
place of every linear layer, so that the arms and seeds of an experiment train at once. Nothing is
shared between runs: with the loss summed over runs, each run's gradient is its own.

Conventions, after the paper's A.1 and A.2 and Vaswani et al. section 5.4: the table is multiplied
by the run's multiplier, then the positions are added; no LayerNorm after the sum; LayerNorm after
each residual; ReLU; dropout on the embedding sum and on each sub-layer's output; the output
projection is not tied. The classifier averages the encoder's output over the words.

Shapes: R runs, S batches of ids (1 where all runs read the same, else R), B examples, T words,
D width, H heads, N words of a vocabulary. Embedding sum, LayerNorm and softmax are float32 always;
matrix products may be bfloat16 (``precision``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.data.vocabulary import PAD
from embinit.errors import InputError
from embinit.registry import Registry

Dropout = Callable[[Tensor], Tensor]


ACTIVATIONS: Registry[Callable[[Tensor], Tensor]] = Registry("activation", "embinit.activations")
ACTIVATIONS.register("relu", torch.relu)
ACTIVATIONS.register("gelu", F.gelu)

PRECISIONS: Registry[torch.dtype] = Registry("precision", "embinit.precisions")
PRECISIONS.register("float32", torch.float32)
PRECISIONS.register("bfloat16", torch.bfloat16)


@dataclass(frozen=True)
class ModelShape:
    """Everything that fixes the tensors of a stacked model.

    ``outputs`` is the decoder's vocabulary size for translation, the number of classes else, and
    0 for an encoder alone; ``decoder_words`` is 0 for a classifier. ``input_width`` is that of the
    tables, where it is not the model's.
    """

    encoder_words: int
    decoder_words: int
    outputs: int
    dim: int
    heads: int
    layers: int
    feed_forward: int
    dropout: float
    precision: str = "float32"
    attention: str = "plain"
    activation: str = "relu"
    input_width: int | None = None

    @property
    def translates(self) -> bool:
        """Encoder-decoder (True) or encoder-classifier."""
        return self.decoder_words > 0

    @property
    def parameters(self) -> int:
        """How many parameters one model of this shape has (Table 5), its tables included."""
        encoder, decoder = (
            Embedding.empty(words, self.input_width or self.dim, self.dim)
            for words in (self.encoder_words, self.decoder_words)
        )
        model = StackedTransformer(self, encoder, decoder if self.translates else None)
        return count(model)


def count(module: nn.Module) -> int:
    """How many parameters a module has."""
    return sum(parameter.numel() for parameter in module.parameters())


class SeedDropout:
    """Dropout masks: drawn once per seed from its own stream, broadcast over the seed's runs.

    The generator of a seed is asked in the same order and for the same shapes whatever the
    cohort holds, so a run's masks depend on its seed and its batches alone.
    """

    def __init__(self, generators: list[torch.Generator], seed_of_run: Tensor, rate: float) -> None:
        self.generators = generators
        self._seed_of_run = seed_of_run
        self._keep = 1.0 - rate

    def __call__(self, x: Tensor) -> Tensor:
        """``x`` (R, ...) with a share of its elements zeroed and the rest scaled up."""
        if self._keep == 1.0:
            return x
        masks = torch.empty(len(self.generators), *x.shape[1:], device=x.device)
        for mask, generator in zip(masks, self.generators, strict=True):
            mask.bernoulli_(self._keep, generator=generator)
        masks.div_(self._keep)
        # One seed broadcasts; several are spread over their runs.
        return x * (masks if len(masks) == 1 else masks[self._seed_of_run])


def no_dropout(x: Tensor) -> Tensor:
    """Stands in for ``SeedDropout`` in evaluation."""
    return x


class StackedLinear(nn.Module):
    """y_r = x_r W_r + b_r for each run r: (R, M, in) to (R, M, out)."""

    def __init__(
        self, runs: int, inputs: int, outputs: int, precision: str, parts: int = 1
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(runs, 1, outputs))
        # Query, key and value share one product, but each is drawn with its own matrix's fan.
        self.parts = parts
        self.dtype = PRECISIONS[precision]

    def forward(self, x: Tensor, columns: slice = slice(None)) -> Tensor:
        weight, bias = self.weight[..., columns], self.bias[..., columns]
        if self.dtype == torch.float32:
            return torch.baddbmm(bias, x, weight)
        return torch.bmm(x.to(self.dtype), weight.to(self.dtype)).float() + bias


def draw_xavier(layer: StackedLinear, run: int, generator: torch.Generator) -> None:
    """Draw one run's weights of a layer: each of its matrices Xavier-uniform."""
    for part in layer.weight.detach()[run].chunk(layer.parts, dim=-1):
        bound = math.sqrt(6 / sum(part.shape))
        part.copy_(torch.rand(part.shape, generator=generator) * (2 * bound) - bound)


class StackedLayerNorm(nn.Module):
    """LayerNorm over the last axis of (R, M, D), with each run's own gain and bias."""

    def __init__(self, runs: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(runs, 1, dim))
        self.bias = nn.Parameter(torch.zeros(runs, 1, dim))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.bias, F.layer_norm(x, x.shape[-1:]), self.weight)


KeysAndValues = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Memory:
    """The encoded source: keys and values for each decoder layer, and the mask of its words."""

    keys_and_values: tuple[KeysAndValues, ...]
    mask: Tensor
    batch: int


REACH = 16
"""Relative positions tell distances up to here; farther words count as this far."""


def rotated(x: Tensor, start: int = 0) -> Tensor:
    """Rotary positions (Su et al. 2021): pairs of x (..., T, E) turned by angles of their place.

    Element i is paired with i + E/2, as in most implementations. InputError for an odd E.
    """
    length, width = x.shape[-2:]
    if width % 2:
        raise InputError(f"rotary positions need an even width per head, not {width}")
    rate = 10_000 ** (-torch.arange(0, width, 2, device=x.device) / width)
    angle = torch.arange(start, start + length, device=x.device).unsqueeze(1) * rate
    first, second = x.chunk(2, dim=-1)
    sine, cosine = angle.sin(), angle.cos()
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


class Attention(nn.Module):
    """Multi-head scaled dot-product attention; the run axis is folded into the batch."""

    def __init__(self, shape: ModelShape, runs: int, places: str = "plain") -> None:
        super().__init__()
        self.runs, self.heads, self.dim = runs, shape.heads, shape.dim
        self.projection = StackedLinear(runs, shape.dim, 3 * shape.dim, shape.precision, parts=3)
        self.output = StackedLinear(runs, shape.dim, shape.dim, shape.precision)
        self.rotary = places == "rotary"
        self.distances = None
        if places == "relative":
            self.distances = nn.Parameter(torch.zeros(runs, shape.heads, 2 * REACH + 1))
        elif places not in ("plain", "rotary"):
            raise InputError(f"unknown attention {places!r}: known are plain, relative, rotary")

    def query(self, x: Tensor, batch: int, start: int = 0) -> Tensor:
        """Queries (R*B, H, T, D/H) of x (R, B*T, D), whose first word stands at ``start``."""
        return self._placed(self._split(self.projection(x, slice(0, self.dim)), batch), start)

    def keys_and_values(self, x: Tensor, batch: int, start: int = 0) -> KeysAndValues:
        """Keys and values, each (R*B, H, T, D/H), of x (R, B*T, D)."""
        key, value = self.projection(x, slice(self.dim, None)).chunk(2, dim=-1)
        return self._placed(self._split(key, batch), start), self._split(value, batch)

    def self_attention(
        self, x: Tensor, batch: int, mask: Tensor | None = None, causal: bool = False
    ) -> Tensor:
        """Each word of x (R, B*T, D) attends to the words of x that mask or order allow."""
        query, key, value = (self._split(part, batch) for part in self.projection(x).chunk(3, -1))
        bias = self.bias(batch, key.shape[2])
        if bias is not None and causal:
            later = torch.ones(bias.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            bias, causal = bias.masked_fill(later, -torch.inf), False
        if bias is not None:
            mask = bias if mask is None else bias + mask
        return self.attend(self._placed(query), self._placed(key), value, mask, causal)

    def bias(self, batch: int, keys: int, start: int = 0) -> Tensor | None:
        """What the distance adds to each score, (R*B, H, keys - start, keys); None if nothing."""
        if self.distances is None:
            return None
        place = torch.arange(keys, device=self.distances.device)
        distance = (place - place[start:, None]).clamp(-REACH, REACH) + REACH
        return self.distances[:, :, distance].repeat_interleave(batch, dim=0)

    def _placed(self, x: Tensor, start: int = 0) -> Tensor:
        return rotated(x, start) if self.rotary else x

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        causal: bool = False,
    ) -> Tensor:
        """Attention's output (R, B*T, D); ``mask`` is additive, (R*B, 1, 1, T of the keys)."""
        heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
        merged: Tensor = self.output(heads.transpose(1, 2).reshape(self.runs, -1, self.dim))
        return merged

    def _split(self, x: Tensor, batch: int) -> Tensor:
        return x.reshape(self.runs * batch, -1, self.heads, self.dim // self.heads).transpose(1, 2)


class FeedForward(nn.Module):
    """Two linear layers with the activation between (Vaswani: ReLU)."""

    def __init__(self, shape: ModelShape, runs: int) -> None:
        super().__init__()
        self.inner = StackedLinear(runs, shape.dim, shape.feed_forward, shape.precision)
        self.outer = StackedLinear(runs, shape.feed_forward, shape.dim, shape.precision)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x: Tensor) -> Tensor:
        outer: Tensor = self.outer(self.activation(self.inner(x)))
        return outer


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, LayerNorm after each residual."""

    def __init__(self, shape: ModelShape, runs: int) -> None:
        super().__init__()
        self.attention = Attention(shape, runs, shape.attention)
        self.attention_norm = StackedLayerNorm(runs, shape.dim)
        self.feed_forward = FeedForward(shape, runs)
        self.feed_forward_norm = StackedLayerNorm(runs, shape.dim)

    def forward(self, x: Tensor, batch: int, mask: Tensor, dropout: Dropout) -> Tensor:
        x = self.attention_norm(x + dropout(self.attention.self_attention(x, batch, mask)))
        x = self.feed_forward_norm(x + dropout(self.feed_forward(x)))
        return x


class DecoderLayer(nn.Module):
    """Causal self-attention, attention to the encoder, feed-forward; LayerNorm after each."""

    def __init__(self, shape: ModelShape, runs: int) -> None:
        super().__init__()
        self.attention = Attention(shape, runs, shape.attention)
        self.attention_norm = StackedLayerNorm(runs, shape.dim)
        self.memory_attention = Attention(shape, runs)
        self.memory_norm = StackedLayerNorm(runs, shape.dim)
        self.feed_forward = FeedForward(shape, runs)
        self.feed_forward_norm = StackedLayerNorm(runs, shape.dim)

    def forward(self, x: Tensor, memory: Memory, layer: int, dropout: Dropout) -> Tensor:
        """All words of the target at once, each seeing those before it."""
        attended = self.attention.self_attention(x, memory.batch, causal=True)
        return self._rest(x, attended, memory, layer, dropout)

    def step(
        self, x: Tensor, past: KeysAndValues | None, memory: Memory, layer: int
    ) -> tuple[Tensor, KeysAndValues]:
        """One new word of each sentence, x (R, B, D), and the keys and values grown by it."""
        start = 0 if past is None else past[0].shape[2]
        query = self.attention.query(x, memory.batch, start)
        key, value = self.attention.keys_and_values(x, memory.batch, start)
        if past is not None:
            key, value = torch.cat((past[0], key), dim=2), torch.cat((past[1], value), dim=2)
        bias = self.attention.bias(memory.batch, start + 1, start)
        attended = self.attention.attend(query, key, value, bias)
        return self._rest(x, attended, memory, layer, no_dropout), (key, value)

    def _rest(
        self, x: Tensor, attended: Tensor, memory: Memory, layer: int, dropout: Dropout
    ) -> Tensor:
        x = self.attention_norm(x + dropout(attended))
        query = self.memory_attention.query(x, memory.batch)
        key, value = memory.keys_and_values[layer]
        attended = self.memory_attention.attend(query, key, value, memory.mask)
        x = self.memory_norm(x + dropout(attended))
        x = self.feed_forward_norm(x + dropout(self.feed_forward(x)))
        return x


class Embedding(nn.Module):
    """Table x multiplier + positions, each run with its own, always float32.

    ``tables`` (R, N, E); ``multipliers`` (R,); ``positions`` (R, L, E); ``trained`` (R,) bool:
    a run whose table is frozen gets a zero gradient, and Adam's step from zero moments is zero.
    ``norm`` puts a LayerNorm after the sum, which Kim et al.'s model lacks; ``learned`` positions
    are trained too. Where E is not the model's width ``dim``, a linear layer leads there, after
    LayerNorm and dropout, as in RemBERT.
    """

    offsets: Tensor
    multipliers: Tensor
    positions: Tensor
    trained: Tensor

    def __init__(
        self,
        tables: Tensor,
        multipliers: Tensor,
        positions: Tensor,
        trained: Tensor,
        norm: bool = False,
        learned: bool = False,
        dim: int | None = None,
        precision: str = "float32",
    ) -> None:
        super().__init__()
        runs, words, width = tables.shape
        self.norm = StackedLayerNorm(runs, width) if norm else nn.Identity()
        self.projection: nn.Module = nn.Identity()
        if dim not in (None, width):
            self.projection = StackedLinear(runs, width, dim, precision)
        self.table = nn.Parameter(tables, requires_grad=bool(trained.any()))
        self.register_buffer("trained", trained.float().view(-1, 1, 1))
        if self.table.requires_grad and not bool(trained.all()):
            self.table.register_hook(lambda gradient: gradient * self.trained)
        self.register_buffer("offsets", (torch.arange(runs) * words).view(-1, 1, 1))
        self.register_buffer("multipliers", multipliers.float().view(-1, 1, 1, 1))
        if learned:
            self.positions = nn.Parameter(positions.clone())
        else:
            self.register_buffer("positions", positions)

    @classmethod
    def empty(
        cls,
        words: int,
        width: int,
        dim: int,
        norm: bool = False,
        learned: bool = False,
        length: int = 1,
    ) -> Embedding:
        """One run's embedding whose values are not set, for counting: it takes up no memory."""
        return cls(
            torch.empty(1, words, width),
            torch.ones(1),
            torch.empty(1, length, width),
            torch.ones(1, dtype=torch.bool),
            norm,
            learned,
            dim,
        )

    def forward(self, ids: Tensor, dropout: Dropout, start: int = 0) -> Tensor:
        """(S, B, T) ids, the first at position ``start``, to (R, B*T, D)."""
        _, batch, length = ids.shape
        runs, _, width = self.table.shape
        words = F.embedding(ids + self.offsets, self.table.flatten(0, 1))
        places = self.positions[:, None, start : start + length]
        summed = (words * self.multipliers + places).reshape(runs, batch * length, width)
        read: Tensor = self.projection(dropout(self.norm(summed)))
        return read


def mean_over_words(x: Tensor, ids: Tensor) -> Tensor:
    """The mean of x (R, B*T, D) over the words of ids (S, B, T), padding left out: (R, B, D)."""
    _, batch, length = ids.shape
    real = (ids != PAD).float().unsqueeze(-1)
    total = (x.view(len(x), batch, length, -1) * real).sum(dim=2)
    return total / real.sum(dim=2)


class StackedTransformer(nn.Module):
    """R encoder-decoders or encoder-classifiers of one shape."""

    def __init__(
        self, shape: ModelShape, encoder: Embedding, decoder: Embedding | None = None
    ) -> None:
        super().__init__()
        if shape.dim % shape.heads:
            raise InputError(
                f"the width D={shape.dim} is not a multiple of {shape.heads} heads; "
                "choose a number of heads that divides it"
            )
        if shape.translates != (decoder is not None):
            raise InputError("an encoder-decoder needs a decoder's embedding, a classifier none")
        self.shape, self.runs = shape, encoder.table.shape[0]
        self.encoder_embedding, self.decoder_embedding = encoder, decoder
        layers = range(shape.layers)
        self.encoder_layers = nn.ModuleList(EncoderLayer(shape, self.runs) for _ in layers)
        self.decoder_layers = nn.ModuleList(
            DecoderLayer(shape, self.runs) for _ in layers if shape.translates
        )
        self.output = StackedLinear(self.runs, shape.dim, shape.outputs, shape.precision)

    def encode(self, ids: Tensor, dropout: Dropout = no_dropout) -> tuple[Tensor, Tensor]:
        """(S, B, T) ids to the encoder's output (R, B*T, D) and its mask (R*B, 1, 1, T)."""
        for x in self.states(ids, dropout):  # noqa: B007
            pass
        return x, self._mask(ids)

    def states(self, ids: Tensor, dropout: Dropout = no_dropout) -> Iterator[Tensor]:
        """(S, B, T) ids to what the encoder holds: its embeddings, then after each layer.

        Each is (R, B*T, D).
        """
        mask = self._mask(ids)
        x = self.encoder_embedding(ids, dropout)
        yield x
        for layer in self.encoder_layers:
            x = layer(x, ids.shape[1], mask, dropout)
            yield x

    def _mask(self, ids: Tensor) -> Tensor:
        """What is added to scores, (R*B, 1, 1, T): minus infinity for padding."""
        copies, batch, length = ids.shape
        blocked = torch.zeros(ids.shape, device=ids.device).masked_fill_(ids == PAD, -torch.inf)
        mask = blocked.expand(self.runs, batch, length) if copies == 1 else blocked
        return mask.reshape(-1, 1, 1, length)

    def mean_pool(self, ids: Tensor, dropout: Dropout = no_dropout) -> Tensor:
        """(S, B, T) ids to the mean of the encoder's output over the words, (R, B, D).

        The output layer makes a classifier's logits of it.
        """
        return mean_over_words(self.encode(ids, dropout)[0], ids)

    def encode_memory(self, ids: Tensor, dropout: Dropout = no_dropout) -> Memory:
        """Encode the source once for all steps of the decoder."""
        x, mask = self.encode(ids, dropout)
        batch = ids.shape[1]
        pairs = (
            layer.memory_attention.keys_and_values(x, batch) for layer in self._decoder_layers()
        )
        return Memory(tuple(pairs), mask, batch)

    def decode(self, source: Tensor, target: Tensor, dropout: Dropout = no_dropout) -> Tensor:
        """What the output layer reads at each of ``target`` (S, B, T): (R, B*T, D).

        Padding follows the words, so order alone keeps it out of every real word's sight.
        """
        memory = self.encode_memory(source, dropout)
        x: Tensor = self._decoder_embedding()(target, dropout)
        for number, layer in enumerate(self._decoder_layers()):
            x = layer(x, memory, number, dropout)
        return x

    def step(
        self, ids: Tensor, position: int, past: list[KeysAndValues | None], memory: Memory
    ) -> tuple[Tensor, list[KeysAndValues | None]]:
        """Logits (R, B, words) after one more word, ids (R, B), and the grown past."""
        x = self._decoder_embedding()(ids.unsqueeze(-1), no_dropout, start=position)
        grown: list[KeysAndValues | None] = []
        for number, layer in enumerate(self._decoder_layers()):
            x, pair = layer.step(x, past[number], memory, number)
            grown.append(pair)
        return self.output(x), grown

    def empty_past(self) -> list[KeysAndValues | None]:
        """What ``step`` starts from: no words yet in any layer."""
        return [None] * len(self.decoder_layers)

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder_layers:
            assert isinstance(layer, DecoderLayer)
            yield layer

    def _decoder_embedding(self) -> Embedding:
        assert self.decoder_embedding is not None
        return self.decoder_embedding

    def initialise(self, run: int, generator: torch.Generator) -> None:
        """Draw run ``run``'s weights: every matrix Xavier-uniform, biases 0, gains 1 (A.2).

        The order of the draws is the order of the modules, those of the embeddings last, and no
        table takes part: so a seed's weights are the same whatever the embeddings start from, and
        the layers' the same whatever the tables' widths.
        """
        embeddings = (self.encoder_embedding, self.decoder_embedding)
        of_embeddings = [m for one in embeddings if one is not None for m in one.modules()]
        rest = [module for module in self.modules() if module not in of_embeddings]
        for module in (*rest, *of_embeddings):
            if isinstance(module, StackedLinear):
                draw_xavier(module, run, generator)
