"""The study on causes: its arms, its contrasts, and what its tables tell."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_result
from embinit.claims.lock import NAME, Lock
from embinit.errors import InputError
from embinit.lab.tables.positions import sinusoidal
from embinit.papers import PAPERS
from embinit.runs.plan import plan
from embinit_papers.kim2024.effects import largest_share, learnt
from embinit_papers.kim2024.experiments import experiments as kims
from embinit_papers.kim2024.printed import printed_deviations
from embinit_papers.settings import margin_for, sigma_at
from embinit_studies import causes
from embinit_studies.causes import (
    COMBINATIONS,
    NARROW,
    RATIOS,
    TIMES,
    TableExperiment,
    analysis,
    contrast,
    experiments,
)
from embinit_studies.causes.paper import PAPER
from embinit_studies.causes.paper_tables import methods, paper_tables
from embinit_studies.repairs import REPAIRS

HOME = Path(causes.__file__).parent
EVERY = experiments("micro")
REAL_ROLES = ("sentiment", "translation")
SCORES = st.lists(st.floats(-100, 100), min_size=8, max_size=8)


def lookup_of(experiment, scores):
    """Finds what each combination of repairs scored in any seed."""
    known = {
        experiment.large_sigma(*chosen).runs_of(0)[0]: score
        for chosen, score in zip(COMBINATIONS, scores, strict=True)
    }
    return lambda run: make_result(run, **{experiment.metric.name: known[run]})


def test_r_is_the_energy_of_words_over_that_of_sinusoids():
    """Of a table of that sigma times the root of D, and of positions far from the first."""
    dim = causes.GLOVE["micro"].dim
    energy = sinusoidal(4000, dim).square().mean().item()
    assert energy == pytest.approx(0.5, abs=1e-3)
    for ratio in RATIOS:
        assert dim * sigma_at(ratio, dim) ** 2 / energy == pytest.approx(ratio, rel=2e-3)
    assert sigma_at(TIMES**2 * NARROW, dim) == TIMES * sigma_at(NARROW, dim)
    assert RATIOS[-1] == TIMES**2 * NARROW


def test_the_settings_are_those_of_the_first_papers_tasks():
    """So the regime holds here. Margins are those of the one language that is explored.

    Sentiment is a task of ours, trained as theirs.
    """
    theirs = {each.role: each for each in kims("micro", ("glove",))}
    for each in EVERY:
        other = theirs[each.role].changed()
        assert (each.model, each.training) == (other.model, other.training)
        assert (each.metric, each.positions) == (other.metric, other.positions)
        if each.role == "sentiment":
            assert replace(each.data, task=other.data.task) == other.data != each.data
        else:
            assert each.data == other.data
            assert each.margin < other.margin


@pytest.mark.parametrize("experiment", EVERY, ids=lambda each: each.name)
def test_arms_differ_by_their_repairs_alone(experiment):
    """Eight combinations are eight runs, in two cohorts: a norm changes the model's shape."""
    runs = {chosen: experiment.large_sigma(*chosen).runs_of(0)[0] for chosen in COMBINATIONS}
    [narrow] = experiment.small_sigma().runs_of(0)
    assert len({*runs.values(), narrow}) == 9
    assert len(plan([*runs.values(), narrow])) == 2
    for chosen, run in runs.items():
        assert run.recipe.table.sigma == TIMES * narrow.recipe.table.sigma
        assert run.recipe.model.norm_after_sum == ("scale" in chosen)
        assert run.recipe.positions.pe_scale == (str(TIMES) if "ratio" in chosen else "one")
        assert run.recipe.table.rate == (TIMES if "step" in chosen else 1)
    # The widths of the curve are the same runs where they are the same tables.
    assert experiment.at_ratio(NARROW).runs_of(0) == [narrow]
    assert experiment.at_ratio(RATIOS[-1]).runs_of(0) == [runs[()]]


def test_another_optimizer_changes_the_training_alone():
    """Each table has its own source; the registered and the wide table are as under Adam."""
    of_translation = [
        each
        for each in (*causes.experiments("micro"), *causes.language_model_experiments("micro"))
        if each.role == causes.FOLLOWED
    ]
    assert {each.source_role for each in of_translation} == {"xavier", "glove", "bert", "t5"}
    assert of_translation == causes.with_table("xavier", "glove", "bert", "t5")("micro")
    assert causes.with_table("xavier")("sample") == []
    for each in of_translation:
        for name, rate in causes.RATES.items():
            under = each.with_optimizer(name)
            for arm in (
                TableExperiment.small_sigma,
                TableExperiment.unscaled,
                TableExperiment.large_sigma,
            ):
                [adam], [other] = arm(each).runs_of(0), arm(under).runs_of(0)
                assert other == adam.changed(
                    training=replace(adam.recipe.training, optimizer=name, lr=rate)
                )
        [raw] = each.unscaled().runs_of(0)
        assert raw.recipe.table.sigma is None
        assert raw.recipe.table.source == (None if each.source_role == "xavier" else each.source)
    with pytest.raises(InputError, match="did you mean 'sgd'"):
        EVERY[0].with_optimizer("sdg")


def test_an_unknown_repair_or_cause_is_named():
    with pytest.raises(InputError, match="did you mean 'scale'"):
        EVERY[0].large_sigma("scael")
    with pytest.raises(InputError, match="there is no repair"):
        contrast(EVERY[0], "norm")
    with pytest.raises(InputError, match="named twice in scale, scale"):
        contrast(EVERY[0], "scale", "scale")
    with pytest.raises(InputError, match="name at least one"):
        contrast(EVERY[0])


@given(SCORES)
def test_contrasts_are_those_of_least_squares(scores):
    """Against numpy's fit of all products of the factors, coded ±1; an effect is twice that."""
    experiment = EVERY[0]
    lookup = lookup_of(experiment, scores)
    coded = np.array([[1 if r in chosen else -1 for r in REPAIRS] for chosen in COMBINATIONS])
    named = [c for n in range(4) for c in itertools.combinations(range(3), n)]
    design = np.array([[math.prod(row[i] for i in c) for c in named] for row in coded])
    fitted = np.linalg.lstsq(design, np.array(scores), rcond=None)[0]
    for which, coefficient in zip(named, fitted, strict=True):
        if which:
            effect = contrast(experiment, *(REPAIRS[i] for i in which))
            assert effect.value(0, lookup) == pytest.approx(2 * coefficient, abs=1e-6)


@given(SCORES)
def test_effects_sum_to_what_all_repairs_gain(scores):
    experiment = EVERY[0]
    lookup = lookup_of(experiment, scores)
    effects = [contrast(experiment, *of) for of in (*((each,) for each in REPAIRS), REPAIRS)]
    gained = scores[-1] - scores[0]
    assert sum(each.value(0, lookup) for each in effects) == pytest.approx(gained, abs=1e-6)


@given(SCORES)
def test_shares_are_shapleys(scores):
    """Against the mean over all orders in which the repairs are made."""
    gained = scores[-1] - scores[0]
    if abs(gained) < 1e-3:
        return
    by_set = dict(zip(map(frozenset, COMBINATIONS), scores, strict=True))
    lookup = lookup_of(EVERY[0], scores)
    contrasts = {
        name: [quantity.value(0, lookup)]
        for name, quantity in analysis.contrasts_of(EVERY[0]).items()
    }
    shares = analysis.shares(contrasts)
    for repair in REPAIRS:
        gains = []
        for order in itertools.permutations(REPAIRS):
            before = frozenset(order[: order.index(repair)])
            gains.append(by_set[before | {repair}] - by_set[before])
        expected = 100 * statistics.fmean(gains) / gained
        assert shares[repair][0] == pytest.approx(expected, rel=1e-6, abs=1e-4)


@given(st.lists(st.floats(-50, 50, width=32), min_size=3, max_size=8, unique=True))
def test_intervals_are_scipys(values):
    from scipy import stats

    told = analysis.estimate(values)
    low, high = stats.t.interval(0.95, len(values) - 1, statistics.fmean(values), stats.sem(values))
    assert told == pytest.approx((statistics.fmean(values), low, high), rel=1e-6, abs=1e-6)


def test_the_page_and_the_figures_tell_what_was_measured(tmp_path, monkeypatch):
    """Tables between their marks, figures that are XML, an arm that was not run left out."""
    from xml.etree import ElementTree

    arms = {name: [float(n), n + 2.0] for n, name in enumerate(analysis.arms_of(EVERY[0]))}
    contrasts = {name: [1.0, 3.0] for name in analysis.contrasts_of(EVERY[0])}
    results = {
        each.name: {"metric": each.metric.unit, "arms": dict(arms), "contrasts": contrasts}
        for each in EVERY
    }
    del results["glove-micro-inference"]["arms"]["R 5"]
    page = tmp_path / "papers" / "causes.md"
    page.parent.mkdir()
    page.write_text("a\n<!-- causes/analysis.py: ratio -->\nold\n<!-- end -->\nb\n")
    monkeypatch.setattr(analysis, "HERE", tmp_path)
    monkeypatch.setattr(analysis, "PAGE", page)
    analysis.write({"seeds": [0, 2], "experiments": results})
    told = page.read_text()
    assert told.startswith("a\n")
    assert told.endswith("b\n")
    assert "old" not in told
    assert "| Xavier, translation, trained |" in told
    assert "| GloVe, inference, trained |" not in told
    for name in ("repairs.svg", "ratio.svg"):
        ElementTree.fromstring((tmp_path / name).read_text())


def test_the_page_tells_of_other_optimizers(tmp_path, monkeypatch):
    """Each table under each optimizer; an arm that was not run is left empty."""
    every = analysis.by_optimizer(["xavier", "t5"], ["adafactor"])
    assert list(every) == ["Xavier, Adam", "Xavier, Adafactor", "T5, Adam", "T5, Adafactor"]
    page = tmp_path / "causes.md"
    page.write_text("<!-- causes/analysis.py: optimizers -->\nold\n<!-- end -->\n")
    monkeypatch.setattr(analysis, "PAGE", page)
    arms = {"registered width": [1.0, 3.0], "step": [4.0, 4.0]}
    analysis.write_optimizers({"seeds": [0, 2], "arms": {"T5, Adafactor": arms}})
    [row] = [line for line in page.read_text().splitlines() if line.startswith("| T5")]
    assert row == "| T5, Adafactor | 2.0 ± 1.4 |  |  | 4.0 ± 0.0 |  |  |"
    assert "Seeds 0 to 1:" in page.read_text()


def test_settings_change_the_experiment_and_nothing_of_its_factorial():
    """Heads stay 32 wide, R stays, and the wide table is eight times as wide in each."""
    every = analysis.by_setting()
    assert every["Xavier, translation, as registered"] in EVERY
    assert not any("wide" in name for name in every if "GloVe" in name)
    assert every["GloVe, translation, twice the epochs"].training.epochs == (
        2 * every["GloVe, translation, as registered"].training.epochs
    )
    for each in every.values():
        [narrow], [wide] = each.small_sigma().runs_of(0), each.large_sigma().runs_of(0)
        assert narrow.recipe.model.dim == 32 * narrow.recipe.model.heads
        assert narrow.recipe.table.sigma == sigma_at(NARROW, narrow.recipe.model.dim)
        assert wide == narrow.changed(
            table=replace(narrow.recipe.table, sigma=wide.recipe.table.sigma)
        )
        assert wide.recipe.table.sigma == TIMES * narrow.recipe.table.sigma


def test_claims_elsewhere_leave_out_where_the_model_does_not_learn():
    """A table has no width of its own where it is given, and sample has no other settings."""
    names = [each.name for each in causes.in_setting()("micro")]
    assert len(names) == len(set(names)) == 10
    assert not [name for name in names if "3-layers" in name or "256-wide" in name]
    assert len(causes.setting_experiments("micro")) == len(names) + 3
    with pytest.raises(InputError, match="no setting 'twice epochs': did you mean 'twice the ep"):
        causes.in_setting("twice epochs")
    [each] = causes.in_setting("half the epochs", tables=["glove"])("micro")
    assert (each.source_role, each.training.epochs) == ("glove", 2)
    assert causes.in_setting()("sample") == causes.with_a_language_models_table()("sample") == []
    translation, inference = (
        {each.role for each in causes.with_a_language_models_table(role)("micro")}
        for role in (causes.FOLLOWED, "inference")
    )
    assert (translation, inference) == ({causes.FOLLOWED}, {"inference"})


def test_real_text_has_the_settings_of_the_first_papers_sample():
    """But for SST-2's sentences to judge by, and nothing of micro's claims is tried there."""
    theirs = {each.name.removesuffix("-sentences"): each for each in kims("sample")}
    every = analysis.on_real_text().values()
    assert {each.role for each in every} == set(REAL_ROLES)
    for each in every:
        same = theirs[f"glove-{each.data.task}"].changed()
        data = replace(same.data, task=each.data.task)
        assert (each.data, each.model, each.training) == (data, same.model, same.training)
        assert each.sigma == sigma_at(NARROW, 300)
    for role in REAL_ROLES:
        assert [each.role for each in causes.on_real_text(role)("sample")] == [role, role]
        assert causes.on_real_text(role)("micro") == []
    assert causes.on_tasks()("sample") == []
    assert causes.language_model_experiments("sample") == ()


def test_what_was_told_of_other_arms_is_kept():
    """What the store has counts before what was told of the same arm."""
    experiment = EVERY[0]
    [narrow] = experiment.small_sigma().runs_of(0)

    class Fake:
        def result(self, run):
            return make_result(run, bleu=7.0) if run == narrow else None

    before = {experiment.name: {"arms": {"registered width": [1.0], "nothing": [2.0]}}}
    told = analysis.measured(Fake(), [0], before)[experiment.name]
    assert told["arms"] == {"registered width": [7.0], "nothing": [2.0], "R 0.31": [7.0]}
    assert told["contrasts"] == {}


def test_the_page_has_a_row_a_factorial(tmp_path, monkeypatch):
    """Scores of the narrow, the wide and the repaired table, and the causes' shares."""
    page = tmp_path / "causes.md"
    page.write_text("<!-- causes/analysis.py: real text -->\nold\n<!-- end -->\n")
    monkeypatch.setattr(analysis, "PAGE", page)
    arms = {name: [float(n), n + 2.0] for n, name in enumerate(analysis.COMBINED)}
    contrasts = {name: [1.0, 1.0] for name in analysis.contrasts_of(EVERY[0])}
    told = {"seeds": [0, 2], "rows": {"Xavier, multi30k": {"arms": arms, "contrasts": contrasts}}}
    analysis.write_factorials("real text", tmp_path / "told.json", told)
    text = page.read_text()
    assert "Seeds 0 to 1:" in text
    first = "| Xavier, multi30k | 1.0 ± 1.4 | 2.0 ± 1.4 | 9.0 ± 1.4 | 33 (33 to 33) |"
    assert first in text
    assert "| scale + ratio | 6.0 ± 1.4 |" in text
    arms["scale + ratio + step"] = arms[f"{TIMES} × as wide"]
    [row] = analysis.factorials_table(told)[4:]
    assert row.endswith("| – | – | – |")


def test_the_page_has_each_arm_at_each_rate():
    """The best is bold. At the registered rate it is the arm that the claims have."""
    experiment = EVERY[0]
    for arm in analysis.COMBINED.values():
        [run] = arm(experiment).runs_of(0)
        rates = [
            arm(experiment.at_rate_times(times)).runs_of(0)[0] for times in analysis.RATE_FACTORS
        ]
        assert run in rates
        assert [each.recipe.training.lr / run.recipe.training.lr for each in rates] == list(
            analysis.RATE_FACTORS
        )
        assert {each.changed(training=run.recipe.training) for each in rates} == {run}
    arms = {
        f"{label}, {times:g}": [n + 10 * times, n + 10 * times + 2]
        for n, label in enumerate(analysis.COMBINED)
        for times in analysis.RATE_FACTORS
    }
    del arms["scale, 2"]
    head, _, first, _, third, *_ = analysis.rates_table({"Xavier, sentiment": arms})
    assert head == "| repaired | Xavier, sentiment |"
    assert first == "| registered width | 6.0 / 11.0 / **21.0** |"
    assert third == "| scale | 8.0 / **13.0** / – |"


def test_the_tables_beside_have_what_was_run():
    experiment = EVERY[0]
    runs = [
        *(run for seed in (0, 1) for run in experiment.small_sigma().runs_of(seed)),
        *experiment.large_sigma("scale").runs_of(0),
        *experiment.large_sigma("scale").on_other_seeds().runs_of(0),
    ]
    factorial, widths = paper_tables("micro", [make_result(run, bleu=run.seed) for run in runs])
    assert [row[0] for row in factorial.rows] == ["registered width", "scale"]
    assert factorial.rows[0][1] == "0.5 ± 0.7 (2)"
    assert factorial.rows[1][1] == "0.0"
    assert [row[0] for row in widths.rows] == ["R = 0.31"]
    assert paper_tables("micro", []) == []
    told = " ".join(methods("micro"))
    assert all(setting.task in told for setting in causes.TIERS["micro"])


def test_it_is_registered():
    assert PAPERS["causes"] is PAPER


@pytest.mark.parametrize("tier", PAPER.tiers)
def test_every_margin_is_what_the_noise_floor_gives(tier):
    """It was measured, on the task that the first paper does not share."""
    lock = Lock(HOME / NAME)
    [wanted] = PAPER.noise(tier)
    one, floor = wanted.experiment, lock.noise_floor(wanted.experiment)
    assert (floor["metric"], floor["unit"]) == (one.metric.name, one.metric.unit)
    printed = printed_deviations(one) if tier != "micro" else []
    assert one.margin == floor["margin"] == margin_for(floor["sd"], *printed)
    planted = largest_share(one) * learnt(one, floor["mean"])
    assert one.planted == pytest.approx(planted, abs=0.01)
    assert len(lock.document["noise_floors"]) == len(PAPER.tiers)
