"""Margins stand on what was measured, and a floor says how many seeds an effect takes."""

from __future__ import annotations

import contextlib
import json
import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.power import TTestPower

from builders import make_experiment, make_result
from embinit import cli
from embinit.claims import noise_floor
from embinit.claims.experiments import Experiment
from embinit.claims.noise_floor import FIRST_SEED, Floor, as_json, floors_in, margin_for, measure
from embinit.errors import InputError
from embinit.papers import PAPERS
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit_papers.chung2021 import LAYER_MEASURES
from embinit_papers.kim2024.experiments import experiments
from embinit_papers.kim2024.printed import largest_share, learnt, printed_deviations

ROLES = ("sentiment", "inference")
FLOOR = Floor("micro", "t", 64, "bleu", "BLEU", 50.0, 2.0, 10, 1.0, "2026-11-21")


@pytest.mark.parametrize("tier", PAPERS["kim2024"].tiers)
def test_every_margin_is_what_the_noise_floor_gives(tier: str) -> None:
    """Measured where there is a measurement, printed where the paper has its task."""
    measured = {(floor.tier, floor.task): floor for floor in PAPERS["kim2024"].floors()}
    wanted = PAPERS["kim2024"].noise(tier)
    tasks = {each.experiment.data.task for each in wanted}
    assert {task for at, task in measured if at == tier} <= tasks
    for one in (each.experiment for each in wanted):
        floor = measured.get((tier, one.data.task))
        printed = printed_deviations(one) if tier != "micro" else []
        if tier == "paper":
            assert floor is None
            assert one.margin == margin_for(printed)
        else:
            assert floor is not None, one.data.task
            assert (floor.metric, floor.unit) == (one.metric.name, one.metric.unit)
            assert one.margin == floor.margin(printed)
            planted = largest_share(one) * learnt(one, floor.mean)
            assert one.planted == pytest.approx(planted, abs=0.01)


@given(st.lists(st.floats(0.001, 50), min_size=1, max_size=4))
def test_a_margin_is_twice_the_deviation_in_half_units(deviations: list[float]) -> None:
    """Never less than twice the largest, less than half a unit more."""
    margin = margin_for(deviations)
    assert margin == round(2 * margin) / 2
    assert -1e-9 <= margin - 2 * max(deviations) < 0.5


@given(st.floats(1.5, 20))
def test_seeds_are_those_of_statsmodels_power(effect: float) -> None:
    """Fewest seeds with 90 % power for two arms that vary independently."""
    seeds = FLOOR.seeds_for(effect, 0.01)
    size = effect / (math.sqrt(2) * FLOOR.sd)
    power = [TTestPower().power(size, n, 0.01, alternative="larger") for n in range(2, 400)]
    # statsmodels gives up (not a number) where the power is next to 1.
    enough = [n for n, one in enumerate(power, start=2) if one >= 0.9]
    assert seeds == enough[0]


def test_no_effect_takes_no_number_of_seeds() -> None:
    """Next to nothing takes over 1000, and nothing can't be found at all."""
    assert FLOOR.seeds_for(0.01, 0.01) is None
    for effect in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="can't be found"):
            FLOOR.seeds_for(effect, 0.01)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(Store(tmp_path / "store"), None, "cpu")


def made(one: Experiment, scores: list[float], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let training give these scores; returns which seeds were asked for, once they are."""
    asked: list[int] = []

    def results_of(cohort, data_dir, device, progress, twice):
        asked.extend(run.seed for run in cohort.runs)
        assert {run.recipe.table.init for run in cohort.runs} == {"xavier"}
        return [
            replace(
                make_result(run, **{one.metric.name: score}),
                provenance={"seconds": score / 10, "finished": f"2026-11-{day}T12:00:00+00:00"},
            )
            for day, (run, score) in enumerate(zip(cohort.runs, scores, strict=True), start=21)
        ]

    monkeypatch.setattr("embinit.runs.session.results_of", results_of)
    return asked


def test_a_floor_is_the_spread_of_the_baseline(session, monkeypatch) -> None:
    """Over seeds of its own, with n - 1 below; runs that are stored are not made again."""
    one = make_experiment()
    asked = made(one, [70.0, 72.0, 77.0], monkeypatch)
    for _ in range(2):
        [floor] = measure(one, 3, session)
        assert asked == [FIRST_SEED, FIRST_SEED + 1, FIRST_SEED + 2]
        assert (floor.mean, floor.sd) == (73.0, pytest.approx(np.std([70, 72, 77], ddof=1), 1e-3))
        assert (floor.seconds_a_run, floor.measured) == (7.3, "2026-11-23")
    with pytest.raises(InputError, match="at least 2 seeds"):
        measure(one, 1, session)


def test_seeds_that_come_out_alike_have_no_noise(session, monkeypatch) -> None:
    """A margin of zero would take any difference for one that matters."""
    one = make_experiment()
    made(one, [70.0, 70.0, 70.0], monkeypatch)
    with pytest.raises(InputError, match="3 of 3 seeds gave a score, 1 of them different"):
        measure(one, 3, session)


def test_a_small_spread_is_no_spread_of_zero(session, monkeypatch) -> None:
    """Its margin would be zero too, and no number of seeds shows a difference of zero."""
    one = make_experiment()
    made(one, [3.41, 3.4102, 3.4101], monkeypatch)
    [floor] = measure(one, 3, session)
    assert floor.sd == pytest.approx(0.0001, 0.01)
    assert floor.margin() == 0.5
    assert floor.seeds_for(floor.margin(), 0.01) == 2


def test_a_run_that_fails_or_lacks_its_data_is_named(session, monkeypatch, tmp_path) -> None:
    """In one line with its task, whatever was thrown."""
    one = make_experiment()

    def results_of(cohort, data_dir, device, progress, twice):
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr("embinit.runs.session.results_of", results_of)
    with pytest.raises(InputError, match=rf"^{one.data.task}, seed 5000: ZeroDiv.*no such luck"):
        measure(one, 2, session)
    [real, *_] = experiments("sample", ("glove",), ("sentiment",))
    empty = Session(Store(tmp_path / "other"), tmp_path, "cpu")
    with pytest.raises(InputError, match=rf"^{real.data.task}, seed 5000: .*sst2/train.tsv.gz"):
        measure(real, 2, empty)


def test_the_command_trains_all_tasks_together_and_tells_its_progress(
    monkeypatch, tmp_path, capsys
) -> None:
    """So that each core has work, and one estimate is that of the whole; runs are kept."""
    trained: list[str] = []

    def results_of(cohort, data_dir, device, progress, twice):
        trained.extend(f"{run.recipe.data.task} {run.seed}" for run in cohort.runs)
        time.sleep(0.1)
        return [
            replace(
                make_result(run, accuracy=70.0 + run.seed % 5, bleu=70.0 + run.seed % 5),
                provenance={"seconds": 1.0, "finished": "2026-11-21T12:00:00+00:00"},
            )
            for run in cohort.runs
        ]

    monkeypatch.setattr("embinit.runs.session.results_of", results_of)
    monkeypatch.setattr(Session, "helped", lambda self: contextlib.nullcontext())
    monkeypatch.setattr("embinit.runs.progress.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("embinit.runs.progress.TELL_SECONDS", 0.0)
    kim = {"kim2024": PAPERS["kim2024"]}
    monkeypatch.setattr("embinit.papers.with_tier", lambda tier: list(kim.values()))
    command = ["noise-floor", "--seeds", "3", "--store", str(tmp_path / "store")]
    said = []
    for _ in range(2):
        assert cli.main(command) == 0
        assert len(trained) == len(set(trained)) == 9
        heard = capsys.readouterr()
        assert len(heard.out.splitlines()) == 3
        said.append(heard.err)
    assert "embinit: 3 of 9 runs, " in said[0]
    assert not list((tmp_path / "store/sessions").glob("plan-*"))
    assert cli.main([*command[:2], "1", *command[3:]]) == 4
    assert "at least 2 seeds" in capsys.readouterr().err


def test_the_command_measures_proposes_and_writes(monkeypatch, tmp_path, capsys) -> None:
    """One line a task, and a file that is read again."""

    def measure(one, seeds, session, metrics):
        found = (one.metric, *metrics)
        return [replace(FLOOR, task=one.data.task, metric=metric.name) for metric in found]

    monkeypatch.setattr(noise_floor, "measure", measure)
    monkeypatch.setattr(noise_floor, "baseline_runs", lambda one, seeds: [])
    path = tmp_path / "floor.json"
    at = ["--json", str(path), "--store", str(tmp_path / "store")]
    assert cli.main(["noise-floor", "--effect", "8", *at]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 8 + 3 + 3 + 6
    assert all("margin 4; a difference of 8 takes at most" in line for line in lines)
    assert as_json(floors_in(path.read_text())) == path.read_text()
    tasks = [entry["task"] for entry in json.loads(path.read_text())]
    made = ["micro-translation", "micro-sentiment-plain", "micro-inference"]
    text = ["micro-text"]
    assert tasks == ["micro-sentiment"] + 8 * ["micro-two-languages"] + 3 * text + made + 6 * text
    metrics = [entry["metric"] for entry in json.loads(path.read_text())][1:9]
    scores = [f"{role}_{what}" for what in ("accuracy", "test") for role in ROLES]
    assert metrics == [*scores, *LAYER_MEASURES]
    assert cli.main(["noise-floor", "--task", "chess"]) == 4
    assert "tier micro has no task 'chess'" in capsys.readouterr().err
    assert cli.main(["noise-floor", "--tier", "nano"]) == 4


@given(st.floats(0.2, 3), st.floats(0.0, 3), st.integers(2, 5))
@settings(max_examples=10)
def test_the_floor_of_a_mean_is_that_of_one_of_its_values(of_seed, within, times) -> None:
    """As if each run had been made once; a run that repeats nothing has the plain deviation."""
    rng = np.random.default_rng(0)
    values = of_seed * rng.normal(size=(2000, 1)) + within * rng.normal(size=(2000, times))
    metric = replace(make_experiment().metric, name="mean", repeated="mean_by_time")
    run = make_experiment().run("xavier", 0)
    results = [make_result(run, curves={"mean_by_time": tuple(row)}) for row in values]
    means = list(values.mean(axis=1))
    once = noise_floor._sd_of_one(means, metric, results)
    assert once == pytest.approx(math.hypot(of_seed, within), rel=0.06)
    alone = replace(metric, repeated=None)
    assert noise_floor._sd_of_one(means, alone, results) == pytest.approx(np.std(means, ddof=1))
