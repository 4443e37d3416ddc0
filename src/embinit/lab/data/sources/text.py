"""Word vectors in text files: one word a line with its numbers.

GloVe's files have no header and their words may hold spaces, so numbers are split off from the
right. The files of word2vec and fastText begin with a line ``N D``. A file is read in one streaming
pass of constant memory; only wanted words' numbers are parsed.
"""

from __future__ import annotations

import abc
import ast
import itertools
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import MOST_DIM
from embinit.files.writing import digest, open_lines
from embinit.lab.data.sources.base import Vectors

FIRST_LINES = 20
MEND = "mend or leave out the line"
_NUMERIC = b"0123456789 .eE+-"
# A word may hold spaces, but a number after one belongs to a vector: the row is too wide, or two
# files were joined without a line's end between them. GloVe 840B has no such word.
_TOO_WIDE = re.compile(rb" [-+]?\.?\d")
_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18}) *")
_LITERAL = re.compile(rb"b(['\"]).*\1")

Row = npt.NDArray[np.float32]
"""A word's vector (D,)."""


class _Every:
    """A container of everything."""

    def __contains__(self, _: object) -> bool:
        return True


@dataclass(frozen=True)
class WordVectors(abc.ABC):
    """Word vectors in a file of any format: N words of width D."""

    name: str
    path: Path
    languages: frozenset[str] = frozenset({"en"})
    tokenizer: str = "spacy"
    least: int = 0  # the fewest words that the whole file has
    finite: bool = True  # whether a NaN or an infinity is an error

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """D, the width of a vector."""

    @abc.abstractmethod
    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Row | None]]:
        """Yields every word in the file's order, in UTF-8, with its numbers if it is wanted.

        InputError if a line is broken, wanted or not; numbers that aren't wanted may pass as 1.2.3.
        """

    def fingerprint(self) -> str:
        """The digest of the file."""
        return digest(self.path)

    def check(self) -> None:
        """Reads the file's beginning, in little time; InputError if it is broken."""
        next(self._read(()), None)

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words``, of one that is there twice the first.

        InputError if the file is broken, or has fewer words than the whole one.
        """
        wanted = {word.encode(): row for row, word in enumerate(words)}
        values = torch.zeros(len(words), self.dim)
        found = torch.zeros(len(words), dtype=torch.bool)
        count = 0
        for count, (word, numbers) in enumerate(self._read(wanted), 1):  # noqa: B007
            if numbers is not None and not found[row := wanted[word]]:
                values[row] = torch.from_numpy(numbers)
                found[row] = True
        if count < self.least:
            reason = f"the file has {count:,} words, where {self.least:,} or more are wanted"
            raise self._broken("", f"{reason}; put the whole file there")
        return Vectors(values, found)

    def whole(self) -> tuple[list[str], Float[Tensor, "N D"]]:
        """All words, repeated ones too, and their vectors; InputError if the file is broken."""
        entries = [(word.decode(), row) for word, row in self._read(_Every()) if row is not None]
        rows = np.stack([row for _, row in entries]) if entries else np.zeros((0, self.dim))
        return [word for word, _ in entries], torch.from_numpy(rows)

    def _broken(self, place: object, reason: str) -> InputError:
        """The error for a place in the file: the number of a line, or text such as ", byte 7"."""
        return InputError(
            f"{self.path}{f':{place}' if isinstance(place, int) else place}: {reason}"
        )

    def _text(self, raw: bytes, place: object) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            reason = f"the word is not UTF-8 ({error.reason}); save the file as UTF-8"
            raise self._broken(place, reason) from None

    def _require_finite(self, row: Any, raw: bytes, place: object, mend: str) -> None:
        if self.finite and not np.isfinite(row).all():
            word = self._text(raw, place)[:60]
            raise self._broken(place, f"word {word!r} has a NaN or an infinity; {mend}")


class TextVectors(WordVectors):
    """Vectors in a text file (.txt or .vec, alone or in .gz or .zip)."""

    @cached_property
    def dim(self) -> int:
        """D, from the header, else the fewest fields in the first lines: spaces in words add some.

        InputError if the file is empty, or a line has no numbers.
        """
        fields = [line.count(b" ") for _, line in self._first]
        if not fields:
            raise self._broken("", "the file is empty; fetch the vectors again")
        dim = self._header[1] if self._header else min(fields)
        if dim == 0:
            number = self._first[fields.index(0)][0] if 0 in fields else 1
            mend = "write a word and its numbers with a space between each two"
            raise self._broken(number, f"no numbers; {mend}, or fetch the file again")
        if dim > MOST_DIM:
            reason = f"{dim} numbers a word are more than the {MOST_DIM} that are read"
            raise self._broken(1, f"{reason}; the file has lost its line ends: fetch it again")
        return dim

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Row | None]]:
        """See the base class. A line that is too short or too wide is an InputError too."""
        dim, header, literal = self.dim, self._header, self._literal
        count = 0
        for number, line in self._lines():
            fields = line.rsplit(b" ", dim)
            if len(fields) <= dim:
                reason = f"{len(fields) - 1} numbers where {dim} are due"
                mend = "the file is cut short or not of one width: fetch it again"
                raise self._broken(number, f"{reason}; {mend}")
            if (b" " in fields[0]) if header else _TOO_WIDE.search(fields[0]):
                reason = f"more than the {dim} numbers that are due"
                mend = "the file is not of one width, or was joined of two: fetch it again"
                raise self._broken(number, f"{reason}; {mend}")
            if b"  " in line:
                raise self._broken(number, f"two spaces, or a number is missing; {MEND}")
            word = self._unquoted(fields[0], number) if literal else fields[0]
            self._text(word, number)
            count += 1
            if word in wanted:
                yield word, self._numbers(fields, number)
            else:
                if line[len(fields[0]) :].translate(None, _NUMERIC):
                    self._numbers(fields, number)
                yield word, None
        if header is not None and count != header[0]:
            reason = f"the header says {header[0]} words, {count} follow"
            raise self._broken(1, f"{reason}; the file is cut short or joined: fetch it again")

    @cached_property
    def _header(self) -> tuple[int, int] | None:
        """N and D, if the file begins with two integers."""
        match = _HEADER.fullmatch(next(open_lines(self.path), b""))
        return (int(match[1]), int(match[2])) if match else None

    @cached_property
    def _first(self) -> list[tuple[int, bytes]]:
        return list(itertools.islice(self._lines(), FIRST_LINES))

    @cached_property
    def _literal(self) -> bool:
        """Whether words are written as Python's bytes literals, as in some files of deepset."""
        return all(_LITERAL.fullmatch(line.rsplit(b" ", self.dim)[0]) for _, line in self._first)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines without the header."""
        for number, line in enumerate(open_lines(self.path), 1):
            if number > 1 or not self._header:
                yield number, line.rstrip(b" ")

    def _unquoted(self, raw: bytes, number: int) -> bytes:
        r"""The word of a literal such as b'stra\xc3\x9fe'; a word without quotes is itself."""
        if not raw.startswith((b"b'", b'b"')):
            return raw
        if _LITERAL.fullmatch(raw) and b"\\" not in raw:
            return raw[2:-1]
        try:
            word = ast.literal_eval(text := self._text(raw, number))
        except (ValueError, SyntaxError):
            word = None
        if not isinstance(word, bytes):
            raise self._broken(
                number, f"{text[:60]} is no bytes literal, as the file's other words are; {MEND}"
            )
        return word

    def _numbers(self, fields: list[bytes], number: int) -> Row:
        try:
            if any(b"_" in field for field in fields[1:]):  # NumPy takes 1_0 for 10
                raise ValueError
            with np.errstate(over="ignore"):
                row = np.array(fields[1:], dtype=np.float32)
        except ValueError:
            word = self._text(fields[0], number)[:60]
            reason = f"word {word!r} has something that is no number; {MEND}"
            raise self._broken(number, reason) from None
        self._require_finite(row, fields[0], number, MEND)
        return row
