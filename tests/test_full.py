"""The command for the tier ``full`` on a bare machine, in small and on a CPU."""

from __future__ import annotations

import gzip
import json
import tarfile
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from builders import set_apart
from embinit.claims.definitions import Claim
from embinit.claims.judging import read
from embinit.claims.lock import NAME, Lock
from embinit.claims.roles import Role
from embinit.lab.data import preparation
from embinit.lab.data.sources.base import SOURCES, SourceEntry, Vectors
from embinit.randomness import stream
from embinit.runs.store import Store, key_of
from embinit_papers.kim2024.experiments import experiments, without_vectors
from embinit_papers.kim2024.numbers import stands_for
from test_benchmarks import load
from test_claims import FOLDERS, functions

full = load("full")
DIMS = {"glove": 300, "minilm": 384, "t5": 512, "bert": 768, "mbert": 768}


@dataclass(frozen=True)
class Made:
    """A source with vectors for most words, and the tokenizer of all that is made here."""

    name: str
    languages: frozenset[str]
    tokenizer: str = "whitespace"

    @property
    def dim(self):
        return DIMS[self.name]

    def fingerprint(self):
        return self.name

    def lookup(self, words, language=None):
        found = torch.tensor([len(word) % 3 > 0 for word in words])
        values = torch.randn(len(words), self.dim, generator=stream(0, self.name))
        return Vectors(values * found[:, None], found)


@pytest.fixture
def ready(tmp_path, monkeypatch):
    """The archive that is carried, of made text and made vectors."""
    set_apart(monkeypatch, SOURCES)
    for name in DIMS:
        languages = frozenset(("en", "de") if name == "mbert" else ("en",))
        SOURCES.replace(name, SourceEntry(lambda _, made=Made(name, languages): made, languages))
    data = tmp_path / "data"
    for name in ("sst2", "multi30k", *(f"vectors/{model}" for model in full.TOKENIZERS)):
        (data / name).mkdir(parents=True)
    words = ["the", "a", "good", "bad", "film", "story", "was", "ran"]
    lines = [f"{words[n % 3]} {words[n % 5 + 1]} {words[n % 8]}" for n in range(60)]
    labelled = "".join(f"{n % 2}\t{line}\n" for n, line in enumerate(lines))
    for split in ("train", "dev"):
        text = "label\tsentence\n" + labelled
        (data / f"sst2/{split}.tsv.gz").write_bytes(gzip.compress(text.encode()))
    for split in ("train", "val", "test_2016_flickr"):
        for side in ("en", "de"):
            (data / f"multi30k/{split}.{side}").write_text("\n".join(lines) + "\n")
    full.main(["prepare", str(data), str(tmp_path / "carried"), "--tiny", "--no-wheels"])
    for known in (preparation._opened, preparation._prepared):
        known.cache_clear()
    return tmp_path / "carried/ready.tar.xz"


def logged(out):
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return lines, list(dict.fromkeys(line["unit"] for line in lines if "unit" in line))


def run(ready, out, *options):
    full.main(["run", str(ready), "--tiny", "--out", str(out), *options])
    return logged(out)


def test_parts_are_trained_in_their_order_and_one_that_fails_stops_no_other(
    ready, tmp_path, monkeypatch
):
    """What was trained is in the packs, and is not trained again where these are taken along."""
    units, every = ["3a", "1a", "2", "4", "9a", "10a", "10b"], full.parts()

    def broken(run):
        data = replace(run.recipe.data, task="no-such-text")
        return replace(run, recipe=replace(run.recipe, data=data))

    changed = [
        replace(one, runs=tuple(map(broken, one.runs))) if one.unit == "1a" else one
        for one in every
    ]
    monkeypatch.setattr(full, "PIECE", 4000)
    monkeypatch.setattr(full, "parts", lambda: changed)
    lines, met = run(ready, tmp_path / "first", "--slots", *units)
    assert met == units
    [failed] = [line for line in lines if "failed" in line]
    assert failed["unit"] == "1a"
    assert "no-such-text" in failed["failed"]
    packs = sorted((tmp_path / "first").glob("store.tgz.*"))
    assert 1 < len(packs) <= 7
    full.unpack([tmp_path / "first"], tmp_path / "stores")
    good = [full.tiny(one) for one in every if one.unit in units and one.unit != "1a"]
    for name, registers in (("claims", False), ("registering", True)):
        store = Store(tmp_path / "stores" / name)
        wanted = {run for one in good if one.registering == registers for run in one.runs}
        assert {store.read(key).spec for key in store} == wanted
    done = str(tmp_path / "first")
    lines, met = run(ready, tmp_path / "second", "--slots", *units, "--done", done)
    assert met == ["1a"], "nothing else is left to train"


def test_what_another_machine_trained_is_kept_under_the_keys_of_this_one(
    ready, tmp_path, monkeypatch
):
    """Keys have the versions of torch and numpy. Records of other data are left out."""
    versions = dict.fromkeys(("numpy", "sacrebleu", "torch"), "1.0")
    known = tuple(f"{name} 1.0" for name in versions)
    with monkeypatch.context() as there:
        there.setattr("embinit.runs.store.versions_of", lambda names: known)
        there.setattr("embinit.runs.results.version_of", versions.get)
        run(ready, tmp_path / "out", "--slots", "3a")
    with tarfile.open(ready) as packed:
        packed.extractall(tmp_path / "ready", filter="data")
    runs = [run for one in full.parts() if one.unit == "3a" for run in full.tiny(one).runs]
    for data, count in (("ready", 2), ("data", 0)):
        if data == "data":  # the same text but for one line
            with gzip.open(tmp_path / "data/sst2/dev.tsv.gz", "at") as file:
                file.write("1\tone more\n")
        to = tmp_path / f"kept-{data}"
        folder = str(tmp_path / "out")
        full.main(["keep", folder, "--data", str(tmp_path / data), "--to", str(to)])
        for name in full.STORES:
            store = Store(to / name)
            kept = [store.read(key).spec for key in store]
            assert len(kept) == count
            assert all(key_of(run, tmp_path / data) in store for run in kept)
            assert {*kept} <= {*runs}


def test_nothing_begins_that_would_not_end_in_time(ready, tmp_path):
    """What is left out is in the log, and the command ends by itself."""
    lines, met = run(ready, tmp_path / "out", "--slots", "3", "1", "--seconds", "9")
    assert met == ["3a", "3b", "1a", "1b"]
    assert all(line["because"] == "no time" for line in lines if "unit" in line)


@given(st.floats(-100, 1000), st.sampled_from(full.parts()), st.sampled_from([0.5, 1.0, 1.15, 3.0]))
def test_the_runs_that_fit_end_before_the_last_packing(left, part, pace):
    """By the estimates, and one more would not."""
    fit = full.fitting(left, part, pace)

    def ends(runs):
        return (part.stack_seconds + runs * part.run_seconds) * pace + full.SPARE

    assert fit == 0 or ends(fit) <= left + 1e-6
    assert left <= 0 or ends(fit + 1) > left - 1e-6


def asked():
    """The runs that the first paper's claims ask for on ``full``, by the claim."""
    cases = {}
    for test in functions("kim2024"):
        claim = Claim.of(test)
        for one in () if claim is None else claim.experiments("full"):
            case = read(test, one, lock=Lock(FOLDERS["kim2024"] / NAME))
            assert case.obstacle is None, f"{case.id}: {case.obstacle}"
            cases[case.id] = set(case.runs())
    return cases


def test_the_claims_ask_for_no_run_that_no_slot_trains():
    """Key by key; seeds that are registered on are none of theirs."""
    every = full.parts()
    trained = {run for one in every if not one.registering for run in one.runs}
    registering = {run for one in every if one.registering for run in one.runs}
    cases = asked()
    assert len(cases) > 40
    for name, runs in cases.items():
        assert runs, name
        assert runs <= trained, name
        assert not runs & registering, name
    first = Role.REGISTRATION.seed(0)
    assert max(run.seed for run in trained) < first <= min(run.seed for run in registering)


def test_the_settings_are_those_of_the_tier_paper_where_it_has_them():
    """So that SST-2 with GloVe is the paper's experiment, on other seeds."""
    ours, theirs = (
        {one.data.task: one for one in experiments(tier, ("glove",))} for tier in ("full", "paper")
    )
    same = replace(theirs["sst2"], data=replace(theirs["sst2"].data, whole=None))
    assert ours["sst2"].run("xavier", 0) == same.run("xavier", 100)
    for one in (*experiments("full"), *without_vectors("full")):
        role, task = one.source_role, one.name.split("-")[1]
        [like] = [one for one in experiments("paper", (role,)) if task in stands_for(one)]
        assert one.training == replace(like.training, validation_bleu=one.training.validation_bleu)
        assert replace(one.model, dim=0) == replace(like.model, dim=0)
        assert one.data.min_freq == like.data.min_freq
        assert (one.data.cut, one.data.max_length) == (like.data.cut, like.data.max_length)
        if "no-vectors" in one.name:
            assert one.data == replace(like.data, whole=None)
            assert one.model == like.model
