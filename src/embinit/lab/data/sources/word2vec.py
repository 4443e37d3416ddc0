"""word2vec's binary format: a line ``N D``, then each word, a space and D little-endian float32.

A file is read in one streaming pass of constant memory, where gensim would hold the whole table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import MOST_DIM
from embinit.files.writing import open_chunks
from embinit.lab.data.sources.text import WordVectors

_HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})[ \r]*\n")


class Word2VecBinary(WordVectors):
    """Vectors in word2vec's binary format (.bin, .bin.gz)."""

    @property
    def dim(self) -> int:
        """D, from the header; InputError where the file has none of this format."""
        return self._header[1]

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Float[Tensor, "D"] | None]]:
        """See the base class."""
        for offset, word, raw in self._records():
            place = f", byte {offset}"
            self._text(word, place)
            row = np.frombuffer(raw, dtype="<f4")
            self._require_finite(row, word, place, "fetch the file again")
            yield word, torch.from_numpy(row.astype(np.float32)) if word in wanted else None

    @cached_property
    def _header(self) -> tuple[int, int, int]:
        """N, D, and the length of the header in bytes."""
        match = _HEADER.match(next(open_chunks(self.path), b""))
        if match is None or int(match[1]) == 0 or not 0 < int(match[2]) <= MOST_DIM:
            raise InputError(
                f"{self.path}, byte 0: no header with the number of words and their width; "
                "a .bin file must be in word2vec's binary format: give others another ending, "
                "take fastText's .vec file, and name a Hugging Face model by its directory"
            )
        return int(match[1]), int(match[2]), match.end()

    def _records(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Each word with its offset in the file before it, and its numbers' 4 D bytes after it."""
        count, dim, at = self._header
        chunks = open_chunks(self.path)
        held, dropped = next(chunks), 0
        for number in range(count):
            while (end := held.find(b" ", at)) < 0 or len(held) <= end + 4 * dim:
                if (chunk := next(chunks, None)) is None:
                    raise InputError(
                        f"{self.path}, byte {dropped + at}: the file ends in word {number + 1} of "
                        f"the {count} that its header says; it is cut short: fetch it again"
                    )
                held, dropped, at = held[at:] + chunk, dropped + at, 0
            start, after = end + 1, end + 1 + 4 * dim
            yield dropped + at, held[at:end].lstrip(b"\n"), held[start:after]
            at = after
        if any(rest.strip(b"\n") for rest in itertools.chain([held[at:]], chunks)):
            raise InputError(
                f"{self.path}, byte {dropped + at}: more follows the {count} words that the "
                "header says; the file is broken: fetch it again"
            )
