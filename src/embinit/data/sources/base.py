"""The types every source deals in, one source made of several, and the registry of sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from embinit.errors import InputError
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

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words``, in their order; rows that it lacks are zero and not found.

        ``language`` is the words'; a source that has the same vectors for all need not heed it.
        """


@dataclass(frozen=True)
class ByLanguage:
    """One source a language; InputError unless all are of one width and one tokenizer."""

    name: str
    parts: Mapping[str, Source]

    def __post_init__(self) -> None:
        for what, values in (
            ("width", {language: part.dim for language, part in self.parts.items()}),
            ("tokenizer", {language: part.tokenizer for language, part in self.parts.items()}),
        ):
            if len(set(values.values())) != 1:
                said = ", ".join(f"{language}: {value}" for language, value in values.items())
                raise InputError(
                    f"source {self.name!r} has more than one {what} ({said}); "
                    "put vectors of one there"
                )

    @property
    def dim(self) -> int:
        """D, the width of every part's vectors."""
        return next(iter(self.parts.values())).dim

    @property
    def tokenizer(self) -> str:
        """Every part's tokenizer."""
        return next(iter(self.parts.values())).tokenizer

    @property
    def languages(self) -> frozenset[str]:
        """Those that have a part."""
        return frozenset(self.parts)

    def fingerprint(self) -> str:
        """The parts' fingerprints, each with its language."""
        return "/".join(f"{name}:{part.fingerprint()}" for name, part in self.parts.items())

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """What the part for ``language`` answers; InputError for a language without one."""
        if language is None or language not in self.parts:
            raise InputError(
                f"source {self.name!r} has no vectors for language {language}; "
                f"ask for one of {', '.join(self.parts)}"
            )
        return self.parts[language].lookup(words, language)


SourceFactory = Callable[[Path | None], Source]
"""Makes a source from the data directory (None: none was named)."""


@dataclass(frozen=True)
class Known:
    """A source's factory that says its languages before any file is there."""

    make: SourceFactory
    languages: frozenset[str]

    def __call__(self, data_dir: Path | None) -> Source:
        """The source, from the data directory if one is named."""
        return self.make(data_dir)


SOURCES: Registry[SourceFactory] = Registry("source", "embinit.sources")
