"""German vectors by GloVe's method on the German side of translation tasks.

Published German vectors are large and often not at hand. These are few and of few sentences, but
they are German words by GloVe's objective, as the English ones are.
"""

from __future__ import annotations

import io
from collections import Counter
from itertools import chain
from pathlib import Path

from embinit.errors import InputError
from embinit.files.writing import write_atomically
from embinit.lab.data.sources.opening import OWN_GERMAN
from embinit.lab.data.tasks import TASKS
from embinit.lab.data.tokenizers import tokenizer
from embinit.lab.specs import Cut
from embinit.lab.table_pretraining.corpus import Corpus
from embinit.lab.table_pretraining.glove import train_glove

TEXTS = ("multi30k-en-de", "iwslt2017-en-de")
DIM = 300
LEAST = 2
"""How often a word must occur; others are left out of the sentences."""


def sentences(data_dir: Path) -> list[str]:
    """The German training sentences in tokens, without rare words.

    InputError if there are none, or if a text that is there can't be read.
    """
    there = [name for name in TEXTS if (data_dir / name.partition("-")[0]).is_dir()]
    if not there:
        raise InputError(f"{data_dir} has no German text; put multi30k or iwslt2017 there")
    examples = [one for name in there for one in TASKS[name].load(data_dir, Cut()).train]
    tokens = tokenizer("spacy", "de")([one.target or "" for one in examples])
    counts = Counter(chain.from_iterable(tokens))
    return [" ".join(word for word in row if counts[word] >= LEAST) for row in tokens]


def make_german(data_dir: Path, epochs: int = 25, seed: int = 0) -> Path:
    """Trains the table and writes it where the source ``glove-en-de`` looks for it."""
    corpus = Corpus.read(sentences(data_dir))
    table = train_glove(corpus, DIM, epochs, seed=seed)
    path = data_dir / OWN_GERMAN
    text = io.StringIO()
    for word, row in zip(table.words, table.values.tolist(), strict=True):
        print(word, *(f"{number:.6g}" for number in row), file=text)
    write_atomically(path, text.getvalue())
    print(f"{path}: {len(table.words):,} words, sigma {table.sigma:.4g}")
    return path
