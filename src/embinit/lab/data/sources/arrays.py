"""NumPy's archives (.npz) with two arrays, ``words`` and ``vectors``.

It is the form for rows that a program makes, such as the word layer of ELMo.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Container, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import MOST_DIM, reading, regular
from embinit.lab.data.sources.text import WordVectors

MEND = "write it with numpy.savez(path, words=words, vectors=vectors)"
MOST_WORD_BYTES = 1 << 14
"""The most bytes of a word at NumPy's four bytes a letter, which each word of an array takes."""

MOST_UNPACKED = 100
"""The largest ratio of an array's bytes to its archive's, beyond ``LEAST_UNPACKED`` bytes."""

LEAST_UNPACKED = 1 << 26


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
        for number, word in enumerate(words):
            position = f"{self.path}, row {number}"
            with reading(position, "export it again"):
                text = str(word)
                raw = text.encode()
            if not np.isfinite(vectors[number]).all():
                raise InputError(
                    f"{position}: word {text[:60]!r} has a NaN or an infinity; export it again"
                )
            yield raw, torch.from_numpy(vectors[number].copy()) if raw in wanted else None

    @cached_property
    def _arrays(self) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.float32]]:
        """The words and their vectors."""
        regular(self.path)
        with (
            reading(self.path, MEND),
            self.path.open("rb") as file,
            zipfile.ZipFile(file) as packed,
        ):
            for name in ("words", "vectors"):
                self._check(packed, f"{name}.npy")
            file.seek(0)
            # NumPy leaves a broken file open that it opened itself.
            with np.load(file, allow_pickle=False) as archive:
                words, vectors = archive["words"], archive["vectors"]
        fits = words.ndim == 1 and vectors.ndim == 2 and len(words) == len(vectors)
        if words.dtype.kind != "U" or vectors.dtype.kind != "f" or not fits or not vectors.size:
            raise InputError(
                f"{self.path}: 'words' is {words.dtype} {words.shape} and 'vectors' "
                f"{vectors.dtype} {vectors.shape}; they must be N strings and (N, D) floats"
            )
        with np.errstate(over="ignore"):
            return words, vectors.astype(np.float32)

    def _check(self, packed: zipfile.ZipFile, name: str) -> None:
        """Refuses an array whose header asks for more memory than the file has content."""
        if name not in packed.namelist():
            raise InputError(f"{self.path}: no archive with 'words' and 'vectors'; {MEND}")
        member = packed.getinfo(name)
        with packed.open(member) as array:
            version = np.lib.format.read_magic(array)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, _, dtype = read(array)
        if dtype.hasobject:
            raise InputError(
                f"{self.path}: {name} holds objects, which could run code (allow_pickle); {MEND}"
            )
        if name == "vectors.npy" and len(shape) == 2 and shape[1] > MOST_DIM:
            raise InputError(
                f"{self.path}: the vectors are {shape[1]:,} wide; the widest that are read are "
                f"{MOST_DIM:,}"
            )
        size = self.path.stat().st_size
        if member.file_size > max(LEAST_UNPACKED, MOST_UNPACKED * size):
            raise InputError(
                f"{self.path} has {size:,} bytes, of which {name} unpacks to {member.file_size:,}; "
                f"no real vectors do: {MEND}"
            )
        if math.prod(shape) * dtype.itemsize > member.file_size or dtype.itemsize > MOST_WORD_BYTES:
            raise InputError(
                f"{self.path}: {name} says that it is {dtype} {shape}, and the file is too small "
                f"for that or the words are too long; {MEND}"
            )
