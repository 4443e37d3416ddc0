"""The rule against scipy and statsmodels, and its symmetries."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import optimize, stats
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import confint_proportions_2indep
from statsmodels.stats.weightstats import ttost_paired

from embinit.errors import InputError
from embinit.scores.arms import Arms, Score
from embinit.scores.judging import Plan, judge
from embinit.stats.power import power, seeds_for, smallest_effect, unknown_after
from embinit.stats.rule import chance_to_support, decide
from embinit.stats.statements import RULE, Evidence, KnownSd, Outcome, Pairing, Relation, Verdict

SCORES = st.floats(-50, 50).map(lambda score: round(score, 6))
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=3, max_size=10).filter(
    lambda pairs: np.std([a - b for a, b in pairs]) > 1e-3
)
REGISTERED = st.builds(KnownSd, st.floats(0.1, 30), st.sampled_from([2, 3, 9, 10, 30]))
MAYBE = REGISTERED | st.none()
SIDES = st.lists(SCORES, min_size=2, max_size=9).filter(lambda side: np.std(side) > 1e-2)


def compare(*given, **named):
    """What evidence with these fields comes to."""
    return decide(Evidence(*given, **named))


def pooled(differences, registered=None):
    """The pooled standard deviation with its degrees of freedom."""
    own, degrees = np.var(differences, ddof=1), len(differences) - 1
    if registered is None:
        return math.sqrt(own), degrees
    both = degrees + registered.degrees
    return math.sqrt((degrees * own + registered.degrees * registered.sd**2) / both), both


def p_of(differences, bound, side, registered=None):
    """The level whose bound (Student's, and Johnson's term) the mean reaches, by bisection."""
    n, sign = len(differences), 1 if side == "greater" else -1
    sd, degrees = pooled(differences, registered)
    lean = max(-sign * stats.skew(differences), 0) / (6 * math.sqrt(n))
    t = sign * (np.mean(differences) - bound) / sd * math.sqrt(n)
    if t <= lean:
        return stats.t.sf(t - lean, degrees)
    reached = optimize.brentq(lambda q: q + lean * (1 + 2 * q**2) - t, 0, t, xtol=1e-14)
    return stats.t.sf(reached, degrees)


@given(PAIRS)
def test_it_is_the_one_sample_t_where_nothing_is_skewed(pairs):
    """Differences and their mirror image aren't skewed; TOST is statsmodels'."""
    differences = np.array([a - b for a, b in pairs])
    even, zeros = (
        np.concatenate([differences, 2 * differences.mean() - differences]),
        2 * len(pairs),
    )
    outcome = compare(even, np.zeros(zeros), Relation.BELOW, 0.01)
    theirs = stats.ttest_1samp(even, 0, alternative="less")
    assert outcome.p == pytest.approx(theirs.pvalue, rel=1e-6)
    interval = stats.ttest_1samp(even, 0).confidence_interval(0.98)
    assert outcome.interval == pytest.approx((interval.low, interval.high), abs=1e-6)
    alike = compare(even, np.zeros(zeros), Relation.ALIKE, 0.05, 1.0)
    assert alike.p == pytest.approx(ttost_paired(even, np.zeros(zeros), -1.0, 1.0)[0], abs=1e-9)


@given(PAIRS, st.floats(0.1, 20), MAYBE, st.sampled_from([0.001, 0.1]))
def test_every_relation_is_one_sided_ts(pairs, margin, registered, alpha):
    """With a pooled variance and Johnson's term; the interval has the same bounds."""
    left, right = map(np.array, zip(*pairs, strict=True))

    def p(bound, side):
        return p_of(left - right, bound, side, registered)

    above, below = p(-margin, "greater"), p(margin, "less")
    worse, better = p(-margin, "less"), p(margin, "greater")
    for relation, wanted, opposed in (
        (Relation.BELOW, p(0, "less"), p(0, "greater")),
        (Relation.ABOVE, p(0, "greater"), p(0, "less")),
        (Relation.NOT_BELOW, above, worse),
        (Relation.NOT_ABOVE, below, better),
        (Relation.ALIKE, max(above, below), min(worse, better)),
    ):
        outcome = compare(left, right, relation, alpha, margin, known_sd=registered)
        assert (outcome.p, outcome.p_against) == pytest.approx((wanted, opposed), abs=1e-9)
        inside = None if relation.uses_margin else pytest.approx(max(above, below), abs=1e-9)
        assert outcome.p_no_effect == inside
    for end, side in zip(outcome.interval, ("greater", "less"), strict=True):
        assert p(end, side) == pytest.approx(alpha, rel=1e-4)
    kept = (outcome.n, outcome.level, outcome.margin, outcome.exact, outcome.known_sd)
    assert kept == (len(pairs), 1 - 2 * alpha, margin, False, registered)
    assert outcome.sd == pytest.approx(pooled(left - right, registered)[0])


@given(PAIRS.filter(lambda pairs: len(pairs) > 3), MAYBE, st.floats(0, 60), st.floats(0, 9))
def test_a_decision_holds_without_any_one_of_its_seeds(pairs, registered, mean, margin):
    """The first verdict that all seeds show, and all but each; else it is UNDECIDED."""
    left, alpha = mean + np.array([a - b for a, b in pairs]), 0.05
    rest = [np.delete(left, index) for index in range(len(left))]
    assume(min(map(np.std, rest)) > 1e-2)  # scipy warns of values that nearly agree

    def shown_by(values):
        above, below = (
            p_of(values, bound, side, registered)
            for bound, side in ((-margin, "greater"), (margin, "less"))
        )
        shown = [(max(above, below), Verdict.NO_EFFECT)] if margin else []
        shown.append((p_of(values, 0, "greater", registered), Verdict.SUPPORTED))
        shown.append((p_of(values, 0, "less", registered), Verdict.REFUTED))
        assume(all(abs(p - alpha) > 1e-7 for p, _ in shown))
        return [name for p, name in shown if p <= alpha]

    outcome = compare(left, np.zeros(len(left)), Relation.ABOVE, alpha, margin, known_sd=registered)
    whole, others = shown_by(left), [*map(shown_by, rest)]
    robust = [name for name in whole if all(name in shown for shown in others)]
    assert outcome.verdict is next(iter(robust), Verdict.UNDECIDED)
    odd = [index for index, shown in enumerate(others) if whole and whole[0] not in shown]
    assert outcome.hangs_on == (odd[0] if odd else None)
    undecided = outcome.verdict is Verdict.UNDECIDED
    assert outcome.seeds_needed is None or (undecided and outcome.seeds_needed > len(left))


def test_a_decision_of_two_seeds_has_nothing_to_leave_out():
    known = KnownSd(1.0, 10)
    jumpy = [0.1, -0.1, -14.0, 0.2, 0.0]
    outcome = compare(jumpy, [0.0] * 5, Relation.BELOW, 0.3, known_sd=known)
    assert (outcome.verdict, outcome.hangs_on) == (Verdict.UNDECIDED, 2)
    two = compare([-14.0, -13.0], [0.0] * 2, Relation.BELOW, 0.01, known_sd=known)
    assert (two.verdict, two.hangs_on) == (Verdict.SUPPORTED, None)


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


@pytest.mark.parametrize("sign", [1, -1])
def test_rounding_is_no_deviation_and_a_small_one_is_no_rounding(sign):
    right = np.array([0.1, 0.7, 1000.0])
    assert np.std((right + 0.1) - right) > 0
    assert compare(right + sign * 0.1, right, Relation.ABOVE, 0.01, random=False).exact
    far = compare(sign * (1e6 + np.array([0, 2e-7, 4e-7])), [0.0] * 3, Relation.ABOVE, 0.01)
    assert (far.verdict, far.interval) == (Verdict.UNDECIDED, (-math.inf, math.inf))
    small = [sign * 1e-6, sign * 2e-6, sign * 4e-6]
    outcome = compare(small, [0.0] * 3, Relation.ABOVE, 0.01)
    assert outcome.p == pytest.approx(p_of(small, 0, "greater"))


@pytest.mark.parametrize("gap", [-0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75])
@pytest.mark.parametrize(
    ("relation", "holds"),
    [
        (Relation.BELOW, lambda gap: gap < 0),
        (Relation.ABOVE, lambda gap: gap > 0),
        (Relation.NOT_BELOW, lambda gap: gap >= -0.5),
        (Relation.NOT_ABOVE, lambda gap: gap <= 0.5),
        (Relation.ALIKE, lambda gap: abs(gap) <= 0.5),
    ],
)
def test_numbers_next_to_a_margin_of_a_half(relation, holds, gap):
    """The margin itself still holds; of two equal numbers neither is the larger."""
    verdict, p = (Verdict.SUPPORTED, 0.0) if holds(gap) else (Verdict.REFUTED, 1.0)
    if gap == 0 and not relation.uses_margin:
        verdict, p = Verdict.NO_EFFECT, 0.5
    for registered in (None, KnownSd(9, 9)):  # statistics of tables don't vary with the seed
        sides = [1 + gap] * 3, [1.0] * 3
        outcome = compare(*sides, relation, 0.01, 0.5, random=False, known_sd=registered)
        assert outcome == Outcome(verdict, 3, gap, (gap, gap), 0.98, 0.5, p, 1 - p, exact=True)


@given(
    st.integers(2, 12),
    st.sampled_from([-2.0, 0.0, 1.0]),
    st.sampled_from(list(Relation)),
    st.sampled_from([None, KnownSd(0.0, 10), KnownSd(0.1, 10)]),
    st.sampled_from([Pairing.BY_SEED, Pairing.NONE]),
)
def test_differences_that_do_not_vary_decide_nothing(n, gap, relation, registered, pairing):
    """However many and large, and however well their deviation is known (rule 8)."""
    equal = [5.0 + gap] * n, [5.0] * n
    outcome = compare(*equal, relation, 0.05, 9.0, known_sd=registered, pairing=pairing)
    assert (outcome.verdict, outcome.p, outcome.p_against) == (Verdict.UNDECIDED, 1.0, 1.0)
    assert (outcome.seeds_needed, outcome.sd, outcome.exact) == (None, 0.0, False)
    assert "vary" in outcome.reason
    assert chance_to_support(outcome, relation, 99, 0.05) == 0.0


def test_the_level_is_kept_at_five_seeds():
    """Under no difference, at most one claim in twenty is supported at alpha 5 %."""
    drawn = np.random.default_rng(0).normal(size=(2000, 15))
    outcomes = [
        compare(
            row[:5], np.zeros(5), Relation.ABOVE, 0.05, known_sd=KnownSd(row[5:].std(ddof=1), 10)
        )
        for row in drawn
    ]
    error = 4 * (0.05 * 0.95 / 2000) ** 0.5
    for name, verdict in (("p", Verdict.SUPPORTED), ("p_against", Verdict.REFUTED)):
        share = np.mean([getattr(outcome, name) <= 0.05 for outcome in outcomes])
        assert 0.02 < share < 0.05 + error
        shown = [outcome.verdict for outcome in outcomes].count(verdict) / len(outcomes)
        assert 0 < shown < share


def test_what_a_difference_within_the_margin_shows():
    left, right = [0.1, -0.2, 0.1, 0.0, 0.05, -0.1], [0.0] * 6
    assert compare(left, right, Relation.BELOW, 0.01, 1.0).verdict is Verdict.NO_EFFECT
    strict = compare(left, right, Relation.BELOW, 0.01, 1.0, level_against=1e-9)
    assert strict.verdict is Verdict.UNDECIDED
    assert compare(left, right, Relation.BELOW, 0.01, 0.05).verdict is Verdict.UNDECIDED
    near, far = ([value - loss for value in left] for loss in (0.5, 9.0))
    assert compare(near, right, Relation.NOT_BELOW, 0.01, 1.0).verdict is Verdict.SUPPORTED
    assert compare(far, right, Relation.NOT_BELOW, 0.01, 1.0).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("left", "right", "pairing", "said"),
    [
        ([1.0], [2.0], Pairing.BY_SEED, "a paired test needs at least 2 seeds, not 1"),
        ([1.0, 2.0], [1.0], Pairing.BY_SEED, "2 values can't be paired with 1"),
        ([1.0, math.nan], [1.0, 2.0], Pairing.BY_SEED, "not finite"),
        ([1e308, 1.0], [1.0, math.inf], Pairing.NONE, "not finite"),
        ([], [2.0], Pairing.NONE, "one side has no values"),
    ],
)
def test_sides_that_cannot_be_compared(left, right, pairing, said):
    with pytest.raises(InputError, match=said):
        compare(left, right, Relation.BELOW, 0.05, pairing=pairing)


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
    student = stats.t.isf(0.05, theirs.df)
    lean = (third[0] - third[1]) / error**3 * (1 + 2 * student**2) / 6
    difference = np.mean(left) - np.mean(right)
    low = difference - (student + max(-lean, 0)) * error
    high = difference + (student + max(lean, 0)) * error
    assert outcome.interval == pytest.approx((low, high), rel=1e-6, abs=1e-6)
    assert outcome.difference == pytest.approx(difference, abs=1e-9)
    assert outcome.n == min(counts)
    if outcome.verdict is Verdict.SUPPORTED:
        assert outcome.interval[1] < 0


EVEN = st.lists(st.floats(0.5, 50), min_size=3, max_size=7).map(
    lambda half: [sign * value for value in half for sign in (-1, 1)]
)
"""Values that are not skewed."""


@given(EVEN, EVEN, st.floats(-9, 9))
def test_against_measured_noise_it_is_students_t(half, noise, mean):
    """The noise's own runs are counted once: with the arm's they are Student's two samples."""
    left = [value + mean for value in half]
    known = KnownSd(float(np.std(noise, ddof=1)) * 2**0.5, len(noise))
    outcome = compare(
        left, noise, Relation.BELOW, 0.05, known_sd=known, pairing=Pairing.AGAINST_NOISE
    )
    theirs = stats.ttest_ind(left, noise, alternative="less")
    assert outcome.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-9)
    assert outcome.n == len(left)


def test_one_value_a_side_decides_nothing_and_is_named():
    alone = two_samples([1.0], [2.0])
    assert (alone.verdict, alone.interval) == (Verdict.UNDECIDED, (-math.inf, math.inf))
    assert alone.reason == "one number an arm shows nothing of the noise"
    assert two_samples([1.0], [2.0, 3.0]).verdict is Verdict.UNDECIDED


@given(SIDES, SIDES, st.floats(-60, 60), MAYBE)
def test_a_decision_of_two_samples_rests_on_no_single_run(left, right, shift, registered):
    """Values are left out one by one, left's first, of a side that has three or more."""
    left = [value + shift for value in left]
    rests = [(np.delete(left, index), right) for index in range(len(left) if left[2:] else 0)]
    rests += [(left, np.delete(right, index)) for index in range(len(right) if right[2:] else 0)]
    assume(all(np.std(side) > 1e-6 for sides in rests for side in sides))
    outcome = two_samples(left, right, known_sd=registered)
    p_of_rests = [two_samples(*sides, known_sd=registered).p for sides in rests]
    hanging = [index for index, p in enumerate(p_of_rests) if p > 0.05]
    if outcome.p <= 0.05:
        places = [*range(len(left) if left[2:] else 0)]
        places += [len(left) + index for index in range(len(right) if right[2:] else 0)]
        assert outcome.hangs_on == (places[hanging[0]] if hanging else None)
        assert (outcome.verdict is Verdict.SUPPORTED) == (not hanging)


@pytest.mark.parametrize("registered", [0, 9])
@pytest.mark.parametrize(("n", "effect"), [(3, 6.0), (6, 2.5), (12, 1.2)])
def test_power_is_how_often_the_rule_shows_an_effect(n, effect, registered):
    """By the rule itself on other normal differences, within four standard errors."""
    rng, shown, alpha = np.random.default_rng(1), 0, 0.01
    for _ in range(400):
        known = None
        if registered:
            known = KnownSd(math.sqrt(rng.chisquare(registered) / registered), registered + 1)
        values = rng.normal(effect, 1, n)
        outcome = compare(values, np.zeros(n), Relation.ABOVE, alpha, known_sd=known)
        shown += outcome.verdict is Verdict.SUPPORTED
    chance = power(effect, n, alpha, registered)
    assert abs(chance - shown / 400) <= 4 * math.sqrt(0.25 / 400)


@given(st.floats(0.02, 3), st.integers(101, 999), st.sampled_from([0.0005, 0.05]))
def test_power_of_many_seeds_is_statsmodels(effect, n, alpha):
    theirs = TTestPower().power(effect, n, alpha, alternative="larger")
    theirs = 1.0 if math.isnan(theirs) else theirs
    assert power(effect, n, alpha) == pytest.approx(theirs, abs=1e-6)


@given(st.integers(2, 200), st.integers(2, 20), st.sampled_from([0.0005, 0.01, 0.05]))
def test_the_smallest_effect_has_the_wanted_power(n, seeds, alpha):
    known = KnownSd(2.0, seeds)
    effect = smallest_effect(alpha, n, known) / 2
    assert power(effect, n, alpha, known.degrees) == pytest.approx(0.9, abs=0.005)
    bound = stats.t.isf(alpha, n - 1 + known.degrees)
    assert unknown_after(alpha, n, known) == pytest.approx(2 * bound / math.sqrt(n))


@given(st.floats(0.3, 9), st.sampled_from([0, 9]), st.sampled_from([1, 2]))
def test_the_seeds_that_an_effect_takes_are_the_fewest(effect, registered, samples):
    needed = seeds_for(effect, 0.01, registered, samples)
    assert power(effect, needed, 0.01, registered, samples) >= 0.9
    assert needed == 2 or power(effect, needed - 1, 0.01, registered, samples) < 0.9
    assert seeds_for(-effect, 0.01) is seeds_for(0.0, 0.01) is seeds_for(1e-3, 0.01) is None


@given(st.floats(-2, 2), st.integers(6, 20), st.sampled_from(list(Relation)))
def test_the_chance_is_the_power_at_what_was_seen(mean, n, relation):
    """To support a statement: how far the mean lies to its side of the bounds."""
    values = [mean + noise for noise in (-1, 1, -0.5, 0.5, 0.2, -0.2)]
    outcome = compare(values, [0.0] * 6, relation, 0.01, 0.7)
    bounds = {Relation.BELOW: -mean, Relation.ABOVE: mean, Relation.NOT_BELOW: mean + 0.7}
    bounds |= {Relation.NOT_ABOVE: 0.7 - mean, Relation.ALIKE: 0.7 - abs(mean)}
    support = chance_to_support(outcome, relation, n, 0.05)
    assert support == pytest.approx(power(bounds[relation] / outcome.sd, n, 0.05), abs=0.01)


def test_the_docs_state_the_rule_that_documents_carry():
    assert len(RULE) <= 8
    page = (Path(__file__).parents[1] / "docs/verdicts.md").read_text("utf-8")
    assert "\n".join(f"{number}. {line}" for number, line in enumerate(RULE, 1)) in page


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_interval_of_two_counts_is_statsmodels(n, m, data):
    hits, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    scores = {"base": (Score(other / m, "", of=m),), "new": (Score(hits / n, "", of=n),)}
    [judged] = judge(Arms(scores), Plan(lower=False, of="items"))
    exact = confint_proportions_2indep(hits, n, other, m, method="newcomb", alpha=0.1)
    assert judged.outcome.interval == pytest.approx(exact)
