"""Subjects of inspections: a model's tables, one tensor, or a file of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.lab.data.checkpoints import Checkpoint, check_table, read_object, read_tensors
from embinit.lab.data.sources.arrays import ENDINGS, read_arrays
from embinit.lab.data.sources.opening import open_source
from embinit.lab.data.sources.text import WordVectors
from embinit.lab.inspection.layout import Side, Subject, Table, subject_in

TENSOR_ENDINGS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf")


def subject_of(thing: str | Path | Tensor, tensor: str | None = None) -> Subject:
    """The subject that a user names; InputError if it can't be read, or has no table."""
    if isinstance(thing, Tensor):
        check_table("tensor", "table", thing)
        return subject_in("tensor", {"table": thing.detach().cpu()}, {}, "table")
    path, name = Path(thing), str(thing)
    if path.suffix in ENDINGS:
        return _of_arrays(path, tensor)
    if _is_vectors(path):
        return _of_vectors(path)
    if path.is_file():
        return subject_in(name, read_tensors(path), {}, tensor)
    return _of_model(name, tensor)


def _of_arrays(path: Path, tensor: str | None) -> Subject:
    """A table of NumPy's, alone or among other arrays, which may have the rows' ``words``."""
    arrays = read_arrays(path)
    with reading(path, "save its tables as float32"):
        tensors = {
            name: torch.from_numpy(values)
            for name, values in arrays.items()
            if values.dtype.kind != "U"
        }
    subject = subject_in(str(path), tensors, {}, tensor)
    words = () if "words" in tensors else tuple(map(str, arrays.get("words", ())))
    if not words:
        return subject
    [name, *_], table = subject.tables["input"]
    if len(words) != len(table):
        rows = f"{name!r} has {len(table):,} rows"
        raise InputError(f"{path}: 'words' has {len(words):,} words, and {rows}; write one a row")
    return replace(subject, kind="vectors", names=dict(enumerate(words)))


def _is_vectors(path: Path) -> bool:
    """Whether a path is a file of words with their vectors."""
    if not path.is_file():
        return False
    if path.name.endswith((".bin", ".bin.gz")):
        with reading(path), path.open("rb") as file:
            # torch.save writes a zip archive, or a pickle.
            return not file.read(4).startswith((b"PK", b"\x80"))
    return path.suffix not in TENSOR_ENDINGS


def _of_vectors(path: Path) -> Subject:
    source = open_source(path.name, path)
    assert isinstance(source, WordVectors)
    # What isn't finite is a finding.
    words, table = replace(source, finite=False).whole()
    if not words:
        raise InputError(f"{path} holds no vectors; fetch it again")
    tables: dict[Side, Table] = {"input": Table((path.name,), table)}
    return Subject(str(path), tables, "vectors", dict(enumerate(words)))


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
    found = subject_in(location, model, model.config, tensor)
    names = _tokens(model)
    pad = model.config.get("pad_token_id", _padding(model, names))
    return replace(found, kind="model", names=names, pad=pad if isinstance(pad, int) else None)


def _tokens(model: Checkpoint) -> dict[int, str]:
    """A model's tokens by id, none if it has no tokenizer here; InputError if a file is broken."""
    if file := model.present("tokenizer.json"):
        content = read_object(file)
        with reading(file):
            vocabulary: Any = content["model"].get("vocab")
            if isinstance(vocabulary, list):  # unigrams with their scores
                vocabulary = {entry[0]: number for number, entry in enumerate(vocabulary)}
            if not isinstance(vocabulary, dict):  # else byte pairs, word pieces, words
                raise InputError(f"{file} has no vocabulary; fetch it again")
            added = {token["content"]: token["id"] for token in content.get("added_tokens") or []}
            return {int(number): str(word) for word, number in (vocabulary | added).items()}
    if file := model.present("vocab.txt"):
        with reading(file):
            return dict(enumerate(file.read_text(encoding="utf-8").splitlines()))
    return {}


def _padding(model: Checkpoint, names: Mapping[int, str]) -> int | None:
    """The id of the tokenizer's padding token; None where none is named."""
    file = model.present("tokenizer_config.json") if names else None
    token = read_object(file).get("pad_token") if file else None
    word = token.get("content") if isinstance(token, dict) else token
    return next((number for number, name in names.items() if name == word), None)
