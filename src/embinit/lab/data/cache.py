"""A cache of prepared data: text as ids, and vectors as looked up.

``embinit prepare`` makes it. Named as the data directory, it replaces text, vectors and tokenizers,
and runs keep their keys. Files are named by their content, so damage is noticed.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import parse_json, plain_name, read_json, reading, regular
from embinit.files.writing import write_atomically
from embinit.lab.data.sources import Source, Vectors
from embinit.lab.specs import DataSpec
from embinit.specs import canonical

INDEX = "prepared.json"
VERSION = 1
PREPARE_AGAIN = "run embinit prepare again"

PARTS = ("tasks", "sources", "data", "vectors")
"""The parts of an index: texts' fingerprints, sources, and the names of files by their keys."""


@dataclass(frozen=True)
class CachedSource:
    """A source's D-wide vectors for the vocabularies that were prepared (``sources.Source``)."""

    name: str
    dim: int
    tokenizer: str
    languages: frozenset[str]
    source_fingerprint: str
    directory: Directory

    def fingerprint(self) -> str:
        """The fingerprint of the source that the vectors were read from."""
        return self.source_fingerprint

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of a prepared vocabulary; InputError if ``words`` are none, in this order."""
        key = vectors_key(self, words, language)
        tensors, _ = self.directory.load("vectors", key, f"vectors of {self.name!r}")
        with reading(f"{self.directory.root}, vectors of {self.name!r}", PREPARE_AGAIN):
            vectors = Vectors(tensors["values"].float(), tensors["found"].bool())
            if vectors.values.shape != (len(words), self.dim) or vectors.found.ndim != 1:
                raise ValueError(f"{tuple(vectors.values.shape)} vectors")
        return vectors


@dataclass(frozen=True)
class Directory:
    """A directory of prepared files and its index. Files that are there already are kept."""

    root: Path
    index: Mapping[str, dict[str, Any]]

    def source(self, name: str) -> CachedSource | None:
        """The source ``name``; None if it was not prepared."""
        entry = self.index["sources"].get(name)
        if entry is None:
            return None
        with reading(self.root / INDEX, PREPARE_AGAIN):
            languages = frozenset(map(str, entry["languages"]))
            known = int(entry["dim"]), str(entry["tokenizer"]), languages, entry["fingerprint"]
        return CachedSource(name, *known, self)

    def load(self, kind: str, key: str, noun: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """A prepared file's tensors and facts; InputError, naming ``noun``, if it can't be read."""
        name = self.index[kind].get(key)
        if name is None:
            raise InputError(
                f"{self.root} has no such {noun}; {PREPARE_AGAIN} with this tier and sources"
            )
        path = self.root / name
        with reading(path, PREPARE_AGAIN):
            content = regular(path, PREPARE_AGAIN).read_bytes()
            if hashlib.sha256(content).hexdigest() != path.stem:
                raise InputError(
                    f"{path} is damaged: its content is not what its name says; {PREPARE_AGAIN}"
                )
            with safetensors.safe_open(path, "pt") as file:
                facts = parse_json((file.metadata() or {}).get("facts", "{}"))
            return safetensors.torch.load(content), facts

    def has(self, kind: str, key: str) -> bool:
        """Whether a prepared file with that key exists."""
        name = self.index[kind].get(key)
        return name is not None and (self.root / name).exists()

    def add(self, kind: str, key: str, tensors: Mapping[str, Tensor], facts: Any = None) -> None:
        """Writes a prepared file and the index; InputError if the directory can't be written to."""
        metadata = {"facts": json.dumps(facts or {}, ensure_ascii=False)}
        contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
        content = safetensors.torch.save(contiguous, metadata=metadata)
        name = f"{hashlib.sha256(content).hexdigest()}.safetensors"
        try:
            write_atomically(self.root / name, content)
            self.index[kind][key] = name
            self.write_index()
        except OSError as error:
            raise InputError(
                f"{self.root / name} could not be written ({error.strerror}); what was prepared "
                "before is safe: make room, or name another --to"
            ) from None

    def write_index(self) -> None:
        """Writes the index."""
        index = json.dumps({**self.index, "version": VERSION}, indent=1, sort_keys=True)
        write_atomically(self.root / INDEX, index)
        open_directory.cache_clear()


def make_directory(root: Path) -> Directory:
    """A directory to add to, which is made if need be; InputError if that is impossible."""
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{root} can't be made ({error.strerror}); name another --to") from None
    return open_directory(root) or Directory(root, {part: {} for part in PARTS})


@functools.lru_cache(maxsize=8)
def open_directory(data_dir: Path | None) -> Directory | None:
    """The prepared files of a directory; None if there are none, InputError if they are broken."""
    if data_dir is None or not (data_dir / INDEX).exists():
        return None
    path = data_dir / INDEX
    content = read_json(path, PREPARE_AGAIN)
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise InputError(f"{path} is of another version than {VERSION}; {PREPARE_AGAIN}")
    with reading(path, PREPARE_AGAIN):
        index = {part: dict(content[part]) for part in PARTS}
    for name in (*index["data"].values(), *index["vectors"].values()):
        if not plain_name(name):
            raise InputError(f"{path} names {name!r:.60}, no file next to it; {PREPARE_AGAIN}")
    return Directory(data_dir, index)


def vectors_key(source: Source, words: Sequence[str], language: str | None) -> str:
    """The key of a source's vectors for one vocabulary: ``words``, in their order."""
    content = [source.name, source.fingerprint(), language, list(words)]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def text_key(spec: DataSpec, fingerprint: str) -> str:
    """The key of the text with that fingerprint, as cut, tokenised and counted by ``spec``."""
    plain = canonical({"data": spec})
    return hashlib.sha256(f"{fingerprint}/{plain}".encode()).hexdigest()
