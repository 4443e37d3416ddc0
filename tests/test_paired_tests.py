"""Decisions against scipy and statsmodels, and their symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import integrate, optimize, stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.weightstats import ttost_paired

from embinit.claims.paired_tests import (
    ASSUMED_SKEWNESS,
    ENOUGH_REGISTERED,
    FEWEST_SEEDS,
    Outcome,
    Pairing,
    RegisteredSd,
    Relation,
    Verdict,
    chance_to_decide,
    chance_to_support,
    compare,
    seeds_for,
    smallest_effect,
    unknown_after,
)
from embinit.errors import InputError

SCORES = st.floats(-50, 50).map(lambda score: round(score, 6))
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=3, max_size=10).filter(
    lambda pairs: np.std([a - b for a, b in pairs]) > 1e-3
)
SPREADS = st.builds(RegisteredSd, st.floats(0.1, 30), st.sampled_from([2, 3, 9, 10, 30]))


def assumed(spread):
    """The skewness that differences are taken to have, by the seeds that were registered."""
    return 0.0 if spread and spread.seeds >= ENOUGH_REGISTERED else ASSUMED_SKEWNESS


def bound_of(alpha, n, degrees, skewness):
    """Student's quantile, and what a Cornish-Fisher expansion adds to it for skewness."""
    student = stats.t.isf(alpha, degrees)
    return student + skewness * (1 + 2 * student**2) / (6 * math.sqrt(n))


def power_of(effect, n, alpha, spread=None):
    """By statsmodels, at the level whose quantile is the bound; none where seeds are too few."""
    if n < FEWEST_SEEDS and assumed(spread):
        return 0.0
    degrees = n - 1 + (spread.degrees if spread else 0)
    level = stats.t.sf(bound_of(alpha, n, degrees, assumed(spread)), degrees)
    power = TTestPower().power(effect, n, level, df=degrees, alternative="larger")
    return 1.0 if math.isnan(power) else power


def estimate_of(differences, spread=None):
    """The standard deviation and its degrees of freedom, by scipy's F and the pooling formula."""
    n, own = len(differences), np.var(differences, ddof=1)
    if spread is None:
        return math.sqrt(own), n - 1
    if own > stats.f.isf(0.1, n - 1, spread.degrees) * spread.sd**2:
        return max(math.sqrt(own), spread.sd), n - 1
    degrees = n - 1 + spread.degrees
    pooled = ((n - 1) * own + spread.degrees * spread.sd**2) / degrees
    return max(math.sqrt(pooled), spread.sd), degrees


def p_of(differences, bound, side, spread=None, estimate=None):
    """The level at which the mean reaches ``bound_of``, by bisection; own skewness by scipy."""
    n, sign = len(differences), 1 if side == "greater" else -1
    sd, degrees = estimate or estimate_of(differences, spread)
    skewness = max(-sign * stats.skew(differences), assumed(spread))
    t = sign * (np.mean(differences) - bound) / sd * math.sqrt(n)
    least = skewness / (6 * math.sqrt(n))
    if t <= least:
        return stats.t.sf(t - least, degrees)
    student = optimize.brentq(
        lambda q: q + skewness * (1 + 2 * q**2) / (6 * math.sqrt(n)) - t, 0, t, xtol=1e-14
    )
    return stats.t.sf(student, degrees)


def test_a_mean_next_to_nothing_is_no_fault():
    spread = RegisteredSd(1.0, ENOUGH_REGISTERED)
    outcome = compare([0.0, 2.0, 0.0], [2.0, 0.0, 2.3e-308], Relation.BELOW, 0.01, spread=spread)
    assert outcome.verdict is Verdict.UNDECIDED
    assert outcome.p == pytest.approx(0.5)


@given(PAIRS)
def test_below_is_the_one_sample_t_where_nothing_is_skewed(pairs):
    """Differences and their mirror image aren't skewed; a contradicted spread says nothing."""
    differences = np.array([a - b for a, b in pairs])
    even = np.concatenate([differences, 2 * differences.mean() - differences])
    spread = RegisteredSd(1e-6, ENOUGH_REGISTERED)
    outcome = compare(even, np.zeros(len(even)), Relation.BELOW, 0.01, spread=spread)
    theirs = stats.ttest_1samp(even, 0, alternative="less")
    assert outcome.contradicted
    assert outcome.p == pytest.approx(theirs.pvalue, rel=1e-6)
    interval = stats.ttest_1samp(even, 0).confidence_interval(0.98)
    assert outcome.interval == pytest.approx((interval.low, interval.high), abs=1e-6)


@given(PAIRS, SPREADS)
def test_skewness_moves_the_bound_that_lies_on_the_long_tails_side(pairs, spread):
    """To that side the interval is wider, and the p of the other is no smaller than a t's."""
    differences = np.array([a - b for a, b in pairs])
    n, skewness = len(differences), stats.skew(differences)
    outcome = compare(differences, np.zeros(n), Relation.ABOVE, 0.01, spread=spread)
    sd, degrees = estimate_of(differences, spread)
    below, above = (
        differences.mean() - outcome.interval[0],
        outcome.interval[1] - differences.mean(),
    )
    if abs(skewness) > assumed(spread) + 1e-9:
        assert (above > below) == (skewness > 0)
    for reach, lean in ((below, -skewness), (above, skewness)):
        bound = bound_of(0.01, n, degrees, max(lean, assumed(spread)))
        assert reach == pytest.approx(bound * sd / math.sqrt(n), rel=1e-6)
    assert outcome.p >= stats.t.sf(differences.mean() / sd * math.sqrt(n), degrees) - 1e-12


@given(PAIRS, SPREADS.filter(lambda spread: spread.seeds < ENOUGH_REGISTERED) | st.none())
def test_few_seeds_decide_nothing_where_few_are_registered(pairs, spread):
    """From the sixth seed on a claim is decided, however clear it was before."""
    differences = 1e6 + np.array([a - b for a, b in pairs])
    n = len(differences)
    outcome = compare(differences, np.zeros(n), Relation.ABOVE, 0.05, spread=spread)
    assert (outcome.verdict is Verdict.UNDECIDED) == (n < FEWEST_SEEDS)
    assert outcome.waits_for == (FEWEST_SEEDS if n < FEWEST_SEEDS else None)
    if n < FEWEST_SEEDS:
        assert outcome.seeds_needed == FEWEST_SEEDS
        assert chance_to_decide(outcome, Relation.ABOVE, n, 0.05) == 0
    enough = RegisteredSd(20.0, ENOUGH_REGISTERED)
    told = compare(differences, np.zeros(n), Relation.ABOVE, 0.05, spread=enough)
    assert (told.verdict, told.waits_for) == (Verdict.SUPPORTED, None)


@given(PAIRS, SPREADS)
def test_a_registered_spread_that_the_seeds_contradict_is_dropped(pairs, spread):
    """By scipy's F at 10 %: the larger spread decides, with the claim's own degrees of freedom."""
    differences = np.array([a - b for a, b in pairs])
    n = len(differences)
    f = np.var(differences, ddof=1) / spread.sd**2
    p = stats.f.sf(f, n - 1, spread.degrees)
    assume(abs(p - 0.1) > 1e-6)
    outcome = compare(differences, np.zeros(n), Relation.ABOVE, 0.01, 1.0, spread=spread)
    assert outcome.contradicted == (p < 0.1)
    assert outcome.spread == spread
    sd, _ = estimate_of(differences, spread)
    assert outcome.sd == pytest.approx(sd)
    if outcome.contradicted:
        assert outcome.sd == pytest.approx(np.std(differences, ddof=1))
    assert outcome.p == pytest.approx(p_of(differences, 0, "greater", spread), rel=1e-6)


@given(PAIRS, st.floats(0.1, 20))
def test_alike_is_statsmodels_tost_where_nothing_is_skewed(pairs, margin):
    """Two one-sided tests: the larger p counts."""
    differences = np.array([a - b for a, b in pairs])
    even = np.concatenate([differences, 2 * differences.mean() - differences])
    spread = RegisteredSd(1e-6, ENOUGH_REGISTERED)
    outcome = compare(even, np.zeros(len(even)), Relation.ALIKE, 0.05, margin, spread=spread)
    tost = ttost_paired(even, np.zeros(len(even)), -margin, margin)[0]
    assert outcome.p == pytest.approx(tost, abs=1e-9)


@given(
    PAIRS,
    st.floats(0, 5),
    st.sampled_from([(Relation.BELOW, Relation.ABOVE), (Relation.NOT_BELOW, Relation.NOT_ABOVE)]),
    st.sampled_from([Pairing.BY_SEED, Pairing.NONE]),
    st.randoms(),
)
def test_sides_can_be_swapped_and_seeds_have_no_order(pairs, margin, relations, pairing, random):
    mixed = random.sample(pairs, len(pairs))
    (left, right), (last, first) = (zip(*these, strict=True) for these in (pairs, mixed))
    one = compare(left, right, relations[0], 0.05, margin, pairing=pairing)
    other = compare(first, last, relations[1], 0.05, margin, pairing=pairing)
    assert one.verdict is other.verdict
    assert one.p == pytest.approx(other.p, abs=1e-9)


def test_the_level_is_kept_at_five_seeds():
    """Under no difference, at most one suite in twenty supports the claim at alpha 5 %."""
    drawn = np.random.default_rng(0).normal(size=(2000, 15))
    zeros = np.zeros(5)
    outcomes = [
        compare(row[:5], zeros, Relation.ABOVE, 0.05, spread=RegisteredSd(row[5:].std(ddof=1), 10))
        for row in drawn
    ]
    error = 4 * (0.05 * 0.95 / 2000) ** 0.5
    for name, verdict in (("p", Verdict.SUPPORTED), ("p_against", Verdict.REFUTED)):
        share = np.mean([getattr(outcome, name) <= 0.05 for outcome in outcomes])
        assert 0.02 < share < 0.05 + error
        shown = [outcome.verdict for outcome in outcomes].count(verdict) / len(outcomes)
        assert 0 < shown < share


def test_non_inferiority_forgives_the_margin_and_no_more():
    right = [50.0, 51.0, 52.0, 50.5, 49.0]
    near, far = ([value - loss for value in right] for loss in (0.5, 9.0))
    for values in (near, far):
        values[0] += 0.1
        values[1] -= 0.1
    for values, relation, verdict in (
        (near, Relation.NOT_BELOW, Verdict.SUPPORTED),
        (far, Relation.NOT_BELOW, Verdict.REFUTED),
        (near, Relation.BELOW, Verdict.SUPPORTED),
    ):
        spread = RegisteredSd(0.1, ENOUGH_REGISTERED)
        assert compare(values, right, relation, 0.01, 1.0, spread=spread).verdict is verdict


@given(PAIRS, st.floats(0.1, 20))
def test_for_and_against_are_one_sided_ts(pairs, margin):
    left, right = map(np.array, zip(*pairs, strict=True))

    def p(bound, side):
        return p_of(left - right, bound, side)

    above, below = p(-margin, "greater"), p(margin, "less")
    worse, better = p(-margin, "less"), p(margin, "greater")
    for relation, wanted, opposed in (
        (Relation.BELOW, p(0, "less"), p(0, "greater")),
        (Relation.ABOVE, p(0, "greater"), p(0, "less")),
        (Relation.NOT_BELOW, above, worse),
        (Relation.NOT_ABOVE, below, better),
        (Relation.ALIKE, max(above, below), min(worse, better)),
    ):
        outcome = compare(left, right, relation, 0.01, margin)
        assert (outcome.p, outcome.p_against) == pytest.approx((wanted, opposed), abs=1e-9)


@given(PAIRS, st.floats(0.1, 20), st.sampled_from(list(Relation)), st.sampled_from([0.001, 0.1]))
def test_an_outcome_tells_what_it_was_decided_from(pairs, margin, relation, alpha):
    left, right = map(np.array, zip(*pairs, strict=True))
    outcome = compare(left, right, relation, alpha, margin)
    told = (outcome.n, outcome.level, outcome.margin, outcome.exact)
    assert told == (len(pairs), 1 - 2 * alpha, margin, False)
    assert outcome.difference == pytest.approx(np.mean(left - right))
    low, high = outcome.interval
    for end, side in ((low, "greater"), (high, "less")):
        assert p_of(left - right, end, side) == pytest.approx(alpha, rel=1e-4)
    effect = margin / np.std(left - right, ddof=1)
    assert outcome.power == pytest.approx(power_of(effect, len(pairs), alpha), abs=1e-6)
    assert compare(left, right, relation, alpha).power is None
    assert outcome.seeds_needed is None or outcome.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_is_no_spread_and_a_small_spread_is_no_rounding(sign):
    right = np.array([0.1, 0.7, 1000.0])
    assert np.std((right + 0.1) - right) > 0
    rounded = compare(right + sign * 0.1, right, Relation.ABOVE, 0.01, random=False)
    assert rounded.exact
    far = compare(sign * (1e6 + np.array([0, 2e-7, 4e-7])), [0.0] * 3, Relation.ABOVE, 0.01)
    assert far.interval == (-math.inf, math.inf)
    small = [sign * 1e-6, sign * 2e-6, sign * 4e-6]
    outcome = compare(small, [0.0] * 3, Relation.ABOVE, 0.01)
    assert outcome.p == pytest.approx(p_of(small, 0, "greater"))


@pytest.mark.parametrize(
    ("relation", "gap", "verdict", "p"),
    [
        (Relation.BELOW, -0.25, Verdict.SUPPORTED, 0.0),
        (Relation.BELOW, 0.0, Verdict.NO_EFFECT, 0.5),
        (Relation.ABOVE, -0.25, Verdict.REFUTED, 1.0),
        (Relation.NOT_BELOW, -0.5, Verdict.SUPPORTED, 0.0),
        (Relation.NOT_BELOW, -0.75, Verdict.REFUTED, 1.0),
        (Relation.NOT_ABOVE, 0.5, Verdict.SUPPORTED, 0.0),
        (Relation.NOT_ABOVE, 0.75, Verdict.REFUTED, 1.0),
        (Relation.ALIKE, -0.5, Verdict.SUPPORTED, 0.0),
        (Relation.ALIKE, 0.75, Verdict.REFUTED, 1.0),
    ],
)
def test_numbers_beside_a_margin_of_a_half(relation, gap, verdict, p):
    """The margin itself still holds; of two equal numbers neither is the larger."""
    outcome = compare([1 + gap] * 3, [1.0] * 3, relation, 0.01, 0.5, random=False)
    assert outcome == Outcome(
        verdict, 3, gap, (gap, gap), 0.98, 0.5, p, 1 - p, None, None, None, exact=True
    )
    noise = RegisteredSd(9, 9)  # is left out: statistics of tables don't vary with the seed
    known = compare([1 + gap] * 3, [1.0] * 3, relation, 0.01, 0.5, random=False, spread=noise)
    assert known.verdict is verdict


@given(n=st.integers(2, 12), gap=st.sampled_from([-2.0, 0.0, 1.0]), shares=st.integers(1, 40))
def test_equal_differences_of_trained_runs_are_signs(n, gap, shares):
    """Best epochs are whole numbers; scipy's sign test says what n equal differences are worth."""
    alpha = 0.05 / shares
    outcome = compare([5.0 + gap] * n, [5.0] * n, Relation.ABOVE, alpha)
    assert outcome.interval == (-math.inf, math.inf)
    if gap == 0:
        assert (outcome.verdict, outcome.seeds_needed) == (Verdict.UNDECIDED, None)
        assert outcome.p == outcome.p_against == 1.0
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


@given(
    mean=st.floats(-3, 3),
    n=st.integers(2, 60),
    share=st.integers(1, 30),
    relation=st.sampled_from(list(Relation)),
)
def test_the_chance_to_decide_is_the_power_at_what_was_seen(mean, n, share, relation):
    """By statsmodels: the effect is how far the mean lies inside of what it would decide."""
    alpha, margin = 0.05 / share, 1.0
    left = mean + np.array([-1.3, -0.4, 0.1, 0.5, 1.1])
    outcome = compare(left, [0.0] * 5, relation, alpha, margin)
    bounds = {Relation.BELOW: (0,), Relation.ABOVE: (0,), Relation.NOT_BELOW: (-1,)}
    bounds |= {Relation.NOT_ABOVE: (1,), Relation.ALIKE: (-1, 1)}
    depth = min(abs(outcome.difference - bound) for bound in bounds[relation])
    if not relation.uses_margin:
        depth = max(depth, margin - abs(outcome.difference))
    theirs = power_of(depth / outcome.sd, n, alpha)
    assert chance_to_decide(outcome, relation, n, alpha) == pytest.approx(theirs, abs=1e-6)


def test_the_chance_to_decide_knows_the_registered_spread_and_equal_differences():
    left, right = [0.2, 1.0, 0.5], [0.0] * 3
    alone, pooled = (
        compare(left, right, Relation.ABOVE, 0.001, 0.0, spread=spread)
        for spread in (None, RegisteredSd(0.5, 9))
    )
    for outcome, degrees in ((alone, 0), (pooled, 8)):
        found = chance_to_decide(outcome, Relation.ABOVE, 6, 0.001)
        effect = outcome.difference / outcome.sd
        critical = bound_of(0.001, 6, 5 + degrees, ASSUMED_SKEWNESS)
        by_scipy = stats.nct.sf(critical, 5 + degrees, effect * math.sqrt(6))
        assert found == pytest.approx(by_scipy, abs=1e-6)
    equal = compare([3.0] * 4, [1.0] * 4, Relation.ABOVE, 0.01)
    assert equal.seeds_needed == 7
    chances = [chance_to_decide(equal, Relation.ABOVE, n, 0.01) for n in (6, 7, 8)]
    assert chances == [0.0, 1.0, 1.0]
    none = compare([1.0] * 4, [1.0] * 4, Relation.ABOVE, 0.01)
    assert chance_to_decide(none, Relation.ABOVE, 100, 0.01) == 0.0


def fewest(effect, alpha):
    """By trying one number of seeds after the other."""
    for seeds in range(2, 1001):
        if power_of(effect, seeds, alpha) >= 0.9:
            return seeds
    return None


@pytest.mark.parametrize(
    ("relation", "mean", "effect"),
    [
        (Relation.BELOW, -0.6, 0.6),
        (Relation.ABOVE, -0.6, 0.6),
        (Relation.NOT_BELOW, 0.1, 1.1),
        (Relation.NOT_BELOW, -1.6, 0.6),
        (Relation.NOT_ABOVE, 0.4, 0.6),
        (Relation.NOT_ABOVE, 1.6, 0.6),
        (Relation.ALIKE, -0.3, 0.7),
        (Relation.ALIKE, 1.6, 0.6),
        (Relation.NOT_BELOW, -1.0, 0.0),
    ],
)
def test_seeds_needed_count_from_the_nearer_bound(relation, mean, effect):
    """Inside the margin of 1 those to support it, outside those to refute it; on it none would."""
    spread = 1.5
    shape = np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    differences = mean + spread * shape / np.std(shape, ddof=1)
    outcome = compare(differences, np.zeros(5), relation, 0.001, 1.0)
    assert outcome.verdict is Verdict.UNDECIDED
    assert outcome.seeds_needed == fewest(effect / spread, 0.001)


@pytest.mark.parametrize("effect", [-1.0, 0.0, 0.01, 0.11, 0.7, 3.0, 50.0])
@pytest.mark.parametrize("alpha", [0.001, 0.05])
def test_the_fewest_seeds_are_found(effect, alpha):
    assert seeds_for(effect, alpha) == fewest(effect, alpha)


def test_a_thousand_seeds_are_the_most():
    effect = optimize.brentq(lambda effect: power_of(effect, 1000, 0.05) - 0.9, 0.01, 1)
    assert seeds_for(effect * (1 + 1e-5), 0.05) == 1000
    assert seeds_for(effect * (1 - 1e-3), 0.05) is None


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        ([1.0], [2.0], "^a paired test needs at least 2 seeds, not 1; .* --embinit-seeds$"),
        ([1.0, 2.0], [1.0], "^2 values can't be paired with 1$"),
        ([1.0, np.nan], [1.0, 2.0], "^a measure is not finite, so the seeds can't be compared$"),
    ],
)
def test_what_cannot_be_compared_is_refused(left, right, said):
    with pytest.raises(InputError, match=said):
        compare(left, right, Relation.ABOVE, 0.05)


@given(
    PAIRS,
    st.lists(SCORES, min_size=3, max_size=12).filter(lambda scores: np.std(scores) > 1e-3),
    st.sampled_from(list(Relation)),
)
def test_a_pooled_spread_is_least_squares_over_both_sets_of_seeds(pairs, others, relation):
    """Two groups with a mean each and one variance, by statsmodels, unless that is the smaller."""
    left, right = map(np.array, zip(*pairs, strict=True))
    spread = RegisteredSd(float(np.std(others, ddof=1)), len(others))
    p_of_f = stats.f.sf(np.var(left - right, ddof=1) / spread.sd**2, len(pairs) - 1, spread.degrees)
    assume(p_of_f > 0.1 + 1e-6)
    outcome = compare(left, right, relation, 0.01, 1.0, spread=spread)
    both = np.concatenate([left - right, others])
    group = np.repeat([[1.0, 0.0], [0.0, 1.0]], [len(pairs), len(others)], axis=0)
    fitted = sm.OLS(both, group).fit()
    assert outcome.difference == pytest.approx(fitted.params[0], abs=1e-9)
    sd = max(fitted.bse[0] * math.sqrt(len(pairs)), spread.sd)
    assert outcome.sd == pytest.approx(sd, rel=1e-6)
    if relation is Relation.ABOVE:
        p = p_of(left - right, 0, "greater", spread, (sd, fitted.df_resid))
        assert outcome.p == pytest.approx(p, abs=1e-9)
    assert (outcome.spread, outcome.contradicted) == (spread, False)


@given(st.floats(-3, 3), st.floats(0.1, 4))
def test_no_effect_is_two_one_sided_tests(shift, margin):
    """`<` and `>` that show neither side, while both one-sided tests of the margin do."""
    left = shift + np.array([0.3, -0.2, 0.1, -0.4, 0.2, 0.0, 0.25, -0.3])
    for relation in (Relation.BELOW, Relation.ABOVE):
        outcome = compare(left, np.zeros(8), relation, 0.01, margin)
        tost = max(p_of(left, -margin, "greater"), p_of(left, margin, "less"))
        assert outcome.p_no_effect == pytest.approx(tost, abs=1e-9)
        if outcome.verdict is Verdict.NO_EFFECT:
            assert tost <= 0.01 < min(outcome.p, outcome.p_against)
        if outcome.verdict is Verdict.UNDECIDED and outcome.hangs_on is None:
            assert min(tost, outcome.p, outcome.p_against) > 0.01
    assert compare(left, np.zeros(8), Relation.BELOW, 0.01).p_no_effect is None
    assert compare(left, np.zeros(8), Relation.NOT_BELOW, 0.01, margin).p_no_effect is None


def test_a_difference_within_the_margin_has_no_effect():
    left, right = [0.1, -0.2, 0.1, 0.0, 0.05, -0.1], [0.0] * 6
    outcome = compare(left, right, Relation.BELOW, 0.01, 1.0)
    assert outcome.verdict is Verdict.NO_EFFECT
    assert outcome.seeds_needed is None
    strict = compare(left, right, Relation.BELOW, 0.01, 1.0, alpha_against=1e-9)
    assert strict.verdict is Verdict.UNDECIDED
    assert compare(left, right, Relation.BELOW, 0.01, 0.05).verdict is Verdict.UNDECIDED


def test_a_decision_stands_without_any_one_of_its_seeds():
    spread = RegisteredSd(1.0, 10)
    steady, jumpy = [-3.0, -3.2, -2.9, -3.1, -3.0], [0.1, -0.1, -14.0, 0.2, 0.0]
    assert compare(steady, [0.0] * 5, Relation.BELOW, 0.01, spread=spread).hangs_on is None
    outcome = compare(jumpy, [0.0] * 5, Relation.BELOW, 0.3, spread=spread)
    assert outcome.p <= 0.3
    assert (outcome.verdict, outcome.hangs_on) == (Verdict.UNDECIDED, 2)
    two = compare(jumpy[2:4], [0.0] * 2, Relation.BELOW, 0.3, spread=spread)
    assert (two.verdict, two.hangs_on) == (Verdict.SUPPORTED, None)


DIFFERENCES = st.integers(3, 8).flatmap(
    lambda n: st.lists(st.floats(-1.5, 1.5), min_size=n, max_size=n, unique=True)
)


@given(DIFFERENCES, st.floats(1.0, 4.0), st.floats(0.3, 1.5), st.sampled_from([2, 5, 10, 12]))
def test_a_decision_is_made_where_every_seed_may_be_missing(differences, mean, sd, seeds):
    """From three seeds on: with all of them, and with any one left out, by scipy's t."""
    spread, alpha = RegisteredSd(sd, seeds), 0.01
    left = np.array([value + mean for value in differences])
    n = len(left)
    # scipy warns of values that nearly agree.
    assume(min(np.std(np.delete(left, index)) for index in range(n)) > 1e-3)
    p_of_f = stats.f.sf(np.var(left, ddof=1) / sd**2, n - 1, seeds - 1)
    assume(abs(p_of_f - 0.1) > 1e-6)
    outcome = compare(left, np.zeros(n), Relation.ABOVE, alpha, spread=spread)
    whole = p_of(left, 0, "greater", spread)
    without = []
    for index in range(n):
        rest = np.delete(left, index)
        own, more = np.var(rest, ddof=1), 0 if p_of_f < 0.1 else seeds - 1
        pooled = math.sqrt(((n - 2) * own + more * sd**2) / (n - 2 + more))
        estimate = max(pooled, sd), n - 2 + more
        without.append(p_of(rest, 0, "greater", spread, estimate))
    assert outcome.p == pytest.approx(whole, rel=1e-6)
    if outcome.waits_for is not None:
        assert (outcome.verdict, outcome.hangs_on) == (Verdict.UNDECIDED, None)
        return
    if any(abs(p - alpha) < 1e-9 for p in (whole, *without)):
        return
    hanging = [index for index, p in enumerate(without) if p > alpha]
    assert (outcome.verdict is Verdict.SUPPORTED) == (whole <= alpha and not hanging)
    assert outcome.hangs_on == (hanging[0] if whole <= alpha and hanging else None)


@given(st.floats(0.2, 1.0), st.integers(3, 12))
def test_seeds_needed_and_power_know_the_registered_spread(mean, seeds):
    left = mean + np.array([-1.0, 1.0, 0.0])
    outcome = compare(
        left, [0.0] * 3, Relation.NOT_BELOW, 1e-4, 0.5, spread=RegisteredSd(1.0, seeds)
    )
    assert outcome.verdict is Verdict.UNDECIDED
    assert outcome.sd == pytest.approx(1.0)

    def power(effect, n):
        return power_of(effect, n, 1e-4, RegisteredSd(1.0, seeds))

    assert outcome.power == pytest.approx(power(0.5, 3), abs=1e-6)
    needed = next(n for n in range(2, 1001) if power(mean + 0.5, n) >= 0.9)
    assert outcome.seeds_needed == needed


def test_a_registered_spread_of_nothing_leaves_ties_to_their_signs():
    outcome = compare([3.0] * 4, [2.0] * 4, Relation.ABOVE, 0.1, spread=RegisteredSd(0.0, 10))
    assert (outcome.p, outcome.verdict) == (1 / 16, Verdict.SUPPORTED)


@given(st.integers(2, 20), st.integers(2, 20), st.sampled_from([0.0005, 0.01, 0.05]))
def test_the_smallest_effect_has_the_wanted_power(n, seeds, alpha):
    """90 %, by numerical integration of Student's noncentral t over its chi-square."""
    spread = RegisteredSd(2.0, seeds)
    effect = smallest_effect(alpha, n, spread) / 2
    degrees = n + seeds - 2
    bound = bound_of(alpha, n, degrees, assumed(spread))
    if n < FEWEST_SEEDS and seeds < ENOUGH_REGISTERED:
        assert effect == unknown_after(alpha, n, spread) == math.inf
        return
    assert unknown_after(alpha, n, spread) == pytest.approx(2 * bound / math.sqrt(n))

    def shown(spread):
        chance = stats.norm.sf(bound * spread - effect * math.sqrt(n))
        return chance * stats.chi.pdf(spread * math.sqrt(degrees), degrees) * math.sqrt(degrees)

    power, _ = integrate.quad(shown, 0, 10, limit=200)
    assert power == pytest.approx(0.9, abs=0.005)


SIDES = st.lists(SCORES, min_size=2, max_size=9).filter(lambda side: np.std(side) > 1e-2)


def two_samples(left, right, **given):
    return compare(left, right, Relation.BELOW, 0.05, pairing=Pairing.NONE, **given)


@example([0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5], [0.0] * 8 + [9.0])
@given(SIDES, SIDES)
def test_values_that_nothing_pairs_are_decided_by_welchs_t(left, right):
    """By scipy, with the bound that skewness adds; the interval is that of the same t."""
    theirs = stats.ttest_ind(left, right, equal_var=False)
    outcome = two_samples(left, right)
    counts = len(left), len(right)
    error = math.sqrt(sum(np.var(side, ddof=1) / len(side) for side in (left, right)))
    third = [stats.moment(side, 3) / len(side) ** 2 for side in (left, right)]
    n = 2 / (1 / counts[0] + 1 / counts[1])
    own = (third[0] - third[1]) / error**3 * math.sqrt(n)
    high = bound_of(0.05, n, theirs.df, max(own, ASSUMED_SKEWNESS))
    low = bound_of(0.05, n, theirs.df, max(-own, ASSUMED_SKEWNESS))
    difference = np.mean(left) - np.mean(right)
    wanted = (difference - low * error, difference + high * error)
    assert outcome.interval == pytest.approx(wanted, rel=1e-6, abs=1e-6)
    assert outcome.difference == pytest.approx(difference, abs=1e-9)
    if min(counts) >= FEWEST_SEEDS and outcome.verdict is Verdict.SUPPORTED:
        assert outcome.interval[1] < 0


EVEN = st.lists(st.floats(0.5, 50), min_size=5, max_size=7).map(
    lambda half: [sign * value for value in half for sign in (-1, 1)]
)
"""Values that are not skewed."""


@given(EVEN, st.integers(1, 3), EVEN, st.floats(-9, 9))
def test_against_measured_noise_it_is_students_t_where_the_noise_is_no_smaller(
    half, pairs, noise, mean
):
    """The noise's own runs are counted once: with the arm's they are Student's two samples."""
    left = [value + mean for value in half[: 2 * pairs]]
    spread = RegisteredSd(float(np.std(noise, ddof=1)) * 2**0.5, len(noise))
    outcome = compare(
        left, noise, Relation.BELOW, 0.05, spread=spread, pairing=Pairing.AGAINST_NOISE
    )
    assume(np.var(left, ddof=1) >= np.var(noise, ddof=1) and not outcome.contradicted)
    theirs = stats.ttest_ind(left, noise, alternative="less")
    assert outcome.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)


def test_one_value_a_side_decides_nothing_and_says_so():
    with pytest.raises(InputError, match="one value an arm tells nothing of the noise"):
        two_samples([1.0], [2.0])
    with pytest.raises(InputError, match="one side has no values"):
        two_samples([], [2.0])
    with pytest.raises(InputError, match="not finite"):
        two_samples([math.nan, 1.0], [2.0, 3.0])
    assert two_samples([1.0], [2.0, 3.0]).waits_for == FEWEST_SEEDS
    noise = RegisteredSd(1.0, ENOUGH_REGISTERED)
    assert two_samples([1.0], [9.0], spread=noise).waits_for == 2


def test_two_samples_that_tie_are_held_against_the_permutations():
    equal = two_samples([1.0] * 6, [2.0] * 6)
    assert (equal.verdict, equal.p) == (Verdict.SUPPORTED, 1 / math.comb(12, 6))
    assert two_samples([1.0] * 5, [2.0] * 9).verdict is Verdict.UNDECIDED


def test_a_decision_of_two_samples_hangs_on_no_run():
    rest = [1.0, 1.1, 0.9, 1.05, 0.95, 1.0, 1.02]
    outcome = two_samples([-90.0, *rest], [1.3, 1.2, 1.1, 1.25, 1.3, 1.2, 1.15])
    assert outcome.verdict is Verdict.UNDECIDED
    strong = two_samples(rest, [value + 9 for value in rest])
    assert strong.verdict is Verdict.SUPPORTED
    assert strong.hangs_on is None


@given(st.floats(-2, 2), st.integers(6, 20))
def test_the_chance_to_support_is_that_to_decide_on_its_own_side(mean, n):
    values = [mean + each for each in (-1, 1, -0.5, 0.5, 0.2, -0.2)]
    outcome = compare(values, [0.0] * 6, Relation.ABOVE, 0.01)
    assume(outcome.verdict is Verdict.UNDECIDED)
    support = chance_to_support(outcome, Relation.ABOVE, n, 0.05)
    decide = chance_to_decide(outcome, Relation.ABOVE, n, 0.05)
    assert support <= decide + 1e-12
    assert support == pytest.approx(decide) if mean > 0 else support <= 0.06
