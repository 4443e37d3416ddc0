"""What is measured beforehand: sds of differences and noise floors, on seeds that no claim uses.

A lock has an sd under the difference itself, and a noise floor under the baseline.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_experiment, make_result
from embinit.claims import Claim, trend
from embinit.claims.definitions import Family
from embinit.claims.judging import read
from embinit.claims.lock import NAME, Lock, difference_key, noise_floor_key
from embinit.claims.registering import noise_floor, sd_of_difference
from embinit.claims.roles import SEEDS_OF_A_ROLE, Role
from embinit.errors import InputError
from embinit.lab.quantities import rank_correlation
from embinit.stats.power import rounded_up
from embinit.stats.statements import KnownSd, Verdict

ONE = make_experiment()
LEFT, RIGHT = ONE["pretrained"], ONE["xavier"]


def score(run):
    noise = np.random.default_rng((run.seed, len(run.recipe.table.init))).normal()
    return make_result(run, accuracy=50 + 4 * noise, sigma=0.5)


def test_a_digest_names_the_difference_alone():
    """Neither sign, relation, margin nor number of seeds is part of it; arms and measures are."""
    digest = difference_key(LEFT < RIGHT)
    for same in (
        RIGHT > LEFT,
        LEFT >= RIGHT,
        LEFT.within(9).alike(RIGHT.within(9)),
        (LEFT < RIGHT).with_seeds(17),
        LEFT - RIGHT > 0.0,
        LEFT - RIGHT < 3.0,
    ):
        assert difference_key(same) == digest
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
    assert len({digest, *map(difference_key, others)}) == len(others) + 1


def test_an_sd_is_numpys_over_seeds_that_no_claim_uses():
    """An arm's other seeds are others here too."""
    comparison = LEFT < RIGHT
    runs = sd_of_difference(comparison, ONE, 6).runs
    assert {run.seed for run in runs} == set(range(5000, 5006))
    assert set(runs).isdisjoint((LEFT < RIGHT).with_seeds(20).runs())
    other = sd_of_difference(RIGHT.on_other_seeds() < RIGHT, ONE, 3).runs
    assert len({run.seed for run in other}) == 6
    values = [
        score(ONE.run("pretrained", index, Role.REGISTRATION)).measures["accuracy"]
        - score(ONE.run("xavier", index, Role.REGISTRATION)).measures["accuracy"]
        for index in range(6)
    ]
    entry = sd_of_difference(comparison, ONE, 6).of(score)
    assert entry["sd"] == pytest.approx(np.std(values, ddof=1), rel=1e-5)
    assert KnownSd(entry["sd"], entry["seeds"]).degrees == 5


@given(st.integers(0, SEEDS_OF_A_ROLE - 1), st.integers(0, SEEDS_OF_A_ROLE - 1))
def test_no_seed_has_two_roles(one, other):
    """What registers a margin, or is the half of a control, must not test a claim."""
    halves = Role.CLAIM, Role.SECOND_HALF
    roles = [*halves, *(half | Role.REGISTRATION for half in halves)]
    seeds = {role.seed(index) for role in roles for index in (one, other)}
    assert len(seeds) == len(roles) * len({one, other})
    for index in (-1 - one, SEEDS_OF_A_ROLE + one):
        with pytest.raises(InputError, match=f"^replicate {index} has no seed: there are 1000"):
            Role.REGISTRATION.seed(index)


def test_what_no_seed_changes_or_no_run_has_is_not_registered():
    """A table's width as it was read, a run that failed, a measure that is missing."""
    for comparison, lookup in (
        (LEFT.sigma > 0.1, lambda run: make_result(run, sigma=run.seed)),
        (LEFT < RIGHT, lambda run: None),
        (LEFT < RIGHT, make_result),
        (LEFT > 0.0, lambda run: make_result(run, accuracy=math.inf)),
    ):
        assert sd_of_difference(comparison, ONE, 3).of(lookup) is None


def test_a_claim_that_is_read_has_its_locks_sds(tmp_path: Path):
    """The decision then pools them: five seeds of one unit decide what they alone could not."""
    lock = Lock(tmp_path / NAME)
    family = Family("mine/one", {ONE.tier: 1}, alpha=0.001)

    @Claim("mine/one/a", says="a", family=family, experiments=lambda tier: [ONE])
    def test_claim(experiment):
        assert experiment["pretrained"] < experiment["xavier"]

    assert read(test_claim, ONE, lock=lock).comparisons[0].known_sd is None
    lock.write({"differences": {difference_key(LEFT < RIGHT): {"sd": 1.0, "seeds": 30}}})
    [comparison] = read(test_claim, ONE, lock=lock).comparisons
    assert comparison.known_sd == KnownSd(1.0, 30)
    noisy = {0: 0.0, 1: 2.0, 2: 0.5, 3: 1.0, 4: 0.0}
    lookup = lambda run: make_result(  # noqa: E731
        run, accuracy=50 if run.recipe.table.init == "xavier" else 46.0 + noisy[run.seed]
    )
    assert comparison.decide(lookup, 0.001).verdict is Verdict.SUPPORTED
    alone = replace(comparison, known_sd=None).decide(lookup, 0.001)
    assert alone.verdict is Verdict.UNDECIDED


def scored(scores: list[float]):
    """A store whose runs of reserved seeds have these scores."""
    return lambda run: make_result(run, accuracy=scores[run.seed - 5000])


def test_a_noise_floor_is_the_sd_of_the_baseline():
    """Over seeds that no claim uses, with n - 1 below; its margin is twice that, rounded up."""
    runs = noise_floor(ONE, ONE.metric, 3).runs
    assert {run.recipe.table.init for run in runs} == {"xavier"}
    assert [run.seed for run in runs] == [5000, 5001, 5002]
    floor = noise_floor(ONE, ONE.metric, 3).of(scored([70.0, 72.0, 77.0]))
    assert floor["mean"] == 73.0
    assert floor["sd"] == pytest.approx(np.std([70, 72, 77], ddof=1), rel=1e-5)
    assert (floor["margin"], floor["seeds"], floor["metric"]) == (7.3, 3, "accuracy")
    assert "code" not in floor, "embinit's own trainers have none of a user's"


@pytest.mark.parametrize("scores", [[70.0] * 3, [70.0, 71.0, float("nan")]])
def test_seeds_without_noise_or_number_have_no_noise_floor(scores):
    """A margin of zero would take any difference for one that matters."""
    with pytest.raises(InputError, match=r"\d of 3 seeds of 'xavier' gave accuracy"):
        noise_floor(ONE, ONE.metric, 3).of(scored(scores))


def test_a_noise_floor_is_found_by_its_baseline_and_metric(tmp_path: Path):
    """Another setting or metric has another, and the margin and the seeds are no part of it."""
    lock = Lock(tmp_path / NAME)
    floor = {"sd": 1.0, "unit": "%", "seeds": 3, "margin": 2.0}
    lock.write({"noise_floors": {noise_floor_key(ONE, ONE.metric): floor}})
    for same in (replace(ONE, margin=9.0), replace(ONE, seeds=17, most_seeds=40)):
        assert lock.noise_floor(same) == floor
    sigma = ONE["xavier"].sigma.measure
    assert lock.noise_floor(ONE, sigma) is None
    for other in (ONE.with_layers(3), replace(ONE, baseline="normal"), replace(ONE, tier="ci")):
        assert lock.noise_floor(other) is None


@given(st.floats(0.2, 3), st.floats(0.0, 3), st.integers(2, 5))
@settings(max_examples=10)
def test_the_floor_of_a_mean_is_that_of_one_of_its_values(of_seed, within, times):
    """As if each run had been made once; a run that repeats nothing has the plain deviation."""
    rng = np.random.default_rng(0)
    values = of_seed * rng.normal(size=(1000, 1)) + within * rng.normal(size=(1000, times))
    metric = replace(ONE.metric, name="mean", repeated="mean_by_time")

    def lookup(run):
        row = values[run.seed - 5000]
        return make_result(run, mean=row.mean(), curves={"mean_by_time": tuple(row)})

    once = noise_floor(ONE, metric, 1000).of(lookup)["sd"]
    assert once == pytest.approx(math.hypot(of_seed, within), rel=0.08)
    alone = noise_floor(ONE, replace(metric, repeated=None), 1000).of(lookup)
    assert alone["sd"] == pytest.approx(np.std(values.mean(axis=1), ddof=1), rel=1e-4)


@given(st.floats(1e-6, 1e6))
def test_a_margin_is_twice_the_deviation_rounded_up_to_two_digits(sd):
    """So it is no less than twice the deviation, and at most a tenth more, in any unit."""
    margin = rounded_up(2 * sd)
    assert 2 * sd * (1 - 1e-9) <= margin <= 2 * sd * 1.1 * (1 + 1e-9)
    assert margin == float(f"{margin:.1e}")
    assert rounded_up(margin) == margin
