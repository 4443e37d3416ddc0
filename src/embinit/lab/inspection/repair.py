"""Repair of a model or of arrays: a copy, with new rows for those that are broken.

An input row gets the direction of its token's output row at the norm of the others, where there is
an output table of its own. Other rows are drawn from a normal with the mean and the covariance of
the sound rows.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from embinit.errors import InputError, counted
from embinit.lab.data.checkpoints import Checkpoint
from embinit.lab.data.sources.arrays import ENDINGS, read_arrays
from embinit.lab.inspection import Inspection
from embinit.lab.inspection.layout import Side, Subject
from embinit.lab.inspection.subjects import subject_of
from embinit.randomness import stream

BROKEN = ("zero-rows", "near-zero-rows", "non-finite", "rows-alike")
"""The findings whose rows are made anew."""

WEIGHTS = ("*.h5", "*.msgpack", "*.ot", "*.onnx", "*.gguf", "*.bin", "*.pth", "*.safetensors")
"""Weight files; a copy has those of them that the model is read from."""

AT_MOST = 0.1
"""The largest share of a table's rows that is replaced, unless another is given."""

New = Mapping[str, tuple[Sequence[int], Tensor]]
"""The new rows of each tensor: their numbers and their values."""

BLOCK = 256
"""The number of new rows whose weights are held at once."""


@dataclass(frozen=True)
class Repair:
    """The rows of each table that were made anew, and files that hold the old table, not copied."""

    to: Path
    rows: Mapping[Side, tuple[int, ...]]
    left_out: tuple[str, ...]

    def as_text(self) -> str:
        """What was written, for the terminal."""
        lines = [
            f"{self.to}: {counted(len(rows), 'row')} of the {side} table replaced"
            for side, rows in self.rows.items()
        ]
        if self.left_out:
            lines.append(f"not copied, because they have the old table: {', '.join(self.left_out)}")
        return "\n".join(lines)


def check_copied(model: Path) -> None:
    """Refuses what can't be copied."""
    if not (model.is_dir() or model.suffix in ENDINGS):
        raise InputError(
            f"{model} is neither a directory nor an array of NumPy's ({', '.join(ENDINGS)}); "
            "--repair copies only these"
        )


def repair(
    model: Path,
    to: Path,
    found: Inspection,
    tensor: str | None = None,
    at_most: float = AT_MOST,
) -> Repair:
    """Writes a copy of a model with new rows for the broken ones that its inspection ``found``.

    The copy of an array has the ending of the ``model``, which is added to ``to`` if it lacks it.

    InputError if there is nothing to repair, if it would replace more than the share ``at_most`` of
    a table's rows, or if it can't be written. Nothing is written then.
    """
    broken = _broken(found)
    if not broken:
        raise InputError(f"{model} has no row to repair; there is nothing to write")
    subject = subject_of(model, tensor)
    for side, rows in broken.items():
        [name, *_], table = subject.tables[side]
        if len(rows) > at_most * len(table):
            raise InputError(
                f"{model} has {len(rows):,} rows to replace of the {len(table):,} of {name}, which "
                f"is more than {100 * at_most:g} %; if these rows are broken, allow it by "
                f"--repair-at-most {math.ceil(1000 * len(rows) / len(table)) / 1000:g}"
            )
    new = {
        name: (broken[side], values)
        for side, values in _made(subject, broken).items()
        for name in subject.tables[side].names
    }
    if model.suffix in ENDINGS and model.is_file():
        to = to if to.suffix == model.suffix else to.with_name(f"{to.name}{model.suffix}")
        with _whole(to) as copy:
            _copy_arrays(model, copy, new)
        return Repair(to, broken, ())
    with _whole(to) as copy:
        return Repair(to, broken, _copy(Checkpoint(str(model)), model, copy, new))


def _broken(found: Inspection) -> dict[Side, tuple[int, ...]]:
    """The rows of each table to make anew."""
    rows: dict[Side, set[int]] = {}
    for finding in found.findings:
        if finding.name in BROKEN:
            rows.setdefault(finding.side, set()).update(set(finding.rows) - set(finding.kept))
    return {side: tuple(sorted(broken)) for side, broken in sorted(rows.items())}


def _made(subject: Subject, broken: Mapping[Side, Sequence[int]]) -> dict[Side, Tensor]:
    """The new rows of each table."""
    made: dict[Side, Tensor] = {}
    for side, rows in broken.items():
        table = subject.tables[side].values.float()
        norms = table.double().norm(dim=1)
        sound = norms.isfinite() & (norms > 0)
        sound[list(rows)] = False
        if subject.ids:
            sound[[row for row in range(len(sound)) if row not in subject.names]] = False
        if int(sound.sum()) < 2:
            raise InputError(f"{subject.name} has fewer than two sound rows with a token")
        made[side] = drawn(table[sound], len(rows), stream(0, f"inspection/repair/{side}"))
        head = subject.tables.get("output")
        if side == "input" and head is not None and len(head.values) == len(table):
            directions = head.values[list(rows)].float().nan_to_num(0.0, 0.0, 0.0)
            own = directions.norm(dim=1, keepdim=True)
            own[[row in broken.get("output", ()) for row in rows]] = 0.0  # these have no direction
            length = norms[sound].pow(2).mean().sqrt().float()
            along = directions / own.clamp(min=1e-30) * length
            made[side] = torch.where(own > 0, along, made[side])
    return made


def drawn(sound: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Rows from a normal with the mean and the covariance of the sound rows (V, D): (count, D).

    A row is the mean plus a combination of the centred rows with normal weights of variance 1 / V.
    So no covariance is formed or factored, and a singular one is no special case.
    """
    mean = sound.double().mean(dim=0)
    made = []
    for low in range(0, count, BLOCK):
        size = min(BLOCK, count - low)
        weights = torch.randn(size, len(sound), generator=generator, dtype=torch.float64)
        weights /= len(sound) ** 0.5
        # The sum over centred rows, without centring a copy of the table.
        noise = (weights.float() @ sound).double() - weights.sum(dim=1, keepdim=True) * mean
        made.append((mean + noise).float())
    return torch.cat(made)


def _copy(model: Checkpoint, directory: Path, to: Path, new: New) -> tuple[str, ...]:
    """Copies a model with new rows; returns the names of files that were left out."""
    kept = set(model.files.values())
    weights = {path.name for pattern in WEIGHTS for path in directory.glob(pattern)} - kept
    indexes = {f"{name}.index.json" for name in weights}
    shutil.copytree(directory, to, ignore=shutil.ignore_patterns(".*", *weights, *indexes))
    to.chmod(0o755)
    for file in {model.files[name] for name in new}:
        tensors = {name: model[name] for name, where in model.files.items() if where == file}
        for name in new.keys() & tensors.keys():
            tensors[name] = _with_rows(name, tensors[name], *new[name])
        (to / file).unlink()
        if file.endswith(".safetensors"):
            save_file(tensors, to / file, metadata={"format": "pt"})
        else:
            torch.save(tensors, to / file)
    return tuple(sorted(weights))


def _copy_arrays(path: Path, to: Path, new: New) -> None:
    """Copies an array, or an archive of arrays, with new rows."""
    arrays = read_arrays(path)
    for name, rows in new.items():
        arrays[name] = _with_rows(name, torch.from_numpy(arrays[name]), *rows).numpy()
    if path.suffix == ".npy":
        np.save(to, arrays[path.name])
    else:
        np.savez(to, **arrays)  # type: ignore[arg-type]  # an option that no array is named like


def _with_rows(name: str, table: Tensor, rows: Sequence[int], values: Tensor) -> Tensor:
    """A copy of a table with new values of some rows; InputError where its type can't hold them."""
    table = table.clone()
    table[list(rows)] = values.to(table.dtype)
    if not bool(table[list(rows)].isfinite().all()):
        raise InputError(f"a new row of {name!r} is too large for its type; save it in float32")
    return table


@contextlib.contextmanager
def _whole(to: Path) -> Iterator[Path]:
    """A path for what becomes ``to`` at the end, or is removed after an error; InputError then."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to} exists already; name a new path")
    made = functools.partial(tempfile.TemporaryDirectory, ignore_cleanup_errors=True)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        with made(dir=to.parent, prefix=f".{to.name}.") as directory:
            yield Path(directory, to.name)
            os.replace(Path(directory, to.name), to)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"{to} can't be written: {reason}; nothing is left of it") from error
