"""The precision ``tf32-fused``: its compiled functions, and training with them.

Here they are compiled for a CPU; ``test_graphs`` has the tests on a GPU.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from embinit.lab.models.fused import Fused
from embinit.lab.models.layers import (
    ACTIVATIONS,
    FUSED,
    NORM_POSITIONS,
    FeedForward,
    Residual,
    SeedDropout,
    activated,
    normed_sum,
)
from embinit.lab.models.losses import NOTHING, cross_entropy, loss_of_logits
from embinit.lab.specs import ModelSpec
from embinit.lab.training.cohorts import CohortTraining, train
from embinit.runs.kinds import Cohort
from embinit.runs.store import run_key
from test_losses import drawn
from test_training import cohort

has_a_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
ROUNDING = 2.0**-9
"""The largest relative error of a number that is rounded to bfloat16, which has 8 bits."""


def in_precision(precision: str, epochs: int = 1) -> tuple[Cohort, Cohort]:
    """Three translations of one data draw, and the second of them alone."""
    runs = cohort("translation")[:3]
    training = replace(runs[0].recipe.training, precision=precision, epochs=epochs)
    changed = tuple(run.changed(training=training) for run in runs)
    return Cohort(changed), Cohort(changed[1:2])


def assert_compiled_as_written(fused: Fused, outer: torch.Tensor, *arguments: Any) -> None:
    """With the gradients of what needs one, next to those in float64."""
    results = []
    for function, exact in ((fused.compiled, False), (fused.function, True)):
        given = [
            (one.double() if exact else one).detach().requires_grad_(one.requires_grad)
            if isinstance(one, torch.Tensor) and one.is_floating_point()
            else one
            for one in arguments
        ]
        learnt = [one for one in given if getattr(one, "requires_grad", False)]
        value = function(*given)
        of_value = outer.to(value).expand_as(value)
        results.append((value.detach(), *torch.autograd.grad(value, learnt, of_value)))
    for one, other in zip(*results, strict=True):
        assert float((one - other).norm() / other.norm()) < 1e-5


@has_a_compiler
@settings(max_examples=20, deadline=None)
@given(st.integers(3, 5), st.integers(2, 19), st.integers(20, 70), st.integers(0, 9))
def test_a_compiled_residual_is_as_written(runs, rows, width, seed):
    """With its gradients, whatever the shape: 20 shapes take one compilation."""
    generator = torch.Generator().manual_seed(seed)
    x, product, masks = torch.randn(3, runs, rows, width, generator=generator)
    bias, gain, shift, outer = torch.randn(4, runs, 1, width, generator=generator)
    for learnt in (x, product, bias, gain, shift):
        learnt.requires_grad_()
    seed_of_run = torch.arange(runs) % 2
    arguments = x, product, bias, masks[:2], seed_of_run, gain, shift
    assert_compiled_as_written(normed_sum, outer, *arguments)


@has_a_compiler
@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@settings(max_examples=20, deadline=None)
@given(st.integers(3, 5), st.integers(2, 19), st.integers(20, 70), st.integers(0, 9))
def test_a_compiled_activation_is_as_written(activation, runs, rows, width, seed):
    """With its gradients and those of the bias."""
    generator = torch.Generator().manual_seed(seed)
    product = torch.randn(runs, rows, width, generator=generator).requires_grad_()
    bias, outer = torch.randn(2, runs, 1, width, generator=generator)
    assert_compiled_as_written(
        activated, outer, product, bias.requires_grad_(), ACTIVATIONS[activation]
    )


@has_a_compiler
def test_a_function_is_compiled_for_any_number_of_sorts_of_tensors():
    """Sizes of 1, frozen inputs and another activation make a new one; torch's limit is 8."""
    flat = Fused(torch.Tensor.flatten)
    for axes in range(1, 11):
        assert flat.compiled(torch.ones([2] * axes)).shape == (2**axes,)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
@pytest.mark.parametrize("norms", sorted(NORM_POSITIONS))
def test_a_fused_sub_layer_has_the_bits_of_an_unfused_one(activation, norms):
    """On a CPU, where the functions are not compiled; with all gradients."""
    spec, made = ModelSpec(12, 2, 1, 20, activation=activation, norm_position=norms), []
    for precision in ("tf32", FUSED):
        generator = torch.Generator().manual_seed(0)
        layers = nn.ModuleList(layer(spec, 3, precision) for layer in (FeedForward, Residual))
        for parameter in layers.parameters():
            nn.init.normal_(parameter, generator=generator)
        dropout = SeedDropout([generator, generator], torch.tensor([0, 1, 0]), 0.1)
        x = torch.randn(3, 7, 12, generator=generator).requires_grad_()
        feed_forward, residual = layers
        product = feed_forward(residual.read(x), dropout)
        added = residual.add(x, product, feed_forward.outer.bias, dropout)
        outer = torch.randn(added.shape, generator=generator)
        made.append((added, *torch.autograd.grad(added, [x, *layers.parameters()], outer)))
    assert all(torch.equal(one, other) for one, other in zip(*made, strict=True))


@has_a_compiler
@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(2, 9), st.integers(11, 70), st.integers(0, 9))
def test_a_compiled_loss_is_as_written(runs, count, words, seed):
    """Of bfloat16 logits, with sums in float32."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(runs, count, words, generator=generator).mul_(9).bfloat16()
    bias = torch.randn(runs, 1, words, generator=generator)
    labels = torch.randint(0, words, (runs, count), generator=generator)
    labels[:, seed % count] = NOTHING
    with torch.no_grad():
        losses, by_logit, by_bias = loss_of_logits.compiled(logits, bias, labels)
    exact = (logits.double() + bias).requires_grad_()
    wanted = functional.cross_entropy(
        exact.flatten(0, 1), labels.flatten(), ignore_index=NOTHING, reduction="none"
    )
    [of_logits] = torch.autograd.grad(wanted.sum(), exact)
    assert (losses.dtype, by_logit.dtype, by_bias.dtype) == (
        torch.float32,
        torch.bfloat16,
        torch.float32,
    )
    sums = wanted.detach().view(runs, count).sum(dim=1)
    torch.testing.assert_close(losses.double(), sums, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(by_logit.double(), of_logits, rtol=2 * ROUNDING, atol=1e-6)
    of_bias = of_logits.sum(dim=1, keepdim=True)
    torch.testing.assert_close(by_bias.double(), of_bias, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 4), st.integers(1, 9), st.integers(2, 30), st.booleans())
def test_a_loss_moves_by_no_more_than_its_logits_are_rounded(runs, count, words, shared):
    """Both factors and the product are rounded; a loss moves by twice the largest change."""
    layer, hidden, labels = drawn(runs, count, words, 1 if shared else runs, FUSED)
    learnt, counted = cross_entropy(hidden.requires_grad_(), layer, labels)
    plain, _ = cross_entropy(hidden.detach(), drawn(runs, count, words, 1, "float32")[0], labels)
    summed = hidden.detach().abs() @ layer.weight.detach().abs()
    bound = 2 * 3.01 * ROUNDING * float(summed.max()) * counted + 1e-4
    assert ((learnt - plain).abs() <= bound).all()
    gradients = torch.autograd.grad(learnt.sum(), (hidden, layer.weight, layer.bias))
    assert all(one.isfinite().all() and one.dtype == torch.float32 for one in gradients)


@has_a_compiler
def test_compiled_training_learns_what_plain_training_does(monkeypatch):
    """Over 21 steps, a mean loss moves by no more than a logit is rounded."""
    monkeypatch.setattr(Fused, "__call__", Fused.compiled)
    losses = []
    for precision in ("tf32", FUSED):
        trainer = CohortTraining(in_precision(precision)[0], None, "cpu")
        for epoch in range(3):
            trainer.train_epoch(epoch)
        losses.append(torch.stack(trainer.curves.train_loss))
    torch.testing.assert_close(*losses, rtol=ROUNDING, atol=0)
    assert not torch.equal(*losses)


def test_a_fused_run_has_the_same_bits_in_a_stack():
    """On a CPU, where the functions are not compiled."""
    together, alone = (train(runs) for runs in in_precision(FUSED))
    assert together[1].curves == alone[0].curves
    assert together[1].measures == alone[0].measures


def test_what_is_measured_is_not_fused(monkeypatch):
    """So that an initial model scores in all precisions what it scores in TF32."""
    monkeypatch.setattr(Fused, "__call__", lambda *_: pytest.fail("a fused function is called"))
    losses = []
    for precision in ("tf32", FUSED):
        trainer = CohortTraining(in_precision(precision)[0], None, "cpu")
        losses.append(trainer._evaluate(trainer.data.validation)[0])
    assert torch.equal(*losses)


KEYS = {
    "float32": "37a641aed73ca034d768bda7502db2d754f54c1a",
    "bf16-mixed": "02dddb733dde2f549271c45f8b88d32f4eef32b0",
    "tf32": "49a633bbc4604117cbc029f10f538db7514ad880",
}
"""Of a run in each earlier precision, as they were before this one was added."""


def test_runs_of_other_precisions_keep_their_keys():
    kept = {one: run_key(in_precision(one)[1].runs[0], "", []) for one in KEYS}
    assert kept == KEYS
    assert run_key(in_precision(FUSED)[1].runs[0], "", []) not in KEYS.values()
