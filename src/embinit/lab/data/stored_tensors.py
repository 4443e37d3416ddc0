"""Stored tensors, read row by row in bounded memory.

PyTorch's files are read only as far as they hold nothing but tensors (``weights_only``). A file is
opened anew for each block of rows, so a process holds no more of it than that block.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import reading, regular

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""The types of safetensors whose values can be read and written here, by name."""

BLOCK_ROWS = 64
"""The most single rows that are read of a file before it is opened anew."""


@dataclass(frozen=True)
class MemoryTensor:
    """A tensor in memory, read like one in a file."""

    name: str
    values: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return tuple(self.values.shape)

    @property
    def dtype(self) -> str:
        """The type by safetensors' name; another name for types that safetensors lacks."""
        values = self.values
        if values.layout != torch.strided or values.is_quantized or values.is_meta:
            return f"{values.layout} {values.dtype} on {values.device}"
        return next((name for name, dtype in DTYPES.items() if dtype == values.dtype), "unknown")

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows ``start`` to ``stop`` (excluded), in the type that they are stored in."""
        return self.values.detach()[start:stop].cpu()

    def take(self, ids: Sequence[int]) -> Tensor:
        """Single rows."""
        return self.values.detach()[list(ids)].cpu()

    def whole(self) -> Tensor:
        """The whole tensor."""
        return self.values.detach().cpu()


@dataclass(frozen=True)
class FileTensor:
    """A tensor in a safetensors file; reading it is an InputError if the file changed."""

    name: str
    path: Path
    dtype: str
    shape: tuple[int, ...]

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows ``start`` to ``stop`` (excluded), in the type that they are stored in."""
        with self._reading(), safe_open(self.path, framework="pt") as file:
            values: Tensor = file.get_slice(self.name)[start:stop]
            return values.clone()  # the file is no longer mapped then

    def take(self, ids: Sequence[int]) -> Tensor:
        """Single rows."""
        taken = []
        for low in range(0, len(ids), BLOCK_ROWS):  # each row brings its neighbours into memory
            with self._reading(), safe_open(self.path, framework="pt") as file:
                stored = file.get_slice(self.name)
                rows = [stored[row : row + 1] for row in ids[low : low + BLOCK_ROWS]]
                taken.append(torch.cat(rows))
        return torch.cat(taken)

    def whole(self) -> Tensor:
        """The whole tensor."""
        with self._reading(), safe_open(self.path, framework="pt") as file:
            values: Tensor = file.get_tensor(self.name)
            return values.clone()

    def _reading(self) -> AbstractContextManager[None]:
        return reading(self.path, "fetch it again", lambda: f", tensor {self.name[:60]!r}")


StoredTensor = MemoryTensor | FileTensor


def is_float(tensor: StoredTensor) -> bool:
    """Whether a tensor has unquantised floating-point values."""
    return tensor.dtype in ("F64", "F32", "F16", "BF16")


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by name, unread; InputError if its header is broken."""
    regular(path)
    with reading(path), safe_open(path, framework="pt") as file:
        stored = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {
            name: FileTensor(name, path, part.get_dtype(), tuple(part.get_shape()))
            for name, part in stored.items()
        }


def read_torch(path: Path) -> dict[str, StoredTensor]:
    """The memory-mapped tensors of a file that ``torch.save`` wrote.

    InputError if the file is broken, or holds more than tensors, so that reading it could run code.
    """
    mend = (
        "fetch it again; if reading it could run code, or it is older than PyTorch 1.6, convert "
        "it to safetensors where you trust it"
    )
    regular(path)
    with reading(path, mend):
        weights = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
    if isinstance(weights, dict) and isinstance(weights.get("state_dict"), dict):
        weights = weights["state_dict"]
    if not isinstance(weights, dict):
        raise InputError(f"{path} holds a {type(weights).__name__} and no tensors by name; {mend}")
    size = path.stat().st_size
    tensors: dict[str, StoredTensor] = {}
    for name, values in weights.items():
        if isinstance(name, str) and isinstance(values, Tensor):
            # A few bytes can be repeated to any shape.
            if values.layout == torch.strided and values.numel() * values.element_size() > size:
                raise InputError(
                    f"{path}, tensor {name[:60]!r}: it is repeated to {tuple(values.shape)}, more "
                    f"than the file has; {mend}"
                )
            tensors[name] = MemoryTensor(name, values)
    return tensors
