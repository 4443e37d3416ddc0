"""word2vec and fastText: skip-gram with negative sampling, trained by gensim.

word2vec (Mikolov et al. 2013) gives each word a vector, fastText (Bojanowski et al. 2017) the mean
of its own vector and those of its character n-grams of 3 to 6. They start from U(-1, 1)/D. Products
of vectors come to be shifted logarithms of association (Levy and Goldberg 2014), as far as the
number and rate of steps let them.

Rates and numbers are gensim's defaults, which are word2vec's own. In 50 passes a word is met some
30,000 times, about as often as those of the published Google News vectors. A single worker and a
fixed seed give the same table each time.
"""

from __future__ import annotations

import zlib
from typing import Any

import torch

from embinit.errors import InputError
from embinit.lab.data.sources.assets import TrainedTable
from embinit.lab.table_pretraining.corpus import Corpus

WINDOW = 5
NEGATIVE = 5
NOISE_EXPONENT = 0.75
RATE, LAST_RATE = 0.025, 1e-4
THINNED_ABOVE = 1e-3
GRAMS = (3, 6)
BUCKETS = 200_000
"""How many vectors n-grams are hashed to: a tenth of fastText's, for a text with few n-grams."""


def _checksum(word: str) -> int:
    """A hash that doesn't change with PYTHONHASHSEED."""
    return zlib.crc32(word.encode())


def _train(kind: str, corpus: Corpus, dim: int, epochs: int, seed: int, **own: Any) -> TrainedTable:
    try:
        import gensim
    except ImportError:
        raise InputError(
            "word2vec and fastText tables are trained by gensim, which isn't installed; "
            "pip install gensim"
        ) from None
    sentences = [
        [corpus.words[token] for token in row if token != corpus.padding]
        for row in corpus.ids.tolist()
    ]
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
        **own,
    )
    values = torch.tensor(model.wv[list(corpus.words)], dtype=torch.float32)
    objective, steps = f"skip-gram with negative sampling ({kind})", sum(map(len, sentences))
    return corpus.trained(values, objective, epochs * steps, seed, gensim=gensim.__version__)


def train_word2vec(corpus: Corpus, dim: int = 64, epochs: int = 50, seed: int = 0) -> TrainedTable:
    """Trains word2vec's vectors, D wide; InputError if gensim isn't installed."""
    return _train("Word2Vec", corpus, dim, epochs, seed)


def train_fasttext(corpus: Corpus, dim: int = 64, epochs: int = 50, seed: int = 0) -> TrainedTable:
    """Trains fastText's means of a word's own vector and n-grams'; InputError without gensim."""
    shortest, longest = GRAMS
    return _train(
        "FastText", corpus, dim, epochs, seed, min_n=shortest, max_n=longest, bucket=BUCKETS
    )
