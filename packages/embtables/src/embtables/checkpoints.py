"""A model's checkpoint: its configuration and its tensors by name, without the model.

A checkpoint is a Hugging Face directory (safetensors, in shards or not, or ``pytorch_model.bin``),
a single file of tensors, or a model's id on the Hub, of which only the needed files are fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import regular
from embinit.files.writing import hub_reachable
from embinit.lab.data.checkpoints import WEIGHTS, read_json, read_tensors, shard_files
from embinit.lab.data.stored_tensors import StoredTensor

TENSOR_ENDINGS = (".safetensors", ".bin", ".pt", ".pth")
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


class Tensors(Mapping[str, StoredTensor]):
    """A mapping of tensors by name, which reads a file's header at the first access to it.

    Args:
        files: The file of each tensor.
        path: Where a file of that name lies. It may fetch the file.
    """

    def __init__(self, files: Mapping[str, str], path: Callable[[str], Path]) -> None:
        self._files = files
        self._path = path
        self._read: dict[str, dict[str, StoredTensor]] = {}

    def __getitem__(self, name: str) -> StoredTensor:
        """The tensor of a name.

        Raises:
            InputError: Its shard is missing or broken.
        """
        file = self._files[name]
        if file not in self._read:
            self._read[file] = read_tensors(self._path(file))
        if name not in self._read[file]:
            raise InputError(
                f"{self._path(file)} has no tensor {name!r}, which the index says is there; "
                "fetch both again"
            )
        return self._read[file][name]

    def __iter__(self) -> Iterator[str]:
        """The names of all tensors."""
        return iter(self._files)

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self._files)

    def files(self) -> dict[str, list[str]]:
        """The names of the tensors of each file."""
        names: dict[str, list[str]] = {}
        for name, file in self._files.items():
            names.setdefault(file, []).append(name)
        return names


@dataclass(frozen=True)
class Checkpoint:
    """A model's configuration and tensors.

    Attributes:
        location: A directory, a file, or an id on the Hub.
        tensors: The tensors by name.
        config: The configuration; empty where there is none.
        directory: The directory of a local model; None for a file or a model on the Hub.
        path: Where one of the model's files lies; None if the model has no such file.
    """

    location: str
    tensors: Mapping[str, StoredTensor]
    config: Mapping[str, Any] = field(default_factory=dict)
    directory: Path | None = None
    path: Callable[[str], Path | None] = lambda name: None


def is_hub_id(location: str) -> bool:
    """Whether a text could be a model's id on the Hub."""
    return not Path(location).exists() and _HUB_ID.fullmatch(location) is not None


def open_checkpoint(location: str | Path) -> Checkpoint:
    """Opens a directory, a file of tensors, or a model on the Hub. No tensor's values are read.

    Raises:
        InputError: There are no weights, or they are broken, an adapter's, or in a format that
            can't be read.
    """
    path = Path(location)
    if path.is_dir():
        return _open_model(str(path), path, lambda name: existing(path / name))
    if path.exists():
        return Checkpoint(str(path), read_tensors(path), path=lambda name: None)
    if is_hub_id(str(location)):
        return _open_model(str(location), None, lambda name: _fetched(str(location), name))
    raise InputError(
        f"{location} doesn't exist; name a model's directory, a file of tensors or vectors, or a "
        "model's id on the Hub"
    )


HUB_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.py", "*.md", "LICENSE*", "*.safetensors")
"""Patterns of the files that are fetched from the Hub: all but weights in other formats."""


def local_directory(location: str | Path) -> Path:
    """A model's directory on this machine; one on the Hub is fetched into the Hub's own cache.

    Without a network the cache alone is looked at.

    Args:
        location: A path, which is returned as it is, or a model's id on the Hub.

    Raises:
        InputError: There is no such path, and no model of that name can be fetched.
    """
    if not is_hub_id(str(location)):
        return Path(location)
    from huggingface_hub import snapshot_download

    name, local = str(location), not hub_reachable()
    try:
        directory = Path(
            snapshot_download(name, allow_patterns=list(HUB_FILES), local_files_only=local)
        )
        if not any(directory.glob("*.safetensors")):
            torch_files = [*HUB_FILES, "pytorch_model*.bin"]
            snapshot_download(name, allow_patterns=torch_files, local_files_only=local)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{name} is no path here and can't be fetched from the Hub ({reason}); name a "
            "directory with the model's files, or look at the name and the network"
        ) from error
    return directory


def is_quantised(config: Mapping[str, Any]) -> bool:
    """Whether a configuration says that the weights are quantised."""
    return bool(config.get("quantization_config"))


def _open_model(
    location: str, directory: Path | None, path: Callable[[str], Path | None]
) -> Checkpoint:
    weights = next((name for name in WEIGHTS if path(name)), None)
    index = None if weights else next((n for n in WEIGHTS if path(f"{n}.index.json")), None)
    config_path = path("config.json")
    if weights is None and index is None:
        raise InputError(_without_weights(location, directory, path))
    if config_path is None:
        raise InputError(f"{location} has no config.json; put the model's configuration there")
    if weights is not None:
        files = dict.fromkeys(read_tensors(_needed(location, weights, path)), weights)
    else:
        files = shard_files(_needed(location, f"{index}.index.json", path))
    tensors = Tensors(files, lambda name: _needed(location, name, path))
    return Checkpoint(location, tensors, read_json(config_path), directory, path)


def _without_weights(
    location: str, directory: Path | None, path: Callable[[str], Path | None]
) -> str:
    if path("adapter_config.json"):
        return (
            f"{location} is an adapter (LoRA) and no model; merge it into its base model "
            "(peft's merge_and_unload), save that, and name its directory"
        )
    if directory is not None and any(directory.glob("*.gguf")):
        return f"{location} has quantised GGUF files; name the checkpoint they were made from"
    if directory is None:
        return (
            f"{location} is no path here, and no weights of that name can be fetched from the Hub; "
            "name a directory with the model's files, or look at the name and the network"
        )
    others = ""
    if present := sorted(directory.glob("*.safetensors")):
        others = f" (it has {', '.join(each.name for each in present[:3])}, but no index of shards)"
    return (
        f"{location} has neither of {', '.join(WEIGHTS)}, whole or in shards with their index"
        f"{others}; put the model's weights there"
    )


def existing(path: Path) -> Path | None:
    """The path of a model's file; None if it does not exist.

    Raises:
        InputError: It is no file that can be read, such as a pipe.
    """
    return regular(path, "put the model's file there") if path.exists() else None


def _needed(location: str, name: str, path: Callable[[str], Path | None]) -> Path:
    where = path(name)
    if where is None:
        raise InputError(f"{location} has no {name}, which holds part of the weights; fetch it")
    return where


def _fetched(location: str, name: str) -> Path | None:
    """The path of a model's file fetched from the Hub; None if it does not exist."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    try:
        return Path(hf_hub_download(location, name, local_files_only=not hub_reachable()))
    except LocalEntryNotFoundError:
        return None
    except EntryNotFoundError:
        return None
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{name} of {location!r} can't be fetched ({reason}); name a directory with the "
            "model's files"
        ) from error
