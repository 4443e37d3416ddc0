"""Whatever is broken in a model's directory, inspect answers in one line or rightly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from embinit.commands.main import main
from embinit.errors import InputError
from embinit.lab.data.checkpoints import Checkpoint
from embinit.lab.inspection import inspect
from tiny_models import as_bin, change, model_directory, sharded

TABLE = "model.embed_tokens.weight"


def shard_elsewhere(directory):
    (directory / "model.safetensors").unlink()
    content = json.dumps({"weight_map": {TABLE: "../model.safetensors"}})
    (directory / "model.safetensors.index.json").write_text(content)


def half(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def adapter(directory):
    (directory / "model.safetensors").rename(directory / "adapter_model.safetensors")
    (directory / "adapter_config.json").write_text("{}")


def empty_adapter(directory):
    adapter(directory)
    table = {"base_model.model.embed_tokens.weight": torch.zeros(0)}
    save_file(table, directory / "adapter_model.safetensors")


def without_shards(directory):
    for path in sharded(directory).glob("model-*.safetensors"):
        path.unlink()


def unknown(directory):
    weights = load_file(directory / "model.safetensors")
    weights["strange.matrix"] = weights.pop(TABLE)
    weights["other.matrix"] = weights.pop("lm_head.weight")
    save_file(weights, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda it: (it / "model.safetensors").unlink(), r"neither of model.safetensors.*put"),
        (lambda it: (it / "config.json").unlink(), "no config.json; put"),
        (lambda it: (it / "config.json").write_bytes(b"{"), "not JSON"),
        (half, "not fully covered.*fetch it again"),
        (lambda it: (it / "tokenizer.json").write_bytes(b'{"model": {}}'), "no vocabulary"),
        (adapter, r"LoRA.*merge"),
        (empty_adapter, r"embed_tokens.weight' has shape \[0\], .* not saved.*gathered weights"),
        (without_shards, r"no model-0000\d-of-00003.safetensors"),
        (lambda it: change(it, model_embed_tokens_weight=torch.Tensor.char),
         "quantised or no plain table; name the checkpoint"),
        (unknown, r"no tensor named like an input table.*--tensor"),
        (lambda it: as_bin(it, **{TABLE: Path("x")}), "could run code.*convert it to safetensors"),
        (shard_elsewhere, "names no file of the model's own directory"),
        (lambda it: change(it, config={"embedding_multiplier": 0}), "which is no factor; mend it"),
    ],
)  # fmt: skip
def test_a_broken_model_is_refused_in_one_line(spoil, message, tmp_path, capsys):
    """No traceback, no half answer; a repair writes nothing."""
    directory = model_directory("llama", tmp_path)
    spoil(directory)
    capsys.readouterr()
    assert main(["inspect", str(directory), "--repair", str(tmp_path / "new")]) == 4
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("embinit: ")
    assert re.search(message, line), line
    assert not (tmp_path / "new").exists()


def test_bad_arguments_are_named(tmp_path, capsys):
    """Each names what was given and what to give."""
    directory = model_directory("llama", tmp_path)
    save_file({"t": torch.randn(20, 4)}, tmp_path / "t.safetensors")
    for thing, options, message in (
        (tmp_path / "nothing", {}, "doesn't exist; name a model's directory"),
        (directory, {"tensor": "x"}, "no tensor 'x'"),
        (torch.zeros(3), {}, "rows and columns"),
        (torch.zeros(3, 4, dtype=torch.int8), {}, "so it is quantised"),
    ):
        with pytest.raises(InputError, match=message):
            inspect(thing, **options)
    unknown(directory)
    assert inspect(directory, tensor="strange.matrix").tables[0].name == "strange.matrix"


def test_a_model_on_the_hub_is_fetched_by_need(tmp_path, monkeypatch):
    """Only the configuration, the tokenizer and the files with tables are asked for."""
    directory = model_directory("gemma", tmp_path)
    asked = []

    def fetched(location, name, **_):
        asked.append(name)
        if location != "someone/gemma" or not (directory / name).exists():
            raise FileNotFoundError(name)
        return str(directory / name)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", fetched)
    monkeypatch.chdir(tmp_path)
    inspection = inspect("someone/gemma")
    assert (inspection.name, inspection.findings) == ("someone/gemma", ())
    assert "model.safetensors" in asked
    assert not {"generation_config.json", "pytorch_model.bin"} & set(asked)
    with pytest.raises(InputError, match=r"no path here.*Hub"):
        inspect("someone/gone")
    with pytest.raises(InputError, match="can't be fetched"):
        Checkpoint("someone/gemma").path("nothing.json")
