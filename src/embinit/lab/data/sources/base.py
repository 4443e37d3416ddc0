"""The types of all sources, a source composed of one per language, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.draws import DrawRegistry
from embinit.runs.results import Coverage


@dataclass(frozen=True)
class Vectors:
    """The float32 vectors of a vocabulary of N words; rows that aren't found are zero."""

    values: Float[Tensor, "N D"]
    found: Bool[Tensor, "N"]

    @classmethod
    def of_rows(cls, table: Float[Tensor, "V D"], rows: Sequence[int]) -> Vectors:
        """The rows of a table; a negative number is that of a word without a vector."""
        index = torch.tensor(rows, dtype=torch.int64)
        found = index >= 0
        values = torch.zeros(len(index), table.shape[1])
        values[found] = table[index[found]].float()
        return cls(values, found)

    def coverage(self, counts: Sequence[int]) -> Coverage:
        """The coverage of a text in which each word occurs so often; special words have 0."""
        occurrences = torch.as_tensor(counts)
        occurs = occurrences > 0
        return Coverage(
            types=int(occurs.sum()),
            types_found=int((occurs & self.found).sum()),
            tokens=int(occurrences.sum()),
            tokens_found=int(occurrences[self.found].sum()),
        )


class Source(Protocol):
    """A source of pre-trained vectors, looked up by word."""

    @property
    def name(self) -> str:
        """The name in specs and reports."""

    @property
    def dim(self) -> int:
        """D, the width of a vector."""

    @property
    def tokenizer(self) -> str:
        """The tokenizer whose words this source knows (``spacy``, ``hf:<path>``)."""

    @property
    def languages(self) -> frozenset[str]:
        """The covered languages. A side in another language is initialised by Xavier."""

    def fingerprint(self) -> str:
        """A digest that changes when the vectors change. It is part of a run's key."""

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of N words, in their order; InputError if files are missing or broken."""


class ByLanguage:
    """A source composed of one per language; InputError if they differ in width or tokenizer."""

    def __init__(self, name: str, parts: Mapping[str, Source]) -> None:
        self.name, self.parts, self.languages = name, parts, frozenset(parts)
        self.dim: int = self._one("width", "dim")
        self.tokenizer: str = self._one("tokenizer", "tokenizer")

    def _one(self, noun: str, attribute: str) -> Any:
        """What all parts have of an attribute."""
        values = {language: getattr(part, attribute) for language, part in self.parts.items()}
        if len(set(values.values())) != 1:
            listed = ", ".join(f"{language}: {value}" for language, value in values.items())
            raise InputError(
                f"source {self.name!r} has more than one {noun} ({listed}); "
                "put vectors of one there"
            )
        return next(iter(values.values()))

    def fingerprint(self) -> str:
        """The fingerprints of the parts, each with its language."""
        return "/".join(f"{name}:{part.fingerprint()}" for name, part in self.parts.items())

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words`` from the part for ``language``, or an InputError."""
        if language is None or language not in self.parts:
            raise InputError(
                f"source {self.name!r} has no vectors for language {language}; "
                f"ask for one of {', '.join(self.parts)}"
            )
        return self.parts[language].lookup(words, language)


SourceFactory = Callable[[Path | None], Source]
"""Makes a source from the data directory (None: none was named)."""


@dataclass(frozen=True)
class SourceEntry:
    """A registered factory of a source, whose languages are known before any file is there.

    ``on_draw`` gives the entry of the same source on another draw; None where there are none.
    """

    make: SourceFactory
    languages: frozenset[str]
    on_draw: Callable[[int], SourceEntry] | None = None

    def __call__(self, data_dir: Path | None) -> Source:
        """Makes the source; InputError where its files are missing."""
        return self.make(data_dir)


SOURCES: DrawRegistry[SourceFactory] = DrawRegistry("source", "embinit.sources")
