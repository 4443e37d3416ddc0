"""What a paper prints is found for the comparisons that it makes, and for no others."""

from __future__ import annotations

import ast
import importlib
import math
import operator
from collections import Counter
from pathlib import Path

import pytest

import embinit
from builders import ReadySession, make_experiment, make_result, set_apart
from embinit import papers
from embinit.claims import Family, claim, judge
from embinit.claims.entries import claim_record
from embinit.errors import InputError
from embinit.lab.data.preparation import prepare
from embinit.lab.data.sources import SOURCES as SOURCE_TABLES
from embinit.lab.measures import table_statistic
from embinit.papers import PAPERS, Paper, Printed, Tier, paper, papers_of, printed_for, with_tier
from embinit_papers.kim2024 import (
    everywhere,
    of_source,
    other_tables,
    scaled,
    table1,
    trained_for_times,
    with_missing_at_xavier,
    with_shuffled_positions,
)
from embinit_papers.kim2024.experiments import LABELS, OTHER_SOURCES, SOURCES, experiments
from test_claims import OF_PAPERS

KIM = PAPERS["kim2024"]


def arms(tier, source, task):
    [one] = [one for one in experiments(tier, (source,)) if one.data.task == task]
    return one


def rows(comparison):
    found = KIM.printed(comparison)
    for row in found:
        assert row.difference == pytest.approx(row.left - row.right)
    return [(row.task, row.left, row.right) for row in found]


@pytest.mark.parametrize("tier", ["micro", "sample", "paper"])
def test_other_tables_are_no_part_of_table_1(tier):
    """They are asked for by name alone, and the paper knows them for preparation."""
    others = other_tables()(tier)
    ours = {one.source_role for one in others}
    assert ours == (set() if tier == "paper" else set(OTHER_SOURCES))
    table = table1()(tier)
    for found in (table, experiments(tier), everywhere(table[0])):
        assert {one.source_role for one in found} == set(SOURCES)
    assert len(others) * len(SOURCES) == len(table) * len(ours)
    known = KIM.experiments(tier)
    assert {one.name for one in (*table, *others)} <= {one.name for one in known}
    for other in others:
        assert other.source_label == LABELS[other.source_role]
        assert rows(other["pretrained"] < other["xavier"]) == []
        assert rows(other["pretrained"].sigma > other["xavier"].sigma) == []
        assert other.margin == next(one.margin for one in table if one.data.task == other.data.task)


@pytest.mark.parametrize("name", ["word2vec", "fasttext", "elmo"])
def test_the_tables_claimed_to_be_of_large_sigma_are(name):
    """Above three times Xavier's sigma for the vocabulary of each task that they start."""
    for experiment in other_tables(name)("micro"):
        words = prepare(experiment.data, None).vocabularies["encoder"].words
        vectors = SOURCE_TABLES[experiment.source](None).lookup(words)
        sigma = vectors.values[vectors.found].std(correction=0).item()
        assert sigma > 3 * math.sqrt(2 / (len(words) + experiment.model.dim))


def test_scores_are_tables_1_and_7():
    """A synthetic task stands for several, a real one for itself, MNLI's mismatched for its own."""
    translation = arms("micro", "t5", "micro-translation")
    assert rows(translation["pretrained"] < translation["xavier"]) == [
        ("Multi30k", 35.9, 44.0),
        ("IWSLT2017", 15.7, 32.4),
    ]
    sst2 = arms("sample", "bert", "sst2-sentences")
    assert rows(sst2["xavier_pretrained"] >= sst2["xavier"]) == [("SST2", 82.0, 81.5)]
    mnli = arms("paper", "glove", "mnli")
    raw, base = mnli["pretrained"], mnli["xavier"]
    assert rows(raw < base) == [("MNLI", 57.7, 60.4)]
    mismatched = (one.measured_by("test_accuracy", keep_margin=True) for one in (raw, base))
    assert rows(operator.lt(*mismatched)) == [("MNLI", 58.2, 60.2)]
    assert rows(raw.best_epoch > base.best_epoch) == [("MNLI", 6.5, 3.5)]


def test_differences_and_settings_are_table_3():
    """Frozen or without positions only Multi30k with GloVe is printed."""
    one = arms("micro", "glove", "micro-translation")
    without = one.without_positions()
    gains = one["pretrained"] - without["pretrained"], one["xavier"] - without["xavier"]
    assert rows(gains[0] < gains[1]) == [("Multi30k", 2.2, 7.7)]
    bare = one.frozen().without_positions()
    assert rows(bare["pretrained"].alike(bare["pretrained_xavier"])) == [("Multi30k", 31.2, 31.2)]
    t5 = arms("micro", "t5", "micro-translation").without_positions()
    assert rows(t5["pretrained"] < t5["xavier"]) == []


def test_sigmas_are_tables_2_and_8():
    one = arms("paper", "t5", "sst2")
    glove = of_source(one, "glove")
    assert rows(one["pretrained"].sigma > glove["pretrained"].sigma) == [("SST2", 22.6, 0.37)]
    width = one["xavier_pretrained"].measured_by(table_statistic("sigma"))
    assert rows(width.alike(22.6)) == [("SST2", 22.6, 22.6)]


@pytest.mark.parametrize(
    "change",
    [
        with_missing_at_xavier,
        with_shuffled_positions,
        lambda one: one.with_layers(6),
        lambda one: scaled(one, "one"),
        lambda one: one.with_sigma(0.1),
        lambda one: trained_for_times(one, 3),
    ],
)
def test_what_the_paper_did_not_do_it_does_not_print(change):
    one = arms("micro", "glove", "micro-translation")
    changed = change(one)
    assert rows(changed["pretrained"] < changed["xavier"]) == []
    assert rows(one["pretrained_shuffled"] < one["pretrained"]) == []
    assert rows(one["xavier"] > one["xavier"].on_other_seeds()) == []
    assert rows(one["xavier"].pe_share > one["pretrained"].pe_share) == []


def test_the_core_names_no_paper():
    """A paper is an object that registers itself; nothing else knows which there are."""
    every, read = Path(embinit.__file__).parent.rglob("*"), (".py", ".j2", ".json", ".js")
    texts = {path: path.read_text("utf-8") for path in every if path.suffix in read}
    assert len(texts) > 60
    shipped = (*OF_PAPERS, "embinit_papers", "embinit_studies")
    named = {(path.name, key) for path, text in texts.items() for key in shipped if key in text}
    assert named == {("code.py", "embinit_papers"), ("code.py", "embinit_studies")}


MINE = Family("mine/finding", {"micro": 1}, says="Mine")


@claim("mine/finding/a", says="a", family=MINE, experiments=list)
def stated(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


def scored(run):
    """Results in which Xavier is far better."""
    return make_result(run, accuracy=50.0 + run.seed + 20 * (run.recipe.table.init == "xavier"))


def judged():
    """The claim's record in verdicts.json."""
    session = ReadySession(scored)
    judgement = judge(stated, make_experiment(), session)
    assert len(*session.asked) == 10
    return claim_record(judgement, "test.py::test_stated", session.key, printed_for)


def test_a_third_partys_paper_brings_what_it_prints(monkeypatch):
    """Registered, its numbers stand in the verdict, and its tiers are known."""
    set_apart(monkeypatch, PAPERS)
    [before] = judged().comparisons
    assert before.printed == ()
    assert Counter(before.runs.values()) == {"GloVe": 5, "Xavier": 5}
    assert paper("mine") is None
    mine = Paper(
        key="mine",
        citation="Me (2026), My paper",
        short="Me 2026",
        tiers={"micro": Tier("micro", "a made thing")},
        experiments=lambda tier: [make_experiment()],
        families=(MINE,),
        printed=lambda comparison: [Printed("mine", 1.0, 3.5, -2.5)],
    )
    PAPERS.register("mine", mine)
    assert paper("mine") is mine
    assert papers_of(["unheard", "mine", "kim2024", "mine"]) == [mine, KIM]
    assert mine in with_tier("micro")
    assert mine not in with_tier("paper")
    assert judged().comparisons[0].printed == (Printed("mine", 1.0, 3.5, -2.5),)


def test_an_unknown_tier_is_told_with_those_of_all_papers(monkeypatch):
    monkeypatch.setattr(papers, "OWN_TIERS", {})
    known = r"unknown tier 'nano': known are micro, paper, sample, full$"
    with pytest.raises(InputError, match=known):
        with_tier("nano")


@pytest.mark.parametrize("name", embinit.__all__)
def test_every_public_name_resolves(name):
    """Lazily, to what its module has."""
    home = embinit._HOMES[name]
    assert getattr(embinit, name) is getattr(importlib.import_module(f"embinit.{home}"), name)


def test_the_public_names_are_one_list():
    """What type checkers see is what is there."""
    tree = ast.parse(Path(embinit.__file__).read_text("utf-8"))
    seen = {
        alias.name: (node.module or "").removeprefix("embinit.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("embinit.")
        for alias in node.names
    }
    assert seen == embinit._HOMES
    assert set(embinit.__all__) == set(seen)
    with pytest.raises(AttributeError, match="no attribute 'Experiments'"):
        embinit.Experiments  # noqa: B018
