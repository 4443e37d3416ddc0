"""Multiple comparisons with the best: its bounds, its levels, and how often it errs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from embinit.errors import InputError
from embtables.best import (
    SPENT,
    BestArmSearch,
    Scores,
    compare_with_best,
    level,
    many_to_one,
    seeds_of,
)


@pytest.mark.parametrize(
    ("comparisons", "degrees", "two_sided", "printed"),
    [
        (2, 5, False, 2.44),
        (5, 10, False, 2.56),
        (5, 20, False, 2.39),
        (2, 5, True, 3.03),
        (5, 10, True, 2.99),
        (9, 60, True, 2.77),
    ],
)
def test_the_bounds_are_those_of_dunnetts_tables(
    comparisons: int, degrees: int, two_sided: bool, printed: float
) -> None:
    """Dunnett printed them for equal groups (correlation 0.5) in 1955 and 1964, to two digits."""
    bound = many_to_one(comparisons, degrees, 0.5, 0.05, two_sided)
    assert round(bound, 2) == printed


@pytest.mark.parametrize("side", ["less", "two-sided"])
def test_the_bounds_are_those_of_scipy(side: str) -> None:
    """Scipy's own Dunnett test, whose integrals are by quasi-random numbers, gives the same."""
    rng = np.random.default_rng(0)
    groups = rng.standard_normal((4, 5))
    spread = np.sqrt(np.mean(np.var(groups, axis=1, ddof=1)) * 2 / 5)
    told = stats.dunnett(*groups[1:], control=groups[0], alternative=side, random_state=1)  # type: ignore[arg-type]
    ahead = groups[1:].mean(axis=1) - groups[0].mean()
    theirs = (told.confidence_interval(0.95).high - ahead) / spread
    assert theirs == pytest.approx(many_to_one(3, 16, 0.5, 0.05, side == "two-sided"), rel=2e-3)


def test_a_bound_is_a_quantile_of_the_multivariate_t() -> None:
    """Whatever the correlation and the level."""
    shape = np.full((5, 5), 0.3) + 0.7 * np.eye(5)
    bound = many_to_one(5, 7, 0.3, 0.02, two_sided=False)
    within = stats.multivariate_t(shape=shape, df=7).cdf(np.full(5, bound), random_state=0)
    assert within == pytest.approx(0.98, abs=1e-4)


def test_a_single_comparison_is_a_t_test() -> None:
    """With one other start there is nothing to allow for."""
    assert many_to_one(1, 8, 0.0, 0.05, False) == pytest.approx(stats.t.ppf(0.95, 8))
    assert many_to_one(1, 8, 0.0, 0.05, True) == pytest.approx(stats.t.ppf(0.975, 8))


def test_the_looks_never_spend_more_than_the_error() -> None:
    """However many there are, their levels add up to less than alpha: no end has to be fixed."""
    levels = [level(look, 0.05) for look in range(200)]
    assert levels[0] == pytest.approx(0.05 * SPENT)
    assert sum(levels) <= 0.05 + 1e-12
    assert sum(levels[:4]) < 0.04


SCORES = st.lists(
    st.lists(st.floats(0, 100).map(lambda value: round(value, 1)), min_size=5, max_size=5),
    min_size=2,
    max_size=5,
)


@given(SCORES)
@settings(max_examples=15, deadline=None)
def test_bounds_fit_the_means(values: list[list[float]]) -> None:
    """The best mean is never ruled out, and each interval has the observed cost in it."""
    scores = [Scores.of(each) for each in values]
    bounds = compare_with_best(scores, 0.05, resolution=0.1)
    means = [each.mean for each in scores]
    best = int(np.argmax(means))
    assert bounds.candidates[best]
    for mean, low, high in zip(means, bounds.low, bounds.high, strict=True):
        assert 0 <= low <= max(means) - mean + 1e-9
        assert high >= max(means) - mean - 1e-9


@given(SCORES, st.randoms(use_true_random=False), st.sampled_from([-20.0, 3.0]))
@settings(max_examples=8, deadline=None)
def test_bounds_follow_the_scores(values: list[list[float]], random: object, shift: float) -> None:
    """The order of the starts and the scale's zero say nothing."""
    order = list(range(len(values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    plain = compare_with_best([Scores.of(each) for each in values], 0.05, 0.1)
    moved = compare_with_best(
        [Scores.of([value + shift for value in values[start]]) for start in order], 0.05, 0.1
    )
    assert [plain.candidates[start] for start in order] == list(moved.candidates)
    assert [plain.high[start] for start in order] == pytest.approx(moved.high)
    assert [plain.low[start] for start in order] == pytest.approx(moved.low)


def test_a_few_close_seeds_are_no_small_spread() -> None:
    """A start whose seeds happen to agree is judged by the spread of all, so it does not win."""
    lucky, others = [50.0] * 5, [[49.0, 47.0, 53.0, 45.0, 51.0], [46.0, 50.0, 52.0, 44.0, 48.0]]
    bounds = compare_with_best([Scores.of(each) for each in (lucky, *others)], 0.05)
    assert bounds.candidates == (True, True, True)


def test_scores_that_all_agree_are_known_to_their_resolution() -> None:
    """Seeds that all score the same are no proof that the next would."""
    same = [Scores.of([each] * 5) for each in (90.0, 89.9)]
    assert compare_with_best(same, 0.05, resolution=0.5).candidates == (True, True)
    assert compare_with_best(same, 0.05, resolution=0.0).candidates == (True, False)


@given(SCORES)
@settings(max_examples=15, deadline=None)
def test_what_is_ruled_out_costs_something(values: list[list[float]]) -> None:
    """One statement: what a lower end above 0 says, the verdict says; the best mean is left."""
    search = BestArmSearch(len(values), 0.05, resolution=0.1)
    search.look(values)
    bounds = compare_with_best(list(map(Scores.of, values)), level(0, 0.05), 0.1)
    for number, status in enumerate(search.statuses):
        assert (number in search.candidates) is bounds.costless[number]
        assert status.low == 0 or status.ruled_out == 0
    assert int(np.argmax(np.mean(values, axis=1))) in search.candidates


def test_a_start_whose_cost_may_be_nothing_is_not_ruled_out() -> None:
    """Its distance passes the one-sided bound and not the two-sided one, which the cost is by."""
    values = [[0.0, 1.0, -1.0, 0.5, -0.5], [2.05, 3.05, 1.05, 2.55, 1.55]]
    search = BestArmSearch(2, 0.05)
    told = compare_with_best(list(map(Scores.of, values)), level(0, 0.05))
    assert told.candidates == (False, True)
    assert told.costless == (True, True)
    search.look(values)
    assert search.candidates == (0, 1)


def test_what_is_ruled_out_gets_no_more_seeds() -> None:
    """A later look takes the candidates alone, and the cost of the others stays."""
    rng = np.random.default_rng(0)
    values = np.array([80.0, 79.5, 60.0])[:, None] + rng.standard_normal((3, 10))
    search = BestArmSearch(3, 0.05)
    search.look([each[:5].tolist() for each in values])
    assert search.candidates == (0, 1)
    cost = search.statuses[2].low, search.statuses[2].high
    assert cost[0] > 10
    assert not search.decided
    assert search.seeds == seeds_of(1) == 10
    search.look([each.tolist() for each in values[:2]])
    assert (search.statuses[2].low, search.statuses[2].high) == cost
    assert search.statuses[2].ruled_out == 0


def test_a_race_ends_where_the_costs_do_not_matter() -> None:
    """Starts that are shown to be alike need not be told apart."""
    rng = np.random.default_rng(1)
    values = [(70 + 0.1 * rng.standard_normal(5)).tolist() for _ in range(3)]
    search = BestArmSearch(3, 0.05, within=1.0)
    search.look(values)
    assert search.decided
    assert len(search.candidates) > 1


def test_a_score_that_is_no_number_is_refused() -> None:
    """A mean of it would be none either."""
    with pytest.raises(InputError, match="two finite scores"):
        Scores.of([1.0, float("nan")])


@pytest.mark.parametrize(
    "world",
    [
        ("normal", "alike", "4 alike"),
        ("normal", "the best 3 times as wide", "4 alike"),
        ("skewed down", "alike", "4 alike"),
        ("the best gets it in 2 of 10, by 5 sd", "alike", "4 alike"),
    ],
)
def test_the_best_is_rarely_lost(world: tuple[str, str, str]) -> None:
    """Over four looks, at most one search in twenty rules the best start out (3 errors allowed)."""
    searches = 150
    told = _benchmark().simulate(searches, 5000, *world)
    allowed = 0.05 + 3 * (0.05 * 0.95 / searches) ** 0.5
    assert told["best lost"] <= allowed
    assert told["cost missed"] <= allowed


def test_a_best_start_that_few_seeds_meet_is_rarely_lost() -> None:
    """It trains well on one seed of five alone, and so five seeds often miss what sets it apart."""
    searches = 150
    told = _benchmark().simulate(
        searches, 5000, "the best gets it in 2 of 10, by 10 sd", "alike", "4 alike"
    )
    assert told["best lost"] <= 0.1 + 2 * (0.1 * 0.9 / searches) ** 0.5


def _benchmark() -> ModuleType:
    path = Path(__file__).parents[1] / "benchmarks/best.py"
    spec = importlib.util.spec_from_file_location("benchmark_best", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
