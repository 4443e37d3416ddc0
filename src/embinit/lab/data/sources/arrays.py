"""NumPy's files: arrays by name, and archives of ``words`` and ``vectors`` (such as ELMo's)."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.lab.data.sources.text import Row, WordVectors

MEND = "write it with numpy.savez(path, words=words, vectors=vectors)"
ENDINGS = (".npy", ".npz")


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file by name (.npz), or by the file's (.npy); InputError if it is broken."""
    # NumPy leaves a broken file open that it opened itself.
    with reading(regular(path)), path.open("rb") as file:
        content = np.load(file, allow_pickle=False)
        return {path.name: content} if isinstance(content, np.ndarray) else dict(content)


class ArrayVectors(WordVectors):
    """Vectors in an archive of N words and an (N, D) array of numbers (.npz)."""

    @property
    def dim(self) -> int:
        """D, from the array's shape; InputError where the file is no such archive."""
        return int(self._arrays[1].shape[1])

    def _read(self, wanted: Container[bytes]) -> Iterator[tuple[bytes, Row | None]]:
        """See the base class."""
        for number, (word, row) in enumerate(zip(*self._arrays, strict=True)):
            place = f", row {number}"
            with reading(f"{self.path}{place}", "export it again"):
                raw = str(word).encode()
            self._require_finite(row, raw, place, "export it again")
            yield raw, row if raw in wanted else None

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.float32]]:
        arrays = read_arrays(self.path)
        if not {"words", "vectors"} <= arrays.keys():
            there = ", ".join(map(repr, arrays))
            raise InputError(f"{self.path} has {there}, not 'words' and 'vectors'; {MEND}")
        words, vectors = arrays["words"], arrays["vectors"]
        fits = words.ndim == 1 and vectors.ndim == 2 and len(words) == len(vectors)
        if words.dtype.kind != "U" or vectors.dtype.kind != "f" or not fits or not vectors.size:
            raise InputError(
                f"{self.path}: 'words' is {words.dtype} {words.shape} and 'vectors' "
                f"{vectors.dtype} {vectors.shape}; they must be N strings and (N, D) floats"
            )
        with np.errstate(over="ignore"):
            return words, vectors.astype(np.float32)
