"""fastText's own binary format (.bin): a whole model, of which the words' vectors are read.

gensim reads it. A word's vector is the mean of its own and its character n-grams', as in the .vec
file of the same model. Only words of the model's vocabulary have one here, though n-grams could
make one up for any other word: so both files of a model give the same table.
"""

from __future__ import annotations

import struct
from collections.abc import Container, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.data.files import open_chunks
from embinit.data.sources.text import WordVectors
from embinit.errors import InputError

_MAGIC = struct.pack("<i", 793712314)


def is_fasttext(path: Path) -> bool:
    """Whether a file, or what is packed in it, begins as fastText's models do."""
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

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Float[Tensor, "D"] | None]]:
        """See the base class."""
        for word in self._model.index_to_key:
            if word.encode() not in wanted:
                yield word.encode(), None
                continue
            row = torch.tensor(self._model[word], dtype=torch.float32)
            if not row.isfinite().all():
                raise InputError(
                    f"{self.path}: word {word!r} has a NaN or an infinity; fetch the file again"
                )
            yield word.encode(), row

    @cached_property
    def _model(self) -> Any:
        if self.path.suffix == ".gz":  # gensim would read it, but as other numbers
            raise InputError(f"{self.path}: unpack it; a fastText model is read from a plain .bin")
        try:
            from gensim.models.fasttext import load_facebook_vectors
        except ImportError:
            raise InputError(
                f"{self.path}: fastText's binary models are read by gensim, which isn't installed; "
                "`pip install embinit[vectors]`, or take the model's .vec file"
            ) from None
        try:
            return load_facebook_vectors(str(self.path))
        except Exception as error:  # gensim has no error of its own for a broken file
            raise InputError(
                f"{self.path}: no whole fastText model ({type(error).__name__}: {error}); "
                "fetch it again"
            ) from error
