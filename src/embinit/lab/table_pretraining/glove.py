"""GloVe: weighted least squares on log co-occurrence (Pennington, Socher and Manning 2014).

Equations 8 and 9 are the objective and its weighting; section 4.2 has the training: AdaGrad with
rate 0.05, a window of 10 words in which a pair ``d`` words apart counts 1/d, alpha = 3/4, and the
sum of word and context vectors as the result. The start, U(-0.5, 0.5)/D, and AdaGrad's squares
starting at 1 are those of the authors' program. Log counts are the only scale in the objective, so
they decide the sigma of the vectors.

``X_MAX`` is 100 in the paper, for corpora of a billion words and more, and 10 in the program's
demonstration on a small corpus. This corpus is smaller still, and takes 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus

WINDOW = 10
X_MAX = 10.0
ALPHA = 0.75
RATE = 0.05


def start(size: int, dim: int, generator: torch.Generator) -> list[Tensor]:
    """Word and context vectors (N, D) and their biases (N,), drawn from U(-0.5, 0.5)/D."""
    shapes = ((size, dim), (size, dim), (size,), (size,))
    return [(torch.rand(shape, generator=generator) - 0.5) / dim for shape in shapes]


def cooccurrences(corpus: Corpus, window: int = WINDOW) -> Float[Tensor, "N N"]:
    """X, (N, N) float64: a pair of words d apart in a sentence counts 1/d, up to ``window``."""
    size = len(corpus.words)
    counts = torch.zeros(size, size, dtype=torch.float64)
    for distance in range(1, min(window, corpus.ids.shape[1] - 1) + 1):
        counts += pairs_apart(corpus, distance) / distance
    return counts + counts.T


def pairs_apart(corpus: Corpus, distance: int) -> Int64[Tensor, "N N"]:
    """Counts of each word ``distance`` words before each other one in a sentence."""
    size = len(corpus.words)
    left, right = corpus.ids[:, :-distance], corpus.ids[:, distance:]
    inside = right != corpus.padding
    cells = left[inside] * size + right[inside]
    return torch.bincount(cells, minlength=size * size).view(size, size)


def weights(counts: Float[Tensor, "pairs"], x_max: float = X_MAX) -> Float[Tensor, "pairs"]:
    """The weight f(X) of equation 9: (X/x_max)^alpha, at most 1."""
    return (counts / x_max).clamp(max=1.0) ** ALPHA


def train_glove(
    corpus: Corpus, dim: int = 64, epochs: int = 50, batch: int = 256, seed: int = 0
) -> TrainedTable:
    """Trains on all pairs; those of a batch are updated as if each were alone. Gives w + w~."""
    generator = torch.Generator().manual_seed(seed)
    counts = cooccurrences(corpus)
    rows, columns = counts.nonzero(as_tuple=True)
    occurring = counts[rows, columns]
    pairs = (rows, columns, occurring.log().float(), weights(occurring).float())
    parameters = start(len(corpus.words), dim, generator)
    squares = [torch.ones_like(tensor) for tensor in parameters]
    for _ in range(epochs):
        order = torch.randperm(len(occurring), generator=generator)
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            _step(parameters, squares, *(column[chosen] for column in pairs))
    words, contexts, *_ = parameters
    steps = epochs * len(occurring)
    return corpus.trained(words + contexts, "GloVe", steps, seed, x_max=str(X_MAX))


def _step(
    parameters: Sequence[Tensor],
    squares: Sequence[Tensor],
    rows: Int64[Tensor, "pairs"],
    columns: Int64[Tensor, "pairs"],
    logs: Float[Tensor, "pairs"],
    weight: Float[Tensor, "pairs"],
) -> None:
    """Makes one AdaGrad update for each pair, in place."""
    at = (rows, columns, rows, columns)
    words, contexts, word_biases, context_biases = (
        value[index] for value, index in zip(parameters, at, strict=True)
    )
    slope = weight * ((words * contexts).sum(1) + word_biases + context_biases - logs)
    gradients = (slope[:, None] * contexts, slope[:, None] * words, slope, slope)
    for value, square, index, gradient in zip(parameters, squares, at, gradients, strict=True):
        value.index_add_(0, index, gradient / square[index].sqrt(), alpha=-RATE)
        square.index_add_(0, index, gradient**2)
