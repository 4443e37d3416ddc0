"""Adam and its schedule for stacked models.

Adam's update is element by element, so every run of a stack has the bits that it has alone, but for
elements that are left over (see ``stacked.LANES``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from embinit.errors import InputError
from embinit.lab.specs import PretrainingSpec, TrainingSpec

Settings = TrainingSpec | PretrainingSpec
"""Procedures with a batch size, epochs, a learning rate or its peak, and Adam's constants."""


def adam(
    groups: Sequence[Mapping[str, Any]], settings: Settings, recorded: bool
) -> torch.optim.Adam:
    """Torch's Adam on groups of ``params`` and ``lr``, for recording by CUDA graphs or not."""
    return torch.optim.Adam(
        [dict(group) for group in groups],
        betas=settings.betas,
        eps=settings.eps,
        fused=True,
        capturable=recorded,
    )


def lr_factor(step: int, steps: int, warm_up: float) -> float:
    """The schedule's factor of the learning rate at ``step``: it rises to 1, then falls to 0.

    Steps count from 0; it rises over the share ``warm_up`` of them. InputError unless that is from
    0 to below 1.
    """
    if not 0 <= warm_up < 1:
        raise InputError(f"the rate can't rise over {warm_up} of the steps: name 0 to below 1")
    rising = warm_up * steps
    if step + 1 < rising:
        return (step + 1) / rising
    return (steps - step) / (steps - rising + 1)
