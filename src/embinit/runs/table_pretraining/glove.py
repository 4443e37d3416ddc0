"""GloVe: weighted least squares on log co-occurrence (Pennington, Socher and Manning 2014).

Their section 3 gives the objective (equation 8) and the weighting (equation 9), section 4.2 the
training: AdaGrad with rate 0.05, a window of 10 words in which a pair ``d`` words apart counts 1/d,
alpha = 3/4, and the sum of word and context vectors as the result. The start, U(-0.5, 0.5)/D, and
AdaGrad's squares starting at 1 are those of the authors' program. Nothing in the objective has a
scale of its own but log counts, so the vectors are as wide as log counts ask.

``MAXIMUM`` (x_max) is 100 in the paper, for corpora of a billion words and more, and 10 in the
program's demonstration on a small corpus; this corpus is smaller still, and takes 10.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from embinit.data.sources.assets import Table
from embinit.runs.table_pretraining.corpus import Corpus, Progress

WINDOW = 10
MAXIMUM = 10.0
ALPHA = 0.75
RATE = 0.05


@dataclass(frozen=True)
class GloveParameters:
    """Word and context vectors, (N, D) each, and their biases, (N,) each."""

    words: torch.Tensor
    contexts: torch.Tensor
    word_biases: torch.Tensor
    context_biases: torch.Tensor

    @classmethod
    def start(cls, size: int, dim: int, generator: torch.Generator) -> GloveParameters:
        """All entries from U(-0.5, 0.5)/D."""

        def draw(*shape: int) -> torch.Tensor:
            return (torch.rand(*shape, generator=generator) - 0.5) / dim

        return cls(draw(size, dim), draw(size, dim), draw(size), draw(size))

    def errors(self, rows: torch.Tensor, columns: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
        """What a pair's scores lack of its log count: w . w~ + b + b~ - log X, (pairs,)."""
        scores = (self.words[rows] * self.contexts[columns]).sum(1)
        return scores + self.word_biases[rows] + self.context_biases[columns] - logs


def cooccurrences(corpus: Corpus, window: int = WINDOW) -> torch.Tensor:
    """X, (N, N) float64, symmetric: words ``d`` apart in a sentence count 1/d, up to ``window``."""
    size = len(corpus.words)
    counts = torch.zeros(size * size, dtype=torch.float64)
    for distance in range(1, min(window, corpus.ids.shape[1] - 1) + 1):
        left, right = corpus.ids[:, :-distance], corpus.ids[:, distance:]
        inside = right != corpus.padding
        cells = left[inside] * size + right[inside]
        counts += torch.bincount(cells, minlength=size * size) / distance
    square = counts.view(size, size)
    return square + square.T


def weights(counts: torch.Tensor, maximum: float = MAXIMUM) -> torch.Tensor:
    """f(X) of equation 9: (X/x_max)^alpha, at most 1."""
    return (counts / maximum).clamp(max=1.0) ** ALPHA


def loss(parameters: GloveParameters, counts: torch.Tensor) -> torch.Tensor:
    """Equation 8, summed over the pairs that occur; a scalar."""
    rows, columns = counts.nonzero(as_tuple=True)
    found = counts[rows, columns]
    errors = parameters.errors(rows, columns, found.log().float())
    return (weights(found).float() * errors**2).sum()


def train_glove(
    corpus: Corpus, dim: int = 64, epochs: int = 50, batch: int = 256, seed: int = 0
) -> Table:
    """Train on all pairs of the corpus, ``epochs`` times; the result is w + w~, (N, D).

    A batch's pairs are updated at once, each as if it were alone.
    """
    generator = torch.Generator().manual_seed(seed)
    counts = cooccurrences(corpus)
    rows, columns = counts.nonzero(as_tuple=True)
    found = counts[rows, columns]
    pairs = (rows, columns, found.log().float(), weights(found).float())
    parameters = GloveParameters.start(len(corpus.words), dim, generator)
    squares = GloveParameters(*(torch.ones_like(tensor) for tensor in vars(parameters).values()))
    progress = Progress("glove (passes)", epochs)
    for epoch in range(epochs):
        total = torch.zeros(())
        order = torch.randperm(len(found), generator=generator)
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            total += _step(parameters, squares, *(column[chosen] for column in pairs))
        progress.tell(epoch + 1, total / len(found))
    record = {
        "objective": "GloVe",
        "steps": str(epochs * len(found)),
        "sentences": str(len(corpus.ids)),
        "seed": str(seed),
        "x_max": str(MAXIMUM),
    }
    return Table(corpus.words, parameters.words + parameters.contexts, record)


def _step(
    parameters: GloveParameters,
    squares: GloveParameters,
    rows: torch.Tensor,
    columns: torch.Tensor,
    logs: torch.Tensor,
    weight: torch.Tensor,
) -> torch.Tensor:
    """One AdaGrad update for each pair, in place; returns the batch's loss before it."""
    errors = parameters.errors(rows, columns, logs)
    slope = weight * errors
    gradients = (
        (parameters.words, squares.words, rows, slope[:, None] * parameters.contexts[columns]),
        (parameters.contexts, squares.contexts, columns, slope[:, None] * parameters.words[rows]),
        (parameters.word_biases, squares.word_biases, rows, slope),
        (parameters.context_biases, squares.context_biases, columns, slope),
    )
    for value, square, index, gradient in gradients:
        value.index_add_(0, index, gradient / square[index].sqrt(), alpha=-RATE)
        square.index_add_(0, index, gradient**2)
    return (slope * errors).sum()
