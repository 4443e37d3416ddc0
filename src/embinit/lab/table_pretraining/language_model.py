"""Language models that make tables, and the step loop that they share."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.optimizers import OPTIMIZERS

PRINTED_EVERY = 10.0
"""Seconds between the lines of a training's progress."""


class LanguageModel(nn.Module, ABC):
    """A model whose table, ``words``, has a row for each word and then its special tokens.

    It is made from a corpus, the width D and settings of its own.
    """

    objective: ClassVar[str]
    batch: ClassVar[int]
    rate: ClassVar[float]
    optimizer: ClassVar[str]
    """The name of what it learns, and the usual settings of its training."""

    words: nn.Embedding

    @staticmethod
    def batches(corpus: Corpus, size: int, steps: int, seed: int) -> Iterator[Any]:
        """Yields ``steps`` batches of ``size`` sentences, as ``loss`` takes them: usually ids."""
        return corpus.batches(size, steps, torch.Generator().manual_seed(seed))

    @abstractmethod
    def loss(self, batch: Any) -> Float[Tensor, ""]:
        """The mean loss of a batch."""

    def table(self, size: int) -> Float[Tensor, "{size} D"]:
        """The rows of the first ``size`` words."""
        return self.words.weight.detach()[:size].clone()


def train_table(
    made: type[LanguageModel],
    corpus: Corpus,
    steps: int,
    dim: int = 64,
    seed: int = 0,
    batch: int | None = None,
    rate: float | None = None,
    optimizer: str | None = None,
    **settings: Any,
) -> TrainedTable:
    """Trains a model on ``steps`` batches of a corpus; the result is its rows of the words.

    Torch's global generator, which makes the model, is seeded and forked: the training neither
    reads nor changes its state. InputError if the optimizer is not in ``OPTIMIZERS``.
    """
    losses: deque[float] = deque(maxlen=max(1, steps // 10))
    began = printed = time.monotonic()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = made(corpus, dim, **settings)
        rate = model.rate if rate is None else rate
        update = OPTIMIZERS[optimizer or model.optimizer](model, rate, steps)
        batches = model.batches(corpus, batch or model.batch, steps, seed)
        for step, read in enumerate(batches, start=1):
            loss = model.loss(read)
            torch.autograd.backward(loss)
            update()
            losses.append(loss.item())
            if (now := time.monotonic()) - printed > PRINTED_EVERY:
                printed, left = now, (now - began) / step * (steps - step)
                line = f"{model.objective}: step {step} of {steps}, {left:.0f} s left"
                print(line, file=sys.stderr, flush=True)
    last = f"{torch.tensor([*losses]).mean().item():.4f}"
    return corpus.trained(model.table(len(corpus.words)), model.objective, steps, seed, loss=last)
