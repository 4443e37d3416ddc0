"""Files of a model's weights: tensors by name, in one file or in shards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files import reading as outside
from embinit.files.reading import plain_name, regular
from embinit.lab.data.stored_tensors import StoredTensor, read_safetensors, read_torch

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Names of weight files, the preferred one first; shards have an index."""


def read_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file by name.

    Raises:
        InputError: The file is missing or broken, or of another format.
    """
    regular(path, "name a model's directory or a file")
    if path.suffix == ".safetensors":
        return read_safetensors(path)
    if path.suffix == ".gguf":
        raise InputError(f"{path} is a quantised GGUF file; name the checkpoint it was made from")
    return read_torch(path)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
        InputError: The file is no JSON, or holds something else.
    """
    content = outside.read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no JSON object; fetch it again")
    return content


def shard_files(path: Path) -> dict[str, str]:
    """The shard of each tensor, from an index of shards.

    Raises:
        InputError: The file is no index, or names a file elsewhere.
    """
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict) or not files or not all(map(plain_name, files.values())):
        raise InputError(
            f"{path} names no file of the model's own directory for each tensor (weight_map); "
            "fetch the model again"
        )
    return files
