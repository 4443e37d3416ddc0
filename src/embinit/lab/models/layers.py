"""The layers of a stacked model: linear maps, norms, feed-forward, residuals and dropout.

Every parameter has a leading run axis, and nothing is shared between runs: with the loss summed
over runs, each run's gradient is its own. Norms are float32 always. Shapes: R runs, M rows (B
sentences of T words, one after the other), D width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F

from embinit.lab.models.sizes import NORM_POSITIONS
from embinit.lab.specs import ModelSpec
from embinit.registry import Named

Dropout = Callable[[Tensor], Tensor]
"""Takes (R, ...) to the same shape: ``SeedDropout`` in training, ``no_dropout`` in evaluation."""

ACTIVATIONS: Named[Callable[[Tensor], Tensor]] = Named(
    "activation",
    {
        "relu": torch.relu,
        "gelu": F.gelu,
    },
)


class SeedDropout:
    """Dropout whose masks are drawn once per seed and broadcast over the seed's runs.

    Each seed's generator is asked in the same order and for the same shapes whatever the stack
    holds, so a run's masks depend on its seed and its batches alone.
    """

    def __init__(
        self,
        generators: list[torch.Generator],
        seed_of_run: Int[Tensor, " R"],
        probability: float,
    ) -> None:
        """Drop with ``probability``; ``seed_of_run`` is the index of each run's generator."""
        self.generators = generators
        self.seed_of_run = seed_of_run
        self._keep = 1.0 - probability

    def __call__(self, x: Float[Tensor, "R ..."]) -> Float[Tensor, "R ..."]:
        """``x`` with a share of its elements zeroed and the rest scaled up."""
        if self._keep == 1.0:
            return x
        masks = torch.empty(len(self.generators), *x.shape[1:], device=x.device)
        for mask, generator in zip(masks, self.generators, strict=True):
            mask.bernoulli_(self._keep, generator=generator)
        masks.div_(self._keep)
        # One seed's mask broadcasts; several masks are spread over their runs.
        return x * (masks if len(masks) == 1 else masks[self.seed_of_run])


def no_dropout(x: Tensor) -> Tensor:
    """The identity, in place of ``SeedDropout`` in evaluation."""
    return x


def bfloat16_products(x: Tensor, y: Tensor) -> Tensor:
    """Products of matrices rounded to bfloat16, themselves rounded to it, as float32.

    They have the same bits whatever the number of runs.
    """
    x, y = x.bfloat16(), y.bfloat16()
    if x.is_cuda:
        return torch.bmm(x, y).float()
    if not torch.ops.mkldnn._is_mkldnn_bf16_supported():
        # Imitated by oneDNN it would be 15 times slower than products in float32, rounded.
        return torch.bmm(x.float(), y.float()).bfloat16().float()
    # oneDNN cuts a batch into blocks that depend on its size, and so does the order of sums.
    return torch.stack([*map(torch.mm, x, y)]).float()


class _TF32Products(Function):
    """Products of matrices rounded to TF32, and their gradients likewise; sums are float32."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        ctx.save_for_backward(x, y)
        return _in_tf32(x, y)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, Tensor]:
        x, y = ctx.saved_tensors
        return _in_tf32(outer[0], y.mT), _in_tf32(x.mT, outer[0])


def _in_tf32(x: Tensor, y: Tensor) -> Tensor:
    if not (x.is_cuda and torch.cuda.is_tf32_supported()):
        # Rounded to TF32's 10 bits of fraction, halves away from 0, for CPUs and older GPUs.
        x, y = (((z.view(torch.int32) + 0x1000) & -0x2000).view(z.dtype) for z in (x, y))
        return torch.bmm(x, y)
    # The mode is the process's, and gradients come later: each product sets it for itself.
    mode = torch.backends.cuda.matmul
    before, mode.fp32_precision = mode.fp32_precision, "tf32"
    try:
        return torch.bmm(x, y)
    finally:
        mode.fp32_precision = before


Products = Callable[[Tensor, Tensor], Tensor]
"""Multiplies each run's matrices, (R, M, K) and (R, K, N), to a new float32 tensor (R, M, N)."""

PRECISIONS: Named[Products] = Named(
    "precision",
    {
        "float32": torch.bmm,
        "bf16-mixed": bfloat16_products,
        "tf32": _TF32Products.apply,
    },
)
"""How matrices are multiplied; the first attention of each side is float32 in all."""


class StackedLinear(nn.Module):
    """y_r = x_r W_r + b_r for each run r; without ``bias`` b_r is zero for good.

    ``parts`` matrices lie side by side in the weight, as query, key and value do: they share one
    product, but each is drawn with its own fan.
    """

    bias: Tensor

    def __init__(
        self,
        runs: int,
        inputs: int,
        outputs: int,
        precision: str,
        parts: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(runs, inputs, outputs))
        if bias:
            self.bias = nn.Parameter(torch.zeros(runs, 1, outputs))
        else:
            self.register_buffer("bias", torch.zeros(runs, 1, outputs))
        self.parts = parts
        self.precision = precision
        self.products = PRECISIONS[precision]

    def forward(
        self, x: Float[Tensor, "R M D"], columns: slice = slice(None)
    ) -> Float[Tensor, "R M outputs"]:
        """The product with the weight's ``columns``."""
        weight, bias = self.weight[..., columns], self.bias[..., columns]
        return self.products(x, weight).add_(bias)  # quicker than baddbmm


def draw_xavier(layer: StackedLinear, run: int, generator: torch.Generator) -> None:
    """Draw one run's weights of a layer: each of its matrices Xavier-uniform."""
    for matrix in layer.weight.detach()[run].chunk(layer.parts, dim=-1):
        bound = math.sqrt(6 / sum(matrix.shape))
        matrix.copy_(torch.rand(matrix.shape, generator=generator) * (2 * bound) - bound)


class StackedLayerNorm(nn.Module):
    """LayerNorm over the last axis, with each run's own gain and bias."""

    def __init__(self, runs: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(runs, 1, width))
        self.bias = nn.Parameter(torch.zeros(runs, 1, width))

    def forward(self, x: Float[Tensor, "R M D"]) -> Float[Tensor, "R M D"]:
        """Each row normalised to mean 0 and variance 1, then times gain plus bias."""
        return torch.addcmul(self.bias, F.layer_norm(x, x.shape[-1:]), self.weight)


class Residual(nn.Module):
    """A sub-layer's residual connection, with its norm before the sub-layer or after the sum."""

    def __init__(self, spec: ModelSpec, runs: int) -> None:
        super().__init__()
        self.norm = StackedLayerNorm(runs, spec.dim)
        self.pre = NORM_POSITIONS[spec.norm_position]

    def read(self, x: Float[Tensor, "R M D"]) -> Float[Tensor, "R M D"]:
        """The sub-layer's input from the residual stream ``x``."""
        read: Tensor = self.norm(x) if self.pre else x
        return read

    def add(
        self, x: Float[Tensor, "R M D"], output: Float[Tensor, "R M D"], dropout: Dropout
    ) -> Float[Tensor, "R M D"]:
        """The residual stream ``x`` with the sub-layer's ``output`` added after dropout."""
        added: Tensor = x + dropout(output)
        return added if self.pre else self.norm(added)


def final_norm(spec: ModelSpec, runs: int) -> nn.Module:
    """The norm after the last layer of encoder and decoder, unless that ends with its own."""
    return StackedLayerNorm(runs, spec.dim) if spec.norm_position == "pre" else nn.Identity()


class FeedForward(nn.Module):
    """Two linear layers with the activation between (Vaswani et al. 2017: ReLU)."""

    def __init__(self, spec: ModelSpec, runs: int, precision: str) -> None:
        super().__init__()
        self.inner = StackedLinear(runs, spec.dim, spec.feed_forward, precision)
        self.outer = StackedLinear(runs, spec.feed_forward, spec.dim, precision)
        self.activation = ACTIVATIONS[spec.activation]

    def forward(self, x: Float[Tensor, "R M D"]) -> Float[Tensor, "R M D"]:
        """The two layers with the activation between."""
        read: Tensor = self.outer(self.activation(self.inner(x)))
        return read
