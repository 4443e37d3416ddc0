"""The microcosm's own pre-trained vectors: tables trained on its unlabelled text, shipped inside.

They stand in for the paper's GloVe, BERT and T5, and for word2vec, fastText and ELMo, where nothing
may be downloaded. They were trained by ``embinit.lab.table_pretraining``; each file's metadata has
the steps and the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import torch

from embinit.lab.data.microcosm import SOURCE_LANGUAGE
from embinit.lab.data.sources.assets import TrainedTable, load_table
from embinit.lab.data.sources.base import SOURCES, SourceEntry, Vectors


@dataclass(frozen=True)
class MicrocosmSource:
    """A table that was trained on the made language's unlabelled text.

    Attributes:
        name: The name in specs, and of the file of the asset.
    """

    name: str

    @property
    def dim(self) -> int:
        """D, the width of a vector."""
        return self.table.values.shape[1]

    @property
    def tokenizer(self) -> str:
        """The tokenizer: words stand between white space."""
        return "whitespace"

    @property
    def languages(self) -> frozenset[str]:
        """The source language alone. A side in the target language starts from Xavier."""
        return frozenset({SOURCE_LANGUAGE})

    @property
    def table(self) -> TrainedTable:
        """The words, their vectors, and the record of their training."""
        return _table(self.name)

    def fingerprint(self) -> str:
        """A digest of words and vectors."""
        return _fingerprint(self.name)

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words``, in their order. ``language`` is ignored."""
        table = self.table
        index = {word: row for row, word in enumerate(table.words)}
        rows = torch.tensor([index.get(word, -1) for word in words], dtype=torch.int64)
        found = rows >= 0
        values = torch.zeros(len(words), self.dim)
        values[found] = table.values[rows[found]]
        return Vectors(values, found)


@cache
def _table(name: str) -> TrainedTable:
    asset = resources.files("embinit.lab.data") / "assets" / f"{name}.safetensors"
    with resources.as_file(asset) as path:
        return load_table(path)


@cache
def _fingerprint(name: str) -> str:
    table = _table(name)
    digest = hashlib.sha256("\n".join(table.words).encode())
    digest.update(table.values.numpy().tobytes())
    return digest.hexdigest()


def _register(name: str) -> None:
    def make(data_dir: Path | None) -> MicrocosmSource:
        return MicrocosmSource(name)

    SOURCES.register(name, SourceEntry(make, frozenset({SOURCE_LANGUAGE})))


for _name in ("glove", "bert", "t5", "word2vec", "fasttext", "elmo"):
    _register(f"micro-{_name}")
