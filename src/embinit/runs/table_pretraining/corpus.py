"""Unlabelled text as ids, in shuffled batches, with a word on how long it still takes."""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from embinit.errors import InputError


@dataclass(frozen=True)
class Corpus:
    """S sentences over N words.

    ``words`` are ordered by falling count (ties by spelling); ``ids`` is (S, L) int64, padded
    behind with N, the first id that is no word.
    """

    words: tuple[str, ...]
    ids: torch.Tensor

    @classmethod
    def read(cls, sentences: Sequence[str]) -> Corpus:
        """Split ``sentences`` at white space; InputError if there is no word in them."""
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

    def batches(self, size: int, steps: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
        """``steps`` batches (``size``, length of its longest), reshuffled for every pass."""
        rows = self.ids.shape[0]
        queue = torch.empty(0, dtype=torch.int64)
        for _ in range(steps):
            while len(queue) < size:
                queue = torch.cat([queue, torch.randperm(rows, generator=generator)])
            batch, queue = self.ids[queue[:size]], queue[size:]
            longest = int((batch != self.padding).sum(1).max())
            yield batch[:, :longest]


def pad_rows(rows: Sequence[Sequence[int]], padding: int) -> torch.Tensor:
    """Rows of different lengths as one (rows, longest) int64 tensor."""
    tensors = [torch.tensor(row, dtype=torch.int64) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=padding)


class Progress:
    """Tells on stderr, every few seconds, how far a training is and how long it will take."""

    def __init__(self, name: str, steps: int, every_seconds: float = 10.0) -> None:
        self._name, self._steps, self._every = name, steps, every_seconds
        self._start = self._told = time.monotonic()
        self._losses: deque[torch.Tensor] = deque(maxlen=max(1, steps // 10))

    @property
    def recent_loss(self) -> float:
        """The mean loss of the last tenth of the steps; not a number before the first."""
        return torch.stack([*self._losses]).mean().item() if self._losses else math.nan

    def tell(self, step: int, loss: torch.Tensor) -> None:
        """Note the loss; report after ``step`` steps, if the last report is long enough ago."""
        self._losses.append(loss.detach())
        now = time.monotonic()
        if now - self._told < self._every and step < self._steps:
            return
        self._told = now
        left = (now - self._start) / step * (self._steps - step)
        line = f"{self._name}: {step}/{self._steps}, loss {loss.item():.3f}, {left:.0f} s left"
        print(line, file=sys.stderr, flush=True)
