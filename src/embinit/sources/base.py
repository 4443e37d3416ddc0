"""The two types every source deals in, and the registry of sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from embinit.registry import Registry


@dataclass(frozen=True)
class Coverage:
    """How much of a vocabulary a source knows: distinct words, and running words of the text."""

    types: int
    types_found: int
    tokens: int
    tokens_found: int

    @property
    def type_share(self) -> float:
        """Found types over all types, 0 to 1."""
        return self.types_found / self.types if self.types else 0.0

    @property
    def token_share(self) -> float:
        """Found running words over all running words, 0 to 1."""
        return self.tokens_found / self.tokens if self.tokens else 0.0


@dataclass(frozen=True)
class Vectors:
    """A source's answer for one vocabulary of N words.

    ``values`` is (N, D) float32, zero in the rows without a vector; ``found`` is (N,) bool.
    """

    values: torch.Tensor
    found: torch.Tensor

    def coverage(self, counts: Sequence[int]) -> Coverage:
        """Coverage for words that occur ``counts`` times (length N; special words count 0)."""
        occurrences = torch.as_tensor(counts)
        real = occurrences > 0
        return Coverage(
            types=int(real.sum()),
            types_found=int((real & self.found).sum()),
            tokens=int(occurrences.sum()),
            tokens_found=int(occurrences[self.found].sum()),
        )


class Source(Protocol):
    """Pre-trained vectors that can be asked for by word."""

    @property
    def name(self) -> str:
        """The name in specs and reports."""

    @property
    def dim(self) -> int:
        """D, the width of a vector."""

    @property
    def tokenizer(self) -> str:
        """The name of the tokenizer whose words this source knows (``spacy``, ``hf:<path>``)."""

    @property
    def languages(self) -> frozenset[str]:
        """The languages it covers; a side of a task in another language starts from Xavier."""

    def fingerprint(self) -> str:
        """A digest that changes when the vectors change; part of a run's key."""

    def lookup(self, words: Sequence[str]) -> Vectors:
        """The vectors of ``words``, in their order; rows that it lacks are zero and not found."""


SourceFactory = Callable[[Path | None], Source]
"""Makes a source from the data directory (None: none was named)."""

SOURCES: Registry[SourceFactory] = Registry("source", "embinit.sources")
