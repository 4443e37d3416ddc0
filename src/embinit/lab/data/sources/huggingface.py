"""The input embeddings of a Hugging Face model, from a directory or from the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.writing import digest
from embinit.lab.data.checkpoints import INPUT_TABLES, Checkpoint, check_table, input_tables
from embinit.lab.data.sources.base import Vectors


@dataclass(frozen=True)
class HuggingFaceTable:
    """The input embedding table of a model, by its directory or its id on the Hub."""

    name: str
    location: str
    languages: frozenset[str]

    @property
    def tokenizer(self) -> str:
        """The model's own tokenizer."""
        return f"hf:{self.location}"

    @property
    def dim(self) -> int:
        """D, the table's width."""
        return self.table.shape[1]

    def check(self) -> None:
        """Looks for the table; InputError if the model is broken or has none."""
        _ = self.table

    def fingerprint(self) -> str:
        """The digest of the file that holds the table."""
        return digest(self._model.path(self._model.files[self._key]))

    def lookup(self, words: Sequence[str], language: str | None = None) -> Vectors:
        """The rows of ``words``; InputError if the model can't be read or a row is not finite."""
        from embinit.lab.data.tokenizers import HuggingFace

        ids, table = HuggingFace(self.location).ids(), self.table
        rows = [ids.get(word, -1) for word in words]
        if (last := max(rows, default=-1)) >= len(table):
            raise InputError(
                f"{self.location}: the table has {len(table)} rows, and the tokenizer's id of "
                f"{words[rows.index(last)][:60]!r} is {last}; put the files of one model there"
            )
        vectors = Vectors.of_rows(table, rows)
        if bad := (~vectors.values.isfinite().all(dim=1)).nonzero().tolist():
            raise InputError(
                f"{self.location}: the vector of {words[bad[0][0]][:60]!r} is not finite; fetch "
                "the weights again"
            )
        return vectors

    @cached_property
    def table(self) -> Float[Tensor, "V D"]:
        """The whole table in its stored precision; InputError if no one tensor is the embedding."""
        table = self._model[self._key]
        check_table(self.location, self._key, table)
        return table

    @cached_property
    def _model(self) -> Checkpoint:
        return Checkpoint(self.location)

    @cached_property
    def _key(self) -> str:
        names = list(self._model)  # what has no weights is no model, whatever else it lacks
        found = input_tables(self._model, self._model.config.get("vocab_size"))
        if len({self._model[name].shape for name in found}) == 1:
            return found[0]
        raise InputError(
            f"{self.location}: no single tensor is named like an input embedding "
            f"({', '.join(INPUT_TABLES)}); it has {', '.join(sorted(names)[:8])[:300]} …; "
            "name a model that has one"
        )
