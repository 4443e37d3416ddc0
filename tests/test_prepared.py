"""Prepared files stand for what they were made from, to the bit, and say when they can't."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from builders import set_apart, small_experiment
from embinit.commands.main import main
from embinit.errors import InputError
from embinit.lab.data import preparation
from embinit.lab.data.cache import INDEX, CachedSource, make_directory, open_directory, vectors_key
from embinit.lab.data.tasks import TASKS
from embinit.lab.specs import Cut
from embinit.lab.tables import initial_tables
from embinit.lab.training.stacks import train
from embinit.runs.kinds import RunContext, Stack, kind_of
from embinit.runs.store import run_key


@pytest.fixture(autouse=True)
def forget():
    """Each test opens its own directories."""
    yield
    preparation._prepared.cache_clear()
    preparation._opened.cache_clear()
    initial_tables._lookup.cache_clear()
    open_directory.cache_clear()


def small(role="translation"):
    one = small_experiment(role, Cut(200, 50, 50), epochs=1)
    longest = 24 if role == "inference" else 7
    return replace(one, data=replace(one.data, max_length=longest))


@pytest.fixture
def ready(tmp_path):
    """A directory with one experiment's text and vectors."""
    one = small()
    preparation.write(one.data, [one.source], None, make_directory(tmp_path / "ready"))
    return tmp_path / "ready"


def assert_same(first, again):
    """Tensors, words, counts and references are the same."""
    assert again.vocabularies == first.vocabularies
    for name in ("train", "validation", "test"):
        for field in dataclasses.fields(preparation.Split):
            before, after = (getattr(getattr(data, name), field.name) for data in (first, again))
            if isinstance(before, torch.Tensor):
                assert after.dtype == before.dtype
                assert torch.equal(before, after)
            else:
                assert before == after


@pytest.mark.parametrize("damage", [None, b"", b"?"])
def test_processes_share_the_text_of_a_data_draw(tmp_path, monkeypatch, damage):
    """Another process reads what the first has made; a damaged file is made again."""
    monkeypatch.setenv("EMBINIT_WORLDS", str(tmp_path))
    preparation.share_texts()
    data = small("sentiment").data.on_draw(9001)
    first = preparation.prepare(data, None)
    [file] = tmp_path.glob("texts/*/*.safetensors")
    made = []
    monkeypatch.setattr(preparation, "_encoded", lambda *of: made.append(of) or first)
    if damage is not None:
        file.write_bytes(file.read_bytes()[:-1] + damage)
    preparation._prepared.cache_clear()
    open_directory.cache_clear()
    assert_same(first, preparation.prepare(data, None))
    assert len(made) == (damage is not None)


@pytest.mark.parametrize("role", ["translation", "sentiment", "inference"])
def test_what_is_read_is_what_was_prepared(tmp_path, role):
    """The text; and the vectors of every vocabulary."""
    one = small(role)
    preparation.write(one.data, [one.source], None, make_directory(tmp_path))
    first, again = preparation.prepare(one.data, None), preparation.prepare(one.data, tmp_path)
    assert_same(first, again)
    for side in first.vocabularies:
        if initial_tables.covers(one.source, first.task, side, tmp_path):
            ours, theirs = (
                initial_tables._lookup(one.source, one.data, side, where)
                for where in (None, tmp_path)
            )
            assert torch.equal(ours.values, theirs.values)
            assert torch.equal(ours.found, theirs.found)


def test_training_needs_neither_text_nor_vectors(ready, monkeypatch):
    """The same key and the same run, to the bit, where both could no longer be read."""
    one = small()
    run = one.run("pretrained", 0)
    key = run_key(run, kind_of(run).fingerprint(run, None))
    [expected] = train(Stack((run,)))
    preparation._opened.cache_clear()

    def gone(*_):
        raise InputError("neither text nor vectors are here")

    monkeypatch.setattr(type(TASKS[one.data.task]), "load", gone)
    monkeypatch.setattr(type(TASKS[one.data.task]), "fingerprint", gone)
    monkeypatch.setattr(preparation, "tokenizer", gone)
    set_apart(monkeypatch, preparation.SOURCES, empty=True)
    initial_tables.check(run, ready)
    assert run_key(run, kind_of(run).fingerprint(run, ready)) == key
    [found] = train(Stack((run,)), RunContext(ready))
    assert replace(found, provenance={}) == replace(expected, provenance={})


def test_preparing_again_writes_nothing_new(ready):
    """Files are named by their content; only the index is told again."""
    before = {path: path.stat().st_mtime_ns for path in ready.glob("*.safetensors")}
    assert len(before) == 3  # a text, and each side's vectors
    one = small()
    preparation.write(one.data, [one.source], None, make_directory(ready))
    assert {path: path.stat().st_mtime_ns for path in ready.glob("*.safetensors")} == before


def test_another_text_makes_other_files(ready, monkeypatch):
    """The text's fingerprint is part of the name, so changed text is never taken for the old."""
    one = small()
    monkeypatch.setattr(type(TASKS[one.data.task]), "fingerprint", lambda *_: "changed")
    preparation.write(one.data, [], None, make_directory(ready))
    index = json.loads((ready / INDEX).read_text())
    assert index["tasks"][one.data.task] == "changed"
    assert len(index["data"]) == 2


def test_an_answer_is_that_of_one_source_to_one_vocabulary_in_its_order():
    """Rows are told apart by their place, so other vectors or another order are other answers."""
    about = {"dim": 2, "tokenizer": "whitespace", "languages": frozenset(), "directory": None}
    source = CachedSource(name="glove", source_fingerprint="as it was", **about)
    keys = [
        vectors_key(source, ["a", "b"], None),
        vectors_key(source, ["b", "a"], None),
        vectors_key(source, ["a", "b"], "de"),
        vectors_key(replace(source, source_fingerprint="as it is"), ["a", "b"], None),
        vectors_key(replace(source, name="t5"), ["a", "b"], None),
    ]
    assert len(set(keys)) == 5
    assert vectors_key(replace(source), ["a", "b"], None) == keys[0]


def spoil(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def largest(ready: Path) -> Path:
    return max(ready.glob("*.safetensors"), key=lambda path: path.stat().st_size)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda ready: spoil(largest(ready)), "is damaged: its content is not what its name says"),
        (lambda ready: largest(ready).unlink(), "can't be read"),
        (lambda ready: (ready / INDEX).write_text('{"version": 9}'), "is of another version than"),
    ],
)
def test_harm_is_noticed_and_named(ready, harm, said):
    """The file and the mend; nothing trains on half of what was prepared."""
    harm(ready)
    open_directory.cache_clear()
    with pytest.raises(InputError, match=said) as error:
        initial_tables.check(small().run("pretrained", 0), ready)
    assert str(ready) in str(error.value)
    assert "embinit prepare again" in str(error.value)


def test_what_was_not_prepared_is_asked_for(ready):
    """Another cut of the text, or another vocabulary of the source, is not there."""
    one = small()
    longer = replace(one, data=replace(one.data, max_length=8))
    with pytest.raises(InputError, match="has no such micro-translation text"):
        initial_tables.check(longer.run("xavier", 0), ready)
    with pytest.raises(InputError, match="has no such vectors of 'micro-glove-pair'"):
        preparation.source(one.source, ready).lookup(["house"], "src")


def test_a_source_may_be_registered_as_an_object_without_a_hash(monkeypatch):
    """Plain dataclasses have none. Each is opened once, and another in its place is opened anew."""

    @dataclasses.dataclass
    class Opener:
        opened: list[object]

        def __call__(self, data_dir):
            self.opened.append(data_dir)
            return self.opened

    set_apart(monkeypatch, preparation.SOURCES)
    for _ in range(5):
        preparation.SOURCES.replace("mine", Opener([]))
        assert [preparation.source("mine", None) for _ in range(2)] == [[None], [None]]


def test_the_command_says_what_is_ready_and_what_is_left_out(tmp_path, capsys, monkeypatch):
    """One line a task and source; nothing ready at all is an error."""
    with monkeypatch.context() as patch:
        paper = SimpleNamespace(experiments=lambda tier: [small("sentiment"), small()])
        patch.setattr("embinit.papers.with_tier", lambda tier: [paper])
        assert main(["prepare", "--tier", "micro", "--to", str(tmp_path / "micro")]) == 0
    output = capsys.readouterr().out
    assert "[2/2] micro-translation with micro-glove-pair: ready" in output
    assert f"train with --embinit-data-dir {tmp_path / 'micro'}" in output
    (tmp_path / "nothing").mkdir()
    empty = ("--data-dir", str(tmp_path / "nothing"), "--to", str(tmp_path / "some"))
    assert main(["prepare", "--tier", "sample", *empty]) == 4
    heard = capsys.readouterr()
    assert "sst2-sentences with glove: left out, " in heard.out
    assert "nothing of tier sample could be prepared" in heard.err
