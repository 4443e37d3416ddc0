"""The input embedding of a PyTorch module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn


def input_table(module: nn.Module) -> nn.Module | None:
    """The input embedding that a model names itself, or its only embedding.

    Args:
        module: An ``nn.Embedding``, a model of transformers, or another module.

    Returns:
        None where neither is known.
    """
    says: Callable[[], Any] | None = getattr(module, "get_input_embeddings", None)
    if says is not None and not isinstance(module, nn.Embedding):
        try:
            told = says()
        except (NotImplementedError, AttributeError):
            told = None
        if isinstance(told, nn.Module):
            return told
    every = embeddings(module)
    return every[0] if len(every) == 1 else None


def embeddings(module: nn.Module) -> list[nn.Embedding]:
    """All embeddings of a module, itself included."""
    return [each for each in module.modules() if isinstance(each, nn.Embedding)]
