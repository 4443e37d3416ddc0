"""Word vectors of a text in closed form, by which extension methods compare tokens.

Positive pointwise mutual information of words that stand near one another, factored by singular
values: what skip-gram with negative sampling factors implicitly (Levy and Goldberg 2014). Contexts
are smoothed by 0.75 and both sides take the root of the singular values (Levy, Goldberg and Dagan
2015). Nothing is drawn.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from embinit.lab.data.vocabulary import EOS, PAD

WINDOW = 4
SMOOTHING = 0.75
WHOLE = 2000
"""The largest vocabulary whose singular values are all computed; of larger ones the leading are."""


def cooccurrences(ids: Int[Tensor, "B T"], words: int) -> Float[Tensor, "N N"]:
    """Co-occurrence counts of words within ``WINDOW`` words of each other in a sentence.

    Args:
        ids: Sentences, padded behind; EOS is no word.
        words: N, the size of the vocabulary.
    """
    ids = ids.long()
    counts = torch.zeros(words, words, dtype=torch.float64)
    for distance in range(1, min(WINDOW, ids.shape[1] - 1) + 1):
        left, right = ids[:, :-distance], ids[:, distance:]
        inside = (right != PAD) & (right != EOS)
        cells = left[inside] * words + right[inside]
        counts += torch.bincount(cells, minlength=words * words).view(words, words)
    return counts + counts.T


def word_vectors(ids: Int[Tensor, "B T"], words: int, width: int) -> Float[Tensor, "N width"]:
    """A vector for each word that occurs; zero for the others.

    Args:
        ids: Sentences, padded behind.
        words: N, the size of the vocabulary.
        width: The vectors' width; as many columns as the text has directions are not zero.
    """
    counts = cooccurrences(ids, words)
    total = counts.sum()
    of_word = counts.sum(dim=1)
    of_context = of_word**SMOOTHING
    of_context *= total / of_context.sum().clamp(min=1e-30)
    expected = of_word[:, None] * of_context[None] / total.clamp(min=1e-30)
    information = torch.where(counts > 0, (counts / expected.clamp(min=1e-30)).log(), 0.0)
    kept = min(width, words)
    left, values = _leading(information.clamp(min=0), kept)
    vectors = torch.zeros(words, width)
    vectors[:, :kept] = (left[:, :kept] * values[:kept].sqrt()).float()
    vectors[of_word == 0] = 0
    return vectors


def _leading(
    matrix: Float[Tensor, "N N"], number: int
) -> tuple[Float[Tensor, "N k"], Float[Tensor, " k"]]:
    """At least ``number`` leading left singular vectors, with their singular values."""
    if len(matrix) <= WHOLE or number >= len(matrix) - 1:
        left, values, _ = torch.linalg.svd(matrix)
        return left, values
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    start = np.full(len(matrix), len(matrix) ** -0.5)  # else it is drawn
    left, values, _ = svds(csr_array(matrix.numpy()), number, v0=start)
    return torch.from_numpy(left[:, ::-1].copy()), torch.from_numpy(values[::-1].copy())
