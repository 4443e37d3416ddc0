"""The stacked cross-entropy against torch's, run by run, with its gradients."""

from __future__ import annotations

import functools
from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from embinit.lab.models import layers
from embinit.lab.models.layers import StackedLinear
from embinit.lab.models.losses import MOST_BYTES, NOTHING, cross_entropy

DIM = 4


def drawn(runs: int, count: int, words: int, copies: int, precision: str = "float32"):
    generator = torch.Generator().manual_seed(runs + 7 * count + 31 * words)
    layer = StackedLinear(runs, DIM, words, precision)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, generator=generator)
    hidden = torch.randn(runs, count, DIM, generator=generator)
    labels = torch.randint(0, words, (copies, count), generator=generator)
    left_out = torch.rand(copies, count, generator=generator) < 0.3
    return layer, hidden, labels.masked_fill(left_out, NOTHING)


@given(
    runs=st.integers(1, 5),
    count=st.integers(1, 6),
    words=st.integers(2, 7),
    shared=st.booleans(),
    most_bytes=st.sampled_from([1, 400, 10_000]),
)
def test_it_is_torchs_with_its_gradients(runs, count, words, shared, most_bytes):
    """However many runs' logits are there at once, and however the losses are weighted."""
    layer, hidden, labels = drawn(runs, count, words, 1 if shared else runs)
    layer, hidden = layer.double(), hidden.double().requires_grad_()
    weights = torch.arange(1.0, runs + 1, dtype=torch.float64)
    inputs = (hidden, layer.weight, layer.bias)

    with mock.patch.dict(MOST_BYTES, cpu=most_bytes):
        losses, counted = cross_entropy(hidden, layer, labels)
    ours = torch.autograd.grad((losses * weights).sum(), inputs)

    logits = hidden @ layer.weight + layer.bias
    pairs = zip(logits, labels.expand(runs, -1), strict=True)
    of_run = functools.partial(functional.cross_entropy, ignore_index=NOTHING, reduction="sum")
    theirs = torch.stack([of_run(*pair) for pair in pairs])
    assert counted.tolist() == [int((row != NOTHING).sum()) for row in labels]
    torch.testing.assert_close(losses, theirs)
    torch.testing.assert_close(ours, torch.autograd.grad((theirs * weights).sum(), inputs))


@pytest.mark.parametrize("kept", ["hidden", "layer"])
def test_what_is_not_learnt_needs_no_gradient(kept):
    layer, hidden, labels = drawn(2, 5, 4, 1)
    hidden.requires_grad_(kept == "hidden")
    layer.requires_grad_(kept == "layer")
    cross_entropy(hidden, layer, labels)[0].sum().backward()
    assert (hidden.grad is not None) == (kept == "hidden")
    assert (layer.weight.grad is not None) == (kept == "layer")


@pytest.mark.parametrize("native", [True, False])
@given(
    st.integers(1, 3), st.integers(1, 17), st.integers(1, 70), st.integers(1, 19), st.integers(0, 9)
)
def test_narrow_products_are_those_of_rounded_matrices(native, runs, rows, width, columns, seed):
    """With their gradients: of bfloat16, by oneDNN or by way of float32, and of TF32."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((runs, rows, width), (runs, width, columns), (runs, rows, columns))
    x, y, outer = (torch.randn(shape, generator=generator) for shape in shapes)
    supported = "_is_mkldnn_bf16_supported"
    for name, rounding in (("bf16-mixed", 2**-8), ("tf32", 0)):
        inputs = x.clone().requires_grad_(), y.clone().requires_grad_()
        with mock.patch.object(torch.ops.mkldnn, supported, return_value=native):
            narrow = layers.PRECISIONS[name](*inputs)
            ours = (narrow, *torch.autograd.grad(narrow, inputs, outer))
        narrowed = torch.Tensor.bfloat16 if rounding else tf32
        rounded = [narrowed(matrix).double() for matrix in (x, y, outer)]
        exact = (rounded[0] @ rounded[1], rounded[2] @ rounded[1].mT, rounded[0].mT @ rounded[2])
        for own, wanted in zip(ours, exact, strict=True):
            assert own.dtype == torch.float32
            torch.testing.assert_close(own.double(), wanted, rtol=rounding, atol=1e-5 * width)


def tf32(x: torch.Tensor) -> torch.Tensor:
    """``x`` rounded to 11 significant bits, away from 0 where two are as near."""
    fraction, exponent = torch.frexp(x.double() * (1 + 2**-30))
    return torch.ldexp((fraction * 2**11).round() / 2**11, exponent)


@pytest.mark.parametrize("precision", ["bf16-mixed", "tf32"])
def test_a_precision_is_for_the_products_alone(precision):
    """Loss and gradients come out float32, within what the narrow products lose."""
    exact = drawn(3, 40, 9, 1)
    narrow = drawn(3, 40, 9, 1, precision)
    results = []
    for layer, hidden, labels in (exact, narrow):
        hidden.requires_grad_()
        losses, _ = cross_entropy(hidden, layer, labels)
        assert losses.dtype == torch.float32
        gradients = torch.autograd.grad(losses.sum(), (hidden, layer.weight, layer.bias))
        assert {one.dtype for one in gradients} == {torch.float32}
        results.append((losses, *gradients))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.1)
        assert not torch.equal(one, other)
