"""Registered spreads: measured on seeds that no claim uses, found by the difference itself."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_experiment, make_result
from embinit.claims import Claim, rank_correlation, trend
from embinit.claims.definitions import Family
from embinit.claims.judging import judge, read
from embinit.claims.noise_floor import FIRST_SEED
from embinit.claims.paired_tests import Spread, Verdict
from embinit.claims.registration import (
    Registration,
    digest_of,
    measure_spread,
    registered_runs,
)
from embinit.errors import InputError
from embinit.papers import PAPERS
from embinit.runs.session import Session
from embinit.runs.store import Store

ONE = make_experiment()
LEFT, RIGHT = ONE["pretrained"], ONE["xavier"]


def score(run):
    noise = np.random.default_rng((run.seed, len(run.recipe.table.init))).normal()
    return make_result(run, accuracy=50 + 4 * noise, sigma=0.5)


def test_a_digest_names_the_difference_alone():
    """Neither sign, relation, margin nor number of seeds is part of it; arms and measures are."""
    digest = digest_of(LEFT < RIGHT)
    for same in (
        RIGHT > LEFT,
        LEFT >= RIGHT,
        LEFT.within(9).alike(RIGHT.within(9)),
        (LEFT < RIGHT).with_seeds(17),
        LEFT - RIGHT > 0.0,
        LEFT - RIGHT < 3.0,
    ):
        assert digest_of(same) == digest
    others = [
        ONE["xavier_pretrained"] < RIGHT,
        LEFT.sigma < RIGHT.sigma,
        RIGHT.on_other_seeds() > LEFT,
        ONE.with_layers(3)["pretrained"] < RIGHT,
        (LEFT - RIGHT) - (RIGHT - ONE["normal"]) < 0.0,
        rank_correlation([(LEFT, RIGHT), (RIGHT, LEFT), (LEFT, LEFT)]) > 0,
        rank_correlation([(LEFT, RIGHT), (LEFT, RIGHT), (LEFT, LEFT)]) > 0,
        trend([(1, LEFT), (2, RIGHT), (4, ONE["normal"])], "width") > 0,
    ]
    assert len({digest, *map(digest_of, others)}) == len(others) + 1


def test_a_spread_is_numpys_over_seeds_that_no_claim_uses():
    """An arm's other seeds are others here too."""
    comparison = LEFT < RIGHT
    runs = registered_runs(comparison, 6)
    assert {run.seed for run in runs} == set(range(FIRST_SEED, FIRST_SEED + 6))
    assert set(runs).isdisjoint((LEFT < RIGHT).with_seeds(20).runs())
    other = registered_runs(RIGHT.on_other_seeds() < RIGHT, 3)
    assert len({run.seed for run in other}) == 6
    values = [
        score(ONE.run("pretrained", seed)).measures["accuracy"]
        - score(ONE.run("xavier", seed)).measures["accuracy"]
        for seed in range(FIRST_SEED, FIRST_SEED + 6)
    ]
    spread = measure_spread(comparison, 6, score)
    assert spread == Spread(pytest.approx(np.std(values, ddof=1), rel=1e-5), 6)
    assert spread.degrees == 5


def test_what_no_seed_changes_or_no_run_has_is_not_registered():
    """A table's width as it was read, a run that failed, a measure that is missing."""
    fixed = replace(ONE, source="micro-glove")
    assert measure_spread(fixed["pretrained"].sigma > 0.1, 3, score) is None or ONE.trained
    assert measure_spread(LEFT < RIGHT, 3, lambda run: None) is None
    assert measure_spread(LEFT < RIGHT, 3, make_result) is None
    infinite = lambda run: make_result(run, accuracy=float("inf"))  # noqa: E731
    assert measure_spread(LEFT > 0.0, 3, infinite) is None


def test_a_registration_is_written_and_read(tmp_path: Path):
    """Entries of other differences stay; without the file nothing is registered."""
    registration = Registration(tmp_path / "registered.json")
    comparison = LEFT < RIGHT
    assert registration.spread(comparison) is None
    entry = {"tier": "micro", "experiment": "x", "difference": "d", "sd": 2.5, "seeds": 8}
    assert registration.write({"0" * 16: entry}) == 1
    assert registration.write({digest_of(comparison): {**entry, "sd": 1.5}}) == 2
    assert registration.spread(comparison) == Spread(1.5, 8)
    again = Registration(tmp_path / "registered.json")
    assert again.spread(comparison) == Spread(1.5, 8)
    assert again.spread(ONE["xavier_pretrained"] < RIGHT) is None
    text = (tmp_path / "registered.json").read_text()
    assert len(text.splitlines()) == 4
    assert json.loads(text)["schema_version"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "[" * 99_999,
        '{"differences": 3}',
        '{"differences": {"a": 1}}',
        '{"differences": {"a": {"sd": NaN, "seeds": 2}}}',
        '{"differences": {"a": {"sd": "1", "seeds": 2}}}',
    ],
    ids=lambda text: text[:40],
)
def test_a_damaged_registration_is_one_clear_error(tmp_path: Path, text: str):
    """The file is named, and how to mend it."""
    path = tmp_path / "registered.json"
    path.write_text(text)
    with pytest.raises(
        InputError, match=r"registered\.json is no (registration|JSON).*--embinit-register"
    ):
        Registration(path).spread(LEFT < RIGHT)


def test_a_claim_that_is_read_has_its_familys_spreads(tmp_path: Path):
    """The decision then pools them: five seeds of one unit decide what they alone could not."""
    registration = Registration(tmp_path / "registered.json")
    family = Family("mine/one", {ONE.tier: 1}, alpha=0.001, registration=registration)

    @Claim("mine/one/a", says="a", where="here", family=family, experiments=lambda tier: [ONE])
    def test_claim(experiment):
        assert experiment["pretrained"] < experiment["xavier"]

    assert read(test_claim, ONE).comparisons[0].spread is None
    digest = digest_of(LEFT < RIGHT)
    registration.write({digest: {"sd": 1.0, "seeds": 30}})
    [comparison] = read(test_claim, ONE).comparisons
    assert comparison.spread == Spread(1.0, 30)
    lookup = lambda run: make_result(  # noqa: E731
        run, accuracy=(50 if run.recipe.table.init == "xavier" else 47) + (run.seed % 2)
    )
    noisy = {0: 0.0, 1: 2.0, 2: 0.5, 3: 1.0, 4: 0.0}
    lookup = lambda run: make_result(  # noqa: E731
        run, accuracy=50 if run.recipe.table.init == "xavier" else 46.0 + noisy[run.seed]
    )
    assert comparison.decide(lookup, 0.001).verdict is Verdict.SUPPORTED
    alone = replace(comparison, spread=None).decide(lookup, 0.001)
    assert alone.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("paper", ["kim2024", "chung2021"])
def test_every_entry_of_a_papers_registration_is_a_spread(paper: str):
    """Finite, at least 0, from at least two seeds."""
    [registration] = {family.registration for family in PAPERS[paper].families}
    assert registration is not None
    for entry in registration.entries.values():
        assert entry["sd"] >= 0
        assert entry["seeds"] >= 2


def test_a_setting_that_cannot_find_what_is_planted_tests_no_claim(tmp_path: Path):
    """Its claims are NOT RUN and train nothing; its controls are tested all the same."""
    registration = Registration(tmp_path / "registered.json")
    family = Family("mine/two", {ONE.tier: 1}, registration=registration)
    able = replace(ONE, seeds=5, most_seeds=None, planted=3.0)

    def reads(experiment, expects=None, measure=None):
        @Claim(
            "mine/two/a",
            says="a",
            where="here",
            family=family,
            experiments=lambda tier: [experiment],
            expects=expects,
        )
        def test_claim(experiment):
            left, right = experiment["pretrained"], experiment["xavier"]
            if measure:
                left, right = left.measured_by(measure), right.measured_by(measure)
            assert left < right

        return read(test_claim, experiment)

    assert reads(able).obstacle is None, "nothing is registered"
    digest = digest_of(able.finds_planted())
    registration.write({digest: {"sd": 0.5, "seeds": 10}})
    assert reads(able).obstacle is None, "a planted loss of 3 is found at an sd of .5"
    registration.write({digest: {"sd": 5.0, "seeds": 10}})
    small = reads(able)
    assert small.runs() == []
    session = Session(Store(tmp_path / "store"), data_dir=None, device="cpu")
    judged = judge(small, session=session)
    assert judged.verdict is Verdict.NOT_RUN
    assert re.fullmatch(
        r"too small to tell: 5 seeds see \d.* % accuracy, .* must be found is 3",
        judged.decisions[0].reason,
    )
    assert judged.as_expected is None
    assert reads(able, Verdict.REFUTED).obstacle is None
    assert reads(able, measure="sigma").obstacle is None
    assert reads(replace(able, planted=None)).obstacle is None
    assert reads(replace(able, seeds=3, most_seeds=200)).obstacle is None, "enough seeds tell"
    with pytest.raises(InputError, match="plants no effect"):
        replace(able, planted=None).finds_planted()


@given(st.floats(-50, 50), st.lists(st.floats(0, 100), min_size=2, max_size=6))
def test_a_lowered_quantity_is_lower_in_every_seed(by: float, scores: list[float]):
    """Whatever it is taken from or compared with; the spread of a difference does not change."""
    arm = replace(ONE, seeds=len(scores))["xavier"]
    lookup = lambda run: make_result(run, accuracy=scores[run.seed])  # noqa: E731
    assert arm.lowered(by).values(lookup) == pytest.approx([score - by for score in scores])
    difference = arm - arm.lowered(by)
    assert difference.values(lookup) == pytest.approx([by] * len(scores))
    assert digest_of(arm < RIGHT) == digest_of(arm.lowered(by) < RIGHT)
