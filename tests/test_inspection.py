"""Faults that are planted in tables are found and repaired, and clean tables have none."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import malformed
from embinit.commands.main import main
from embinit.errors import InputError
from embinit.lab.data.sources.arrays import read_arrays
from embinit.lab.inspection import inspect
from embinit.lab.inspection.measures import BLOCK_VALUES, alike, measure
from embinit.lab.inspection.repair import drawn, repair
from tiny_models import (
    ARCHITECTURES,
    DIM,
    ROWS,
    TABLES,
    TIED,
    WORDS,
    as_bin,
    change,
    model_directory,
    sharded,
    tokenizer,
)

NORMALS = torch.randn(4000, DIM, generator=torch.Generator().manual_seed(5000))
"""Rows of normals, any number of which may be taken."""


def names(inspection):
    return {finding.name for finding in inspection.findings}


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("seed", [5000, 5001])
def test_a_clean_model_has_no_finding(architecture, seed, tmp_path):
    """An alarm on a model as its configuration draws it would be false."""
    inspection = inspect(model_directory(architecture, tmp_path, seed))
    assert names(inspection) == set()
    assert inspection.architecture == architecture
    assert inspection.tied is (architecture in TIED)
    assert [table.rows for table in inspection.tables] == [ROWS] * (1 + (architecture not in TIED))


def put(first, last, to):
    """Puts values, or what a function makes of them, into rows of a table."""

    def edit(table):
        table[first:last] = to(table[first:last]) if callable(to) else to
        return table

    return edit


def near_the_mean(table):
    table[290:293] = table.mean(0) + 1e-9 * NORMALS[:3]
    return table


ROW_FAULTS = {
    "non-finite": ("error", put(7, 9, math.nan), {7, 8}),
    "zero-rows": ("warning", put(298, 300, 0.0), {298, 299}),
    "near-zero-rows": ("warning", put(20, 23, lambda rows: rows * 1e-5), {20, 21, 22}),
    "large-rows": ("warning", put(40, 42, lambda rows: rows * 30), {40, 41}),
    "rows-alike": ("warning", near_the_mean, {290, 291, 292}),
    "off-centre-rows": (
        "warning",
        lambda table: torch.cat([table[:290] + 5 * table.std(), table[290:]]),
        set(range(290, 300)),
    ),
}
"""Faults of rows that any architecture can have: severity, how it is planted, the rows."""


@pytest.mark.parametrize("architecture", [*ARCHITECTURES, "head of llama"])
@pytest.mark.parametrize("fault", ROW_FAULTS)
def test_planted_rows_are_found(architecture, fault, tmp_path):
    """Exactly the planted rows are named, whatever the architecture calls its table."""
    severity, edit, rows = ROW_FAULTS[fault]
    name, side = TABLES.get(architecture, "lm_head_weight"), "input"
    if architecture == "head of llama":
        architecture, side = "llama", "output"
    inspection = inspect(change(model_directory(architecture, tmp_path), **{name: edit}))
    found = inspection.finding(fault)
    assert found is not None, names(inspection)
    assert (found.severity, found.side, set(found.rows)) == (severity, side, rows)
    # Where rows have a direction in common, those around zero are short as well.
    companions = {"common-direction", "near-zero-rows"} if fault == "off-centre-rows" else set()
    assert names(inspection) <= {fault} | companions


def a_table(_):
    return 0.02 * NORMALS[:ROWS]


def thin(table):
    return (NORMALS[: len(table), :2] @ NORMALS[:2]) * table.std()


@pytest.mark.parametrize(
    ("fault", "architecture", "changes"),
    [
        ("rows-unlike-config", "llama", {"config": {"vocab_size": 400}}),
        ("padding-outside", "llama", {"config": {"pad_token_id": ROWS}}),
        ("head-missing", "llama", {"drop": ["lm_head.weight"]}),
        ("tie-broken", "gemma", {"add": {"lm_head.weight": a_table(0)}}),
        ("tie-unsaid", "llama", dict.fromkeys([TABLES["llama"], "lm_head_weight"], a_table)),
        ("head-rows-differ", "llama", {"lm_head_weight": lambda head: head[:-3]}),
        ("sigma-unlike-config", "llama", {"lm_head_weight": lambda head: head * 50}),
        ("wide-after-lookup", "gemma", {TABLES["gemma"]: lambda table: table * 400}),
        ("narrow-after-lookup", "llama", {TABLES["llama"]: lambda table: table / 15}),
        ("sigma-unlike-config", "bert", {TABLES["bert"]: lambda table: table * 30}),
        ("positions-drowned", "gpt2", {TABLES["gpt2"]: lambda table: table * 8}),
        ("meaning-drowned", "bert", {"position_embeddings_weight": lambda rows: rows * 10}),
        ("common-direction", "llama", {TABLES["llama"]: lambda table: table + 0.04}),
        ("low-rank", "gpt2", {TABLES["gpt2"]: thin}),
        ("low-rank", "llama", {"lm_head_weight": thin}),
    ],
)
def test_planted_faults_of_a_whole_table_are_found(fault, architecture, changes, tmp_path):
    """A clean model has none; ``test_a_clean_model_has_no_finding`` says so."""
    inspection = inspect(change(model_directory(architecture, tmp_path), **changes))
    assert inspection.finding(fault) is not None, names(inspection)
    if fault == "tie-unsaid":  # no fault, but worth knowing
        assert (inspection.tied, names(inspection)) == (True, {fault})


@pytest.mark.parametrize(("architecture", "factor"), [("bert", 1 / 6), ("t5", 60)])
def test_a_scale_that_the_architecture_provides_for_is_no_fault(architecture, factor, tmp_path):
    """A norm follows BERT's look-up, and T5's rows start at sigma 1: an alarm would be false."""
    changes = {TABLES[architecture]: lambda table: table * factor}
    found = names(inspect(change(model_directory(architecture, tmp_path), **changes)))
    assert found.isdisjoint({"wide-after-lookup", "narrow-after-lookup"})


@pytest.mark.parametrize("more", [0, 3])
def test_ids_of_the_tokenizer_and_rows_are_compared(more, tmp_path):
    """Ids beyond the table are an error; rows without a token are a note and not measured."""
    directory = model_directory("llama", tmp_path)
    words = [f"n{number}" for number in range(more)]
    tokenizer((*WORDS, *words) if more else WORDS[:280]).save_pretrained(directory)
    inspection = inspect(change(directory, **{TABLES["llama"]: put(290, 291, 0.0)}))
    if more:
        assert f"up to {ROWS + more - 1}" in inspection.finding("ids-beyond-table").what
    else:
        assert names(inspection) == {"rows-without-token"}
        assert inspection.finding("rows-without-token").rows == tuple(range(280, 300))
        assert inspection.tables[0].measured_rows == 279


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_figures_agree_with_numpy(dtype, tmp_path):
    """The pass in blocks gives what the whole table gives, in any stored type."""
    rows = 3 * BLOCK_VALUES // 1000
    generator = torch.Generator().manual_seed(5000)
    table = (0.3 * torch.randn(rows, 1000, generator=generator) + 0.1).to(dtype)
    save_file({"table": table}, tmp_path / "t.safetensors")
    measures = inspect(tmp_path / "t.safetensors").tables[0]
    whole = table.double().numpy()
    norms = np.linalg.norm(whole, axis=1)
    units = whole / norms[:, None]
    cosine = ((units.sum(axis=0) ** 2).sum() - rows) / (rows * (rows - 1))
    assert measures.sigma == pytest.approx(whole.std(), rel=1e-5)
    assert measures.mean == pytest.approx(whole.mean(), rel=1e-5)
    assert measures.norm_quantiles["50"] == pytest.approx(np.median(norms), rel=1e-5)
    assert measures.mean_cosine == pytest.approx(cosine, rel=1e-4)
    assert measures.energy == pytest.approx(whole.var(axis=0).sum(), rel=1e-5)


def test_the_effective_rank_is_that_of_a_known_spectrum():
    """Rows along k axes alike have rank k."""
    signs = torch.where(torch.arange(800) < 400, 1, -1)[:, None]
    table = torch.eye(8)[torch.arange(800) % 4] * signs
    assert inspect(table).tables[0].effective_rank == pytest.approx(4, rel=1e-3)


def test_positions_without_a_row_are_no_positions(tmp_path):
    """A checkpoint saved without gathered weights has some of no rows, whose mean is NaN."""
    directory = model_directory("bert", tmp_path)
    change(directory, position_embeddings_weight=lambda rows: rows[:0])
    inspection = inspect(directory)
    assert names(inspection) == set()
    assert "nan" not in str(inspection)


@pytest.mark.parametrize(
    ("size", "found"), [(1e200, {"non-finite"}), (1e150, set()), (1e-200, {"zero-rows"})]
)
def test_values_whose_squares_are_no_numbers_are_findings(size, found):
    """A row whose norm overflows is not finite, and one whose norm underflows is zero."""
    inspection = inspect(size * NORMALS[:300].double())
    assert names(inspection) == found
    assert 1 <= inspection.tables[0].effective_rank <= DIM


@pytest.mark.parametrize("values", [torch.eye(9).to_sparse(), torch.empty(9, 4, device="meta")])
def test_tensors_without_plain_values_are_refused(values, tmp_path):
    """Sparse and meta tensors have no rows to measure, in memory or in a file."""
    torch.save({"table": values}, tmp_path / "t.bin")
    for thing in (values, tmp_path / "t.bin"):
        with pytest.raises(InputError, match=r"is torch.* and no plain table; save it as"):
            inspect(thing)


def test_a_tensor_of_more_values_than_its_file_is_refused(tmp_path):
    """A kilobyte can say that its row is repeated a billion times, which would take days."""
    torch.save({"table": torch.ones(1, 8).expand(10**9, 8)}, tmp_path / "t.bin")
    with pytest.raises(InputError, match=r"is repeated to .* more than the file has"):
        inspect(tmp_path / "t.bin")


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
        group = list(range(row, row + count))
        table[group] = table[row] * torch.linspace(1, 3, count)[:, None]
        table[group] += noise * torch.randn(count, 32, generator=generator)
        planted.append(group)
        row += count
    every = np.ones(200, dtype=bool)
    measures, by_row = measure("t", table, every)
    groups = alike(by_row, every, measures.mean_cosine, 0.999)
    assert sorted(planted) == sorted(sorted(map(int, group)) for group in groups)


@pytest.mark.parametrize("stored", [sharded, as_bin])
@pytest.mark.parametrize("architecture", ["llama", "t5"])
def test_shards_and_pytorchs_files_read_alike(stored, architecture, tmp_path):
    """How the weights are stored changes no figure, and repairs are written in that form."""
    directory = model_directory(architecture, tmp_path)
    change(directory, **{TABLES[architecture]: put(5, 7, 0.0)})
    whole = inspect(directory)
    other = inspect(stored(directory))
    assert other == whole
    repair(directory, tmp_path / "mended", other)
    assert not inspect(tmp_path / "mended").findings
    assert sorted(os.listdir(tmp_path / "mended")) == sorted(os.listdir(directory))


def write(path, words, table):
    """Text, with a header in a .vec, or word2vec's binary format in a .bin."""
    if path.suffix == ".bin":
        path.write_bytes(malformed.binary(words, table))
    else:
        path.write_bytes(malformed.text(path.suffix == ".vec", words, table))
    return path


ENTRIES = [f"word{number}" for number in range(120)]


@pytest.mark.parametrize("form", ["glove.txt", "fasttext.vec", "word2vec.bin"])
def test_faults_of_vector_files_are_found(form, tmp_path):
    """Text with and without header, and word2vec's binary: the words of odd rows are named."""
    table = 0.1 * NORMALS[:120, :24]
    assert names(inspect(write(tmp_path / form, ENTRIES, table))) == set()
    assert names(inspect(write(tmp_path / form, ENTRIES, table * 30))) == {"positions-drowned"}
    table[3], table[8] = 0, table[7] * 1.001
    inspection = inspect(write(tmp_path / form, ENTRIES, table))
    assert inspection.kind == "vectors"
    assert names(inspection) == {"zero-rows", "rows-alike"}
    assert inspection.finding("rows-alike").rows == (7, 8)
    assert "'word3'" in inspection.finding("zero-rows").what
    table[5, 2] = math.nan
    assert "'word5'" in inspect(write(tmp_path / form, ENTRIES, table)).finding("non-finite").what


@pytest.mark.parametrize("ending", [".npy", ".npz"])
@pytest.mark.parametrize("words", [False, True])
def test_faults_of_numpys_arrays_are_found_and_repaired(ending, words, tmp_path, capsys):
    """Of an array alone, and of the only table of an archive, whose other contents are kept."""
    table = (0.1 * NORMALS[:120, :24]).numpy().astype(np.float16)
    table[3], table[5, 2] = 0, math.nan
    path, copy = tmp_path / f"t{ending}", tmp_path / "new" / "copy"
    further = {"words": np.array(ENTRIES)} if words else {"scale": np.ones(2)}
    if ending == ".npy":
        np.save(path, table)
    else:
        np.savez(path, any_name=table, **further)
    inspection = inspect(path)
    assert names(inspection) == {"zero-rows", "non-finite"}
    assert inspection.finding("non-finite").rows == (5,)
    assert ("'word5'" in inspection.finding("non-finite").what) is (words and ending == ".npz")
    assert "--repair COPY" in inspection.finding("zero-rows").fix
    assert main(["inspect", str(path), "--repair", str(copy), "--fail-on", "note"]) == 0
    written = copy.with_name(f"copy{ending}")
    assert f"{written}: 2 rows of the input table replaced" in capsys.readouterr().out
    [old, *others], [new, *copied] = (read_arrays(file).values() for file in (path, written))
    kept = np.isin(np.arange(120), [3, 5], invert=True)
    assert new.dtype == old.dtype
    assert np.array_equal(new[kept], old[kept])
    assert [*map(np.array_equal, copied, others)] == [True] * (ending == ".npz")
    assert main(["inspect", str(path), "--repair", str(written)]) == 4
    assert "exists already" in capsys.readouterr().err


def test_which_array_is_the_table_is_asked_where_several_could_be(tmp_path, monkeypatch, capsys):
    """The printed command works; what isn't a table is said."""
    monkeypatch.chdir(tmp_path)
    np.savez("two of it.npz", first=NORMALS[:120, :24], second=NORMALS[:50, :24], bias=np.ones(4))
    assert main(["inspect", "two of it.npz"]) == 4
    error = capsys.readouterr().err
    assert "first (120 x 24), second (50 x 24); name one" in error
    assert main(shlex.split(error.partition(": embinit ")[2])) == 0
    np.savez("flat.npz", bias=np.ones(4))
    np.savez("few.npz", e=np.ones((3, 4)), words=np.array(["a"]))
    Path("v.npy").write_bytes(b"no array")
    for name, message in (
        ("flat.npz", "no table of two dimensions, but bias; name"),
        ("few.npz", "1 words, and 'e' has 3 rows"),
        ("v.npy", r"v\.npy"),
    ):
        with pytest.raises(InputError, match=message):
            inspect(name)


@pytest.mark.parametrize("sigma", [0.3, 4.0])
def test_the_advice_on_the_ratio_gives_the_ratio(sigma, tmp_path):
    """Its factor and its sigma agree: scaled so, nothing is found, and R is 0.3."""
    table = sigma * NORMALS[:120, :24] + 0.1 * sigma  # the mean row says nothing
    before = inspect(write(tmp_path / "v.txt", ENTRIES, table)).finding("positions-drowned")
    factor, due = map(
        float, re.search(r"by ([\d.]+), to R = 0.3 and sigma ([\d.]+\d)", before.fix).groups()
    )
    after = inspect(write(tmp_path / "v.txt", ENTRIES, table * factor))
    assert names(after) == set()
    ratio = after.facts["R (tokens to positions), as a Transformer's table"]
    assert ratio == pytest.approx(0.3, rel=0.1)  # of two digits
    assert after.tables[0].sigma == pytest.approx(due, rel=0.1)


def test_the_text_fits_its_lines(tmp_path):
    """Of a model with several faults, NaN included, of vectors, and of a sample of many rows."""
    directory = model_directory("t5", tmp_path)
    change(directory, **{TABLES["t5"]: put(3, 6, math.nan)}, config={"vocab_size": 9})
    vectors = write(tmp_path / "v.txt", ["a", "b"], NORMALS[:2, :3])
    for inspected in (inspect(directory), inspect(vectors), inspect(NORMALS)):
        shown = inspected.as_text()
        assert all(finding.name in shown for finding in inspected.findings)
        assert max(map(len, shown.splitlines())) < 150
        assert ("(about: of 2,048 sampled rows)" in shown) is (inspected.name == "tensor")
    assert inspect(directory).finding("non-finite").rows == (3, 4, 5)


@pytest.mark.parametrize(
    ("limit", "status"), [(None, 0), ("error", 0), ("warning", 1), ("note", 1)]
)
def test_the_status_says_whether_a_finding_is_as_grave(limit, status, tmp_path, capsys):
    """A continuous integration fails where it asks for that, and only there."""
    directory = change(model_directory("llama", tmp_path), **{TABLES["llama"]: put(5, 6, 0.0)})
    arguments = ["inspect", str(directory)]
    assert main([*arguments, *(["--fail-on", limit] if limit else [])]) == status
    printed = capsys.readouterr().out
    assert "WARNING zero-rows" in printed
    assert "'w5'" in printed


@pytest.mark.parametrize(
    ("architecture", "side"), [("llama", "input"), ("llama", "output"), ("gpt2", "input")]
)
@pytest.mark.parametrize("fault", ["non-finite", "zero-rows", "near-zero-rows", "rows-alike", None])
def test_the_mend_that_inspect_advises_mends(architecture, side, fault, tmp_path, capsys):
    """After it there is no finding, and all but the planted rows are as they were, bit for bit."""
    directory, mended = model_directory(architecture, tmp_path), tmp_path / "mended"
    name = "lm_head_weight" if side == "output" else TABLES[architecture]
    edit = ROW_FAULTS[fault][1] if fault else put(291, 293, lambda rows: rows[:1])
    change(directory, **{name: edit})
    [found] = inspect(directory).findings
    assert "embinit inspect PATH --repair COPY" in found.fix
    arguments = ["inspect", str(directory), "--repair", str(mended), "--fail-on", "note"]
    assert main(arguments) == 0
    rows = sorted(set(found.rows) - {291}) if fault is None else list(found.rows)
    plural = "row" if len(rows) == 1 else "rows"
    assert f"{len(rows)} {plural} of the {side} table replaced" in capsys.readouterr().out
    old, new = (load_file(folder / "model.safetensors") for folder in (directory, mended))
    [table] = [key for key in old if key.replace(".", "_").endswith(name)]
    assert all(torch.equal(old[key], new[key]) for key in old if key != table)
    kept = [row for row in range(ROWS) if row not in rows]
    assert torch.equal(old[table][kept], new[table][kept])
    if architecture == "llama" and side == "input":
        head = old["lm_head.weight"][rows]
        cosine = torch.nn.functional.cosine_similarity(new[table][rows], head)
        assert torch.allclose(cosine, torch.ones(len(rows)), atol=1e-5)
        typical = old[table][kept][1:].pow(2).sum(dim=1).mean().sqrt()  # but for padding
        assert torch.allclose(new[table][rows].norm(dim=1), typical.expand(len(rows)), rtol=1e-4)
    assert main([*arguments[:2], "--repair", str(mended)]) == 4
    assert "exists already" in capsys.readouterr().err
    assert main(["inspect", str(mended), "--repair", str(tmp_path / "again")]) == 4
    assert "no row to repair" in capsys.readouterr().err


@pytest.mark.parametrize("cosine", [0.997, 0.97])
def test_a_group_of_collapsed_rows_is_reported_whole(cosine, tmp_path, capsys):
    """Rows may be nearly copies at no single limit: groups are counted over a range of them."""
    count = 30
    apart = torch.nn.functional.normalize(NORMALS[500 : 500 + count], dim=1)
    along_one = torch.nn.functional.normalize(NORMALS[600], dim=0)
    group = cosine**0.5 * along_one + (1 - cosine) ** 0.5 * apart
    planted = set(range(100, 100 + count))

    def collapse(table):
        table[100 : 100 + count] = group * table.norm(dim=1).median()
        return table

    directory = change(model_directory("llama", tmp_path), **{TABLES["llama"]: collapse})
    inspection = inspect(directory)
    shown = inspection.facts["rows in the largest group, by cosine"]
    assert f"{count} above 0.95" in shown
    assert inspection.finding("rows-alike") is None
    close = inspection.finding("rows-close")
    assert (close and set(close.rows)) == (planted if cosine > 0.99 else None)
    mended = tmp_path / "mended"
    arguments = ["inspect", str(directory), "--alike", "0.95", "--repair", str(mended)]
    assert main([*arguments, "--repair-at-most", "0.05"]) == 4
    error = capsys.readouterr().err
    assert f"{count - 1} rows to replace of the {ROWS}" in error
    assert not mended.exists()
    allowed = re.search(r"--repair-at-most [\d.]+$", error)[0].split()
    assert main([*arguments, *allowed]) == 0
    assert "rows in the largest group, by cosine" not in inspect(mended).facts


def test_the_repair_of_the_docs_prints_what_they_show(tmp_path, monkeypatch, capsys):
    """The layout and the fault of a published model, at a small size."""
    rows, folder = 4096, tmp_path / "my-model"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    generator = torch.Generator().manual_seed(0)
    table, head = (0.02 * torch.randn(rows, DIM, generator=generator) for _ in range(2))
    table[[*range(3, 9), *range(4060, 4090)]] *= 1e-16
    tensors = {"backbone.embeddings.weight": table, "lm_head.weight": head}
    stored = {name: tensor.bfloat16() for name, tensor in tensors.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    sizes = {"vocab_size": rows, "hidden_size": DIM, "tie_word_embeddings": False}
    model = {"model_type": "nemotron_h", "architectures": ["NemotronHForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(model | sizes))
    ids = {f"token{row}": row for row in (*range(3), *range(7, rows))}
    chat = ("<|im_start|>", "<|im_end|>", "<think>", "</think>")
    ids |= {token: row for row, token in enumerate(chat, 3)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE", "vocab": ids}}))
    page = (Path(__file__).parents[1] / "docs/api/inspect.md").read_text("utf-8")
    [command] = re.findall(r"^embinit (inspect my-model .*)$", page, flags=re.MULTILINE)
    assert main(command.split()) == 0
    printed = capsys.readouterr().out
    [shown] = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    assert [part for part in shown.split("...\n") if part not in printed] == []


def test_new_rows_have_the_moments_of_the_sound_ones():
    """Their mean and their covariance, also where it is singular."""
    sound = NORMALS[:, :4] @ torch.tensor(
        [[2.0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0], [0, 0, 0, 0]]
    ) + torch.tensor([1.0, 2, 3, 4])
    rows = drawn(sound, 20_000, torch.Generator().manual_seed(0))
    assert torch.allclose(rows.mean(dim=0), sound.mean(dim=0), atol=0.05)
    assert torch.allclose(rows.T.cov(), sound.T.cov(), atol=0.15)
