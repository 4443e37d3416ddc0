"""The stacked decoder, held against transformers' Llama and GPT-2 with copied weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from embinit.errors import InputError
from embinit.lab.data.vocabulary import BOS, EOS, PAD
from embinit.lab.models.losses import NOTHING, cross_entropy
from embinit.lab.specs import ModelSpec
from embinit_studies.language_model.model import (
    CausalLanguageModel,
    CausalModelShape,
    CausalTransformer,
    read_and_predicted,
)

WORDS, LENGTH, DIM, HEADS, LAYERS, INNER, RUNS = 23, 11, 16, 4, 2, 24, 3

TODAY: dict[str, Any] = {
    "norm": "rms",
    "norm_position": "pre",
    "attention": "rotary",
    "activation": "silu",
    "gated": True,
    "bias": False,
}
OLDER: dict[str, Any] = {"norm_position": "pre", "activation": "gelu_tanh", "coupled": True}


def stacked(learned: bool = False, **options: Any) -> CausalLanguageModel:
    """Three models of random weights, every one of which differs."""
    generator = torch.Generator().manual_seed(4)
    spec = ModelSpec(DIM, HEADS, LAYERS, INNER, **options)
    shape = CausalModelShape(spec, WORDS, learned_positions=LENGTH * learned)
    embedding = shape.embedding(
        tables=torch.randn(RUNS, WORDS, DIM, generator=generator),
        multipliers=torch.ones(RUNS),
        positions=learned * torch.randn(RUNS, LENGTH, DIM, generator=generator),
        trained=torch.ones(RUNS, dtype=torch.bool),
    )
    model = CausalLanguageModel(CausalTransformer(shape, embedding))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model.double().eval()


def sentences() -> Tensor:
    generator = torch.Generator().manual_seed(5)
    ids = torch.randint(EOS + 1, WORDS, (1, 7, LENGTH), generator=generator)
    for row, length in enumerate((11, 9, 3, 11, 1, 5, 8)):
        ids[0, row, length - 1] = EOS
        ids[0, row, length:] = PAD
    return ids


Pairs = list[tuple[Tensor, nn.Parameter]]
"""A stacked parameter's part of one run, as the other model shapes it, and the other's."""


def of_llama(model: CausalLanguageModel, other: Any, run: int, gradient: bool) -> Pairs:
    def part(parameter: Tensor) -> Tensor:
        value = parameter.grad if gradient else parameter
        assert value is not None
        return value[run].squeeze(0)

    stack = model.stack
    table = part(stack.encoder_embedding.table)
    pairs = [(table, other.model.embed_tokens.weight)]
    if model.output_table is not None:
        pairs.append((part(model.output_table), other.lm_head.weight))
    for layer, theirs in zip(stack.encoder_layers, other.model.layers, strict=True):
        projected = part(layer.attention.projection.weight).T.chunk(3)
        names = (theirs.self_attn.q_proj, theirs.self_attn.k_proj, theirs.self_attn.v_proj)
        pairs += [(a, b.weight) for a, b in zip(projected, names, strict=True)]
        gate, up = part(layer.feed_forward.inner.weight).T.chunk(2)
        pairs += [
            (part(layer.attention.output.weight).T, theirs.self_attn.o_proj.weight),
            (gate, theirs.mlp.gate_proj.weight),
            (up, theirs.mlp.up_proj.weight),
            (part(layer.feed_forward.outer.weight).T, theirs.mlp.down_proj.weight),
            (part(layer.attention_residual.norm.weight), theirs.input_layernorm.weight),
            (
                part(layer.feed_forward_residual.norm.weight),
                theirs.post_attention_layernorm.weight,
            ),
        ]
    pairs.append((part(stack.encoder_norm.weight), other.model.norm.weight))
    return pairs


def of_gpt2(model: CausalLanguageModel, other: Any, run: int, gradient: bool) -> Pairs:
    def part(parameter: Tensor) -> Tensor:
        value = parameter.grad if gradient else parameter
        assert value is not None
        return value[run].squeeze(0)

    stack, theirs = model.stack, other.transformer
    pairs = [
        (part(stack.encoder_embedding.table), theirs.wte.weight),
        (part(stack.encoder_embedding.positions), theirs.wpe.weight),
    ]

    def both(ours: Any, conv: Any) -> None:
        pairs.extend([(part(ours.weight), conv.weight), (part(ours.bias), conv.bias)])

    for layer, block in zip(stack.encoder_layers, theirs.h, strict=True):
        both(layer.attention.projection, block.attn.c_attn)
        both(layer.attention.output, block.attn.c_proj)
        both(layer.feed_forward.inner, block.mlp.c_fc)
        both(layer.feed_forward.outer, block.mlp.c_proj)
        both(layer.attention_residual.norm, block.ln_1)
        both(layer.feed_forward_residual.norm, block.ln_2)
    both(stack.encoder_norm, theirs.ln_f)
    return pairs


def llama(tied: bool) -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=WORDS,
            hidden_size=DIM,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            max_position_embeddings=LENGTH,
            tie_word_embeddings=tied,
        )
    )


def gpt2() -> Any:
    transformers = pytest.importorskip("transformers")
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=WORDS,
            n_embd=DIM,
            n_inner=INNER,
            n_layer=LAYERS,
            n_head=HEADS,
            n_positions=LENGTH,
        )
    )


@pytest.mark.parametrize("name", ["llama-untied", "llama-tied", "gpt2"])
def test_logits_and_gradients_are_those_of_transformers(name):
    if name == "gpt2":
        model, other, pairs_of = stacked(learned=True, **OLDER), gpt2(), of_gpt2
    else:
        tied = name == "llama-tied"
        model, other, pairs_of = stacked(**TODAY, coupled=tied), llama(tied), of_llama
    other = other.double().eval()
    read, labels = read_and_predicted(sentences())
    logits = model.logits(read)
    losses, counted = cross_entropy(model(read), model.output(), labels)
    (losses / counted).sum().backward()
    for run in range(RUNS):
        with torch.no_grad():
            pairs = pairs_of(model, other, run, gradient=False)
            copied = {id(theirs) for _, theirs in pairs}
            assert copied == {id(parameter) for parameter in other.parameters()}
            for ours, theirs in pairs:
                theirs.copy_(ours)
        other.zero_grad()
        # All words are real to it: order alone keeps the padding behind from being seen.
        expected = other(read[0]).logits.flatten(0, 1)
        real = labels[0] != NOTHING
        # Theirs takes the cosines of rotary angles, and the norms, in float32.
        torch.testing.assert_close(logits[run][real], expected[real], rtol=2e-6, atol=2e-6)
        loss = F.cross_entropy(expected, labels[0], ignore_index=NOTHING)
        torch.testing.assert_close(losses[run] / counted[0], loss, rtol=1e-6, atol=1e-6)
        loss.backward()
        for ours, theirs in pairs_of(model, other, run, gradient=True):
            torch.testing.assert_close(ours, theirs.grad, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_as_many_as_llamas(tied):
    spec = ModelSpec(DIM, HEADS, LAYERS, INNER, coupled=tied, **TODAY)
    theirs = sum(parameter.numel() for parameter in llama(tied).parameters())
    assert CausalModelShape(spec, WORDS).parameters == theirs


@pytest.mark.parametrize("attention", ["plain", "rotary", "relative", "untied"])
@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_no_word_sees_a_later_one(attention, norm_position):
    model = stacked(attention=attention, norm_position=norm_position, norm_after_sum=True)
    ids = sentences()
    changed = ids.clone()
    changed[..., 5:] = EOS + 2
    with torch.no_grad():
        before, after = (model.logits(given).view(RUNS, 7, LENGTH, -1) for given in (ids, changed))
    torch.testing.assert_close(before[:, :, :5], after[:, :, :5], rtol=0, atol=1e-12)
    assert not torch.allclose(before[:, :, 5:], after[:, :, 5:])


def test_sentences_in_packs_get_the_logits_of_each_alone():
    model = stacked(learned=True, **OLDER)
    ids = sentences()
    with torch.no_grad():
        together = model.logits(ids).view(RUNS, 7, LENGTH, -1)
        for row in range(7):
            alone = model.logits(ids[:, row : row + 1])
            torch.testing.assert_close(together[:, row], alone, rtol=0, atol=1e-12)


def test_a_sentence_is_read_from_bos_and_predicted_to_eos():
    read, predicted = read_and_predicted(torch.tensor([[[7, 8, EOS, PAD]]], dtype=torch.int32))
    assert read[0, 0, :3].tolist() == [BOS, 7, 8]
    assert predicted.tolist() == [[7, 8, EOS, NOTHING]]


def test_with_a_norm_after_lookup_a_tables_scale_drops_out():
    """All but the norm's epsilon: that is what a norm right after lookup is for."""
    model = stacked(norm_after_sum=True, **TODAY)
    ids = sentences()
    with torch.no_grad():
        before = model.logits(ids)
        model.stack.encoder_embedding.table.mul_(50)
        torch.testing.assert_close(model.logits(ids), before, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{"output_width": 8}, {"coupled": True, "input_width": 8}])
def test_tables_of_other_widths_are_refused(options):
    with pytest.raises(InputError, match="wide"):
        CausalLanguageModel.empty(CausalModelShape(ModelSpec(16, 2, 1, 16, **options), 9))
