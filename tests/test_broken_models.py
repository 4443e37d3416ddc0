"""Whatever is broken in a model's directory, inspect answers in one line or rightly."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from embinit.commands.main import main
from embinit.errors import InputError
from embinit.lab.data.checkpoints import Checkpoint
from embinit.lab.inspection import inspect
from tiny_models import ROWS, change, model_directory, sharded

TABLE = "model.embed_tokens.weight"


def written(name, content):
    """Writes a file of the model's."""
    return lambda directory: (directory / name).write_bytes(content)


def without(name):
    return lambda directory: (directory / name).unlink()


def setting(name, value):
    return lambda directory: change(directory, config={name: value})


def index(files):
    def spoil(directory):
        (directory / "model.safetensors").unlink()
        content = json.dumps({"weight_map": {TABLE: files}})
        (directory / "model.safetensors.index.json").write_text(content)

    return spoil


def header(edit):
    """Changes the header of the safetensors file, whose tensors stay where they are."""

    def spoil(directory):
        path = directory / "model.safetensors"
        content = path.read_bytes()
        end = 8 + int.from_bytes(content[:8], "little")
        changed = json.loads(content[8:end])
        edit(changed)
        text = json.dumps(changed).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[end:])

    return spoil


def torchs(**tensors):
    def spoil(directory):
        weights = load_file(directory / "model.safetensors")
        (directory / "model.safetensors").unlink()
        torch.save({**weights, **tensors}, directory / "pytorch_model.bin")

    return spoil


def half(directory):
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def adapter(directory):
    (directory / "model.safetensors").rename(directory / "adapter_model.safetensors")
    (directory / "adapter_config.json").write_text("{}")


def without_shards(directory):
    for path in sharded(directory).glob("model-*.safetensors"):
        path.unlink()


def quantised(directory):
    change(directory, model_embed_tokens_weight=lambda table: table.to(torch.int8))


def unknown(directory):
    weights = load_file(directory / "model.safetensors")
    weights["strange.matrix"] = weights.pop(TABLE)
    weights["other.matrix"] = weights.pop("lm_head.weight")
    save_file(weights, directory / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (without("model.safetensors"), r"neither of model.safetensors.*put"),
        (without("config.json"), "no config.json; put"),
        (written("config.json", b"{"), "no JSON"),
        (written("config.json", b'{"a":' * 99_999), "RecursionError"),
        (half, "not fully covered.*fetch it again"),
        (written("model.safetensors", b"junk"), "header too small"),
        (written("tokenizer.json", b'{"model": {}}'), "no vocabulary"),
        (written("tokenizer.json", b'{"model": {"vocab": {"a": -3}}}'), "ids begin at 0"),
        (written("tokenizer.json", b'{"model": [], "added_tokens": 5}'), "broken"),
        (adapter, r"LoRA.*merge"),
        (without_shards, r"no model-0000\d-of-00003.safetensors"),
        (quantised, "quantised or no plain table; name the checkpoint"),
        (unknown, r"no tensor is named like an input table.*--tensor"),
        (torchs(**{TABLE: Path("x")}), "could run code.*convert it to safetensors"),
        (torchs(**{TABLE: torch.eye(ROWS, 64).to_sparse()}), "sparse.*no plain table"),
        (torchs(**{TABLE: torch.ones(1).expand(10**6, 10**6)}), "is repeated to"),
        (index([]), "names no file of the model's own directory"),
        (index("../model.safetensors"), "names no file of the model's own directory"),
        (header(lambda h: h[TABLE].update(shape=[-300, -64])), "broken or cut short"),
        (header(lambda h: h.update(again=h["lm_head.weight"])), "broken or cut short"),
        (setting("embedding_multiplier", 0), "which is no factor; mend it"),
        (setting("logits_scaling", 1e300), "which is no factor; mend it"),
    ],
)
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


@pytest.mark.parametrize(
    "name",
    ["config.json", "model.safetensors", "tokenizer.json", "model.safetensors.index.json"],
)
def test_a_pipe_in_a_models_directory_is_not_waited_for(name, tmp_path, capsys):
    """Nobody writes into it, so who opens it waits for ever."""
    directory = model_directory("llama", tmp_path)
    if name.endswith("index.json"):
        (directory / "model.safetensors").unlink()
    (directory / name).unlink(missing_ok=True)
    os.mkfifo(directory / name)
    assert main(["inspect", str(directory)]) == 4
    assert f"{name} can't be read: it is no regular file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [None, "--text", "--tokenizer"])
def test_a_device_is_not_read_without_end(option, tmp_path, capsys):
    """/dev/zero has no end."""
    arguments = [str(model_directory("llama", tmp_path)), option] if option else []
    capsys.readouterr()
    assert main(["inspect", *arguments, "/dev/zero"]) == 4
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("value", [3e38, -3e38, 1e-38])
def test_values_at_the_ends_of_float32_are_measured(value, tmp_path):
    """Their squares and sums have no number in float32; the figures are those of float64."""
    directory = model_directory("llama", tmp_path)

    def spoil(table):
        table[5:9, :3] = value
        return table

    change(directory, model_embed_tokens_weight=spoil)
    measures = inspect(directory).tables[0].measures
    table = load_file(directory / "model.safetensors")[TABLE].double()[1:]
    assert measures.sigma == pytest.approx(float(table.std(correction=0)), rel=1e-5)
    assert measures.mean == pytest.approx(float(table.mean()), rel=1e-4, abs=1e-12)
    assert math.isfinite(measures.effective_rank)


@pytest.mark.parametrize("architectures", [5, [], [None], "LlamaForCausalLM"])
def test_an_odd_list_of_architectures_names_no_head(architectures, tmp_path):
    """Transformers itself takes a list of names or none."""
    directory = change(model_directory("llama", tmp_path), config={"architectures": architectures})
    assert inspect(directory).architecture == "llama"


def test_no_control_character_of_a_file_reaches_the_terminal(tmp_path, capsys):
    """A tensor's name may clear the screen, or turn the direction of writing."""
    save_file({"\x1b[2Jtable\u202e": torch.randn(40, 8)}, tmp_path / "t.safetensors")
    assert main(["inspect", str(tmp_path / "t.safetensors")]) == 0
    shown = capsys.readouterr().out
    assert not set(shown) & {"\x1b", "\u202e"}
    assert "001b[2Jtable" in shown


def test_bad_arguments_are_named(tmp_path, capsys):
    """Each names what was given and what to give."""
    directory = model_directory("llama", tmp_path)
    save_file({"t": torch.randn(20, 4)}, tmp_path / "t.safetensors")
    for thing, options, message in (
        (tmp_path / "nothing", {}, "doesn't exist; name a model's directory"),
        (directory, {"tensor": "x"}, "no tensor 'x'"),
        (directory, {"lr": 0.0}, "above zero"),
        (tmp_path / "t.safetensors", {"text": directory / "config.json"}, "no tokenizer; name one"),
        (directory, {"tokenizer": tmp_path}, r"no tokenizer.json"),
        (torch.zeros(3), {}, "rows and columns"),
        (torch.zeros(3, 4, dtype=torch.int8), {}, "so it is quantised"),
    ):
        with pytest.raises(InputError, match=message):
            inspect(thing, **options)
    assert main(["inspect", str(directory), "--json", str(tmp_path / "no/o.json")]) == 7
    assert "o.json can't be written" in capsys.readouterr().err
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
