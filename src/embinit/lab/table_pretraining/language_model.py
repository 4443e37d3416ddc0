"""The step loop that the language models share; an objective adds its batches and its loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus, TrainingLog
from embinit.lab.table_pretraining.optimizers import OPTIMIZERS


class LanguageModel(nn.Module):
    """A model whose table, ``words``, has a row for each word and then its special tokens."""

    words: nn.Embedding

    def table(self, size: int) -> Float[Tensor, "{size} D"]:
        """The rows of the first ``size`` words."""
        return self.words.weight.detach()[:size].clone()


Model = TypeVar("Model", bound=LanguageModel)
Batch = TypeVar("Batch")


def train(
    objective: str,
    corpus: Corpus,
    make_model: Callable[[], Model],
    batches: Iterable[Batch],
    loss_of: Callable[[Model, Batch], Float[Tensor, ""]],
    steps: int,
    seed: int,
    rate: float,
    optimizer: str,
) -> TrainedTable:
    """Trains a model on ``steps`` batches of a corpus; the result is its rows of the words.

    Torch's global generator, which makes the model, is seeded and forked: the training neither
    reads nor changes its state. InputError if the optimizer is not in ``OPTIMIZERS``.
    """
    log = TrainingLog(f"{objective} (steps)", steps)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make_model()
        update = OPTIMIZERS[optimizer](model, rate, steps)
        for step, batch in enumerate(batches, start=1):
            loss = loss_of(model, batch)
            torch.autograd.backward(loss)
            update()
            log.record(step, loss)
    record = {
        "objective": objective,
        "steps": str(steps),
        "sentences": str(len(corpus.ids)),
        "seed": str(seed),
        "loss": f"{log.recent_loss:.4f}",
    }
    return TrainedTable(corpus.words, model.table(len(corpus.words)), record)
