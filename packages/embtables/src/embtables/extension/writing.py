"""Writing of an extended model: changed tensors by rows, all else copied, atomically.

No model is built. Old rows are copied bit for bit from file to file.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.data.checkpoints import read_json
from embinit.lab.data.stored_tensors import DTYPES, StoredTensor
from embtables.checkpoints import Checkpoint, Tensors
from embtables.new_tensors import BLOCK_VALUES, NewTensor, changed, copied, write_safetensors

STALE = (
    "tf_model.h5",
    "flax_model.msgpack",
    "rust_model.ot",
    "*.onnx",
    "*.gguf",
    "*.bin",
    "*.pth",
    "*.safetensors",
    "*.index.json",
)
"""Other formats of weight files, which would hold the old table."""


@contextlib.contextmanager
def whole_directory(to: Path, size: int) -> Iterator[Path]:
    """A temporary directory that becomes ``to`` at the end, or is removed after an error.

    Args:
        to: Where the directory is to appear; it may not exist, or be empty.
        size: The bytes that will be written.

    Raises:
        InputError: ``to`` has something in it, or there is no room on its disk.
    """
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise InputError(f"{to} exists already; name a new directory")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(to.parent).free
        if free < size:
            raise InputError(
                f"{to} takes {size / 1e6:,.0f} MB and its disk has {free / 1e6:,.0f} MB left; make "
                "room, or name a directory on another disk"
            )
        temporary = Path(tempfile.mkdtemp(dir=to.parent, prefix=f".{to.name}."))
    except OSError as error:
        raise InputError(f"{to} can't be written: {error.strerror or error}") from error
    try:
        yield temporary
        temporary.chmod(0o755)
        os.replace(temporary, to)
    except OSError as error:
        raise InputError(
            f"{to} can't be written: {error.strerror or error}; nothing is left of it"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def by_rows(tensor: StoredTensor, sources: Sequence[int], made: Mapping[int, Tensor]) -> NewTensor:
    """A tensor with a row for each token, in the extended model.

    Args:
        tensor: (V, ...), or (1, V) for a bias that is kept so.
        sources: For each new row the old one that it keeps; -1 for new ones.
        made: The new rows, in any float type.

    Raises:
        InputError: A new row is too large for the tensor's type.
    """
    flat = len(tensor.shape) == 2 and tensor.shape[0] == 1 != len(sources)
    dtype = DTYPES[tensor.dtype]
    for row, values in made.items():
        if not bool(values.to(dtype).isfinite().all()):
            raise InputError(
                f"the new row {row} of {tensor.name!r} is too large for {tensor.dtype}; take "
                "another method, or save the model in float32 first"
            )
    if flat:
        old = tensor.rows(0, 1)[0]
        values = torch.stack(
            [old[of] if of >= 0 else made[row].to(dtype) for row, of in enumerate(sources)]
        )
        return changed(tensor.name, tensor.dtype, (1, len(sources)), [values])
    shape = (len(sources), *tensor.shape[1:])
    return changed(tensor.name, tensor.dtype, shape, _pieces(tensor, sources, made))


def _pieces(
    tensor: StoredTensor, sources: Sequence[int], made: Mapping[int, Tensor]
) -> Iterator[Tensor]:
    """The rows in order: stored runs of kept rows, and new rows in between."""
    dtype = DTYPES[tensor.dtype]
    most = max(1, BLOCK_VALUES // max(1, tensor.shape[-1] if len(tensor.shape) > 1 else 1))
    row = 0
    while row < len(sources):
        of, length = sources[row], 1
        if of < 0:
            yield made[row].to(dtype)
        else:
            while (
                length < most
                and row + length < len(sources)
                and sources[row + length] == of + length
            ):
                length += 1
            yield tensor.rows(of, of + length)
        row += length


def write_weights(
    checkpoint: Checkpoint, to: Path, rewritten: Mapping[str, Callable[[], NewTensor]]
) -> None:
    """Writes all tensors of a checkpoint as safetensors, in the shards that it has.

    Args:
        checkpoint: The old model.
        to: The directory to write into.
        rewritten: The tensors that change, by name.
    """
    tensors = checkpoint.tensors
    assert isinstance(tensors, Tensors)
    shards = {_as_safetensors(file): names for file, names in tensors.files().items()}
    total = 0
    for file, names in shards.items():
        new = [rewritten[n]() if n in rewritten else copied(tensors[n]) for n in names]
        total += sum(each.size for each in new)
        with (to / file).open("wb") as handle:
            write_safetensors(handle, new)
            handle.flush()
            os.fsync(handle.fileno())
    if set(shards) != {"model.safetensors"}:
        index = {
            "metadata": {"total_size": total},
            "weight_map": {name: file for file, names in shards.items() for name in names},
        }
        text = json.dumps(index, indent=2, sort_keys=True)
        (to / "model.safetensors.index.json").write_text(text + "\n", encoding="utf-8")


def weight_bytes(checkpoint: Checkpoint) -> int:
    """The bytes of all tensors."""
    return sum(copied(checkpoint.tensors[name]).size for name in checkpoint.tensors)


def copy_others(directory: Path, to: Path, written: Collection[str]) -> list[str]:
    """Copies all files but weights and configurations; returns the names of skipped ones.

    Args:
        directory: The old model's directory.
        to: The new one's.
        written: Files that are written anew, such as those of a tokenizer.
    """
    left = []
    known = shutil.ignore_patterns(*STALE)
    for path in sorted(directory.iterdir()):
        if path.name in written or path.name in ("config.json", "generation_config.json"):
            continue
        if path.name.startswith(".") or path.name == "extension.json":
            continue
        if path.is_dir():
            shutil.copytree(path, to / path.name, ignore=known)
        elif known(str(directory), [path.name]):
            if not _is_own_weights(path.name):
                left.append(path.name)
        else:
            shutil.copyfile(path, to / path.name)
    return left


def write_configs(
    directory: Path, to: Path, old_rows: int, rows: int, ids: Mapping[str, int | None] | None
) -> None:
    """Writes the configurations with the new number of rows, and the special tokens' new ids.

    Args:
        directory: The old model's directory.
        to: The new one's.
        old_rows: V.
        rows: The new number of rows.
        ids: The new ids by their settings, such as ``pad_token_id``; None to keep them.
    """
    for name in ("config.json", "generation_config.json"):
        if (directory / name).exists():
            config = _resized(read_json(directory / name), old_rows, rows, ids)
            text = json.dumps(config, indent=2, ensure_ascii=False)
            (to / name).write_text(text + "\n", encoding="utf-8")


def _resized(
    config: dict[str, Any], old_rows: int, rows: int, ids: Mapping[str, int | None] | None
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            made[key] = _resized(value, old_rows, rows, ids)
        elif key == "vocab_size" and value == old_rows:
            made[key] = rows
        elif ids is not None and key in ids and isinstance(value, int):
            made[key] = ids[key]
        else:
            made[key] = value
    return made


def _as_safetensors(file: str) -> str:
    """The name of a weight file as safetensors."""
    if file.endswith(".safetensors"):
        return file
    return file.replace("pytorch_model", "model").removesuffix(".bin") + ".safetensors"


def _is_own_weights(name: str) -> bool:
    return name.startswith(("model", "pytorch_model"))
