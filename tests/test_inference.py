"""Decisions against scipy and statsmodels, and their symmetries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from embinit.errors import InputError
from embinit.inference import Relation, Verdict, compare, holm

SCORES = st.floats(-50, 50).map(lambda score: round(score, 6))
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=3, max_size=10).filter(
    lambda pairs: np.std([a - b for a, b in pairs]) > 1e-3
)


def test_a_mean_next_to_nothing_is_no_fault():
    """Differences that all but cancel leave the claim open, without a warning."""
    outcome = compare([0.0, 2.0, 0.0], [2.0, 0.0, 2.3e-308], Relation.BELOW, 0.01)
    assert outcome.verdict is Verdict.UNDECIDED
    assert outcome.p == pytest.approx(0.5)


@given(PAIRS)
def test_below_is_the_one_sample_t_of_the_differences(pairs):
    """A paired t is the t of the differences against 0."""
    left, right = zip(*pairs, strict=True)
    outcome = compare(left, right, Relation.BELOW, 0.01)
    theirs = stats.ttest_1samp(np.subtract(left, right), 0, alternative="less")
    assert outcome.p == pytest.approx(theirs.pvalue)
    interval = stats.ttest_1samp(np.subtract(left, right), 0).confidence_interval(0.98)
    assert outcome.interval == pytest.approx((interval.low, interval.high))


@given(PAIRS, st.floats(0.1, 20))
def test_alike_is_statsmodels_tost(pairs, margin):
    """Two one-sided tests: the larger p counts."""
    left, right = map(np.array, zip(*pairs, strict=True))
    outcome = compare(left, right, Relation.ALIKE, 0.05, margin)
    assert outcome.p == pytest.approx(ttost_paired(left, right, -margin, margin)[0], abs=1e-12)


@given(
    PAIRS,
    st.floats(0, 5),
    st.sampled_from([(Relation.BELOW, Relation.ABOVE), (Relation.NOT_BELOW, Relation.NOT_ABOVE)]),
)
def test_swapping_sides_turns_the_relation(pairs, margin, relations):
    """left < right and right > left are one statement."""
    left, right = zip(*pairs, strict=True)
    one = compare(left, right, relations[0], 0.05, margin)
    other = compare(right, left, relations[1], 0.05, margin)
    assert one.verdict is other.verdict
    assert one.p == pytest.approx(other.p)


@given(PAIRS, st.randoms())
def test_the_order_of_seeds_is_nothing(pairs, random):
    """Seeds are exchangeable."""
    mixed = list(pairs)
    random.shuffle(mixed)
    one, other = (
        compare(*zip(*these, strict=True), Relation.ABOVE, 0.05) for these in (pairs, mixed)
    )
    assert one.p == pytest.approx(other.p)


def test_the_level_is_kept_at_five_seeds():
    """Under no difference, one suite in twenty supports the claim at alpha 5 %."""
    differences = np.random.default_rng(0).normal(size=(2000, 5))
    zeros = np.zeros(5)
    verdicts = [compare(row, zeros, Relation.ABOVE, 0.05).verdict for row in differences]
    share = verdicts.count(Verdict.SUPPORTED) / len(verdicts)
    assert share == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / 2000) ** 0.5)
    share = verdicts.count(Verdict.REFUTED) / len(verdicts)
    assert share == pytest.approx(0.05, abs=4 * (0.05 * 0.95 / 2000) ** 0.5)


def test_non_inferiority_forgives_the_margin_and_no_more():
    """A loss inside the margin supports >=, one beyond it refutes it."""
    right = [50.0, 51.0, 52.0, 50.5, 49.0]
    near, far = ([value - loss for value in right] for loss in (0.5, 9.0))
    near[0] += 0.1
    far[0] += 0.1
    assert compare(near, right, Relation.NOT_BELOW, 0.01, 1.0).verdict is Verdict.SUPPORTED
    assert compare(far, right, Relation.NOT_BELOW, 0.01, 1.0).verdict is Verdict.REFUTED
    assert compare(near, right, Relation.BELOW, 0.01, 1.0).verdict is Verdict.SUPPORTED


def test_no_spread_is_a_comparison_of_numbers():
    """Statistics of tables don't vary with the seed."""

    def fixed(left, right, relation):
        return compare(left, right, relation, 0.01, random=False)

    assert fixed([2.0, 2.0], [1.0, 1.0], Relation.ABOVE).verdict is Verdict.SUPPORTED
    assert fixed([2.0, 2.0], [1.0, 1.0], Relation.BELOW).verdict is Verdict.REFUTED
    same = fixed([1.0, 1.0], [1.0, 1.0], Relation.BELOW)
    assert (same.verdict, same.exact) == (Verdict.UNDECIDED, True)
    assert fixed([1.0, 1.0], [1.0, 1.0], Relation.ALIKE).verdict is Verdict.SUPPORTED


@given(n=st.integers(2, 12), gap=st.sampled_from([-2.0, 0.0, 1.0]), shares=st.integers(1, 40))
def test_equal_differences_of_trained_runs_are_signs(n, gap, shares):
    """Best epochs are whole numbers; scipy's sign test says what n equal differences are worth."""
    alpha = 0.05 / shares
    outcome = compare([5.0 + gap] * n, [5.0] * n, Relation.ABOVE, alpha)
    if gap == 0:
        assert (outcome.verdict, outcome.seeds_needed) == (Verdict.UNDECIDED, None)
        return
    p = stats.binomtest(n, n, 0.5, alternative="greater").pvalue
    assert (outcome.p if gap > 0 else outcome.p_against) == pytest.approx(p)
    shown = Verdict.SUPPORTED if gap > 0 else Verdict.REFUTED
    assert outcome.verdict is (shown if p <= alpha else Verdict.UNDECIDED)
    assert not outcome.exact
    if outcome.verdict is Verdict.UNDECIDED:
        more = compare(
            [5.0 + gap] * outcome.seeds_needed, [5.0] * outcome.seeds_needed, Relation.ABOVE, alpha
        )
        assert more.verdict is shown
        assert outcome.seeds_needed == n + 1 or 0.5 ** (outcome.seeds_needed - 1) > alpha


def test_seeds_needed_is_the_solution_of_the_power():
    """The fewest seeds with 90 % power, by statsmodels."""
    left, right = [1.0, 0.2, -0.1, 0.6, 0.4], [0.0] * 5
    outcome = compare(left, right, Relation.ABOVE, 0.001)
    assert outcome.verdict is Verdict.UNDECIDED
    effect = np.mean(left) / np.std(left, ddof=1)
    theirs = TTestPower().solve_power(effect, None, 0.001, 0.9, alternative="larger")
    assert outcome.seeds_needed == int(np.ceil(theirs))


@pytest.mark.parametrize(
    ("left", "right"), [([1.0], [2.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0])]
)
def test_what_cannot_be_compared_is_refused(left, right):
    """One seed, unequal counts, no number."""
    with pytest.raises(InputError):
        compare(left, right, Relation.ABOVE, 0.05)


def test_holm_by_hand():
    """The smallest p times the number of tests, and never less than the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
