"""Optimizers of the language models, by name, so that a recipe can be changed.

What matters for a table's sigma is whether its steps are proportional to it. Adafactor's are, by
its parameter scale (Shazeer and Stern 2018, section 8); Adam's are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import nn

from embinit.registry import Named

WARM_UP = 0.1
UNROLLED = 20
WEIGHT_DECAY = 0.01
ADAFACTOR_FLOOR = 1e-3
"""The least root mean square that torch's Adafactor takes a parameter to have (``eps[1]``)."""

Step = Callable[[], None]
"""Updates the parameters by their gradients, and clears the gradients."""


def _adafactor(model: nn.Module, rate: float, steps: int) -> Step:
    """T5's: ``rate`` (at most 1/sqrt(step)) times the parameter's root mean square; no decay."""
    # torch's Adafactor takes min(rate, 1/sqrt(step)) times the parameter's root mean square.
    optimizer = torch.optim.Adafactor(model.parameters(), lr=rate, weight_decay=0.0, foreach=True)

    def step() -> None:
        optimizer.step()
        optimizer.zero_grad()

    return step


def _adafactor_but_for_the_table(model: nn.Module, rate: float, steps: int) -> Step:
    """Adafactor, but the steps of the table (the largest parameter) don't grow with it.

    They are those of a parameter of root mean square 1/sqrt(D).
    """
    table = max(model.parameters(), key=torch.Tensor.numel)
    adafactor, fixed_scale = _adafactor(model, rate, steps), table.shape[1] ** -0.5

    def step() -> None:
        before = table.detach().clone()
        scale = max(ADAFACTOR_FLOOR, before.square().mean().sqrt().item())
        adafactor()
        with torch.no_grad():
            table.copy_(before + (table - before) * (fixed_scale / scale))

    return step


def _adamw(model: nn.Module, rate: float, steps: int) -> Step:
    """BERT's: decay of matrices, linear warm-up and decline over ``steps``, gradients clipped."""
    optimizer = torch.optim.AdamW(_decayed_and_not(model.parameters()), lr=rate)
    warm_up = max(1, int(WARM_UP * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm_up, (steps - step) / max(1, steps - warm_up))
    )

    def step() -> None:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()

    return step


def _adagrad(model: nn.Module, rate: float, steps: int) -> Step:
    """ELMo's: squares start at 1, gradients are of ``UNROLLED`` words and clipped to a norm of 10.

    Its program trains on the sum over a chunk's 20 words. With squares that start at 1, the size of
    a gradient matters.
    """
    optimizer = torch.optim.Adagrad(model.parameters(), lr=rate, initial_accumulator_value=1.0)

    def step() -> None:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad *= UNROLLED
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


def _decayed_and_not(parameters: Iterable[nn.Parameter]) -> list[dict[str, object]]:
    """BERT's parameter groups: matrices and tables decay, biases and LayerNorms don't."""
    listed = list(parameters)
    return [
        {"params": [p for p in listed if p.dim() > 1], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in listed if p.dim() == 1], "weight_decay": 0.0},
    ]


OPTIMIZERS: Named[Callable[[nn.Module, float, int], Step]] = Named(
    "optimizer",
    {
        "adafactor": _adafactor,
        "adafactor-but-for-the-table": _adafactor_but_for_the_table,
        "adagrad": _adagrad,
        "adamw": _adamw,
    },
)
"""By name: (model, rate, steps) gives the function to call after each backward pass."""
