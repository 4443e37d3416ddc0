"""A trained table with its words and the record of its training, on disk as safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.files.reading import parse_json, reading, regular
from embinit.files.writing import write_atomically


@dataclass(frozen=True)
class TrainedTable:
    """A table that was trained on unlabelled text.

    Attributes:
        words: N words.
        values: A row for each word, float32.
        record: How the table was trained: objective, steps, sentences, seed.
    """

    words: tuple[str, ...]
    values: Float[Tensor, "N D"]
    record: Mapping[str, str] = field(default_factory=dict)

    @property
    def sigma(self) -> float:
        """The standard deviation over all values (divided by n)."""
        return self.values.std(correction=0).item()


def save_table(table: TrainedTable, path: Path, kept_as: torch.dtype = torch.float32) -> None:
    """Writes a table, whole or not at all. Torch's version and its sigma are added to its record.

    Args:
        table: The table.
        path: Where to write it.
        kept_as: The type of the numbers on disk. Half precision moves a value by 0.05 % at most,
            or by 6e-8 below 1e-4.
    """
    from safetensors.torch import save

    kept = table.values.to(kept_as).contiguous()
    metadata = {
        **table.record,
        "torch": torch.__version__,
        "sigma": f"{kept.float().std(correction=0).item():.6g}",
        "words": json.dumps(table.words),
    }
    write_atomically(path, save({"table": kept}, metadata=metadata))


MAKE = "python -m embinit.lab.table_pretraining make"


def load_table(path: Path, mend: str = f"make it with `{MAKE}`") -> TrainedTable:
    """Reads a table that ``save_table`` wrote.

    Args:
        path: The file.
        mend: What to do about a file that can't be used, for the error.

    Raises:
        InputError: There is no such file, or it is no table with its words.
    """
    from safetensors import safe_open

    if not path.exists():
        raise InputError(f"{path}: there is no such table; {mend}")
    with reading(regular(path, mend), mend), safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata() or {})
        if "table" not in file.keys() or "words" not in metadata:  # noqa: SIM118
            raise InputError(f"{path}: not a table with its words; {mend}")
        values = file.get_tensor("table").float()
        words = parse_json(metadata.pop("words"))
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{path}: its words are no list of words; {mend}")
    if values.ndim != 2 or not bool(values.isfinite().all()):
        raise InputError(f"{path}: its table is no (N, D) table of finite numbers; {mend}")
    if len(words) != len(values):
        raise InputError(f"{path}: {len(words)} words but {len(values)} rows; {mend}")
    return TrainedTable(tuple(words), values, metadata)
