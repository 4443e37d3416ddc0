"""Sources of the tier ``full`` that stand in for tables which can't be had.

- ``t5-printed``, ``bert-printed``, ``mbert-printed``: values with the mean and the sigma that
  Table 2 prints of the table. Equation 4 stretches Xavier to these two numbers alone, so that
  Table 7's arms need nothing else of T5, BERT or mBERT. No other arm makes sense with them.
- ``glove-narrow``: GloVe's vectors, and for each word without one a row at Xavier's sigma. By
  default the row is drawn at GloVe's own sigma, which is 26 times as large on SST-2.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from embinit.lab.data.preparation import source
from embinit.lab.data.sources.base import Source, SourceEntry, Vectors
from embinit.randomness import stream
from embinit.runs.results import Coverage
from embinit_papers.kim2024.numbers import numbers


@dataclass(frozen=True)
class PrintedMoments:
    """Values whose mean and sigma are printed in Table 2, for any vocabulary."""

    name: str
    role: str  # of the source in the paper
    task: str  # the paper's
    dim: int
    tokenizer: str  # of the table that is stood in for
    languages: frozenset[str]

    @property
    def moments(self) -> tuple[float, float]:
        """The printed mean and sigma."""
        row = numbers()["tables_2_and_8"][self.role]["pretrained"][self.task]
        return float(row["mean"]), float(row["sigma"])

    def fingerprint(self) -> str:
        """A digest of the two numbers."""
        return hashlib.sha256(repr((self.dim, *self.moments)).encode()).hexdigest()

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """One sigma above the mean and one below in turn, so that both come out as printed."""
        mean, sigma = self.moments
        row = torch.tensor([mean + sigma, mean - sigma]).repeat(self.dim // 2)
        return Vectors(row.repeat(len(words), 1), torch.ones(len(words), dtype=torch.bool))


@dataclass(frozen=True)
class _Filled(Vectors):
    """Vectors with a row for each word, whose coverage counts the words of the source alone."""

    known: Vectors

    def coverage(self, counts: Sequence[int]) -> Coverage:
        """See the base class."""
        return self.known.coverage(counts)


@dataclass(frozen=True)
class MissingAtXavier:
    """A source with a row at Xavier's sigma, alike in all seeds, for a word without a vector."""

    name: str
    dim: int
    tokenizer: str
    languages: frozenset[str]
    known: Source  # of the other words

    def fingerprint(self) -> str:
        """The source's, with the name of what is added."""
        return f"{self.known.fingerprint()}/missing at Xavier's sigma"

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The source's vectors, and rows for the other words."""
        known = self.known.lookup(words, language)
        rows = torch.randn(known.values.shape, generator=stream(0, "missing at Xavier's sigma"))
        rows *= math.sqrt(2 / sum(known.values.shape))
        rows[known.found] = known.values[known.found].float()
        return _Filled(rows, torch.ones_like(known.found), known)


def _printed(role: str, task: str, name: str, dim: int, *languages: str) -> SourceEntry:
    def make(data_dir: Path | None) -> Source:
        return PrintedMoments(f"{name}-printed", role, task, dim, f"hf:{name}", covered)

    covered = frozenset(languages)
    return SourceEntry(make, covered)


T5 = _printed("t5", "sst2", "t5", 512, "en")
BERT = _printed("bert", "sst2", "bert", 768, "en")
MBERT = _printed("bert", "multi30k", "mbert", 768, "en", "de")


def _missing_at_xavier(data_dir: Path | None) -> Source:
    known = source("glove", data_dir)
    return MissingAtXavier("glove-narrow", known.dim, known.tokenizer, known.languages, known)


GLOVE_NARROW = SourceEntry(_missing_at_xavier, frozenset({"en"}))
