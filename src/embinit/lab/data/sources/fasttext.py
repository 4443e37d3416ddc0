"""fastText's own binary format (.bin), read by gensim.

A word's vector is the mean of its own and its character n-grams', as in the .vec file of the same
model. Only words of the model's vocabulary have one, so both files give the same table.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Container, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.files.writing import open_chunks
from embinit.lab.data.sources.text import WordVectors

_MAGIC = struct.pack("<i", 793712314)
# Where the header has the number of words, where the first word is, and the length of a word's
# count and kind after it, with the zero byte that ends the word.
_COUNTS, _DICTIONARY, _AFTER_A_WORD = 64, 92, 10


def is_fasttext(path: Path) -> bool:
    """Whether a file, compressed or not, begins like a fastText model."""
    return next(open_chunks(path), b"").startswith(_MAGIC)


class FastTextBinary(WordVectors):
    """The words' vectors of a fastText model (.bin)."""

    @property
    def dim(self) -> int:
        """D, the width of the model's vectors."""
        return int(self._model.vector_size)

    def check(self) -> None:
        """See the base class."""
        self._refuse_packed()
        with reading(self.path):
            _refuse_cut(self.path)

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Float[Tensor, "D"] | None]]:
        """See the base class."""
        for word in self._model.index_to_key:
            raw = word.encode()
            if raw not in wanted:
                yield raw, None
                continue
            row = self._model[word]
            self._require_finite(row, raw, "", "fetch the file again")
            yield raw, torch.tensor(row, dtype=torch.float32)

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
            _refuse_cut(self.path)
            return load_facebook_vectors(str(self.path))


def _refuse_cut(path: Path) -> None:
    """Refuses a file that ends in its dictionary: gensim would go on there for ever."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as model:
        [words] = struct.unpack_from("<i", model, _COUNTS)
        at = _DICTIONARY
        for number in range(words):
            end = model.find(b"\0", at)
            if end < 0:
                raise InputError(
                    f"{path}, byte {at}: no whole fastText model (word {number + 1} of {words} "
                    "does not end); fetch it again"
                )
            at = end + _AFTER_A_WORD
