"""Tensors in files, read row by row in bounded memory, and files of tensors written alike.

A safetensors file is eight bytes with the header's length, a header in JSON and the tensors' bytes.
Only the wanted rows are read, with plain reads, so a process holds no more than a block of them.
PyTorch's own files are read only as far as they hold nothing but tensors (``weights_only``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

import torch
from torch import Tensor

from embinit.errors import InputError

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
"""The types of safetensors whose values can be read here, by name."""

MOST_HEADER_BYTES = 100_000_000
"""The safetensors format allows no longer header."""

BLOCK_VALUES = 2**20
"""Most values of a block of rows: 4 MiB in float32, which a processor's cache holds."""


@runtime_checkable
class StoredTensor(Protocol):
    """A tensor somewhere, which is read by its rows."""

    @property
    def name(self) -> str:
        """The tensor's name in its file."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""

    @property
    def dtype(self) -> str:
        """Its type by safetensors' name, such as ``BF16``."""

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows ``start`` to ``stop`` (excluded), as they are stored."""


def is_float(tensor: StoredTensor) -> bool:
    """Whether a tensor has values that can be averaged, and is not quantised."""
    return tensor.dtype in ("F64", "F32", "F16", "BF16")


def blocks(tensor: StoredTensor, values: int = BLOCK_VALUES) -> Iterator[tuple[int, Tensor]]:
    """A tensor's rows in blocks, each with the number of its first row.

    Args:
        tensor: (N, ...) with N rows.
        values: Most values of a block, unless a single row has more.
    """
    rows = tensor.shape[0]
    size = max(1, values // max(1, math.prod(tensor.shape[1:])))
    for start in range(0, rows, size):
        yield start, tensor.rows(start, min(start + size, rows))


def gather(tensor: StoredTensor, ids: Sequence[int]) -> Tensor:
    """Single rows of a tensor, as they are stored."""
    return torch.cat([tensor.rows(row, row + 1) for row in ids])


@dataclass(frozen=True)
class MemoryTensor:
    """A tensor in memory, read like one in a file.

    Attributes:
        name: Its name.
        values: The tensor.
    """

    name: str
    values: Tensor

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return tuple(self.values.shape)

    @property
    def dtype(self) -> str:
        """The type by safetensors' name; torch's own for others."""
        return _type_name(self.values.dtype)

    def rows(self, start: int, stop: int) -> Tensor:
        """See the protocol."""
        return self.values.detach()[start:stop].cpu()


@dataclass(frozen=True)
class FileTensor:
    """A tensor in a safetensors file.

    Attributes:
        name: Its name.
        path: The file.
        dtype: Its type by safetensors' name.
        shape: Its shape.
        start: The byte of the file where its values begin.
        size: Its bytes.
    """

    name: str
    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    size: int

    @property
    def row_bytes(self) -> int:
        """The bytes of one row."""
        return self.size // self.shape[0] if self.shape and self.shape[0] else 0

    def rows(self, start: int, stop: int) -> Tensor:
        """See the protocol.

        Raises:
            InputError: The tensor is of a type that can't be read here, or the file changed.
        """
        if self.dtype not in DTYPES:
            raise InputError(
                f"{self.path}: tensor {self.name!r} is {self.dtype}, which is no plain float; "
                "name the unquantised checkpoint"
            )
        if stop <= start:
            return torch.empty((0, *self.shape[1:]), dtype=DTYPES[self.dtype])
        raw = self.raw(start, stop)
        return torch.frombuffer(raw, dtype=DTYPES[self.dtype]).view(stop - start, *self.shape[1:])

    def raw(self, start: int, stop: int) -> bytearray:
        """The bytes of rows ``start`` to ``stop``."""
        raw = bytearray(self.row_bytes * (stop - start))
        with self.path.open("rb", buffering=0) as file:
            file.seek(self.start + self.row_bytes * start)
            view, done = memoryview(raw), 0
            while done < len(raw):
                count = file.readinto(view[done:])
                if not count:
                    raise InputError(
                        f"{self.path} became shorter while it was read; fetch it again"
                    )
                done += count
        return raw


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by name. Only its header is read.

    Raises:
        InputError: The file is missing, cut short, or no safetensors file.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, MOST_HEADER_BYTES):
                raise InputError(
                    f"{path}: its {size} bytes are no whole safetensors file; fetch it again"
                )
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        tensors: dict[str, StoredTensor] = {
            name: _file_tensor(path, name, entry, 8 + length) for name, entry in header.items()
        }
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path}: no header of a safetensors file ({error}); fetch it again"
        ) from None
    end = max(
        (
            tensor.start + tensor.size
            for tensor in tensors.values()
            if isinstance(tensor, FileTensor)
        ),
        default=8 + length,
    )
    if end != size:
        raise InputError(
            f"{path} has {size} bytes where its header says {end}: it is half-written or put "
            "together of several; fetch it again"
        )
    return tensors


def _file_tensor(path: Path, name: str, entry: Mapping[str, object], base: int) -> FileTensor:
    shape = entry["shape"]
    offsets = entry["data_offsets"]
    assert isinstance(shape, list)
    assert isinstance(offsets, list)
    start, end = offsets
    tensor = FileTensor(name, path, str(entry["dtype"]), tuple(shape), base + start, end - start)
    if tensor.dtype in DTYPES:
        due = math.prod(tensor.shape) * DTYPES[tensor.dtype].itemsize
        if due != tensor.size:
            raise InputError(
                f"{path}: tensor {name!r} of shape {shape} takes {due} bytes and has "
                f"{tensor.size}; the file is broken: fetch it again"
            )
    return tensor


def read_torch(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file that ``torch.save`` wrote, mapped and not read.

    Raises:
        InputError: The file is broken, or holds more than tensors, so that reading it could run
            code.
    """
    weights: object
    try:
        try:
            weights = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
        except (RuntimeError, ValueError):  # the older format can't be mapped
            weights = torch.load(path, weights_only=True, map_location="cpu")
    except Exception as error:  # pickle raises whatever a broken file leads it to
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{path} can't be read as tensors alone ({reason}); it is broken, or reading it could "
            "run code: convert it to safetensors where you trust it"
        ) from None
    if isinstance(weights, dict) and isinstance(weights.get("state_dict"), dict):
        weights = weights["state_dict"]
    if not isinstance(weights, dict):
        raise InputError(f"{path} holds a {type(weights).__name__} and no tensors by name")
    return {
        str(name): MemoryTensor(str(name), value)
        for name, value in weights.items()
        if isinstance(value, Tensor)
    }


@dataclass(frozen=True)
class NewTensor:
    """A tensor to be written: a header's entry and its bytes in pieces.

    Attributes:
        name: Its name.
        dtype: Its type by safetensors' name.
        shape: Its shape.
        size: Its bytes.
        pieces: The bytes in order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    pieces: Iterable[bytes | bytearray | memoryview]


def copied(tensor: StoredTensor) -> NewTensor:
    """A tensor as it is, to be written elsewhere, bit for bit."""
    if isinstance(tensor, FileTensor):
        return NewTensor(tensor.name, tensor.dtype, tensor.shape, tensor.size, _raw_pieces(tensor))
    assert isinstance(tensor, MemoryTensor)
    values = tensor.values.detach()
    size = values.numel() * values.dtype.itemsize
    return NewTensor(tensor.name, tensor.dtype, tensor.shape, size, _value_pieces(values))


def changed(name: str, dtype: str, shape: Sequence[int], values: Iterable[Tensor]) -> NewTensor:
    """A tensor of new values.

    Args:
        name: Its name.
        dtype: Its type by safetensors' name.
        shape: Its shape.
        values: Its values in order, in pieces of any shape, of that type.
    """
    size = math.prod(shape) * DTYPES[dtype].itemsize
    return NewTensor(name, dtype, tuple(shape), size, (to_bytes(piece) for piece in values))


def write_safetensors(file: IO[bytes], tensors: Sequence[NewTensor]) -> None:
    """Writes a safetensors file, a piece at a time.

    Raises:
        OSError: There is no room, or the file can't be written.
    """
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    # The largest type first, so that every tensor's values are aligned.
    ordered = sorted(tensors, key=lambda each: (-_item_bytes(each.dtype), each.name))
    for tensor in ordered:
        header[tensor.name] = {
            "dtype": tensor.dtype,
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.size],
        }
        offset += tensor.size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little"))
    file.write(text)
    for tensor in ordered:
        written = 0
        for piece in tensor.pieces:
            written += file.write(piece)
        assert written == tensor.size, (tensor.name, written, tensor.size)


def to_bytes(values: Tensor) -> bytes:
    """A tensor's values as little-endian bytes."""
    flat = values.detach().cpu().contiguous().reshape(-1)
    return flat.view(torch.uint8).numpy().tobytes()


def _raw_pieces(tensor: FileTensor) -> Iterator[memoryview]:
    left = tensor.size
    with tensor.path.open("rb") as file:
        file.seek(tensor.start)
        while left:
            piece = file.read(min(left, 1 << 24))
            if not piece:
                raise InputError(f"{tensor.path} became shorter while it was read; fetch it again")
            left -= len(piece)
            yield memoryview(piece)


def _value_pieces(values: Tensor) -> Iterator[bytes]:
    if values.dim() == 0:
        yield to_bytes(values)
        return
    size = max(1, BLOCK_VALUES // max(1, math.prod(values.shape[1:])))
    for start in range(0, len(values), size):
        yield to_bytes(values[start : start + size])


def _type_name(dtype: torch.dtype) -> str:
    return next((name for name, each in DTYPES.items() if each == dtype), str(dtype))


def _item_bytes(name: str) -> int:
    return DTYPES[name].itemsize if name in DTYPES else 1
