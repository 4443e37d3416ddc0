"""The study on extending: its arms, its margins, and what its table tells."""

from __future__ import annotations

from pathlib import Path

import pytest
from embtables.extension.methods import METHODS

from builders import make_result
from embinit.claims.lock import NAME, Lock
from embinit.claims.pilot import margin_of
from embinit.errors import InputError
from embinit.runs.plan import plan
from embinit_studies import extending
from embinit_studies.extending.paper import PAPER
from embinit_studies.extending.paper_tables import methods, paper_tables

TIERS = sorted(extending.SETTINGS)


def test_every_arm_is_a_method_of_embinit_extend():
    named = {name for pair in extending.ARMS.values() for name in pair} - {"", "zero"}
    assert named <= set(METHODS)


def test_an_arm_that_is_not_there_is_named():
    with pytest.raises(InputError, match="did you mean 'focus'"):
        extending.experiments("micro")[0]["focuss"]


@pytest.mark.parametrize("tier", TIERS)
def test_all_arms_of_a_seed_extend_one_base_in_one_cohort(tier):
    for experiment in extending.experiments(tier):
        runs = [experiment.run(arm, 0) for arm in extending.ARMS]
        assert len(plan(runs)) == 1
        assert len({run.changed(training=run.recipe.training.base) for run in runs}) == 1
        assert len(set(runs)) == len(runs)


def test_margins_are_twice_the_usual_arms_deviation():
    """In nats, to two digits upwards."""
    lock = Lock(Path(extending.__file__).with_name(NAME))
    wanted = [each.experiment for tier in TIERS for each in PAPER.noise(tier)]
    assert len(lock.document["noise_floors"]) == len(wanted)
    for one in wanted:
        floor = lock.noise_floor(one)
        margin = extending.SETTINGS[one.tier].margins[one.name]
        assert margin == one.margin == floor["margin"] == margin_of(floor["sd"])


def test_an_untrained_base_is_another_run():
    [experiment] = extending.words("micro")
    raw = extending.untrained(experiment)
    assert raw.run("mean", 0).recipe.training.base.epochs == 0
    assert raw.run("mean", 0) != experiment.run("mean", 0)


def test_the_table_beside_has_a_row_for_each_arm_that_was_run():
    experiment = extending.experiments("micro")[0]
    results = [
        make_result(experiment.run(arm, seed), start_loss=3.0 + seed, validation_loss=2.0)
        for arm in ("mean", "noise")
        for seed in (0, 1)
    ]
    [table] = paper_tables("micro", results)
    assert [row[0] for row in table.rows] == ["noise", "mean"]
    assert table.rows[0][1].startswith("3.50 ± 0.71")
    assert paper_tables("micro", []) == []


@pytest.mark.parametrize("tier", TIERS)
def test_methods_tell_the_settings(tier):
    told = " ".join(methods(tier))
    setting = extending.SETTINGS[tier]
    assert setting.base.task in told
    assert f"{setting.model.dim} wide" in told
