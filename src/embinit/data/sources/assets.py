"""A trained table with its words and its record, on disk as safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from embinit.errors import InputError


@dataclass(frozen=True)
class Table:
    """``values`` is (N, D) float32, a row for each of the N ``words``.

    ``record`` says how it was trained: objective, steps, sentences, seed.
    """

    words: tuple[str, ...]
    values: torch.Tensor
    record: Mapping[str, str] = field(default_factory=dict)

    @property
    def sigma(self) -> float:
        """The standard deviation over all entries."""
        return self.values.std(correction=0).item()


def save_table(table: Table, path: Path) -> None:
    """Write a table; its record gains torch's version and sigma."""
    from safetensors.torch import save_file

    metadata = {
        **table.record,
        "torch": torch.__version__,
        "sigma": f"{table.sigma:.6g}",
        "words": json.dumps(table.words),
    }
    save_file({"table": table.values.contiguous()}, path, metadata=metadata)


def load_table(path: Path) -> Table:
    """Read what ``save_table`` wrote; InputError if there is no such file or it isn't one."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            metadata = dict(file.metadata() or {})
            values = file.get_tensor("table").float()
            words = tuple(json.loads(metadata.pop("words")))
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such table; make it with "
            "`python -m embinit.runs.table_pretraining make`"
        ) from None
    except (SafetensorError, KeyError) as error:
        raise InputError(
            f"{path}: not a table with its words ({error}); make it again with "
            "`python -m embinit.runs.table_pretraining make`"
        ) from None
    if len(words) != len(values):
        raise InputError(f"{path}: {len(words)} words but {len(values)} rows; make it again")
    return Table(words, values, metadata)


def neighbour_purity(table: Table, groups: Mapping[str, int]) -> float:
    """The share of grouped words whose nearest neighbour by cosine is of their own group.

    Only words in ``groups`` count, as words and as neighbours. By chance it is about the size of a
    group over the number of words.
    """
    rows = [row for row, word in enumerate(table.words) if word in groups]
    labels = torch.tensor([groups[table.words[row]] for row in rows])
    unit = torch.nn.functional.normalize(table.values[rows], dim=1)
    cosine = (unit @ unit.T).fill_diagonal_(-2.0)
    return (labels[cosine.argmax(1)] == labels).float().mean().item()
