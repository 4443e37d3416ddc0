"""Faults that are planted in tables are found, and clean tables have none."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import struct
from pathlib import Path

import jsonschema
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import nn

from embinit import cli as embinit_cli
from embinit.errors import InputError
from embinit.lab.data.stored_tensors import MemoryTensor, read_safetensors
from embtables import checkpoints
from embtables.cli import main
from embtables.inspection import inspect, load_schema
from embtables.inspection.measures import alike, measure
from embtables.inspection.terminal import as_text
from embtables.inspection_page import render_inspection
from embtables.new_tensors import BLOCK_VALUES, blocks, copied, write_safetensors
from tiny_models import (
    ARCHITECTURES,
    DIM,
    ROWS,
    TABLES,
    TIED,
    WORDS,
    change,
    model_directory,
    tokenizer,
)

DATA = os.environ.get("EMBINIT_DATA")
real = pytest.mark.skipif(not DATA, reason="EMBINIT_DATA names no directory with real vectors")


def names(inspection):
    return {finding.name for finding in inspection.findings}


def drawn(*shape, seed=5000, sigma=1.0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * sigma


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("seed", [5000, 5001])
def test_a_clean_model_has_no_finding(architecture, seed, tmp_path):
    """An alarm on a model as its configuration draws it would be false."""
    inspection = inspect(model_directory(architecture, tmp_path, seed), lr=1e-3)
    # T5's tables start at sigma 1, where a rate of 1e-3 takes a thousand steps, and that is fine.
    assert names(inspection) == set()
    assert inspection.architecture == architecture
    assert inspection.tied is (architecture in TIED)
    assert len(inspection.tables) == 1 + (architecture not in TIED)
    assert inspection.tables[0].measures.rows == ROWS


def rows_set(*rows, to):
    def edit(table):
        table[list(rows)] = to(table) if callable(to) else to
        return table

    return edit


ROW_FAULTS = {
    "non-finite": ("error", rows_set(7, 9, to=math.nan), {7, 9}),
    "zero-rows": ("warning", rows_set(5, 6, 299, to=0.0), {5, 6, 299}),
    "near-zero-rows": (
        "warning",
        rows_set(20, 21, 22, to=lambda table: table[20:23] * 1e-5),
        {20, 21, 22},
    ),
    "large-rows": ("warning", rows_set(40, 41, to=lambda table: table[40:42] * 30), {40, 41}),
    "rows-alike": (
        "warning",
        rows_set(290, 291, 292, to=lambda table: table.mean(0) + 1e-9 * drawn(*table[:3].shape)),
        {290, 291, 292},
    ),
    "off-centre-rows": (
        "warning",
        lambda table: torch.cat([table[:290] + 5 * table.std(), table[290:]]),
        set(range(290, 300)),
    ),
}
"""Faults of rows that any architecture can have: severity, how it is planted, the rows."""

COMPANIONS = {
    # The mean of rows that point anywhere is short.
    "rows-alike": {"near-zero-rows"},
    # Where others have a direction in common, rows around zero are short as well.
    "off-centre-rows": {"common-direction", "near-zero-rows"},
}
"""What else is true of a table with such a fault."""


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("fault", ROW_FAULTS)
def test_planted_rows_are_found(architecture, fault, tmp_path):
    """Exactly the planted rows are named, whatever the architecture calls its table."""
    severity, edit, rows = ROW_FAULTS[fault]
    directory = model_directory(architecture, tmp_path)
    inspection = inspect(change(directory, **{TABLES[architecture]: edit}))
    found = inspection.finding(fault)
    assert found is not None, names(inspection)
    assert found.severity == severity
    assert found.side == "input"
    assert set(found.rows) == rows
    assert names(inspection) <= {fault} | COMPANIONS.get(fault, set())


@pytest.mark.parametrize("architecture", sorted(set(ARCHITECTURES) - set(TIED)))
@pytest.mark.parametrize("fault", ROW_FAULTS)
def test_planted_rows_of_the_head_are_found(architecture, fault, tmp_path):
    """An output table of its own is checked as the input table is."""
    _, edit, rows = ROW_FAULTS[fault]
    directory = model_directory(architecture, tmp_path)
    found = inspect(change(directory, lm_head_weight=edit)).finding(fault)
    assert found is not None
    assert found.side == "output"
    assert set(found.rows) == rows


def thin(table):
    return (drawn(len(table), 2) @ drawn(2, DIM, seed=1)) * table.std()


def tied(table):
    return {"lm_head.weight": table}


WHOLE_FAULTS = [
    ("rows-unlike-config", "llama", {"config": {"vocab_size": 400}}),
    ("padding-outside", "qwen2", {"config": {"pad_token_id": ROWS}}),
    ("head-missing", "llama", {"drop": ["lm_head.weight"]}),
    ("tie-broken", "gemma", {"add": {"lm_head.weight": drawn(ROWS, DIM, sigma=0.02)}}),
    ("head-rows-differ", "llama", {"lm_head_weight": lambda head: head[:-3]}),
    ("first-loss", "llama", {"lm_head_weight": lambda head: head * 50}),
    (
        "first-loss",
        "t5",
        {
            "config": {"tie_word_embeddings": False, "scale_decoder_outputs": False},
            "add": {"lm_head.weight": drawn(ROWS, DIM)},
        },
    ),
    ("wide-after-lookup", "gemma", {TABLES["gemma"]: lambda table: table * 50 * 8}),
    ("narrow-after-lookup", "llama", {TABLES["llama"]: lambda table: table / 15}),
    ("sigma-unlike-config", "bert", {TABLES["bert"]: lambda table: table * 30}),
    ("positions-drowned", "gpt2", {TABLES["gpt2"]: lambda table: table * 8}),
    ("meaning-drowned", "bert", {"position_embeddings_weight": lambda rows: rows * 10}),
    ("common-direction", "qwen2", {TABLES["qwen2"]: lambda table: table + 0.04}),
    ("low-rank", "gpt2", {TABLES["gpt2"]: thin}),
    ("low-rank", "llama", {"lm_head_weight": thin}),
]


@pytest.mark.parametrize(("fault", "architecture", "changes"), WHOLE_FAULTS)
def test_planted_faults_of_a_whole_table_are_found(fault, architecture, changes, tmp_path):
    """Each is planted in a clean model, where it is not found."""
    directory = model_directory(architecture, tmp_path)
    assert inspect(directory).finding(fault) is None
    assert inspect(change(directory, **changes)).finding(fault) is not None


def test_a_head_that_equals_its_table_is_told(tmp_path):
    """A tied model that was saved as untied is no fault, but worth knowing."""
    directory = model_directory("llama", tmp_path)
    table = load_file(directory / "model.safetensors")["model.embed_tokens.weight"]
    inspection = inspect(change(directory, lm_head_weight=lambda _: table))
    assert names(inspection) == {"tie-unsaid"}
    assert inspection.tied


@pytest.mark.parametrize("more", [0, 3])
def test_ids_of_the_tokenizer_are_held_against_the_rows(more, tmp_path):
    """Ids beyond the table are an error; rows without a token are a note and not measured."""
    directory = model_directory("llama", tmp_path)
    words = [f"n{number}" for number in range(more)]
    tokenizer((*WORDS, *words) if more else WORDS[:280]).save_pretrained(directory)
    change(directory, **{TABLES["llama"]: rows_set(290, to=0.0)})
    inspection = inspect(directory)
    if more:
        assert inspection.finding("ids-beyond-table").figures["ids"] == ROWS + more
    else:
        assert names(inspection) == {"rows-without-token"}
        assert inspection.finding("rows-without-token").rows == tuple(range(280, 300))
        assert inspection.tables[0].measures.measured == 279


@pytest.mark.parametrize(
    ("lr", "fault"), [(1e-7, "slow-under-adam"), (0.1, "fast-under-adam"), (1e-4, None)]
)
def test_adams_step_is_held_against_sigma(lr, fault, tmp_path):
    """A value moves by about the rate a step, so sigma over the rate is the steps it takes."""
    inspection = inspect(model_directory("gpt2", tmp_path), lr=lr)
    assert names(inspection) == ({fault} if fault else set())
    steps = inspection.facts["steps of Adam for one sigma"]
    assert steps == pytest.approx(inspection.tables[0].measures.sigma / lr)


def test_a_text_tells_which_odd_rows_are_used(tmp_path):
    """What a text uses stays as grave as it is; what it lacks is lighter by one step."""
    directory = model_directory("llama", tmp_path)
    change(directory, **{TABLES["llama"]: rows_set(5, 6, to=0.0)})
    text = tmp_path / "text.txt"
    text.write_text("w3 w7 w3\nw3 w9 w10\n")
    found = inspect(directory, text=text).finding("zero-rows")
    assert found.used == {5: 3}
    assert found.severity == "warning"
    text.write_text("w100 w101\n")
    found = inspect(directory, text=text).finding("zero-rows")
    assert found.used == {}
    assert found.severity == "note"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_figures_agree_with_numpy(dtype, tmp_path):
    """The pass in blocks gives what the whole table gives, in any stored type."""
    rows = 3 * BLOCK_VALUES // (40 * 1000)
    table = (drawn(rows * 40, 1000, sigma=0.3) + 0.1).to(dtype)
    save_file({"table": table}, tmp_path / "t.safetensors")
    measures = inspect(tmp_path / "t.safetensors").tables[0].measures
    whole = table.double().numpy()
    norms = np.linalg.norm(whole, axis=1)
    units = whole / norms[:, None]
    n = len(whole)
    assert measures.sigma == pytest.approx(whole.std(), rel=1e-5)
    assert measures.mean == pytest.approx(whole.mean(), rel=1e-5)
    assert measures.norm_quantiles[4] == pytest.approx(np.median(norms), rel=1e-5)
    cosine = ((units.sum(axis=0) ** 2).sum() - n) / (n * (n - 1))
    assert measures.mean_cosine == pytest.approx(cosine, rel=1e-4)
    assert measures.energy == pytest.approx(whole.var(axis=0).sum(), rel=1e-5)
    assert measures.largest == pytest.approx(np.abs(whole).max())


def test_the_effective_rank_is_that_of_a_known_spectrum():
    """Rows along k axes alike have rank k."""
    table = (
        torch.eye(8)[torch.arange(800) % 4] * torch.where(torch.arange(800) < 400, 1, -1)[:, None]
    )
    assert inspect(table).tables[0].measures.effective_rank == pytest.approx(4, rel=1e-3)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    copies=st.lists(st.integers(2, 6), min_size=1, max_size=4),
    noise=st.sampled_from([0.0, 1e-4, 1e-3]),
)
def test_copies_are_brought_together_whatever_their_number(seed, copies, noise):
    """Scaled copies are one direction; independent rows never are."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(200, 32, generator=generator)
    planted, row = [], 0
    for count in copies:
        group = range(row, row + count)
        table[list(group)] = table[row] * torch.linspace(1, 3, count)[:, None]
        table[list(group)] += noise * torch.randn(count, 32, generator=generator)
        planted.append(set(group))
        row += count
    measures, each = measure([(0, table)], 32, "F32", frozenset(), None, table)
    groups = alike(each, np.ones(200, dtype=bool), measures.mean_cosine)
    assert sorted(map(sorted, planted)) == sorted(sorted(map(int, group)) for group in groups)


def test_modules_and_tensors_are_inspected_too(tmp_path):
    """A model in memory has the findings of its directory; ties are seen by the shared storage."""
    import transformers

    directory = model_directory("gpt2", tmp_path)
    change(directory, **{TABLES["gpt2"]: rows_set(5, 6, to=0.0)})
    model = transformers.GPT2LMHeadModel.from_pretrained(directory)
    inspection = inspect(model)
    assert names(inspection) == {"zero-rows"}
    assert inspection.tied
    assert len(inspection.tables) == 1
    embedding = nn.Embedding(100, 16, padding_idx=3)
    assert names(inspect(embedding)) == set()
    embedding.weight.data[8] = 0
    assert inspect(embedding).finding("zero-rows").rows == (8,)
    own = nn.Sequential(nn.Embedding(100, 16), nn.Linear(16, 2))
    assert inspect(own).tables[0].name == "0.weight"
    assert inspect(torch.zeros(3, 4)).finding("zero-rows").rows == (0, 1, 2)


def sharded(directory: Path) -> Path:
    weights = load_file(directory / "model.safetensors")
    (directory / "model.safetensors").unlink()
    files = {}
    for number, name in enumerate(sorted(weights)):
        file = f"model-{number % 3 + 1:05}-of-00003.safetensors"
        files.setdefault(file, {})[name] = weights[name]
    for file, tensors in files.items():
        save_file(tensors, directory / file)
    where = {name: file for file, tensors in files.items() for name in tensors}
    (directory / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    return directory


def as_bin(directory: Path) -> Path:
    torch.save(load_file(directory / "model.safetensors"), directory / "pytorch_model.bin")
    (directory / "model.safetensors").unlink()
    return directory


@pytest.mark.parametrize("stored", [sharded, as_bin])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_shards_and_pytorchs_files_read_alike(stored, architecture, tmp_path):
    """How the weights are stored changes no figure."""
    directory = model_directory(architecture, tmp_path)
    whole = inspect(directory)
    other = inspect(stored(directory))
    assert other.tables == whole.tables
    assert other.facts == whole.facts
    assert names(other) == names(whole)


def test_only_the_shards_with_tables_are_read(tmp_path):
    """A table of 250,000 rows has seconds only if no other tensor is touched."""
    directory = sharded(model_directory("llama", tmp_path))
    files = json.loads((directory / "model.safetensors.index.json").read_text())["weight_map"]
    needed = {"model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"}
    kept = {files[name] for name in needed}
    for file in set(files.values()) - kept:
        (directory / file).unlink()
    layers = [name for name in files if "layers" in name and files[name] in kept]
    assert layers  # their bytes lie beside, unread
    assert names(inspect(directory)) == set()


def write_word2vec(path: Path, words, table) -> Path:
    with path.open("wb") as file:
        file.write(f"{len(words)} {table.shape[1]}\n".encode())
        for word, row in zip(words, table.tolist(), strict=True):
            file.write(word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + b"\n")
    return path


def write_text(path: Path, words, table, header=False) -> Path:
    lines = [f"{len(words)} {table.shape[1]}"] if header else []
    lines += [
        f"{word} {' '.join(map(repr, row))}"
        for word, row in zip(words, table.tolist(), strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("form", ["glove.txt", "fasttext.vec", "word2vec.bin"])
def test_faults_of_vector_files_are_found(form, tmp_path):
    """Text with and without header, and word2vec's binary: the words of odd rows are named."""
    words = [f"word{number}" for number in range(120)]
    table = drawn(120, 24, sigma=0.1)
    table[3], table[8] = 0, table[7] * 1.001

    def write(table, words=words):
        if form.endswith(".bin"):
            return write_word2vec(tmp_path / form, words, table)
        return write_text(tmp_path / form, words, table, header=form.endswith(".vec"))

    inspection = inspect(write(table))
    assert inspection.kind == "vectors"
    assert names(inspection) == {"zero-rows", "rows-alike"}
    assert inspection.finding("zero-rows").rows == (3,)
    assert inspection.finding("rows-alike").rows == (7, 8)
    assert "'word3'" in inspection.finding("zero-rows").what
    assert names(inspect(write(drawn(120, 24, sigma=0.1)))) == set()
    assert names(inspect(write(drawn(120, 24) * 3))) == {"positions-drowned"}
    again = [*words[:-1], "word0"]
    assert names(inspect(write(drawn(120, 24, sigma=0.1), again))) == {"words-twice"}


def test_a_row_has_one_cause(tmp_path):
    """Added tokens at the mean row are short, odd, and copies of each other: that is one fault."""
    directory = model_directory("llama", tmp_path)
    tokenizer((*WORDS, "a", "b", "c")).save_pretrained(directory)
    added = json.loads((directory / "tokenizer.json").read_text())
    added["added_tokens"] += [
        {**added["added_tokens"][0], "id": ROWS + number, "content": word}
        for number, word in enumerate("abc")
    ]
    (directory / "tokenizer.json").write_text(json.dumps(added))

    def more(table):
        return torch.cat([table, table.mean(0) + 1e-9 * drawn(3, DIM)])

    config = {"vocab_size": ROWS + 3}
    change(directory, config=config, model_embed_tokens_weight=more, lm_head_weight=more)
    found = inspect(directory).findings
    assert [(each.name, each.side) for each in found] == [
        ("rows-alike", "input"),
        ("rows-alike", "output"),
    ]
    assert found[0].rows == tuple(range(ROWS, ROWS + 3))
    assert "'a', 'b', 'c'" in found[0].what


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_the_advice_on_the_ratio_gives_the_ratio(sigma, tmp_path):
    """One advice, and its factor and its sigma agree: scaled so, nothing is found, and R is 0.3."""
    words = [f"word{number}" for number in range(120)]
    table = drawn(120, 24, sigma=sigma) + 0.1 * sigma  # the mean row tells nothing
    before = inspect(write_text(tmp_path / "v.txt", words, table))
    mend = before.finding("positions-drowned").mend
    factor, told = map(
        float, re.search(r"by ([\d.]+), to R = 0.3 and sigma ([\d.]+)", mend).groups()
    )
    after = inspect(write_text(tmp_path / "v.txt", words, table * factor))
    assert names(after) == set()
    ratio = after.facts["meaning to positions, as a Transformer's table"]
    assert ratio == pytest.approx(0.3, rel=0.1)  # of two digits
    assert after.tables[0].measures.sigma == pytest.approx(told, rel=0.1)
    centred = (table - table.mean(dim=0)).square().sum(dim=1).mean()
    assert before.finding("positions-drowned").figures["ratio"] == pytest.approx(
        24 * float(centred) / 12, rel=1e-4
    )


@pytest.mark.parametrize("rows", [2000, 3000])
def test_a_figure_of_a_sample_says_so(rows, tmp_path):
    """In the text and on the page; of all rows it is no approximation."""
    save_file({"t": drawn(rows, 16)}, tmp_path / "t.safetensors")
    inspection = inspect(tmp_path / "t.safetensors")
    page = render_inspection(json.loads(inspection.as_json()))
    assert ("(about: of 2,048 sampled rows)" in as_text(inspection)) is (rows > 2048)
    assert ("≈" in page) is (rows > 2048)


def test_the_page_of_a_file_has_its_name_alone(tmp_path):
    """What lies above a file is nobody's business where the page goes."""
    inspection = inspect(write_text(tmp_path / "v.txt", ["a", "b"], drawn(2, 3)))
    assert str(tmp_path) not in render_inspection(json.loads(inspection.as_json()))


def test_a_text_is_held_against_the_words_of_a_file(tmp_path):
    """Words count as they are written or in lower case."""
    table = drawn(40, 16, sigma=0.1)
    table[3] = 0
    path = write_text(tmp_path / "v.txt", [f"word{number}" for number in range(40)], table)
    (tmp_path / "text").write_text("Word3 word4 other\nword3\n")
    inspection = inspect(path, text=tmp_path / "text")
    assert inspection.finding("zero-rows").used == {3: 2}
    assert inspection.facts["words of the text"] == 4
    assert inspection.facts["of them with a vector"] == 3


@real
def test_minilms_table_is_as_its_makers_left_it():
    """The real table of MiniLM is sound; its mask token alone has a norm outside of all others."""
    inspection = inspect(Path(DATA) / "vectors/minilm-l6")
    assert names(inspection) <= {"special-tokens-apart"}
    assert inspection.tables[0].measures.rows == 30_522
    assert inspection.tables[0].measures.sigma == pytest.approx(0.0556, abs=1e-4)
    assert inspection.facts["ids of the tokenizer"] == 30_522
    assert not inspection.at_least("warning")


@real
@pytest.mark.parametrize("fault", ROW_FAULTS)
def test_faults_planted_in_minilm_are_found(fault, tmp_path):
    """The real table's spread hides none of the planted rows."""
    _, edit, rows = ROW_FAULTS[fault]
    source = Path(DATA) / "vectors/minilm-l6"
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(source / name, tmp_path / name)
    weights = load_file(source / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    if fault == "off-centre-rows":
        table = weights[name].float() + 0.5
        table[290:300] -= 0.5
        weights[name] = table.half()
    else:
        weights[name] = edit(weights[name].float()).half()
    save_file(weights, tmp_path / "model.safetensors")
    found = inspect(tmp_path).finding(fault)
    assert found is not None
    assert set(found.rows) == rows


@real
def test_gloves_vectors_drown_positions():
    """The paper's finding, read from the vectors: 2 D sigma^2 is about 80. One word is empty."""
    inspection = inspect(Path(DATA) / "vectors/glove.840B.300d.subset.txt.gz")
    assert names(inspection) == {"positions-drowned", "rows-alike"}
    assert inspection.finding("positions-drowned").figures["ratio"] == pytest.approx(80, rel=0.1)
    assert not inspection.at_least("warning")


def test_the_document_fits_its_schema_and_the_page_loads_nothing(tmp_path, capsys):
    """Any finding can be written, NaN included; markup in a token stays text."""
    directory = model_directory("gpt2", tmp_path)
    words = [*WORDS[:-1], "<script>alert(1)</script>"]
    tokenizer(words).save_pretrained(directory)
    change(directory, **{TABLES["gpt2"]: rows_set(3, 299, to=math.nan)})
    arguments = ["inspect", str(directory), "--lr", "1e-4"]
    outputs = ["--json", str(tmp_path / "o.json"), "--html", str(tmp_path / "o.html")]
    assert main([*arguments, *outputs]) == 0
    document = json.loads((tmp_path / "o.json").read_text())
    jsonschema.validate(document, load_schema())
    assert document["findings"][0]["rows"][1]["token"] == words[-1]
    page = (tmp_path / "o.html").read_text()
    assert "<svg" in page
    assert "<script" not in page
    assert "://" not in page
    assert "non-finite" in capsys.readouterr().out


def test_every_finding_has_its_text_in_the_schemas_form(tmp_path):
    """The document of a model with several faults is valid as well, and so is that of vectors."""
    directory = model_directory("t5", tmp_path)
    change(directory, **{TABLES["t5"]: rows_set(3, 4, 5, 6, to=0.0)}, config={"vocab_size": 9})
    text = tmp_path / "text"
    text.write_text("w1 w2")
    path = write_text(tmp_path / "v.txt", ["a", "b"], drawn(2, 3))
    for inspection in (inspect(directory, text=text), inspect(path), inspect(drawn(40, 9))):
        jsonschema.validate(json.loads(inspection.as_json()), load_schema())
        shown = as_text(inspection)
        assert all(finding.name in shown for finding in inspection.findings)
        assert max(map(len, shown.splitlines())) < 140


@pytest.mark.parametrize(
    ("limit", "status"), [(None, 0), ("error", 0), ("warning", 1), ("note", 1)]
)
def test_the_status_says_whether_a_finding_is_as_grave(limit, status, tmp_path, capsys):
    """A continuous integration fails where it asks for that, and only there."""
    directory = model_directory("qwen2", tmp_path)
    change(directory, **{TABLES["qwen2"]: rows_set(5, to=0.0)})
    arguments = ["inspect", str(directory)] + (["--fail-on", limit] if limit else [])
    assert main(arguments) == status
    assert "zero-rows" in capsys.readouterr().out


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def adapter(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    (directory / "adapter_config.json").write_text("{}")


def without_shard(directory: Path) -> None:
    sharded(directory)
    for path in directory.glob("model-*.safetensors"):
        path.unlink()


def quantised(directory: Path) -> None:
    weights = load_file(directory / "model.safetensors")
    weights["model.embed_tokens.weight"] = weights["model.embed_tokens.weight"].to(torch.int8)
    save_file(weights, directory / "model.safetensors")


def unknown(directory: Path) -> None:
    weights = load_file(directory / "model.safetensors")
    weights["strange.matrix"] = weights.pop("model.embed_tokens.weight")
    weights["other.matrix"] = weights.pop("lm_head.weight")
    save_file(weights, directory / "model.safetensors")


def unsafe(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    torch.save({"model.embed_tokens.weight": Path("x")}, directory / "pytorch_model.bin")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda d: (d / "model.safetensors").unlink(), r"neither of model.safetensors.*put"),
        (lambda d: (d / "config.json").unlink(), "no config.json; put"),
        (lambda d: (d / "config.json").write_text("{"), "no JSON"),
        (lambda d: half(d / "model.safetensors"), "not fully covered.*fetch it again"),
        (lambda d: (d / "model.safetensors").write_bytes(b"junk"), "header too small"),
        (lambda d: (d / "tokenizer.json").write_text('{"model": {}}'), "no vocabulary"),
        (adapter, r"LoRA.*merge"),
        (without_shard, r"no model-0000\d-of-00003.safetensors.*fetch"),
        (quantised, "quantised or no plain table; name the checkpoint"),
        (unknown, r"no tensor is named like an input table.*--tensor"),
        (unsafe, "could run code.*convert it to safetensors"),
    ],
)
def test_bad_input_is_one_error_with_the_mend(spoil, message, tmp_path, capsys):
    """No traceback, no half answer."""
    directory = model_directory("llama", tmp_path)
    spoil(directory)
    with pytest.raises(InputError, match=message):
        inspect(directory)
    assert main(["inspect", str(directory)]) == 4
    assert capsys.readouterr().err.startswith("embtables: ")


def test_other_bad_arguments_are_named(tmp_path):
    """Each names what was given and what to give."""
    directory = model_directory("llama", tmp_path)
    table = drawn(20, 4)
    save_file({"t": table}, tmp_path / "t.safetensors")
    with pytest.raises(InputError, match="doesn't exist"):
        inspect(tmp_path / "nothing")
    with pytest.raises(InputError, match="no tensor 'x'"):
        inspect(directory, tensor="x")
    with pytest.raises(InputError, match="above zero"):
        inspect(directory, lr=0.0)
    with pytest.raises(InputError, match="no tokenizer; name one"):
        inspect(tmp_path / "t.safetensors", text=directory / "config.json")
    with pytest.raises(InputError, match=r"no tokenizer.json"):
        inspect(directory, tokenizer=tmp_path)
    with pytest.raises(InputError, match="rows and columns"):
        inspect(torch.zeros(3))
    with pytest.raises(InputError, match="so it is quantised"):
        inspect(torch.zeros(3, 4, dtype=torch.int8))
    with pytest.raises(InputError, match="can't be written"):
        main_with_error(["inspect", str(directory), "--json", str(tmp_path / "no/o.json")])


def main_with_error(arguments):
    from embtables import cli

    parsed = cli._parser().parse_args(arguments)
    parsed.run(parsed)


def test_a_table_can_be_named(tmp_path):
    """Where names say nothing, --tensor does."""
    directory = model_directory("llama", tmp_path)
    unknown(directory)
    assert inspect(directory, tensor="strange.matrix").tables[0].name == "strange.matrix"


def test_a_model_on_the_hub_is_fetched_by_need(tmp_path, monkeypatch):
    """Only the configuration, the tokenizer and the shards with tables are asked for."""
    directory = model_directory("gemma", tmp_path)
    asked = []

    def fetched(location, name):
        asked.append(name)
        return directory / name if (directory / name).exists() else None

    monkeypatch.setattr(checkpoints, "_fetched", fetched)
    monkeypatch.chdir(tmp_path)
    inspection = inspect("someone/gemma")
    assert inspection.name == "someone/gemma"
    assert names(inspection) == set()
    assert "model.safetensors" in asked
    monkeypatch.setattr(checkpoints, "_fetched", lambda *_: None)
    with pytest.raises(InputError, match=r"no path here.*Hub"):
        inspect("someone/gone")


def test_written_tensors_read_back_bit_for_bit(tmp_path):
    """What write_safetensors wrote is read by safetensors itself, and the other way round."""
    tensors = {
        "a": drawn(7, 3).bfloat16(),
        "b": drawn(5),
        "c": torch.arange(6).reshape(2, 3),
        "d": torch.tensor(2.5, dtype=torch.float16),
        "e": drawn(3, 2, 4),
    }
    with (tmp_path / "t.safetensors").open("wb") as file:
        write_safetensors(file, [copied(MemoryTensor(n, v)) for n, v in tensors.items()])
    read = load_file(tmp_path / "t.safetensors")
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)
    stored = read_safetensors(tmp_path / "t.safetensors")
    with (tmp_path / "again.safetensors").open("wb") as file:
        write_safetensors(file, [copied(tensor) for tensor in stored.values()])
    assert (tmp_path / "again.safetensors").read_bytes() == (
        tmp_path / "t.safetensors"
    ).read_bytes()
    pieces = torch.cat([block for _, block in blocks(stored["a"], values=6)])
    assert torch.equal(pieces, tensors["a"])


def test_tokens_in_rows_that_padded_the_table_are_found(tmp_path):
    """Added tokens whose rows nobody drew anew are as long as the padding, unlike trained rows."""
    directory = model_directory("qwen2", tmp_path)
    trained = 280

    def train(table):
        table[:trained] *= 3
        return table

    change(directory, **{TABLES["qwen2"]: train})
    tokenizer(WORDS[: trained + 5]).save_pretrained(directory)
    found = inspect(directory).finding("tokens-like-padding")
    assert found is not None
    assert found.rows == tuple(range(trained, trained + 5))
    assert found.severity == "warning"
    tokenizer(WORDS[:trained]).save_pretrained(directory)
    assert names(inspect(directory)) == {"rows-without-token"}


def test_a_padded_table_as_it_is_drawn_has_no_token_like_padding(tmp_path):
    """Where all rows are as long as the padding, their length tells nothing."""
    directory = model_directory("qwen2", tmp_path)
    tokenizer(WORDS[:285]).save_pretrained(directory)
    assert names(inspect(directory)) == {"rows-without-token"}


def test_the_commands_are_embinits_too(capsys):
    """Where the package is installed; the option tells that the parser is the package's."""
    for command in ("inspect", "extend", "compare"):
        with pytest.raises(SystemExit):
            embinit_cli.main([command, "--help"])
        assert f"usage: embinit {command}" in capsys.readouterr().out
