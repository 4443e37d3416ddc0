"""Whole models that are inspected and extended, and spoilt like other files (see ``malformed``)."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import torch

from embinit.errors import InputError, printable
from embtables.checkpoints import open_checkpoint
from embtables.extension import extend
from embtables.inspection import inspect, load_schema
from embtables.inspection.terminal import as_text
from embtables.inspection_page import render_inspection
from embtables.new_tensors import to_bytes
from malformed import DIM, KEY, SPECIAL, TABLE, WORDS, Files, Reader


def whole_model(form: str) -> Files:
    """A model with all that inspect and extend look at: positions, a norm, a head, a bias."""
    from safetensors.torch import save

    rows = len(SPECIAL) + len(WORDS)
    tensors = {
        KEY: torch.cat([torch.zeros(1, DIM), TABLE[:4], TABLE]),
        "embeddings.position_embeddings.weight": TABLE[:6] / 2,
        "embeddings.LayerNorm.weight": torch.ones(DIM),
        "cls.predictions.bias": torch.zeros(rows),
        "cls.predictions.decoder.weight": torch.cat([TABLE, TABLE[:5]]).half(),
        "scale": torch.tensor(2.0),
    }
    config = {
        "model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": rows,
        "hidden_size": DIM, "tie_word_embeddings": False, "pad_token_id": 0,
        "initializer_range": 0.02, "logit_scale": 1.0, "embedding_multiplier": 2.0,
    }  # fmt: skip
    vocabulary = {word: row for row, word in enumerate((*SPECIAL, *WORDS))}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [
        {"id": row, "content": word, "special": True, **flags} for row, word in enumerate(SPECIAL)
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": added,
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
    files = {
        "config.json": json.dumps(config).encode(),
        "tokenizer.json": json.dumps(tokenizer).encode(),
        "tokenizer_config.json": json.dumps(settings).encode(),
    }
    if form == "bin":
        buffer = io.BytesIO()
        torch.save(tensors, buffer)
        return files | {"pytorch_model.bin": buffer.getvalue()}
    if form == "shards":
        shards = {
            "a.safetensors": [KEY],
            "b.safetensors": [name for name in tensors if name != KEY],
        }
        where = {name: file for file, names in shards.items() for name in names}
        return files | {
            "model.safetensors.index.json": json.dumps({"weight_map": where}).encode(),
            **{file: save({n: tensors[n] for n in names}) for file, names in shards.items()},
        }
    return files | {"model.safetensors": save(tensors)}


def inspected(path: Path) -> tuple[Any, ...]:
    """All that ``embtables inspect`` makes of a model, and its tensors as they were read."""
    inspection = inspect(path, lr=1e-3)
    jsonschema.validate(json.loads(inspection.as_json()), load_schema())
    shown = render_inspection(json.loads(inspection.as_json())) + printable(as_text(inspection))
    shown.encode()
    assert printable(shown) == shown
    tensors = open_checkpoint(path).tensors
    return tuple(sorted((name, to_bytes(tensors[name].whole())) for name in tensors))


def safetensors_reads(path: Path) -> tuple[Any, ...]:
    """The tensors of all files, as safetensors reads them."""
    from safetensors.torch import load_file

    read = {name: t for file in path.glob("*.safetensors") for name, t in load_file(file).items()}
    return tuple(sorted((name, to_bytes(tensor)) for name, tensor in read.items()))


def extended(path: Path) -> tuple[Any, ...]:
    """Repairs a model and adds a token; kept rows are bit for bit what they were."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "tokens").write_text("brand-new\n")
        with contextlib.suppress(InputError):  # most have no row to repair
            extend(path, Path(folder, "repaired"), repair=True)
        extend(path, Path(folder, "new"), tokens=Path(folder, "tokens"), method="mean")
        new = open_checkpoint(Path(folder, "new")).tensors
        for name, old in open_checkpoint(path).tensors.items():
            rows = old.shape[0] if old.shape else 0
            kept = new[name].rows(0, rows) if rows else new[name].whole()
            assert to_bytes(kept) == to_bytes(old.whole())
        inspect(Path(folder, "new"))
    return ()


READERS: Mapping[str, Reader] = {
    "inspect": Reader(
        lambda: whole_model("safetensors"), inspected, oracle=safetensors_reads, strict=True
    ),
    "inspect, shards": Reader(lambda: whole_model("shards"), inspected),
    "inspect, PyTorch": Reader(lambda: whole_model("bin"), inspected),
    "extend": Reader(lambda: whole_model("safetensors"), extended),
}
