"""Tensors to write, made of other tensors' rows in blocks, and their safetensors file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.stored_tensors import DTYPES, StoredTensor

BLOCK_VALUES = 2**20
"""The most values of a block of rows: 4 MiB in float32, which fit a processor's cache."""


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
    pieces: Iterable[bytes]


def copied(tensor: StoredTensor) -> NewTensor:
    """An unchanged tensor to write, bit for bit.

    Raises:
        InputError: It is of a type that can't be written.
    """
    if tensor.dtype not in DTYPES:
        raise InputError(
            f"tensor {tensor.name[:60]!r} is {tensor.dtype}, which can't be written; save the "
            "model in float32, float16 or bfloat16 first"
        )
    pieces = (piece for _, piece in blocks(tensor)) if tensor.shape else (tensor.whole(),)
    return changed(tensor.name, tensor.dtype, tensor.shape, pieces)


def changed(name: str, dtype: str, shape: Sequence[int], values: Iterable[Tensor]) -> NewTensor:
    """A tensor to write, of new values.

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
    ordered = sorted(tensors, key=lambda each: (-DTYPES[each.dtype].itemsize, each.name))
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
