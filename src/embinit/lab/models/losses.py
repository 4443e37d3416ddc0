"""Cross-entropy of a stacked output layer, a few runs' logits at a time.

Over a large vocabulary the logits of a stack, and their gradient, are its largest tensors by far.
Gradients are taken while the logits are there, as the loss is a sum that nothing else reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd import Function

from embinit.lab.models.layers import PRECISIONS, StackedLinear

NOTHING = -100
"""A label that the loss leaves out."""

MOST_BYTES = {"cpu": 2**22, "cuda": 2**30}
"""Most bytes of logits held at once (one run's always fit): a core's cache, 1 GiB of a GPU."""


class OutputLayer(NamedTuple):
    """An output layer's weights and bias, wherever they lie."""

    weight: Float[Tensor, "R D N"]
    bias: Float[Tensor, "R 1 N"]
    precision: str


def cross_entropy(
    hidden: Float[Tensor, "R M D"],
    layer: StackedLinear | OutputLayer,
    labels: Int[Tensor, "S M"],
) -> tuple[Float[Tensor, " R"], Int[Tensor, " S"]]:
    """Each run's summed cross-entropy of M rows, and its number of labels (other than NOTHING).

    S is 1 (the same labels for all runs) or R.
    """
    runs, count, _ = hidden.shape
    of_one = 4 * count * layer.weight.shape[-1]
    at_once = max(1, min(runs, MOST_BYTES[hidden.device.type] // of_one))
    losses: Tensor = _StackedCrossEntropy.apply(  # type: ignore[no-untyped-call]
        hidden,
        layer.weight,
        layer.bias,
        labels.expand(runs, count),
        layer.precision,
        at_once,
        torch.is_grad_enabled(),  # which it is not within the function
    )
    return losses, (labels != NOTHING).sum(dim=1)


class _StackedCrossEntropy(Function):
    """Cross-entropy of ``at_once`` runs at a time; gradients are taken in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor,
        labels: Tensor,
        precision: str,
        at_once: int,
        training: bool,
    ) -> Tensor:
        learns = training and any(ctx.needs_input_grad[:3])
        products = PRECISIONS[precision]
        gradients = [torch.empty_like(one) for one in (hidden, weight, bias)] if learns else []
        losses = torch.empty(len(hidden), dtype=hidden.dtype, device=hidden.device)
        for low in range(0, len(hidden), at_once):
            part = slice(low, low + at_once)
            x, w = hidden[part], weight[part]
            logits = products(x, w).add_(bias[part])
            real = (labels[part] != NOTHING).unsqueeze(-1)
            index = labels[part].unsqueeze(-1).masked_fill(~real, 0)
            weights = real.to(logits.dtype)
            logs = logits.log_softmax(dim=-1)
            losses[part] = -logs.gather(-1, index).masked_fill_(~real, 0.0).sum(dim=(1, 2))
            if learns:
                by_logit = logs.exp_().mul_(weights).scatter_add_(-1, index, -weights)
                gradients[2][part] = by_logit.sum(dim=1, keepdim=True)
                gradients[0][part] = products(by_logit, w.transpose(1, 2))
                gradients[1][part] = products(x.transpose(1, 2), by_logit)
        ctx.save_for_backward(*gradients)
        return losses

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor | None, ...]:
        scale = outer[0].view(-1, 1, 1)
        # The saved gradients are read once: scaled where they lie.
        return *(gradient.mul_(scale) for gradient in ctx.saved_tensors), *[None] * 4
