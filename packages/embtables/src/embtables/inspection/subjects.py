"""Subjects of inspections: a model's tables, one tensor, a file of vectors, or a module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.lab.data.sources.fasttext import is_fasttext
from embinit.lab.data.sources.opening import open_source
from embinit.lab.data.sources.text import WordVectors
from embinit.lab.data.stored_tensors import MemoryTensor, StoredTensor, is_float
from embtables.architectures import Layout, layout
from embtables.checkpoints import TENSOR_ENDINGS, existing, is_hub_id, open_checkpoint
from embtables.modules import input_table
from embtables.token_lists import TokenList, token_list


@dataclass(frozen=True)
class Subject:
    """The subject of an inspection.

    Attributes:
        name: What it is called: its path or its kind.
        kind: ``model``, ``tensor`` or ``vectors``.
        table: The input table; None for vectors.
        head: The output table where one is stored; None if it is tied or there is none.
        vectors: The file of vectors; None for others.
        layout: The tables' names and what the architecture makes of them.
        tokens: The tokenizer's tokens; None where it is not known.
        pad: The padding row; None where there is none.
        positions: The learned positions that are added, (L, D); None where there are none.
        gain: The gain of the norm before the head, (D,); None where none was found.
        tokenizer: Where the tokenizer is that counts a text's tokens; None where there is none.
    """

    name: str
    kind: str
    table: StoredTensor | None = None
    head: StoredTensor | None = None
    vectors: WordVectors | None = None
    layout: Layout = field(default_factory=lambda: Layout("", ""))
    tokens: TokenList | None = None
    pad: int | None = None
    positions: Tensor | None = None
    gain: Tensor | None = None
    tokenizer: str | None = None


def subject_of(
    thing: str | Path | Tensor | nn.Module,
    tokenizer: str | Path | None = None,
    tensor: str | None = None,
) -> Subject:
    """The subject that a user names.

    Args:
        thing: A path, an id on the Hub, a table (N, D), or a module with an embedding.
        tokenizer: The tokenizer's directory; None for that of the model.
        tensor: The name of the input table, where it can't be found by itself.

    Raises:
        InputError: It can't be read, or has no table.
    """
    if isinstance(thing, Tensor):
        subject = _of_tensor(thing)
    elif isinstance(thing, nn.Module):
        subject = _of_module(thing, tensor)
    elif _is_vectors(Path(thing)):
        subject = _of_vectors(Path(thing))
    else:
        subject = _of_checkpoint(thing, tensor)
    if tokenizer is not None:
        path = Path(tokenizer)
        tokens = token_list(str(path), lambda name: existing(path / name))
        if tokens is None:
            raise InputError(
                f"{path} has no tokenizer.json, vocab.txt or vocab.json; name a tokenizer's "
                "directory"
            )
        pad = tokens.pad if subject.pad is None else subject.pad
        subject = replace(subject, tokens=tokens, pad=pad, tokenizer=str(path))
    return subject


def _of_tensor(values: Tensor) -> Subject:
    table = MemoryTensor("table", values)
    _check_table("the tensor", table)
    return Subject("tensor", "tensor", table)


def _is_vectors(path: Path) -> bool:
    """Whether a path is a file of words with their vectors."""
    if not path.is_file() or path.suffix == ".gguf":
        return False
    if path.name.endswith((".bin", ".bin.gz")):
        with reading(path), path.open("rb") as file:
            # torch.save writes a zip archive, or a pickle.
            return is_fasttext(path) or not file.read(4).startswith((b"PK", b"\x80"))
    return path.suffix not in TENSOR_ENDINGS


def _of_vectors(path: Path) -> Subject:
    source = open_source(path.name, path)
    assert isinstance(source, WordVectors)
    return Subject(str(path), "vectors", vectors=source)


def _of_checkpoint(location: str | Path, tensor: str | None) -> Subject:
    if not Path(location).exists() and not is_hub_id(str(location)):
        open_checkpoint(location)  # says what there could be
    checkpoint = open_checkpoint(location)
    tensors, config = checkpoint.tensors, checkpoint.config
    found = layout(checkpoint.location, tensors, config, tensor)
    subject = _of_tensors(checkpoint.location, tensors, found)
    tokens = token_list(checkpoint.location, checkpoint.path)
    pad = config.get("pad_token_id", tokens.pad if tokens else None)
    return replace(
        subject,
        kind="model" if config else "tensor",
        tokens=tokens,
        pad=pad if isinstance(pad, int) else None,
        tokenizer=checkpoint.location if config else None,
    )


def _of_module(module: nn.Module, tensor: str | None) -> Subject:
    tensors: dict[str, StoredTensor] = {
        name: MemoryTensor(name, value) for name, value in module.state_dict().items()
    }
    config: Any = getattr(module, "config", None)
    told: Mapping[str, Any] = config.to_dict() if hasattr(config, "to_dict") else {}
    named = tensor or _input_name(module, tensors)
    name = type(module).__name__
    found = layout(name, tensors, told, named)
    table = tensors[found.table]
    assert isinstance(table, MemoryTensor)
    head = tensors.get(found.head or "")
    if isinstance(head, MemoryTensor) and head.values.data_ptr() == table.values.data_ptr():
        found = replace(found, head=None, tied=True if found.tied is None else found.tied)
    pad = told.get("pad_token_id")
    if isinstance(module, nn.Embedding):
        pad = module.padding_idx
    subject = _of_tensors(name, tensors, found)
    return replace(subject, kind="model", pad=pad if isinstance(pad, int) else None)


def _input_name(module: nn.Module, tensors: Mapping[str, StoredTensor]) -> str | None:
    """The name of a module's input table; None where it is not known."""
    table = input_table(module)
    for name, each in module.named_modules():
        if each is table:
            named = f"{name}.weight".removeprefix(".")
            return named if named in tensors else None
    return None


def _of_tensors(name: str, tensors: Mapping[str, StoredTensor], found: Layout) -> Subject:
    table = tensors[found.table]
    head = tensors[found.head] if found.head else None
    for each in (table, head):
        if each is not None:
            _check_table(name, each)
    positions = _read(tensors, found.positions)
    gain = _read(tensors, found.final_norm)
    return Subject(
        name,
        "model",
        table,
        head,
        layout=found,
        positions=positions,
        gain=None if gain is None else gain + found.gain_offset,
    )


def _check_table(where: str, table: StoredTensor) -> None:
    if not is_float(table):
        raise InputError(
            f"{where}: {table.name!r} is {table.dtype}, so it is quantised or no plain "
            "table; name the checkpoint before it was quantised"
        )
    if len(table.shape) != 2 or 0 in table.shape:
        raise InputError(
            f"{where}: {table.name!r} has shape {tuple(table.shape)}; a table has rows and columns"
        )


def _read(tensors: Mapping[str, StoredTensor], name: str | None) -> Tensor | None:
    if name is None or not is_float(tensors[name]):
        return None
    return tensors[name].whole().float()


def read_rows(table: StoredTensor, ids: Iterable[int]) -> Tensor:
    """Single rows of a table, (n, D) float32."""
    wanted = list(ids)
    return table.take(wanted).float() if wanted else torch.zeros(0, table.shape[1])
