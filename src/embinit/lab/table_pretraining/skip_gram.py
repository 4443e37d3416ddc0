"""word2vec and fastText: skip-gram with negative sampling, trained by gensim.

word2vec (Mikolov et al. 2013) gives each word a vector, fastText (Bojanowski et al. 2017) the mean
of its own vector and those of its character n-grams of 3 to 6. They start from U(-1, 1)/D. Products
of vectors come to be shifted logarithms of association (Levy and Goldberg 2014), as far as the
number and rate of steps let them.

Rates and numbers are gensim's defaults, which are word2vec's own: 5 negative samples, a window of 5
words, frequent words thinned at 1e-3, a rate that falls from 0.025 to 0.0001. In 50 passes a word
is met some 30,000 times, about as often as those of the published Google News vectors (100 billion
words for 3 million). A single worker and a fixed seed give the same table each time.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import softplus

from embinit.errors import InputError
from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus, TrainingLog
from embinit.lab.table_pretraining.glove import pairs_apart

WINDOW = 5
NEGATIVE = 5
NOISE_EXPONENT = 0.75
RATE, LAST_RATE = 0.025, 1e-4
THINNED_ABOVE = 1e-3
GRAMS = (3, 6)
BUCKETS = 200_000
"""How many vectors n-grams are hashed to: a tenth of fastText's, for a text with few n-grams."""


def windowed_pairs(corpus: Corpus, window: int = WINDOW) -> Float[Tensor, "N N"]:
    """Counts pairs of words, (N, N) float64, as windows of random length do on average.

    A window's length is drawn from 1 to ``window``. So a pair d apart counts (window - d +
    1)/window, as often as both words are kept when frequent words are thinned. That windows reach
    further across dropped words is left out.
    """
    counts = torch.zeros(len(corpus.words), len(corpus.words), dtype=torch.float64)
    for distance in range(1, min(window, corpus.ids.shape[1] - 1) + 1):
        counts += pairs_apart(corpus, distance) * (window - distance + 1) / window
    kept = kept_share(corpus)
    return (counts + counts.T) * kept[:, None] * kept


def _frequencies(corpus: Corpus) -> Float[Tensor, "N"]:
    words = corpus.ids[corpus.ids != corpus.padding]
    return torch.bincount(words, minlength=len(corpus.words)).double() / len(words)


def kept_share(corpus: Corpus) -> Float[Tensor, "N"]:
    """The probability that each word is kept when frequent words are thinned, float64."""
    rarity = THINNED_ABOVE / _frequencies(corpus)
    return (rarity.sqrt() + rarity).clamp(max=1.0)


def noise(corpus: Corpus) -> Float[Tensor, "N"]:
    """The distribution of negative samples: counts to the power of 3/4, float64."""
    powers = _frequencies(corpus) ** NOISE_EXPONENT
    return powers / powers.sum()


def expected_loss(
    scores: Float[Tensor, "N N"], pairs: Float[Tensor, "N N"], noise: Float[Tensor, "N"]
) -> Float[Tensor, ""]:
    """The loss of a pair, averaged over pairs and over draws of negative samples from ``noise``."""
    rejected = NEGATIVE * (softplus(scores) @ noise)
    return (pairs * (softplus(-scores) + rejected[:, None])).sum() / pairs.sum()


class _Progress:
    """Records the loss after each pass. gensim calls these four methods, of whatever object."""

    def __init__(self, name: str, corpus: Corpus, passes: int) -> None:
        self.log = TrainingLog(f"{name} (passes)", passes)
        self.loss = torch.zeros(())
        self._corpus, self._passes = corpus, 0
        self._pairs, self._noise = windowed_pairs(corpus), noise(corpus)

    def on_train_begin(self, model: Any) -> None:
        """Nothing is measured before the training."""

    def on_epoch_begin(self, model: Any) -> None:
        """Nothing is measured before a pass."""

    def on_epoch_end(self, model: Any) -> None:
        """Measures the loss."""
        if hasattr(model.wv, "adjust_vectors"):
            model.wv.adjust_vectors()  # fastText's means of n-grams, else left for the end
        rows = [model.wv.key_to_index[word] for word in self._corpus.words]
        words, contexts = (
            torch.from_numpy(values[rows]).double() for values in (model.wv.vectors, model.syn1neg)
        )
        self._passes += 1
        self.loss = expected_loss(words @ contexts.T, self._pairs, self._noise)
        self.log.record(self._passes, self.loss)

    def on_train_end(self, model: Any) -> None:
        """Nothing is left to be measured after the last pass."""


def _checksum(word: str) -> int:
    """A hash that doesn't change with PYTHONHASHSEED."""
    return zlib.crc32(word.encode())


def _train(kind: str, corpus: Corpus, dim: int, epochs: int, seed: int, **own: Any) -> TrainedTable:
    try:
        import gensim
    except ImportError:
        raise InputError(
            "word2vec and fastText tables are trained by gensim, which isn't installed; "
            "`pip install embinit[vectors]`"
        ) from None
    sentences = [
        [corpus.words[token] for token in row if token != corpus.padding]
        for row in corpus.ids.tolist()
    ]
    progress = _Progress(kind, corpus, epochs)
    model = getattr(gensim.models, kind)(
        sentences,
        vector_size=dim,
        sg=1,
        hs=0,
        negative=NEGATIVE,
        ns_exponent=NOISE_EXPONENT,
        window=WINDOW,
        sample=THINNED_ABOVE,
        alpha=RATE,
        min_alpha=LAST_RATE,
        epochs=epochs,
        min_count=1,
        workers=1,
        seed=seed,
        hashfxn=_checksum,
        callbacks=[progress],
        **own,
    )
    record = {
        "objective": f"skip-gram with negative sampling ({kind})",
        "steps": str(epochs * sum(map(len, sentences))),
        "sentences": str(len(corpus.ids)),
        "seed": str(seed),
        "loss": f"{progress.loss.item():.4f}",
        "gensim": gensim.__version__,
    }
    values = torch.tensor(model.wv[list(corpus.words)], dtype=torch.float32)
    return TrainedTable(corpus.words, values, record)


def train_word2vec(corpus: Corpus, dim: int = 64, epochs: int = 50, seed: int = 0) -> TrainedTable:
    """Trains word2vec's vectors, D wide; InputError if gensim isn't installed."""
    return _train("Word2Vec", corpus, dim, epochs, seed)


def train_fasttext(corpus: Corpus, dim: int = 64, epochs: int = 50, seed: int = 0) -> TrainedTable:
    """Trains fastText's means of a word's own vector and n-grams'; InputError without gensim."""
    shortest, longest = GRAMS
    return _train(
        "FastText", corpus, dim, epochs, seed, min_n=shortest, max_n=longest, bucket=BUCKETS
    )
