"""What a paper prints is found for the comparisons that it makes, and for no others."""

from __future__ import annotations

import json

import pytest

from embinit.papers import beside, printed
from embinit.papers.kim2024.experiments import TIERS, experiments, probes


def arms(tier, source, task):
    every = experiments(tier)
    [one] = [one for one in experiments(tier, (source,)) if one.data.task == task]
    others = {other.name.split("-", 1)[0]: other for other in every if other.data.task == task}
    return ArmsOfExperiment(one, others, every)


def rows(comparison):
    found = printed("kim2024", comparison)
    for row in found:
        assert row["difference"] == pytest.approx(row["left"] - row["right"])
    return [(row["task"], row["left"], row["right"]) for row in found]


def test_scores_are_tables_1_and_7():
    """A made task stands for several, a real one for itself, MNLI's mismatched for its own."""
    translation = arms("micro", "t5", "micro-translation")
    assert rows(translation["pretrained"] < translation["xavier"]) == [
        ("Multi30k", 35.9, 44.0),
        ("IWSLT2017", 15.7, 32.4),
    ]
    sst2 = arms("sample", "bert", "sst2")
    assert rows(sst2["xavier_pretrained"] >= sst2["xavier"]) == [("SST2", 82.0, 81.5)]
    mnli = arms("paper", "glove", "mnli")
    raw, base = mnli["pretrained"], mnli["xavier"]
    assert rows(raw < base) == [("MNLI", 57.7, 60.4)]
    assert rows(raw.measured_by("test_accuracy", keep_margin=True) < base.measured_by("test_accuracy", keep_margin=True)) == [("MNLI", 58.2, 60.2)]
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
    assert rows(one["pretrained"].sigma > one.of_source("glove")["pretrained"].sigma) == [
        ("SST2", 22.6, 0.37)
    ]
    assert rows(one["xavier_pretrained"].measured_by(table_statistic("sigma")).alike(22.6)) == [("SST2", 22.6, 22.6)]


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.with_shuffled_positions(),
        lambda one: one.with_layers(6),
        lambda one: one.scaled("one"),
        lambda one: one.with_sigma(0.1),
        lambda one: one.for_times_the_epochs(3),
    ],
)
def test_what_the_paper_did_not_do_it_does_not_print(change):
    one = arms("micro", "glove", "micro-translation")
    changed = change(one)
    assert rows(changed["pretrained"] < changed["xavier"]) == []
    assert rows(one["pretrained_shuffled"] < one["pretrained"]) == []
    assert rows(one["xavier"] > one["xavier"].on_other_seeds()) == []
    assert rows(one["xavier"].pe_share > one["pretrained"].pe_share) == []


def test_another_paper_prints_nothing():
    """A claim that is not embinit's own has no numbers here, and an odd name is no module."""
    one = arms("micro", "glove", "micro-translation")
    comparison = one["pretrained"] < one["xavier"]
    assert printed("mine", comparison) == []
    assert printed("no module", comparison) == []


def record(one, init, seed, **measures):
    """A run as the store gives it back."""
    spec = json.loads(json.dumps(one.run(init, seed).as_dict()))
    sigma = measures.pop("sigma", 0.1)
    table = {"minimum": -0.2, "maximum": 0.3, "mean": 0.0, "sigma": sigma, "dim": 64}
    places = {"encoder": {**table, "sigma": 0.7}}
    curves = {"validation_bleu": [1.0, 2.0]} if one.training and seed < 2 else {}
    tables = {"encoder": table}
    return {
        "spec": spec,
        "measures": measures,
        "tables": tables,
        "positions": places,
        "curves": curves,
    }


def cell(table, row, column):
    """The cell of a table beside the paper's."""
    [found] = [one for one in table.rows if one[0] == row]
    return found[table.head.index(column)]


def test_ours_stand_beside_the_papers_in_its_own_tables():
    """Each arm in its setting's cell; another setting, or a control's other seeds, in none."""
    [one] = experiments("micro", ("glove",), ("translation",))
    records = [
        *(record(one, "pretrained", seed, bleu=30.0 + seed) for seed in range(3)),
        record(one, "pretrained", 1000, bleu=99.0),
        record(one.with_sigma(0.5), "pretrained", 0, bleu=98.0),
        record(one.with_model(layers=9), "xavier", 0, bleu=97.0),
        record(one.frozen().without_positions(), "xavier", 0, bleu=7.0),
        record(one.frozen().without_positions(), "xavier", 1, bleu=9.0),
    ]
    scores, widths, grid, spread, figure = beside("kim2024", "micro", records)
    here = "micro-translation, here"
    assert cell(scores, "GloVe", here) == "31.0 ± 1.0 (3)"
    assert cell(scores, "GloVe", "Multi30k, paper") == "34.1 ± 0.7"
    assert cell(scores, "GloVe", "IWSLT2017, paper") == "28.7 ± 0.2"
    assert cell(scores, "Xavier", here) == cell(scores, "GloVe", "micro-sentiment, here") == "–"
    assert cell(widths, "GloVe", here) == "0.100 ± 0.000 (3)"
    assert cell(widths, "GloVe", "Multi30k, paper") == "0.37"
    assert cell(grid, "Xavier, frozen, without positions", here) == "8.0 ± 1.4 (2)"
    assert cell(grid, "Xavier, frozen, without positions", "Multi30k, paper") == "28.3 ± 0.08"
    assert cell(grid, "GloVe, trained, with positions", here) == "31.0 ± 1.0 (3)"
    assert cell(spread, "GloVe", "sigma, here") == "0.1"
    assert cell(spread, "GloVe × √D", "sigma, here") == "0.8"
    assert cell(spread, "GloVe × √D", "min, here") == "−1.6"
    assert cell(spread, "GloVe × √D", "sigma, paper") == "6.39"
    assert cell(spread, "Positions", "sigma, paper") == "0.67"
    assert cell(spread, "Positions", "sigma, here") == "–"
    assert cell(figure, "GloVe", "best epoch, paper") == "20.0"
    assert cell(figure, "GloVe", "test BLEU, here") == "31.0 ± 1.0 (3)"
    assert figure.curves == (("GloVe", ([1.0, 2.0], [1.0, 2.0])),)
    found = beside("kim2024", "micro", [record(one, "xavier", 0, bleu=1.0)])
    [spread] = [table for table in found if table.title.startswith("Table 6")]
    assert cell(spread, "Positions", "sigma, here") == "0.7"
    assert cell(spread, "Xavier", "max, here") == "0.3"
    [probe] = probes("sample")
    placed = probe.with_positions("sinusoidal").scaled("one", "sigma_p/sigma_x")
    [analogies] = beside("kim2024", "sample", [record(placed, "pretrained", 0, accuracy=12.34)])
    assert analogies.rows[-1][1:] == ("11.1", "12.3")
    assert {row[2] for row in analogies.rows[:-1]} == {"–"}


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_run_nothing_beside(tier):
    """A table without any number of ours is left out, and so is a paper that is not known."""
    assert beside("kim2024", tier, []) == []
    assert beside("unheard2030", tier, []) == []
