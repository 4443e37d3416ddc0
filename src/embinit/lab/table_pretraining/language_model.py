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
    """A model whose table, ``words``, has a row for each word and then its special tokens.

    A model without such a table says itself what its words' rows are.
    """

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
    *,
    steps: int,
    seed: int,
    rate: float,
    optimizer: str,
) -> TrainedTable:
    """Trains a model on batches of a corpus.

    Torch's global generator is forked: the training neither reads nor changes its state.

    Args:
        objective: The objective's name, for the log and the record.
        corpus: The text, whose N words are the model's first N.
        make_model: Makes the model, from torch's global generator.
        batches: As many batches as ``steps``.
        loss_of: The loss of a model on a batch.
        steps: The number of batches, for the optimizer's schedule.
        seed: Seeds torch's global generator.
        rate: The optimizer's learning rate.
        optimizer: A name in ``OPTIMIZERS``.

    Returns:
        The rows of the words, without those of special tokens.

    Raises:
        InputError: The optimizer is unknown.
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
