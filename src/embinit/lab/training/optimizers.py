"""Optimizers of stacked models, by name.

Every run of a stack has the bits that it has alone. Adam's update is element by element, so it
learns whole stacks, whose left-over elements alone are learnt run by run (see ``stacked.LANES``).
The others learn all run by run: Adafactor has statistics of whole matrices, and AdamW's decay must
not shrink the table of a run that keeps it frozen.

``runs.table_pretraining.optimizers`` has recipes of another sort: for a model that is not stacked,
with schedules of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from jaxtyping import Float
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.registry import Named


class Settings(Protocol):
    """A protocol of recipes: batch size, epochs, learning rate and Adam's constants."""

    @property
    def batch_size(self) -> int:
        """The number of examples in a batch."""

    @property
    def epochs(self) -> int:
        """The number of epochs."""

    @property
    def lr(self) -> float:
        """The learning rate, or the peak of a schedule."""

    @property
    def betas(self) -> tuple[float, float]:
        """Adam's betas."""

    @property
    def eps(self) -> float:
        """Adam's epsilon."""


Group = Mapping[str, Any]
"""A parameter group with one learning rate: ``params``, and ``lr``, a number or a tensor."""

MOMENTUM = 0.9
"""SGD's momentum."""

WEIGHT_DECAY = 0.01
"""AdamW's decay."""

SQUARES_DECAY = -0.8
"""Adafactor: squares before step t weigh 1 - t to this power."""

LARGEST_UPDATE = 1.0
"""Adafactor: the root mean square to which a parameter's update is clipped."""

LEAST_SQUARE = 1e-30
"""Adafactor: is added to squared gradients."""

LEAST_SCALE = 1e-3
"""Adafactor: the least root mean square that a parameter is taken to have."""


@dataclass(frozen=True)
class StackedOptimizer:
    """An optimizer of stacked models.

    Attributes:
        make: Makes torch's optimizer: (groups, settings, whether CUDA graphs record it).
        words: The optimizer's name for people.
        by_run: Whether each run's parameters are given to it on their own, without the run axis.
        recorded: Whether CUDA graphs can record its step; else a GPU launches every kernel anew.
    """

    make: Callable[[Sequence[Group], Settings, bool], torch.optim.Optimizer]
    words: str
    by_run: bool = True
    recorded: bool = False


def _adam(groups: Sequence[Group], settings: Settings, recorded: bool) -> torch.optim.Optimizer:
    return torch.optim.Adam(
        [dict(group) for group in groups],
        betas=settings.betas,
        eps=settings.eps,
        fused=True,
        capturable=recorded,
    )


def _sgd(groups: Sequence[Group], settings: Settings, recorded: bool) -> torch.optim.Optimizer:
    """SGD with momentum; no decay."""
    return torch.optim.SGD([dict(group) for group in groups], momentum=MOMENTUM, fused=True)


def _adamw(groups: Sequence[Group], settings: Settings, recorded: bool) -> torch.optim.Optimizer:
    """Adam with decoupled decay of matrices and tables; biases and norms don't decay."""
    split = [
        {**group, "params": chosen, "weight_decay": WEIGHT_DECAY if decays else 0.0}
        for group in groups
        for decays in (True, False)
        if (chosen := [each for each in group["params"] if is_matrix(each) == decays])
    ]
    return torch.optim.AdamW(split, betas=settings.betas, eps=settings.eps, fused=True)


def is_matrix(parameter: Tensor) -> bool:
    """Whether a run's parameter is a matrix or a table: biases and norms are vectors."""
    return sum(size > 1 for size in parameter.shape) > 1


class Adafactor(torch.optim.Optimizer):
    """Adafactor as T5 uses it (Shazeer and Stern 2018), at a rate that is set and not capped.

    A parameter's step is the rate times the parameter's root mean square, so that it is
    proportional to the parameter. Squares of a matrix are kept as means of its rows and columns.
    torch's own takes no rate above 1/√step.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        """Parameters of one run each, in groups with their rates."""
        super().__init__([dict(group) for group in groups], {"lr": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        assert closure is None
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group["lr"])

    def _update(self, parameter: nn.Parameter, gradient: Tensor, rate: float | Tensor) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state |= _no_squares(gradient)
        state["step"] += 1
        kept = 1.0 - state["step"] ** SQUARES_DECAY
        squares = gradient.square().add_(LEAST_SQUARE)
        if "rows" in state:
            rows = state["rows"].mul_(kept).add_(squares.mean(-1, keepdim=True), alpha=1.0 - kept)
            columns = state["columns"].mul_(kept)
            columns.add_(squares.mean(-2, keepdim=True), alpha=1.0 - kept)
            update = (rows / rows.mean(-2, keepdim=True)).rsqrt_() * columns.rsqrt()
        else:
            update = state["squares"].mul_(kept).add_(squares, alpha=1.0 - kept).rsqrt()
        update.mul_(gradient)
        update.div_(_root_mean_square(update).div_(LARGEST_UPDATE).clamp_(min=1.0))
        parameter.sub_(update.mul_(_root_mean_square(parameter).clamp_(min=LEAST_SCALE) * rate))


def _no_squares(gradient: Tensor) -> dict[str, Tensor]:
    if not is_matrix(gradient):
        return {"squares": torch.zeros_like(gradient)}
    return {
        "rows": torch.zeros_like(gradient[..., :1]),
        "columns": torch.zeros_like(gradient[..., :1, :]),
    }


def _root_mean_square(values: Tensor) -> Float[Tensor, ""]:
    norm: Tensor = torch.linalg.vector_norm(values)
    return norm / math.sqrt(values.numel())


def _adafactor(
    groups: Sequence[Group], settings: Settings, recorded: bool
) -> torch.optim.Optimizer:
    return Adafactor(groups)


OPTIMIZERS = Named(
    "optimizer",
    {
        "adam": StackedOptimizer(_adam, "Adam", by_run=False, recorded=True),
        "sgd": StackedOptimizer(_sgd, "SGD with momentum"),
        "adamw": StackedOptimizer(_adamw, "AdamW"),
        "adafactor": StackedOptimizer(_adafactor, "Adafactor"),
    },
)


def lr_factor(step: int, steps: int, warm_up: float) -> float:
    """The schedule's factor of the learning rate at ``step``: it rises to 1, then falls to 0.

    Args:
        step: Counted from 0.
        steps: How many there are.
        warm_up: The share of the steps over which the rate rises.

    Raises:
        InputError: ``warm_up`` is not from 0 to below 1.
    """
    if not 0 <= warm_up < 1:
        raise InputError(f"the rate can't rise over {warm_up} of the steps: name 0 to below 1")
    rising = warm_up * steps
    if step + 1 < rising:
        return (step + 1) / rising
    return (steps - step) / (steps - rising + 1)
