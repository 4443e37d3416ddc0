"""Hugging Face tables: the input embeddings of a model, from a directory or from the Hub.

Only the embedding tensor is read from the weights, whatever their form:
``model.safetensors``, its shards, or ``pytorch_model.bin`` and its shards.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.data.files import digest, hub_reachable
from embinit.data.sources.base import SOURCES, Source, SourceEntry, Vectors
from embinit.errors import InputError

ENDINGS = {
    "bert": ("embeddings.word_embeddings.weight",),
    "t5": ("shared.weight", "encoder.embed_tokens.weight"),
    "mt5": ("shared.weight", "encoder.embed_tokens.weight"),
}
OTHER_ENDINGS = ("word_embeddings.weight", "embed_tokens.weight", "shared.weight", "wte.weight")
WEIGHTS = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True)
class HuggingFaceTable:
    """The input embedding table of a model.

    Attributes:
        name: The name in specs.
        location: A directory, or the model's id on the Hub.
        languages: The languages that the model covers.
    """

    name: str
    location: str
    languages: frozenset[str]

    @property
    def tokenizer(self) -> str:
        """The model's own tokenizer."""
        return f"hf:{self.location}"

    @cached_property
    def dim(self) -> int:
        """D, from the model's configuration.

        Raises:
            InputError: There is no configuration, or it names no width.
        """
        for key in ("hidden_size", "d_model", "n_embd"):
            if key in self._config:
                return int(self._config[key])
        raise InputError(f"{self._path('config.json')} names no width (hidden_size, d_model)")

    def fingerprint(self) -> str:
        """The digest of the file that holds the table."""
        return "/".join(digest(path) for path in self._files())

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The rows of the table for ``words``, by the ids of the model's tokenizer.

        Raises:
            InputError: The model can't be read, or a row is not finite.
        """
        from embinit.data.tokenizers import HuggingFace

        ids = HuggingFace(self.location).model.get_vocab()
        table = self.table
        rows = torch.tensor([ids.get(word, -1) for word in words])
        found = (rows >= 0) & (rows < len(table))
        values = torch.zeros(len(words), table.shape[1])
        values[found] = table[rows[found]].float()
        bad = (~values.isfinite().all(dim=1)).nonzero().flatten().tolist()
        if bad:
            raise InputError(
                f"{self.location}: the vector of {words[bad[0]]!r} is not finite; fetch the "
                "weights again"
            )
        return Vectors(values, found)

    @cached_property
    def table(self) -> Float[Tensor, "V D"]:
        """The whole table, in the precision that it is stored in. V is the model's vocabulary.

        Raises:
            InputError: The weights can't be read, or no single tensor is an input embedding.
        """
        key, path = self._find()
        return _read(path, key)

    @cached_property
    def _config(self) -> dict[str, Any]:
        path = self._path("config.json")
        try:
            config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path} is no JSON ({error}); fetch the model again") from None
        return config

    def _path(self, name: str) -> Path:
        """A file of the model. It is fetched from the Hub if the location is no directory."""
        directory = Path(self.location)
        if directory.is_dir():
            if not (directory / name).exists():
                raise InputError(f"{directory} has no {name}; put the model's files there")
            return directory / name
        try:
            from huggingface_hub import hf_hub_download

            local = not hub_reachable()
            return Path(hf_hub_download(self.location, name, local_files_only=local))
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{name} of {self.location!r} can't be fetched ({reason}); put the model's files "
                "into the data directory (see the README) and name it with --embinit-data-dir"
            ) from error

    def _index(self) -> dict[str, str] | None:
        """The file of each tensor; None if the weights are not in shards."""
        for name in WEIGHTS:
            try:
                index = self._path(f"{name}.index.json")
            except InputError:
                continue
            files: dict[str, str] = json.loads(index.read_text())["weight_map"]
            return files
        return None

    def _single(self) -> Path:
        for name in WEIGHTS:
            try:
                return self._path(name)
            except InputError as error:
                last = error
        raise InputError(f"{self.location} has neither of {', '.join(WEIGHTS)}: {last}")

    def _files(self) -> list[Path]:
        try:
            return [self._single()]
        except InputError:
            index = self._index()
            if index is None:
                raise
            return [self._path(self._find()[1].name)]

    def _find(self) -> tuple[str, Path]:
        """The embedding tensor's name, and the file that holds it."""
        try:
            path = self._single()
            paths = dict.fromkeys(_names(path), path)
        except InputError:
            index = self._index()
            if index is None:
                raise
            paths = {key: Path(name) for key, name in index.items()}
        endings = ENDINGS.get(self._config.get("model_type", ""), OTHER_ENDINGS)
        for ending in endings:
            keys = [key for key in paths if key == ending or key.endswith(f".{ending}")]
            if len(keys) == 1:
                path = paths[keys[0]]
                return keys[0], path if path.exists() else self._path(path.name)
        raise InputError(
            f"{self.location}: no single tensor is named like an input embedding "
            f"({', '.join(endings)}); it has {', '.join(sorted(paths)[:8])} …"
        )


def _names(path: Path) -> Iterator[str]:
    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            yield from file.keys()
    else:
        yield from torch.load(path, mmap=True, weights_only=True, map_location="cpu")


def _read(path: Path, key: str) -> Tensor:
    if path.suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, framework="pt") as file:
            tensor: Tensor = file.get_tensor(key)
        return tensor
    weights: dict[str, Tensor] = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
    return weights[key].clone()


def _model(name: str, directory: str, hub: str, *languages: str) -> SourceEntry:
    def make(data_dir: Path | None) -> Source:
        if data_dir is None:
            return HuggingFaceTable(name, hub, frozenset(languages))
        path = data_dir / "vectors" / directory
        if not path.is_dir():
            raise InputError(
                f"source {name!r} is missing: put the files of {hub} into {path}, or name another "
                "directory with --embinit-data-dir or EMBINIT_DATA"
            )
        return HuggingFaceTable(name, str(path), frozenset(languages))

    return SourceEntry(make, frozenset(languages))


for _name, _directory, _hub, _languages in (
    ("minilm", "minilm-l6", "sentence-transformers/all-MiniLM-L6-v2", ("en",)),
    ("bert", "bert-base-uncased", "google-bert/bert-base-uncased", ("en",)),
    (
        "mbert",
        "bert-base-multilingual-cased",
        "google-bert/bert-base-multilingual-cased",
        ("en", "de"),
    ),
    ("t5", "t5-small", "google-t5/t5-small", ("en",)),
    ("mt5", "mt5-base", "google/mt5-base", ("en", "de")),
):
    SOURCES.register(_name, _model(_name, _directory, _hub, *_languages))
