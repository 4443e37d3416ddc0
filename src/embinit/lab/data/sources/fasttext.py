"""fastText's own binary format (.bin): a whole model, of which the words' vectors are read.

gensim reads it. A word's vector is the mean of its own and its character n-grams', as in the .vec
file of the same model. Only words of the model's vocabulary have one here, though n-grams could
make one up for any other word: so both files of a model give the same table.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Container, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import MOST_DIM, reading
from embinit.files.writing import open_chunks
from embinit.lab.data.sources.text import WordVectors

_MAGIC = struct.pack("<i", 793712314)
# Magic number and version, the model's settings, then the dictionary's counts.
_HEADER = struct.Struct("<2i 12i d 3i 2q")
_AFTER_A_WORD = 9  # its count and its kind
_MATRIX = struct.Struct("<? 2q")

# gensim takes every stretch of a word from minn to maxn letters, so longer ones cost it hours.
MOST_LETTERS = 32
MOST_WORD_BYTES = 1 << 16


def is_fasttext(path: Path) -> bool:
    """Whether a file, compressed or not, begins like a fastText model."""
    return next(open_chunks(path), b"").startswith(_MAGIC)


class FastTextBinary(WordVectors):
    """The words' vectors of a fastText model (.bin)."""

    @property
    def dim(self) -> int:
        """D, the width of the model's vectors.

        Raises:
            InputError: The model can't be read.
        """
        return int(self._model.vector_size)

    def check(self) -> None:
        """See the base class."""
        self._refuse_packed()
        with (
            reading(self.path),
            self.path.open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as model,
        ):
            _header(self.path, model)

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Float[Tensor, "D"] | None]]:
        """See the base class."""
        for word in self._model.index_to_key:
            if word.encode() not in wanted:
                yield word.encode(), None
                continue
            row = torch.tensor(self._model[word], dtype=torch.float32)
            if not row.isfinite().all():
                raise InputError(
                    f"{self.path}: word {word[:60]!r} has a NaN or an infinity; "
                    "fetch the file again"
                )
            yield word.encode(), row

    def _refuse_packed(self) -> None:
        if self.path.suffix == ".gz":  # gensim would read it, but as other numbers
            raise InputError(f"{self.path}: unpack it; a fastText model is read from a plain .bin")

    @cached_property
    def _model(self) -> Any:
        self._refuse_packed()
        try:
            from gensim.models.fasttext import load_facebook_vectors
        except ImportError:
            raise InputError(
                f"{self.path}: fastText's binary models are read by gensim, which isn't installed; "
                "`pip install embinit[vectors]`, or take the model's .vec file"
            ) from None
        with reading(self.path):
            _check(self.path)
            return load_facebook_vectors(str(self.path))


class _Header(NamedTuple):
    """The numbers of a model's header that decide how the rest is read."""

    dim: int
    bucket: int
    minn: int
    maxn: int
    size: int
    words: int
    labels: int
    pruned: int


def _check(path: Path) -> None:
    """Refuses a model whose sizes don't fit the file, before gensim believes them.

    gensim reads a dictionary that was cut short without end, and takes the memory that a header
    asks for.

    Raises:
        InputError: A size is not that of a whole model.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as model:
        header = _header(path, model)
        at = _HEADER.size
        for number in range(header.size):
            end = model.find(b"\0", at, at + MOST_WORD_BYTES)
            if end < 0 or end + 1 + _AFTER_A_WORD > len(model):
                raise _broken(path, at, f"word {number + 1} of {header.size} does not end")
            try:
                model[at:end].decode()
            except UnicodeDecodeError as error:
                raise _broken(path, at, f"the word is not UTF-8 ({error.reason})") from None
            at = end + 1 + _AFTER_A_WORD
        if len(model) < at + _MATRIX.size:
            raise _broken(path, at, "the vectors are missing")
        quantised, rows, dim = _MATRIX.unpack_from(model, at)
        if quantised:
            raise InputError(
                f"{path}, byte {at}: the vectors are quantised; take the model that is not (.bin)"
            )
        if (rows, dim) != (header.size + header.bucket, header.dim):
            raise _broken(
                path,
                at,
                f"{rows} x {dim} vectors where the header says "
                f"{header.size + header.bucket} x {header.dim}",
            )
        if len(model) - at - _MATRIX.size < 4 * rows * dim:
            raise _broken(path, at, f"the file ends before its {rows} x {dim} vectors do")


def _header(path: Path, model: mmap.mmap) -> _Header:
    if len(model) < _HEADER.size:
        raise _broken(path, 0, "the header is cut short")
    numbers = _HEADER.unpack_from(model)
    header = _Header(*(numbers[index] for index in (2, 10, 11, 12, 15, 16, 17, 19)))
    if not 0 < header.dim <= MOST_DIM:
        raise _broken(path, 8, f"the header says that a vector has {header.dim} numbers")
    if header.labels or header.words != header.size or header.pruned > 0:
        raise InputError(
            f"{path}, byte 64: a model with labels, or one made smaller; take one of words alone"
        )
    if header.size <= 0 or header.bucket < 0:
        raise _broken(path, 64, f"{header.size} words and {header.bucket} buckets")
    if header.maxn > MOST_LETTERS:
        raise _broken(path, 48, f"n-grams of up to {header.maxn} letters")
    return header


def _broken(path: Path, byte: int, reason: str) -> InputError:
    return InputError(f"{path}, byte {byte}: no whole fastText model ({reason}); fetch it again")
