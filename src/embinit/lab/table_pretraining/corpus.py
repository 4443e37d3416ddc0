"""Unlabelled text as ids, in shuffled batches."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.sources.assets import TrainedTable


@dataclass(frozen=True)
class Corpus:
    """B sentences, padded behind with N, over N words by falling count, ties by spelling."""

    words: tuple[str, ...]
    ids: Int64[Tensor, "B T"]

    @classmethod
    def read(cls, sentences: Sequence[str]) -> Corpus:
        """Splits sentences at white space and counts their words; InputError if there is none."""
        tokens = [sentence.split() for sentence in sentences]
        counts = Counter(word for sentence in tokens for word in sentence)
        if not counts:
            raise InputError("the corpus has no words: give at least one sentence with a word")
        words = tuple(sorted(counts, key=lambda word: (-counts[word], word)))
        index = {word: number for number, word in enumerate(words)}
        return cls(words, pad_rows([[index[word] for word in row] for row in tokens], len(words)))

    def fingerprint(self) -> str:
        """A digest of words and ids."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(self.ids.numpy().tobytes())
        return digest.hexdigest()

    @property
    def padding(self) -> int:
        """The id that fills short rows."""
        return len(self.words)

    def batches(
        self, size: int, steps: int, generator: torch.Generator
    ) -> Iterator[Int64[Tensor, "batch T"]]:
        """Yields ``steps`` shuffled batches of ``size``, each as long as its longest sentence."""
        rows = self.ids.shape[0]
        queue = torch.empty(0, dtype=torch.int64)
        for _ in range(steps):
            while len(queue) < size:
                queue = torch.cat([queue, torch.randperm(rows, generator=generator)])
            batch, queue = self.ids[queue[:size]], queue[size:]
            longest = int((batch != self.padding).sum(1).max())
            yield batch[:, :longest]

    def trained(
        self, values: Float[Tensor, "N D"], objective: str, steps: int, seed: int, **more: str
    ) -> TrainedTable:
        """The words' table that was trained on these sentences, with the record of how."""
        sentences = str(len(self.ids))
        record = {"objective": objective, "steps": str(steps), "sentences": sentences}
        return TrainedTable(self.words, values, {**record, "seed": str(seed), **more})


def pad_rows(rows: Sequence[Sequence[int]], padding: int) -> Int64[Tensor, "rows longest"]:
    """Puts rows of different lengths into one tensor, padded behind with ``padding``."""
    tensors = [torch.tensor(row, dtype=torch.int64) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=padding)
