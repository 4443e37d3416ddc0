"""Functions of tensors that are compiled for a GPU, which does them in a few kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch


class Fused:
    """A function that is compiled for a GPU; a CPU runs it as it is written.

    It is compiled in the first call, and its gradient in the first backward pass, so a step must
    have run before it is recorded as a CUDA graph. Sizes above 1 are symbols: another batch shape
    is not compiled anew. The function may neither draw random numbers nor change its arguments.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        # Whatever sorts of tensors come: beyond torch's limit of 8 a call would fail.
        torch._dynamo.config.recompile_limit = 64
        # Whole steps are recorded instead of single functions.
        options: dict[str, Any] = {"triton.cudagraphs": False}
        return torch.compile(self.function, dynamic=True, fullgraph=True, options=options)

    def compiled(self, *arguments: Any) -> Any:
        """The compiled function's value, on any device."""
        with warnings.catch_warnings(action="ignore"):  # those of the compiler itself
            return self._compiled(*arguments)

    def __call__(self, x: torch.Tensor, *others: Any) -> Any:
        """The function's value, on the device of its first argument."""
        return (self.compiled if x.is_cuda else self.function)(x, *others)
