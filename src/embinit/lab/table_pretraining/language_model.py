"""Language models as objectives, and the step loop that they share."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.optimizers import OPTIMIZERS


class LanguageModel(nn.Module):
    """A model whose table, ``words``, has a row for each word and then its special tokens."""

    words: nn.Embedding

    def table(self, size: int) -> Float[Tensor, "{size} D"]:
        """The rows of the first ``size`` words."""
        return self.words.weight.detach()[:size].clone()


Model = TypeVar("Model", bound=LanguageModel)
Batch = TypeVar("Batch")

PRINTED_EVERY = 10.0
"""Seconds between the lines of a training's progress."""


@dataclass(frozen=True)
class Objective(Generic[Model, Batch]):
    """What a language model learns: its batches, its loss, and its usual settings.

    ``make`` gets a corpus, the width D and settings of the model. ``batches`` gets a corpus, a
    batch's size, the number of steps and a seed.
    """

    name: str
    make: Callable[..., Model]
    batches: Callable[[Corpus, int, int, int], Iterable[Batch]]
    loss: Callable[[Model, Batch], Float[Tensor, ""]]
    batch: int
    rate: float
    optimizer: str

    def train(
        self,
        corpus: Corpus,
        steps: int,
        dim: int = 64,
        seed: int = 0,
        batch: int | None = None,
        rate: float | None = None,
        optimizer: str | None = None,
        **model_settings: Any,
    ) -> TrainedTable:
        """Trains a model on ``steps`` batches of a corpus; the result is its rows of the words.

        Torch's global generator, which makes the model, is seeded and forked: the training neither
        reads nor changes its state. InputError if the optimizer is not in ``OPTIMIZERS``.
        """
        losses: deque[float] = deque(maxlen=max(1, steps // 10))
        began = printed = time.monotonic()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = self.make(corpus, dim, **model_settings)
            rate = self.rate if rate is None else rate
            update = OPTIMIZERS[optimizer or self.optimizer](model, rate, steps)
            batches = self.batches(corpus, batch or self.batch, steps, seed)
            for step, read in enumerate(batches, start=1):
                loss = self.loss(model, read)
                torch.autograd.backward(loss)
                update()
                losses.append(loss.item())
                if (now := time.monotonic()) - printed > PRINTED_EVERY:
                    printed, left = now, (now - began) / step * (steps - step)
                    line = f"{self.name}: step {step} of {steps}, {left:.0f} s left"
                    print(line, file=sys.stderr, flush=True)
        record = {
            "objective": self.name,
            "steps": str(steps),
            "sentences": str(len(corpus.ids)),
            "seed": str(seed),
            "loss": f"{torch.tensor([*losses]).mean().item():.4f}",
        }
        return TrainedTable(corpus.words, model.table(len(corpus.words)), record)
