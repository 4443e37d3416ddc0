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
from embinit.files.reading import reading
from embinit.files.writing import write_atomically


@dataclass(frozen=True)
class TrainedTable:
    """A float32 table of N words, and how it was trained: objective, steps, seed and so on."""

    words: tuple[str, ...]
    values: Float[Tensor, "N D"]
    record: Mapping[str, str] = field(default_factory=dict)

    @property
    def sigma(self) -> float:
        """The standard deviation over all values (divided by n)."""
        return self.values.std(correction=0).item()


def save_table(table: TrainedTable, path: Path, kept_as: torch.dtype = torch.float32) -> None:
    """Writes a table, whole or not at all; its record gets Torch's version and the table's sigma.

    Kept in half precision, a value moves by 0.05 % at most, or by 6e-8 below 1e-4.
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
    """Reads a table that ``save_table`` wrote; InputError, ending in ``mend``, if that fails."""
    from safetensors import safe_open

    if not path.exists():
        raise InputError(f"{path}: there is no such table; {mend}")
    with reading(path, mend), safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata() or {})
        values = file.get_tensor("table").float()
        words = json.loads(metadata.pop("words"))
    if not isinstance(words, list) or values.ndim != 2 or len(words) != len(values):
        raise InputError(f"{path}: not a table with its words; {mend}")
    if not values.isfinite().all():
        raise InputError(f"{path}: its table has a NaN or an infinity; {mend}")
    return TrainedTable(tuple(words), values, metadata)
