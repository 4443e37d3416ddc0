"""The stacked model against ``torch.nn``'s transformer layers with copied weights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch
from torch import nn

from embinit.errors import InputError
from embinit.lab.data.vocabulary import PAD
from embinit.lab.models.attention import REACH, RelativeAttention, UntiedAttention, rotated
from embinit.lab.models.embedding import Embedding
from embinit.lab.models.layers import SeedDropout
from embinit.lab.models.sizes import NORM_POSITIONS
from embinit.lab.models.transformer import ModelShape, StackedTransformer
from embinit.lab.specs import ModelSpec

DIM, HEADS, LAYERS, INNER, RUNS = 16, 4, 2, 24, 3
SOURCE_WORDS, TARGET_WORDS = 13, 11


SPEC = ModelSpec(DIM, HEADS, LAYERS, INNER)


def embedding_of(shape, tables, positions, multipliers=None) -> Embedding:
    """One side's embedding layer, of trained tables."""
    runs = len(tables)
    return shape.embedding(
        tables=tables,
        multipliers=torch.ones(runs) if multipliers is None else multipliers,
        positions=positions,
        trained=torch.ones(runs, dtype=torch.bool),
    )


def stacked(translates: bool, **options: object) -> StackedTransformer:
    """A model of three runs whose parameters are all random, in float64."""
    generator = torch.Generator().manual_seed(1)
    words = TARGET_WORDS if translates else 0
    shape = ModelShape(replace(SPEC, **options), SOURCE_WORDS, words, words or 3)

    def embedding(vocabulary: int) -> Embedding:
        tables = torch.randn(RUNS, vocabulary, DIM, generator=generator)
        positions = torch.randn(RUNS, 9, DIM, generator=generator)
        return embedding_of(shape, tables, positions, torch.tensor([1.0, 2.0, 4.0]))

    model = StackedTransformer(
        shape, embedding(SOURCE_WORDS), embedding(TARGET_WORDS) if translates else None
    )
    for run in range(RUNS):
        model.initialise(run, torch.Generator().manual_seed(run))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name or "norm" in name or "distances" in name:
                parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model.double()


def copy_linear(theirs: nn.Linear, ours: nn.Module, run: int) -> None:
    theirs.weight.data.copy_(ours.weight[run].T)
    theirs.bias.data.copy_(ours.bias[run, 0])


def copy_norm(theirs: nn.LayerNorm, ours: nn.Module, run: int) -> nn.LayerNorm:
    theirs.weight.data.copy_(ours.weight[run, 0])
    theirs.bias.data.copy_(ours.bias[run, 0])
    return theirs


def copy_attention(theirs: nn.MultiheadAttention, ours: nn.Module, run: int) -> None:
    theirs.in_proj_weight.data.copy_(ours.projection.weight[run].T)
    theirs.in_proj_bias.data.copy_(ours.projection.bias[run, 0])
    copy_linear(theirs.out_proj, ours.output, run)


def copy_layer(theirs: nn.Module, ours: nn.Module, run: int) -> nn.Module:
    """torch's layer of an encoder or a decoder with one run's weights."""
    residuals = [ours.attention_residual, ours.feed_forward_residual]
    copy_attention(theirs.self_attn, ours.attention, run)
    if hasattr(theirs, "multihead_attn"):
        copy_attention(theirs.multihead_attn, ours.memory_attention, run)
        residuals.insert(1, ours.memory_residual)
    copy_linear(theirs.linear1, ours.feed_forward.inner, run)
    copy_linear(theirs.linear2, ours.feed_forward.outer, run)
    for number, residual in enumerate(residuals, 1):
        copy_norm(getattr(theirs, f"norm{number}"), residual.norm, run)
    return theirs


def reference(model: StackedTransformer, run: int) -> Iterator[list[nn.Module]]:
    """torch's encoder and decoder, layer by layer, with one run's weights."""
    pre = model.shape.spec.norm_position == "pre"
    options = {"dropout": 0.0, "batch_first": True, "norm_first": pre, "dtype": torch.float64}
    for make, layers in (
        (nn.TransformerEncoderLayer, model.encoder_layers),
        (nn.TransformerDecoderLayer, model.decoder_layers),
    ):
        yield [copy_layer(make(DIM, HEADS, INNER, **options), ours, run) for ours in layers]


def their_final_norm(model: StackedTransformer, side: str, run: int) -> nn.Module:
    """A pre-norm stack ends in a norm, a post-norm stack in nothing."""
    if model.shape.spec.norm_position == "post":
        return nn.Identity()
    norm = nn.LayerNorm(DIM, dtype=torch.float64)
    return copy_norm(norm, getattr(model, f"{side}_norm"), run)


def embed(embedding: Embedding, ids: torch.Tensor, run: int) -> torch.Tensor:
    words = embedding.table[run][ids] * embedding.multipliers[run]
    return words + embedding.positions[run, : ids.shape[1]]


SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, PAD, PAD]])
TARGET = torch.tensor([[2, 5, 6, 9, 3], [2, 7, 3, PAD, PAD]])


def their_logits(model: StackedTransformer, run: int, target: torch.Tensor | None) -> torch.Tensor:
    encoder, decoder = reference(model, run)
    padding = SOURCE == PAD
    x = embed(model.encoder_embedding, SOURCE, run)
    for layer in encoder:
        x = layer(x, src_key_padding_mask=padding)
    x = their_final_norm(model, "encoder", run)(x)
    weight, bias = model.output.weight[run], model.output.bias[run, 0]
    if target is None:
        real = (~padding).double().unsqueeze(-1)
        return (x * real).sum(1) / real.sum(1) @ weight + bias
    y = embed(model.decoder_embedding, target, run)
    causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.float64)
    padding = torch.zeros(padding.shape, dtype=torch.float64).masked_fill(padding, -torch.inf)
    for layer in decoder:
        y = layer(y, x, tgt_mask=causal, memory_key_padding_mask=padding, tgt_is_causal=True)
    return their_final_norm(model, "decoder", run)(y) @ weight + bias


OPTIONS = [{"norm_position": position} for position in NORM_POSITIONS]


@pytest.mark.parametrize("norms", OPTIONS, ids=str)
def test_translation_equals_torch_run_by_run(norms):
    model = stacked(translates=True, **norms)
    ours = model.output(model.decode(SOURCE[None], TARGET[None])).view(RUNS, 2, -1, TARGET_WORDS)
    real = TARGET != PAD
    gradients = torch.autograd.grad(ours[:, real].square().sum(), model.encoder_embedding.table)[0]
    for run in range(RUNS):
        theirs = their_logits(model, run, TARGET)
        torch.testing.assert_close(ours[run][real], theirs[real])
        gradient = torch.autograd.grad(
            theirs[real].square().sum(), model.encoder_embedding.table, retain_graph=True
        )[0]
        torch.testing.assert_close(gradients[run], gradient[run])
        assert gradient[run].abs().max() > 0


@pytest.mark.parametrize("norms", OPTIONS, ids=str)
def test_classification_equals_torch_run_by_run(norms):
    """The classifier is torch's encoder, averaged over the words that are no padding."""
    model = stacked(translates=False, **norms)
    ours = model.output(model.mean_pool(SOURCE[None]))
    for run in range(RUNS):
        torch.testing.assert_close(ours[run], their_logits(model, run, None))


@pytest.mark.parametrize(
    "options",
    [*OPTIONS, *({"attention": kind} for kind in ("relative", "rotary", "untied"))],
    ids=str,
)
def test_decoding_word_by_word_equals_all_at_once(options):
    model = stacked(translates=True, **options)
    whole = model.output(model.decode(SOURCE[None], TARGET[None])).view(RUNS, 2, -1, TARGET_WORDS)
    memory = model.encode_memory(SOURCE[None])
    for position in range(3):
        ids = TARGET[:, position].expand(RUNS, 2)
        logits = model.step(ids, position, memory)
        torch.testing.assert_close(logits, whole[:, :, position])


def test_rotary_positions_are_llamas():
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    config = llama.LlamaConfig(hidden_size=32, num_attention_heads=2, rope_theta=10_000.0)
    x = torch.randn(3, 2, 7, 16)
    places = torch.arange(2, 9)[None]
    theirs, _ = llama.apply_rotary_pos_emb(x, x, *llama.LlamaRotaryEmbedding(config)(x, places))
    torch.testing.assert_close(rotated(x, start=2), theirs)
    with pytest.raises(InputError, match="even width per head, not 5"):
        rotated(torch.zeros(1, 5))


def test_relative_positions_add_a_bias_for_each_distance():
    """Run by run and head by head; words farther than the reach count as that far."""
    attention = RelativeAttention(ModelSpec(8, 2, 1, 8), 2, "float32")
    with torch.no_grad():
        attention.distances.copy_(torch.arange(2 * 2 * (2 * REACH + 1)).view(2, 2, -1))
    bias = attention.bias(batch=3, keys=REACH + 9, start=4)
    assert bias.shape == (6, 2, REACH + 5, REACH + 9)
    for row, run in enumerate((0, 0, 0, 1, 1, 1)):
        for query, key in ((0, 0), (0, 4), (2, REACH + 8), (REACH + 4, 0)):
            distance = max(-REACH, min(REACH, key - (query + 4)))
            assert torch.equal(
                bias[row, :, query, key], attention.distances[run, :, distance + REACH]
            )


def test_untied_scores_are_those_of_words_and_positions_over_the_root_of_two():
    """TUPE's equation 7, for each run, sentence and head on its own."""
    attention = UntiedAttention(ModelSpec(12, 2, 1, 8), 2, "float32")
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    x, words = torch.randn(2, 2 * 5, 12), 5
    ours = attention.self_attention(x, batch=2).view(2, 2, words, 12)
    place = torch.arange(words)[:, None] / 10_000 ** (torch.arange(0, 12, 2) / 12)
    waves = torch.cat((place.sin(), place.cos()), dim=1)
    for run in range(2):
        weights, biases = attention.projection.weight[run], attention.projection.bias[run, 0]
        for sentence in range(2):
            read = x[run, sentence * words : (sentence + 1) * words]
            query, key, value = (read @ weights + biases).chunk(3, dim=1)
            of_place = (waves @ attention.position_projection.weight[run]).chunk(2, dim=1)
            heads = []
            for head in (slice(0, 6), slice(6, 12)):
                scores = query[:, head] @ key[:, head].T
                scores = scores + of_place[0][:, head] @ of_place[1][:, head].T
                heads.append((scores / (2 * 6) ** 0.5).softmax(dim=1) @ value[:, head])
            output = attention.output
            theirs = torch.cat(heads, dim=1) @ output.weight[run] + output.bias[run, 0]
            torch.testing.assert_close(ours[run, sentence], theirs, rtol=1e-4, atol=1e-4)


def test_dropout_zeroes_a_tenth_and_scales_the_rest():
    dropout = SeedDropout([torch.Generator().manual_seed(1)], torch.zeros(3).long(), 0.1)
    dropped = dropout(torch.ones(3, 40, 50))
    assert (dropped == 0).double().mean().item() == pytest.approx(0.1, abs=0.02)
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("narrow", ["bf16-mixed", "tf32"])
@pytest.mark.parametrize("width", [DIM, 12])
def test_positions_survive_the_first_products_at_t5_s_sigma(width, narrow):
    """Scale is the subject: bfloat16 rounds T5's sums by more than the positions in them."""
    generator = torch.Generator().manual_seed(0)
    table = 516 * torch.randn(1, 50, width, generator=generator)
    places = torch.rand(1, 9, width, generator=generator)
    ids = torch.randint(3, 50, (1, 4, 9), generator=generator)
    seen: dict[float, list[torch.Tensor]] = {}

    def decoded(precision: str, share: float) -> tuple[torch.Tensor, StackedTransformer]:
        shape = ModelShape(replace(SPEC, input_width=width), 50, 50, 50, precision=precision)
        sides = [embedding_of(shape, table.clone(), share * places) for _ in range(2)]
        model = StackedTransformer(shape, *sides)
        model.initialise(0, torch.Generator().manual_seed(0))
        seen[share] = []
        for layers in (model.encoder_layers, model.decoder_layers):
            layers[0].attention.projection.register_forward_hook(
                lambda module, given, made: seen[share].append(made)
            )
        return model.decode(ids, ids), model

    outputs, model = decoded(narrow, 1.0)
    decoded(narrow, 0.0)
    sides = (model.encoder_embedding, model.decoder_embedding)
    firsts = (model.encoder_layers[0], model.decoder_layers[0])
    for side, first, placed, bare in zip(sides, firsts, seen[1.0], seen[0.0], strict=True):
        read = places[0].double()
        if width != DIM:
            read = read @ side.projection.weight[0].double()
        exact = (read @ first.attention.projection.weight[0].double()).repeat(4, 1)
        error = (placed - bare)[0].double() - exact
        assert error.norm() < 1e-3 * exact.norm()
    assert not torch.equal(outputs, decoded("float32", 1.0)[0])
    with pytest.raises(InputError, match="unknown precision 'float16'"):
        decoded("float16", 1.0)


def test_what_fits_no_model_is_refused():
    with pytest.raises(InputError, match="unknown attention 'absolute'"):
        stacked(translates=False, attention="absolute")
    shape = ModelShape(ModelSpec(10, 4, 1, 8), 3, outputs=2)

    def embedding(width: int) -> Embedding:
        return embedding_of(shape, torch.zeros(1, 3, width), torch.zeros(1, 3, width))

    with pytest.raises(InputError, match="not a multiple of 4 heads"):
        StackedTransformer(shape, embedding(10))
    with pytest.raises(InputError, match="12 wide and the model reads 10"):
        embedding(12)
