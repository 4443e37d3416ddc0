"""A model's configuration and tensors by name, without the model.

They come from a Hugging Face directory (safetensors or ``pytorch_model.bin``, in shards or not) or
from an id on the Hub, of which only the needed files are fetched. Tensors are memory-mapped: their
values are read when they are used. PyTorch's files are read only as far as they hold nothing but
tensors (``weights_only``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from embinit.errors import InputError, counted
from embinit.files.reading import plain_name, read_json, reading, regular
from embinit.files.writing import hub_reachable

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Names of weight files, the preferred one first; shards have an index."""

FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""The types of unquantised values."""


def weights(names: str) -> tuple[str, ...]:
    """The ends of the names of weight tensors, of the names of their modules."""
    return tuple(f"{name}.weight" for name in names.split())


INPUT_TABLES = weights(
    "shared embed_tokens wte word_embeddings embed_in tok_embeddings word_embedding embeddings "
    "embedding"
)
"""Names of input tables; tables that others are copies of come first."""

POSITIONS = weights("position_embeddings wpe embed_positions")
"""Names of tables of learned positions."""


def ending(tensors: Iterable[str], endings: Iterable[str]) -> list[str]:
    """The names with one of the endings, in the order of the endings."""
    names = list(tensors)
    return [name for end in endings for name in names if name == end or name.endswith(f".{end}")]


def input_tables(tensors: Mapping[str, Tensor], vocabulary: object) -> list[str]:
    """The names of tensors that may be the input table, those of so many rows where there are any.

    Tensors of one shape are taken for copies of the first.
    """
    named = [
        name
        for name in dict.fromkeys(ending(tensors, INPUT_TABLES))
        if tensors[name].ndim == 2 and not ending([name], POSITIONS)
    ]
    return [name for name in named if len(tensors[name]) == vocabulary] or named


def check_table(where: object, name: str, table: Tensor) -> None:
    """Raises an InputError for a tensor that is no (N, D) table of unquantised floats."""
    if table.layout != torch.strided or table.is_meta:
        raise InputError(
            f"{where}: {name[:60]!r} is {table.layout} on {table.device} and no plain table; save "
            "it as a dense tensor with its values"
        )
    if table.dtype not in FLOATS:
        raise InputError(
            f"{where}: {name[:60]!r} is {table.dtype}, so it is quantised or no plain table; name "
            "the checkpoint before it was quantised"
        )
    if table.ndim != 2 or table.numel() == 0:
        unsaved = ", so its values were not saved" if table.numel() == 0 else ""
        raise InputError(
            f"{where}: {name[:60]!r} has shape {tuple(table.shape)}{unsaved}; a table has rows and "
            "columns"
        )


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; InputError if it is missing, broken or of another format.

    Where reading the file could run code, that is an InputError too.
    """
    regular(path, "name a model's directory or a file")
    if path.suffix == ".gguf":
        raise InputError(f"{path} is a quantised GGUF file; name the checkpoint it was made from")
    if path.suffix == ".safetensors":
        with reading(path), safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    mend = (
        "fetch it again; if reading it could run code, or it is older than PyTorch 1.6, convert "
        "it to safetensors where you trust it"
    )
    with reading(path, mend):
        content = torch.load(path, mmap=True, weights_only=True, map_location="cpu")
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__} and no tensors by name; {mend}")
    tensors = {
        name: values
        for name, values in content.items()
        if isinstance(name, str) and isinstance(values, Tensor)
    }
    for name, values in tensors.items():
        whole = values.layout == torch.strided and not values.is_meta
        if whole and values.nbytes > path.stat().st_size:
            raise InputError(  # a few bytes can be repeated to any shape
                f"{path}, tensor {name[:60]!r}: it is repeated to {tuple(values.shape)}, more than "
                f"the file has; {mend}"
            )
    return tensors


def read_object(path: Path, what: str = "no JSON object") -> dict[str, Any]:
    """The object in a model's JSON file; InputError if the file holds anything else."""
    content = read_json(path, "fetch the model again")
    if not isinstance(content, dict):
        raise InputError(f"{path} is {what}; fetch the model again")
    return content


class Checkpoint(Mapping[str, Tensor]):
    """A model's tensors by name, of a directory or an id on the Hub, read when asked for."""

    def __init__(self, location: str) -> None:
        self.location = location
        self._directory = Path(location) if Path(location).is_dir() else None
        self._read: dict[str, dict[str, Tensor]] = {}

    def path(self, name: str) -> Path:
        """A file of the model, perhaps fetched from the Hub; InputError if it can't be read."""
        if self._directory is not None:
            path = self._directory / name
            if not path.exists():
                raise InputError(f"{self.location} has no {name}; put the model's files there")
            return regular(path, "put the model's file there")
        try:
            from huggingface_hub import hf_hub_download

            local = not hub_reachable()
            return Path(hf_hub_download(self.location, name, local_files_only=local))
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"{name} of {self.location!r} can't be fetched ({reason}); name a directory with "
                "the model's files; those of a source go into the data directory (see the "
                "README), which --embinit-data-dir names"
            ) from error

    def present(self, name: str) -> Path | None:
        """A file of the model, or None if it has none; InputError if the file can't be read."""
        if self._directory is not None:
            return self.path(name) if (self._directory / name).exists() else None
        try:
            return self.path(name)
        except InputError:
            return None

    @cached_property
    def config(self) -> dict[str, Any]:
        """The model's configuration; InputError if there is none."""
        return read_object(self.path("config.json"), "no model's configuration")

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The name of each tensor's file; InputError if there are no weights, or broken ones."""
        for name in WEIGHTS:
            if path := self.present(name):
                self._read[name] = read_tensors(path)
                return dict.fromkeys(self._read[name], name)
        for name in WEIGHTS:
            if path := self.present(f"{name}.index.json"):
                files = read_object(path).get("weight_map")
                if isinstance(files, dict) and files and all(map(plain_name, files.values())):
                    return files
                raise InputError(
                    f"{path} names no file of the model's own directory for each tensor "
                    "(weight_map); fetch the model again"
                )
        raise InputError(self._without_weights())

    def _without_weights(self) -> str:
        if self.present("adapter_config.json"):
            adapter = self.present("adapter_model.safetensors")
            tensors = read_tensors(adapter) if adapter else {}
            empty = [name for name, tensor in tensors.items() if tensor.numel() == 0]
            if empty:
                return (
                    f"{adapter}: {empty[0]!r} has shape {list(tensors[empty[0]].shape)}, so its "
                    f"values were not saved ({counted(len(empty), 'such tensor')}); save the "
                    "adapter again from gathered weights (DeepSpeed ZeRO-3: "
                    "stage3_gather_16bit_weights_on_model_save)"
                )
            return (
                f"{self.location} is an adapter (LoRA) and no model; merge it into its base model "
                "(peft's merge_and_unload), save that, and name its directory"
            )
        if self._directory is None:
            return (
                f"{self.location} is no path here, and no weights of that name can be fetched "
                "from the Hub; name a directory with the model's files, or check the name and the "
                "network"
            )
        if any(self._directory.glob("*.gguf")):
            return (
                f"{self.location} has quantised GGUF files; name the checkpoint they were made from"
            )
        return (
            f"{self.location} has neither of {', '.join(WEIGHTS)}, whole or in shards with their "
            "index; put the model's files there"
        )

    def __getitem__(self, name: str) -> Tensor:
        """The tensor of a name; InputError if its file is missing or broken."""
        file = self.files[name]
        path = self.path(file)
        if file not in self._read:
            self._read[file] = read_tensors(path)
        if name not in self._read[file]:
            raise InputError(
                f"{path} has no tensor {name[:60]!r}, which the index says is there; fetch both "
                "again"
            )
        return self._read[file][name]

    def __iter__(self) -> Iterator[str]:
        """The names of all tensors."""
        return iter(self.files)

    def __len__(self) -> int:
        """The number of tensors."""
        return len(self.files)
