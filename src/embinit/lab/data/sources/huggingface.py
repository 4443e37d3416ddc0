"""Hugging Face tables: the input embeddings of a model, from a directory or from the Hub.

Only the embedding tensor is read from the weights, whatever their form:
``model.safetensors``, its shards, or ``pytorch_model.bin`` and its shards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import MOST_DIM
from embinit.files.writing import digest
from embinit.lab.data.checkpoints import Checkpoint
from embinit.lab.data.sources.base import SOURCES, Source, SourceEntry, Vectors
from embinit.lab.data.stored_tensors import is_float

ENDINGS = {
    "bert": ("embeddings.word_embeddings.weight",),
    "t5": ("shared.weight", "encoder.embed_tokens.weight"),
    "mt5": ("shared.weight", "encoder.embed_tokens.weight"),
}
OTHER_ENDINGS = ("word_embeddings.weight", "embed_tokens.weight", "shared.weight", "wte.weight")
WIDTHS = ("hidden_size", "d_model", "n_embd")


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
    def _model(self) -> Checkpoint:
        return Checkpoint(self.location)

    @cached_property
    def dim(self) -> int:
        """D, from the model's configuration.

        Raises:
            InputError: There is no configuration, or it names no width.
        """
        config = self._model.config
        path = self._model.path("config.json")
        for key in WIDTHS:
            if key in config:
                width = config[key]
                if type(width) is not int or not 0 < width <= MOST_DIM:
                    raise InputError(
                        f"{path}: {key} is {str(width)[:60]}, which is no width; "
                        "fetch the model again"
                    )
                return width
        raise InputError(
            f"{path} names no width ({', '.join(WIDTHS)}); fetch the model again, or add it"
        )

    def check(self) -> None:
        """Looks at the configuration and at the names of the tensors, in little time.

        Raises:
            InputError: The model is broken, or has no table.
        """
        self._key()
        _ = self.dim

    def fingerprint(self) -> str:
        """The digest of the file that holds the table."""
        return digest(self._model.path(self._model.files[self._key()]))

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The rows of the table for ``words``, by the ids of the model's tokenizer.

        Raises:
            InputError: The model can't be read, or a row is not finite.
        """
        from embinit.lab.data.tokenizers import HuggingFace

        ids, table = HuggingFace(self.location).ids(), self.table
        if table.shape[1] != self.dim:
            raise InputError(
                f"{self.location}: the table is {table.shape[1]} wide and config.json says "
                f"{self.dim}; put the files of one model there"
            )
        rows = torch.tensor([ids.get(word, -1) for word in words], dtype=torch.int64)
        if len(rows) and int(rows.max()) >= len(table):
            word = words[int(rows.argmax())]
            raise InputError(
                f"{self.location}: the table has {len(table)} rows, and the tokenizer's id of "
                f"{word[:60]!r} is {int(rows.max())}; put the files of one model there"
            )
        found = rows >= 0
        values = torch.zeros(len(words), table.shape[1])
        values[found] = table[rows[found]].float()
        bad = (~values.isfinite().all(dim=1)).nonzero().flatten().tolist()
        if bad:
            raise InputError(
                f"{self.location}: the vector of {words[bad[0]][:60]!r} is not finite; fetch the "
                "weights again"
            )
        return Vectors(values, found)

    @cached_property
    def table(self) -> Float[Tensor, "V D"]:
        """The whole table, in the precision that it is stored in. V is the model's vocabulary.

        Raises:
            InputError: The weights can't be read, or no single tensor is an input embedding.
        """
        key = self._key()
        table = self._model[key]
        if len(table.shape) != 2 or 0 in table.shape or not is_float(table):
            raise InputError(
                f"{self.location}, tensor {key[:60]}: it is {table.dtype} {table.shape}, and must "
                "be an (N, D) table of floats; take the model in float32, float16 or bfloat16"
            )
        return table.whole()

    def _key(self) -> str:
        """The embedding tensor's name."""
        names = list(self._model)
        endings = ENDINGS.get(self._model.config.get("model_type", ""), OTHER_ENDINGS)
        for ending in endings:
            keys = [key for key in names if key == ending or key.endswith(f".{ending}")]
            if len(keys) == 1:
                return keys[0]
        raise InputError(
            f"{self.location}: no single tensor is named like an input embedding "
            f"({', '.join(endings)}); it has {', '.join(sorted(names)[:8])[:300]} …; "
            "name a model that has one"
        )


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
