"""Prepared files: text as ids and vectors as looked up, so that training needs neither.

``embinit prepare`` makes a directory of them. Named as the data directory, it stands for the text
and the vectors that it was made from: runs have the same keys, and a machine without network,
text, vectors or tokenizers trains from it with torch, numpy and safetensors. Files are named by
their content, so preparing again writes only what is new, and damage is noticed.
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

from embinit.data.files import write_atomically
from embinit.data.sources import Source, Vectors
from embinit.errors import InputError
from embinit.specs import DataSpec, canonical

INDEX = "prepared.json"
VERSION = 1
AGAIN = "run embinit prepare again"


@dataclass(frozen=True)
class PreparedSource:
    """A source's answers to the vocabularies that it was asked for (``sources.Source``)."""

    name: str
    dim: int
    tokenizer: str
    languages: frozenset[str]
    print: str
    directory: Directory

    def fingerprint(self) -> str:
        """That of the source itself."""
        return self.print

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The vectors of ``words``; InputError for another vocabulary than those prepared."""
        key = answer_key(self, words, language)
        tensors, _ = self.directory.load("vectors", key, f"vectors of {self.name!r}")
        return Vectors(tensors["values"], tensors["found"].bool())


@dataclass(frozen=True)
class Directory:
    """A directory of prepared files and its index."""

    root: Path
    index: Mapping[str, Any]

    def text(self, task: str) -> str | None:
        """The fingerprint of a task's text, None where it was not prepared."""
        found: str | None = self.index["tasks"].get(task)
        return found

    def source(self, name: str) -> PreparedSource | None:
        """A source, None where it was not prepared."""
        about = self.index["sources"].get(name)
        if about is None:
            return None
        return PreparedSource(
            name,
            about["dim"],
            about["tokenizer"],
            frozenset(about["languages"]),
            about["fingerprint"],
            self,
        )

    def load(self, kind: str, key: str, what: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The tensors and the further facts of one file.

        InputError where the index has none, or the file is missing or damaged.
        """
        name = self.index[kind].get(key)
        if name is None:
            raise InputError(f"{self.root} has no such {what}; {AGAIN} with this tier and sources")
        path = self.root / name
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path} can't be read ({error.strerror}); {AGAIN}") from None
        if hashlib.sha256(content).hexdigest() != path.stem:
            raise InputError(f"{path} is damaged: its content is not what its name says; {AGAIN}")
        with safetensors.safe_open(path, "pt") as file:
            facts = (file.metadata() or {}).get("facts", "{}")
        return safetensors.torch.load(content), json.loads(facts)


class Writer:
    """Adds to a directory of prepared files; what is there already is kept."""

    def __init__(self, root: Path) -> None:
        """Open (and make) the directory; InputError if it can't be written."""
        self.root = root
        try:
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"{root} can't be made ({error.strerror}); name another --to"
            ) from None
        found = directory(root)
        empty: dict[str, Any] = {name: {} for name in ("tasks", "sources", "data", "vectors")}
        self.index = {**empty, **(found.index if found else {}), "version": VERSION}

    def has(self, kind: str, key: str) -> bool:
        """Whether a file is there already."""
        name = self.index[kind].get(key)
        return name is not None and (self.root / name).exists()

    def add(self, kind: str, key: str, tensors: Mapping[str, Tensor], facts: Any = None) -> None:
        """Write one file, then the index that names it."""
        told = {"facts": json.dumps(facts or {}, ensure_ascii=False)}
        whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
        content = safetensors.torch.save(whole, metadata=told)
        name = f"{hashlib.sha256(content).hexdigest()}.safetensors"
        try:
            write_atomically(self.root / name, content)
            self.index[kind][key] = name
            self.tell()
        except OSError as error:
            raise InputError(
                f"{self.root / name} could not be written ({error.strerror}); what was prepared "
                "before is safe: make room, or name another --to"
            ) from None

    def tell(self) -> None:
        """Write the index."""
        write_atomically(self.root / INDEX, json.dumps(self.index, indent=1, sort_keys=True))
        directory.cache_clear()


@functools.lru_cache(maxsize=8)
def directory(data_dir: Path | None) -> Directory | None:
    """The prepared files in a data directory; None where it is no directory of such.

    InputError for an index that can't be read or is of another version.
    """
    if data_dir is None or not (data_dir / INDEX).exists():
        return None
    path = data_dir / INDEX
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} can't be read ({error}); {AGAIN}") from None
    if not isinstance(index, dict) or index.get("version") != VERSION:
        raise InputError(f"{path} is of another version than {VERSION}; {AGAIN}")
    return Directory(data_dir, index)


def answer_key(source: Source, words: Sequence[str], language: str | None) -> str:
    """The key of a source's answer to one vocabulary."""
    parts = [source.name, source.fingerprint(), language, list(words)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def text_key(spec: DataSpec, fingerprint: str) -> str:
    """The key of a task's text as ``spec`` has it cut, tokenised and counted."""
    plain = canonical({"data": spec})
    return hashlib.sha256(f"{fingerprint}/{plain}".encode()).hexdigest()
