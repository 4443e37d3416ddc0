"""Subjects of inspections: a model's tables, one tensor, or a file of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.lab.data.checkpoints import Checkpoint, read_tensors
from embinit.lab.data.sources.arrays import ENDINGS, read_arrays
from embinit.lab.data.sources.opening import open_source
from embinit.lab.data.sources.text import WordVectors
from embinit.lab.data.stored_tensors import MemoryTensor, StoredTensor, is_float
from embinit.lab.inspection.layout import Layout, layout
from embinit.lab.inspection.tokens import TokenList, token_list

TENSOR_ENDINGS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")


@dataclass(frozen=True)
class Subject:
    """The subject of an inspection."""

    name: str
    kind: str  # "model", "tensor" or "vectors"
    table: StoredTensor
    head: StoredTensor | None = None  # None if it is tied or there is none
    layout: Layout = field(default_factory=Layout)
    words: tuple[str, ...] = ()
    tokens: TokenList | None = None
    pad: int | None = None  # the padding row
    positions: Tensor | None = None  # (L, D), added to the rows
    gain: Tensor | None = None  # (D,), of the norm before the head

    @property
    def ids(self) -> int:
        """The number of rows that the tokenizer's ids need; 0 where it is not known."""
        return self.tokens.ids if self.tokens else 0

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The word or token of each row that has one."""
        return dict(enumerate(self.words)) or (self.tokens.tokens if self.tokens else {})


def subject_of(thing: str | Path | Tensor, tensor: str | None = None) -> Subject:
    """The subject that a user names; InputError if it can't be read, or has no table."""
    if isinstance(thing, Tensor):
        return _of_tensors("tensor", {"table": MemoryTensor("table", thing)}, Layout("table"))
    if Path(thing).suffix in ENDINGS:
        return _of_arrays(Path(thing), tensor)
    if _is_vectors(Path(thing)):
        return _of_vectors(Path(thing))
    if Path(thing).is_file():
        tensors = read_tensors(Path(thing))
        return _of_tensors(str(thing), tensors, layout(str(thing), tensors, {}, tensor))
    return _of_model(str(thing), tensor)


def _of_arrays(path: Path, tensor: str | None) -> Subject:
    """A table of NumPy's, alone or among other arrays, which may have the rows' ``words``."""
    arrays = read_arrays(path)
    with reading(path, "save its tables as float32"):
        tensors: dict[str, StoredTensor] = {
            name: MemoryTensor(name, torch.from_numpy(values))
            for name, values in arrays.items()
            if values.dtype.kind != "U"
        }
    subject = _of_tensors(str(path), tensors, layout(str(path), tensors, {}, tensor))
    words = () if "words" in tensors else tuple(map(str, arrays.get("words", ())))
    if words and len(words) != subject.table.shape[0]:
        rows = f"{subject.table.name!r} has {subject.table.shape[0]:,} rows"
        raise InputError(f"{path}: 'words' has {len(words):,} words, and {rows}; write one a row")
    return replace(subject, kind="vectors" if words else "tensor", words=words)


def _is_vectors(path: Path) -> bool:
    """Whether a path is a file of words with their vectors."""
    if not path.is_file():
        return False
    if path.name.endswith((".bin", ".bin.gz")):
        with reading(path), path.open("rb") as file:
            # torch.save writes a zip archive, or a pickle.
            return not file.read(4).startswith((b"PK", b"\x80"))
    return path.suffix not in TENSOR_ENDINGS


class _Every:
    """A container that contains everything, for reading every word of a file."""

    def __contains__(self, _: object) -> bool:
        return True


def _of_vectors(path: Path) -> Subject:
    source = open_source(path.name, path)
    assert isinstance(source, WordVectors)
    source = replace(source, finite=False)  # what isn't is a finding
    words, blocks, block = [], list[Tensor](), list[Tensor]()
    for word, values in source._read(_Every()):
        assert values is not None
        words.append(word.decode())
        block.append(values)
        if len(block) == 4096:  # many small tensors take more memory than a few large ones
            blocks.append(torch.stack(block))
            block.clear()
    if not words:
        raise InputError(f"{path} holds no vectors; fetch it again")
    table = torch.cat([*blocks, torch.stack(block)] if block else blocks)
    return Subject(str(path), "vectors", MemoryTensor(path.name, table), words=tuple(words))


def _of_model(location: str, tensor: str | None) -> Subject:
    path = Path(location)
    if path.exists():
        if not path.is_dir():
            regular(path)
    elif location.count("/") != 1 or location.startswith((".", "/")):
        raise InputError(
            f"{location} doesn't exist; name a model's directory, a file of tensors or vectors, or "
            "a model's id on the Hub"
        )
    model = Checkpoint(location)
    _ = model.files  # what has no weights is no model, whatever else it lacks
    found = layout(location, model, model.config, tensor)
    tokens = token_list(model.present)
    pad = model.config.get("pad_token_id", tokens.pad if tokens else None)
    return replace(
        _of_tensors(location, model, found),
        kind="model",
        tokens=tokens,
        pad=pad if isinstance(pad, int) else None,
    )


def _of_tensors(name: str, tensors: Mapping[str, StoredTensor], found: Layout) -> Subject:
    head = tensors[found.head] if found.head else None
    for table in (tensors[found.table], head):
        if table is not None:
            _check_table(name, table)
    gain = _read(tensors, found.final_norm)
    return Subject(
        name,
        "tensor",
        tensors[found.table],
        head,
        found,
        positions=_read(tensors, found.positions),
        gain=None if gain is None else gain + found.gain_offset,
    )


def _check_table(where: str, table: StoredTensor) -> None:
    if not is_float(table):
        raise InputError(
            f"{where}: {table.name!r} is {table.dtype}, so it is quantised or no plain "
            "table; name the checkpoint before it was quantised"
        )
    if len(table.shape) != 2 or 0 in table.shape:
        unsaved = ", so its values were not saved" if 0 in table.shape else ""
        raise InputError(
            f"{where}: {table.name!r} has shape {tuple(table.shape)}{unsaved}; a table has rows "
            "and columns"
        )


def _read(tensors: Mapping[str, StoredTensor], name: str | None) -> Tensor | None:
    return tensors[name].whole().float() if name and is_float(tensors[name]) else None
