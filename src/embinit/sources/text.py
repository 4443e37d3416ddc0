"""Text vectors: one word a line with its numbers, as GloVe is published.

No header; a word may hold spaces, so the numbers are split off from the right (GloVe 840B has such
words). Read in one streaming pass of constant memory; only the wanted words' numbers are parsed.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from embinit.errors import InputError
from embinit.files import digest, find, open_lines
from embinit.sources.base import SOURCES, Vectors

FIRST_LINES = 20
PROGRESS_SECONDS = 5.0
_NUMERIC = b"0123456789 .eE+-"
# A word may hold spaces, but one that ends in a decimal number has taken it from the vector.
_TOO_WIDE = re.compile(rb" -?\d*\.\d+([eE][-+]?\d+)?$")


@dataclass(frozen=True)
class TextVectors:
    """Vectors in a text file (.txt, .gz, .zip)."""

    name: str
    path: Path
    languages: frozenset[str] = frozenset({"en"})
    tokenizer: str = "spacy"

    @cached_property
    def dim(self) -> int:
        """D: a word may hold spaces and so widen its line, but none narrows it."""
        fields = [line.count(b" ") for _, line in itertools.islice(self._lines(), FIRST_LINES)]
        if not fields:
            raise InputError(f"{self.path} is empty; fetch the vectors again")
        if min(fields) == 0:
            raise InputError(
                f"{self.path}:{fields.index(0) + 1}: no numbers; a line is a word and its numbers"
            )
        return min(fields)

    def fingerprint(self) -> str:
        """The file's digest."""
        return digest(self.path)

    def words(self, most: int) -> tuple[str, ...]:
        """The file's first ``most`` words, each once."""
        lines = itertools.islice(self._lines(), most)
        found = (self._word(line.rsplit(b" ", self.dim)[0], number) for number, line in lines)
        return tuple(dict.fromkeys(found))

    def lookup(self, words: Sequence[str]) -> Vectors:
        """The vectors of ``words``; of a word that the file has twice, the first counts.

        InputError, with file and line, for a line that is too short or too wide, and for one
        whose numbers are not numbers, or not finite, whether its word is wanted or not.
        """
        wanted = {word.encode(): row for row, word in enumerate(words)}
        values = torch.zeros(len(words), self.dim)
        found = torch.zeros(len(words), dtype=torch.bool)
        for number, line in self._watched():
            parts = line.rsplit(b" ", self.dim)
            if len(parts) <= self.dim:
                raise InputError(
                    f"{self.path}:{number}: {len(parts) - 1} numbers where {self.dim} are due; "
                    "the file is cut short or not of one width: fetch it again"
                )
            if _TOO_WIDE.search(parts[0]):
                raise InputError(
                    f"{self.path}:{number}: more than the {self.dim} numbers that are due; "
                    "the file is not of one width: fetch it again"
                )
            row = wanted.get(parts[0])
            if row is None:
                self._word(parts[0], number)
                if line[len(parts[0]) :].translate(None, _NUMERIC):
                    self._numbers(parts, number)
            elif not found[row]:
                values[row] = self._numbers(parts, number)
                found[row] = True
        return Vectors(values, found)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines, without a header of two integers as word2vec writes it."""
        for number, line in enumerate(open_lines(self.path), 1):
            header = number == 1 and len(line.split()) == 2 and line.replace(b" ", b"").isdigit()
            if not header:
                yield number, line.rstrip(b" ")

    def _watched(self) -> Iterator[tuple[int, bytes]]:
        """The same, with a line on the terminal now and then while a large file is read."""
        told = time.monotonic()
        for number, line in self._lines():
            if number % 10_000 == 0 and time.monotonic() - told > PROGRESS_SECONDS:
                told = time.monotonic()
                if sys.stderr.isatty():
                    print(f"embinit: {self.path.name}: {number:,} lines read", file=sys.stderr)
            yield number, line

    def _word(self, raw: bytes, number: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.path}:{number}: the word is not UTF-8 ({error.reason}); "
                "save the file as UTF-8"
            ) from None

    def _numbers(self, parts: list[bytes], number: int) -> torch.Tensor:
        where = f"{self.path}:{number}: word {self._word(parts[0], number)!r}"
        try:
            row = np.array(parts[1:], dtype=np.float32)
        except ValueError:
            raise InputError(
                f"{where} has something that is no number; mend or leave out the line"
            ) from None
        if not np.isfinite(row).all():
            raise InputError(f"{where} has a NaN or an infinity; mend or leave out the line")
        return torch.from_numpy(row)


def _glove(data_dir: Path | None) -> TextVectors:
    name = "vectors/glove.840B.300d"
    endings = (".zip", ".txt", ".txt.gz", ".subset.txt.gz")
    path = find(data_dir, *(name + ending for ending in endings), what="GloVe (840B, 300d)")
    return TextVectors("glove", path)


SOURCES.register("glove", _glove)
