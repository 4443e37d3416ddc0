"""The benchmark that the regimes were chosen by, and the registered settings that it led to."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.claims.noise_floor import FIRST_SEED
from embinit.data.microcosm import lexicon
from embinit.data.tasks import TASKS
from embinit.data.tasks.microcosm import UNDENIED_OPINIONS
from embinit.papers import PAPERS
from embinit.papers.chung2021 import SETTINGS
from embinit.papers.kim2024.experiments import experiments
from embinit.specs import Cut
from test_benchmarks import load

regimes = load("regimes")
KEPT = json.loads(regimes.KEPT.read_text())
ROLES = ("translation", "sentiment", "inference")


@pytest.mark.parametrize("effect", [0.0, 1.0, 3.0, 8.0])
@pytest.mark.parametrize("margin", [1.0, 4.0, 12.0])
@pytest.mark.parametrize("seeds", [5, 20])
def test_the_share_decided_is_that_of_simulated_means(effect, margin, seeds):
    """Both outcomes, from means of two arms that are drawn."""
    means = np.random.default_rng(0).normal(size=(2, 20_000)) * 2.0 / math.sqrt(seeds)
    found = np.abs(effect + means[0] - means[1])
    beyond = regimes.CRITICAL * 2.0 * math.sqrt(2 / seeds)
    share = ((found > beyond) | (found < margin - beyond)).mean()
    assert regimes.decided(effect, 2.0, margin, seeds) == pytest.approx(share, abs=0.02)


@given(sd=st.floats(0.1, 10), effect=st.floats(0, 50), margin=st.floats(0.5, 10))
def test_more_seeds_and_less_noise_decide_no_less_of_an_effect_beyond_its_margin(
    sd, effect, margin
):
    """Within a margin's reach of zero an effect may be decided either way, so less is certain."""
    effect += margin
    shares = [regimes.decided(effect, sd, margin, seeds) for seeds in regimes.LOOKS]
    assert 0 <= min(shares) <= max(shares) <= 1 + 1e-9
    assert regimes.smallest(sd, 20) == pytest.approx(regimes.smallest(2 * sd, 80))


@pytest.mark.parametrize("role", ROLES)
def test_the_registered_setting_is_one_that_was_tried(role):
    """Else the figure would show another tier."""
    [registered] = experiments("micro", ["glove"], [role])
    tried = [regimes.remembered(entry) for entry in KEPT["candidates"] if entry["role"] == role]
    assert len(set(tried)) == len(tried)
    assert sum(regimes.is_registered(candidate, registered) for candidate in tried) == 1
    assert set(regimes.CANDIDATES[role]) <= set(tried)


@pytest.mark.parametrize("role", ROLES)
def test_the_noise_floor_is_that_of_the_kept_arms(role):
    """They are the same runs: Xavier on the first of the reserved seeds."""
    [registered] = experiments("micro", ["glove"], [role])
    task = registered.data.task
    [floor] = [one for one in PAPERS["kim2024"].floors() if (one.tier, one.task) == ("micro", task)]
    kept = {(one["measure"], one["arm"]): one for one in KEPT["arms"] if one["task"] == task}
    assert {arm for _, arm in kept} == set(regimes.arms(registered))
    ours = kept[floor.metric, "xavier"]
    assert (floor.mean, floor.sd, floor.seeds) == pytest.approx(
        (ours["mean"], ours["sd"], ours["seeds"]), abs=6e-4
    )


def test_candidates_differ_in_what_they_name():
    """The setting becomes the spec's, text is cut from the larger splits, seeds are reserved."""
    [registered] = experiments("micro", ["glove"], ["inference"])
    candidate = regimes.Candidate(3000, 3, 1e-3, 16, 500, 300, 2, 64)
    run = candidate.of(registered).run("xavier", FIRST_SEED)
    assert run.training.epochs == 3
    assert (run.training.lr, run.training.batch_size) == (1e-3, 16)
    assert (run.model.layers, run.model.feed_forward) == (2, 64)
    assert (run.data.cut.train, run.data.cut.validation, run.data.cut.test) == (3000, 500, 300)
    assert run.data.task == "micro-inference-larger"
    names = [(setting.positions.kind, init) for setting, init in regimes.arms(registered).values()]
    assert len(set(names)) == len(names) == 3


def test_a_candidate_has_its_own_opinions():
    """Its text is drawn with its weights, under a name of its own."""
    [registered] = experiments("micro", ["glove"], ["sentiment"])
    names = set()
    for weights, denies in (((9, 0, 0, 2), False), ((9, 1, 2, 2), True), (regimes.OPINIONS, True)):
        data = regimes.Candidate(200, 2, 1.5e-3, opinions=weights).of(registered).data
        texts = [example.text.split() for example in TASKS[data.task].load(None, data.cut).train]
        assert any(lexicon().source_function["not"] in text for text in texts) == denies
        names.add(data.task)
    assert names == {
        "micro-sentiment-9:0:0:2-larger",
        "micro-sentiment-9:1:2:2-larger",
        "micro-sentiment-larger",
    }


def test_the_figure_has_a_line_for_every_candidate():
    """And a dot for each look; the registered setting stands out once a panel."""
    drawn = regimes.figure(KEPT["candidates"])
    assert drawn.count("<polyline") == len(KEPT["candidates"])
    assert drawn.count("<circle") == 3 * len(KEPT["candidates"])
    assert drawn.count('stroke="#14406b"') == len(ROLES)
    assert regimes.FIGURE.read_text() == drawn


pretraining_regimes = load("pretraining_regimes")
PRETRAINED = json.loads(pretraining_regimes.KEPT.read_text())
fine_tunings = load("fine_tunings")
TUNED = json.loads(fine_tunings.KEPT.read_text())


def fine_tuned(task):
    """A task's way to fine-tune, as the benchmark names it."""
    training = task.training
    return fine_tunings.Way(
        task.role, training.batch_size, training.epochs, training.lr, training.schedule
    )


def test_the_second_papers_setting_is_one_that_was_tried_but_for_a_shorter_text():
    """Its text, its way to pre-train and its ways to fine-tune, on seeds that no claim uses.

    Its text is a little shorter, so that its encoders are not those whose scores had been seen.
    """
    setting, chosen = SETTINGS["micro"], pretraining_regimes.CHOSEN
    pretraining = setting.pretraining
    assert 0.9 * chosen.sentences < setting.text.cut.train < chosen.sentences
    assert (pretraining.epochs, pretraining.lr) == (chosen.epochs, chosen.lr)
    assert (pretraining.batch_size, pretraining.share) == (chosen.batch_size, chosen.share)
    assert chosen.again == any(one.pair for one in TASKS[setting.text.task].load(None, Cut()).train)
    weights = {"sentiment": UNDENIED_OPINIONS, "inference": None}
    assert TASKS["micro-sentiment-across"].write.keywords["weights"] == weights["sentiment"]
    for task in setting.tasks:
        size, epochs = task.training.batch_size, task.training.epochs
        tuning = pretraining_regimes.Tuning(task.train, size, epochs, weights[task.role])
        assert tuning in pretraining_regimes.TUNINGS
        assert sum(way == fine_tuned(task) for way in fine_tunings.WAYS) == 1
        assert task.times == fine_tunings.TIMES
    assert min(pretraining_regimes.SEEDS) >= FIRST_SEED
    kept = [pretraining_regimes.Way(**each["way"]) for each in PRETRAINED]
    assert kept == pretraining_regimes.WAYS


def test_an_effect_is_told_in_deviations_of_a_difference():
    """Two arms of deviations 3 and 4 differ by 5; means 10 apart are two of those."""
    ours, theirs = [10.0, 16.0, 13.0], [-1.0, 7.0, 3.0]
    assert pretraining_regimes.effect(ours, theirs) == pytest.approx(2.0)


def test_the_page_has_the_table_of_what_was_kept():
    """Every candidate, as ``python benchmarks/pretraining_regimes.py table`` prints them."""
    page = (pretraining_regimes.KEPT.parents[2] / "docs/regime.md").read_text(encoding="utf-8")
    assert pretraining_regimes.table(PRETRAINED) in page
    assert fine_tunings.table(TUNED) in page


@pytest.mark.parametrize("name", ["accuracy", "test"])
@pytest.mark.parametrize("task", SETTINGS["micro"].tasks, ids=lambda task: task.role)
def test_the_floor_of_one_fine_tuning_is_that_of_the_kept_ones(task, name):
    """They are the same runs, told by two programs: the usual arm's, and the parts' variances."""
    [floor] = [one for one in PAPERS["chung2021"].floors() if one.metric == f"{task.role}_{name}"]
    [kept] = [
        each
        for each in TUNED
        if each["pretrained"] and fine_tunings.Way(**each["way"]) == fine_tuned(task)
    ]
    sd = math.hypot(*fine_tunings.parts(kept[name]))
    assert (floor.mean, floor.sd) == pytest.approx((np.mean(kept[name]), sd), abs=2e-3)


@settings(max_examples=10)
@given(encoders=st.floats(0, 5), tunings=st.floats(0.1, 5), seed=st.integers(0, 9))
def test_the_parts_of_the_spread_are_those_that_were_drawn(encoders, tunings, seed):
    """Of many encoders with a deviation of their own, and fine-tunings about each."""
    draw = np.random.default_rng(seed).normal
    scores = encoders * draw(size=(1000, 1)) + tunings * draw(size=(1000, 4))
    found = fine_tunings.parts(scores.tolist())
    assert found[1] == pytest.approx(tunings, rel=0.1)
    assert found[0] ** 2 == pytest.approx(encoders**2, rel=0.2, abs=0.1 * tunings**2)
