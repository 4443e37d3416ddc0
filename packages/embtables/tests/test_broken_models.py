"""Whatever is broken in a model's directory, inspect and extend answer in one line or rightly."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from embtables.cli import main
from embtables.inspection import inspect
from tiny_models import ROWS, change, model_directory


def header_of(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Changes the header of a safetensors file, whose tensors stay where they are."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    written = change(header)
    text = written if isinstance(written, str) else json.dumps(header)
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + content[end:])


def entry(**changes: object) -> Callable[[Path], None]:
    """Changes what a header says of the input table."""
    name = "model.embed_tokens.weight"
    return lambda d: header_of(d / "model.safetensors", lambda h: h[name].update(changes))


def overlapping(directory: Path) -> None:
    def change(header: dict[str, Any]) -> None:
        header["again"] = header["lm_head.weight"]

    header_of(directory / "model.safetensors", change)


def doubled(directory: Path) -> None:
    """Another entry of the input table's name, so that safetensors has a hole where one was."""

    def change(header: dict[str, Any]) -> str:
        more = {"dtype": "F32", "shape": [0, 4], "data_offsets": [0, 0]}
        return f'{json.dumps(header)[:-1]}, "model.embed_tokens.weight": {json.dumps(more)}}}'

    header_of(directory / "model.safetensors", change)


def index(files: object) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        (directory / "model.safetensors").unlink()
        written = json.dumps({"weight_map": {"model.embed_tokens.weight": files}})
        (directory / "model.safetensors.index.json").write_text(written)

    return spoil


def setting(name: str, value: object) -> Callable[[Path], object]:
    return lambda directory: change(directory, config={name: value})


def tensors_of_torch(**tensors: torch.Tensor) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        weights = load_file(directory / "model.safetensors")
        (directory / "model.safetensors").unlink()
        torch.save({**weights, **tensors}, directory / "pytorch_model.bin")

    return spoil


TABLE = "model.embed_tokens.weight"
SPARSE = torch.eye(ROWS, 64).to_sparse()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: (d / "config.json").write_text('{"a":' * 99_999), "RecursionError"),
        (
            lambda d: header_of(d / "model.safetensors", lambda h: '{"a":' * 99_999),
            "model.safetensors: broken or cut short",
        ),
        (index([]), "names no file of the model's own directory"),
        (index(7), "names no file of the model's own directory"),
        (index("../model.safetensors"), "names no file of the model's own directory"),
        (entry(data_offsets=[0.0, 1600.0]), "broken or cut short"),
        (entry(shape=[-300, -64]), "broken or cut short"),
        (overlapping, "broken or cut short"),
        (doubled, "broken or cut short"),
        (tensors_of_torch(**{TABLE: SPARSE}), "sparse.*no plain table"),
        (tensors_of_torch(**{TABLE: torch.ones(1).expand(10**6, 10**6)}), "is repeated to"),
        (setting("embedding_multiplier", 0), "which is no factor; mend it"),
        (setting("logits_scaling", 1e300), "which is no factor; mend it"),
        (
            lambda d: (d / "tokenizer.json").write_text('{"model": {"vocab": {"a": -3}}}'),
            "ids begin at 0",
        ),
        (lambda d: (d / "tokenizer.json").write_text('{"model": [], "added_tokens": 5}'), "broken"),
    ],
)
def test_a_broken_model_is_refused_by_inspect_and_extend(spoil, message, tmp_path, capsys):
    """What safetensors refuses, and what no model has: one line, status 4, and nothing written."""
    directory = model_directory("llama", tmp_path)
    spoil(directory)
    (tmp_path / "tokens").write_text("brand-new\n")
    new = ["--tokens", str(tmp_path / "tokens"), "--to", str(tmp_path / "new")]
    for command in (["inspect", str(directory)], ["extend", str(directory), *new]):
        capsys.readouterr()
        if command[0] == "extend" and "vocab" in message:
            continue
        assert main(command) == 4
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("embtables: ")
        assert command[0] == "extend" or re.search(message, line), line
    assert not (tmp_path / "new").exists()


PIPES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


@pytest.mark.parametrize("name", [*PIPES, "model.safetensors.index.json", "merges.txt"])
def test_a_pipe_in_a_models_directory_is_not_waited_for(name, tmp_path, capsys):
    """Nobody writes into it, so who opens it waits for ever."""
    directory = model_directory("llama", tmp_path)
    if name == "vocab.txt":
        (directory / "tokenizer.json").unlink()
    if name.endswith("index.json"):
        (directory / "model.safetensors").unlink()
    (directory / name).unlink(missing_ok=True)
    os.mkfifo(directory / name)
    (tmp_path / "tokens").write_text("brand-new\n")
    new = ["--tokens", str(tmp_path / "tokens"), "--to", str(tmp_path / "new")]
    for command in (["extend", str(directory), *new], ["inspect", str(directory)]):
        if command[0] == "inspect" and name == "merges.txt":
            continue  # it reads none
        capsys.readouterr()
        assert main(command) == 4
        assert f"{name} can't be read: it is no regular file" in capsys.readouterr().err


@pytest.mark.parametrize("option", [(), ("--text",), ("--tokenizer",)])
def test_a_device_is_not_read_without_end(option, tmp_path, capsys):
    """/dev/zero has no end, /dev/tty waits for somebody."""
    path = str(model_directory("llama", tmp_path)) if option else "/dev/zero"
    assert main(["inspect", path, *option, *["/dev/zero"][: len(option)]]) == 4
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


@pytest.mark.parametrize("architectures", [5, {"a": 1}, [], [None], "LlamaForCausalLM"])
def test_an_odd_list_of_architectures_names_no_head(architectures, tmp_path):
    """Transformers itself takes a list of names or none."""
    directory = change(model_directory("llama", tmp_path), config={"architectures": architectures})
    assert inspect(directory).architecture == "llama"


def test_no_control_character_of_a_file_reaches_the_terminal(tmp_path, capsys):
    """A tensor's name may clear the screen, or turn the direction of writing."""
    name = "\x1b[2Jtable\u202e"
    save_file({name: torch.randn(40, 8)}, tmp_path / "t.safetensors")
    page = tmp_path / "o.html"
    assert main(["inspect", str(tmp_path / "t.safetensors"), "--html", str(page)]) == 0
    shown = capsys.readouterr().out + page.read_text()
    assert not set(shown) & {"\x1b", "\u202e"}
    assert "001b[2Jtable" in shown
    assert str(tmp_path) not in page.read_text()  # the name alone is its title
    assert "<title>embtables inspect: t.safetensors</title>" in page.read_text()
