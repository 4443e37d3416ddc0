"""NumPy's archives (.npz) with two arrays, ``words`` and ``vectors``.

It is the form for rows that a program makes, such as the word layer of ELMo.
"""

from __future__ import annotations

import zipfile
from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from embinit.data.sources.text import WordVectors
from embinit.errors import InputError


class ArrayVectors(WordVectors):
    """Vectors in an archive of N words and an (N, D) array of numbers (.npz)."""

    @property
    def dim(self) -> int:
        """D, from the array's shape.

        Raises:
            InputError: The file is no such archive.
        """
        return int(self._arrays[1].shape[1])

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Float[Tensor, "D"] | None]]:
        """See the base class."""
        words, vectors = self._arrays
        for number, word in enumerate(words.tolist()):
            if not np.isfinite(vectors[number]).all():
                raise InputError(
                    f"{self.path}, row {number}: word {word!r} has a NaN or an infinity; "
                    "export it again"
                )
            raw = word.encode()
            yield raw, torch.from_numpy(vectors[number].copy()) if raw in wanted else None

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.float32]]:
        """The words and their vectors."""
        try:
            # NumPy leaves a broken file open that it opened itself.
            with self.path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                words, vectors = archive["words"], archive["vectors"]
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise InputError(
                f"{self.path}: no archive with the arrays 'words' and 'vectors' ({error}); "
                "write it with numpy.savez(path, words=words, vectors=vectors)"
            ) from None
        fits = words.ndim == 1 and vectors.ndim == 2 and len(words) == len(vectors)
        if words.dtype.kind != "U" or vectors.dtype.kind != "f" or not fits:
            raise InputError(
                f"{self.path}: 'words' is {words.dtype} {words.shape} and 'vectors' "
                f"{vectors.dtype} {vectors.shape}; they must be N strings and (N, D) floats"
            )
        return words, vectors.astype(np.float32)
