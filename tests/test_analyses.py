"""The schedule of interim analyses: more seeds go only to what is undecided."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from builders import ReadySession, make_experiment, make_result
from embinit.claims.definitions import Family, claim
from embinit.claims.judging import Case, judge_case, judge_stored, read
from embinit.claims.power import expected_runs
from embinit.errors import InputError
from embinit.runs.kinds import SECOND, Making
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.stats.interim import Analysis, boundaries, pocock_spending, schedule
from embinit.stats.statements import KnownSd, Verdict, verdict_of

ONE = make_experiment()


@given(st.integers(2, 30), st.integers(0, 300), st.sampled_from([0.05, 0.0025, 1e-4]))
@settings(max_examples=30)
def test_analyses_double_up_to_the_most_and_share_one_alpha(first, more, alpha):
    """Seeds rise, never more than twofold; levels add up to more than alpha, as analyses agree."""
    analyses = schedule(first, first + more, alpha)
    counts = [planned.seeds for planned in analyses]
    assert (counts[0], counts[-1]) == (first, first + more)
    assert all(low < high <= 2 * low for low, high in itertools.pairwise(counts))
    shares = [planned.share for planned in analyses]
    assert all(0 < share <= 1 for share in shares)
    assert max(shares) < 1 <= sum(shares) + 1e-9 if more else shares == [1.0]


def test_one_analysis_is_the_rule():
    """Without leave to train more there is one analysis with all of alpha; less is refused."""
    assert schedule(5) == (Analysis(5, 1.0),)
    with pytest.raises(InputError, match="at most 3 seeds, but the first interim analysis takes 5"):
        schedule(5, 3)


def test_bounds_are_those_of_the_books():
    """Lan and DeMets's O'Brien-Fleming type, one-sided 2.5 %, in four analyses (R's gsDesign)."""
    times = [0.25, 0.5, 0.75, 1.0]
    spent = [2 * stats.norm.sf(stats.norm.isf(0.0125) / time**0.5) for time in times]
    assert boundaries(times, spent) == pytest.approx([4.3326, 2.9631, 2.3590, 2.0141], abs=1e-4)
    # Pocock's constant for three looks at two-sided 5 % (Jennison and Turnbull 2000, table 2.1).
    constant, times = 2.289, [1 / 3, 2 / 3, 1.0]
    crossed = [_passes(times[: place + 1], constant) for place in range(3)]
    assert boundaries(times, crossed) == pytest.approx([constant] * 3, abs=2e-3)


def _passes(times, bound):
    """The chance that a standardised mean passes ``bound`` at one of ``times``, by scipy."""
    shared = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    normal = stats.multivariate_normal(cov=shared, allow_singular=True)
    return 1 - float(normal.cdf([bound] * len(times)))


@pytest.mark.parametrize("alpha", [0.05, 0.0025])
def test_the_analyses_together_err_as_often_as_alpha_says(alpha):
    """By scipy's multivariate normal: the mean of all seeds so far, at each analysis's level."""
    analyses = schedule(3, 20, alpha)
    times = [planned.seeds / 20 for planned in analyses]
    bounds = [stats.norm.isf(planned.share * alpha) for planned in analyses]
    shared = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    inside = stats.multivariate_normal.cdf(
        bounds, cov=shared, abseps=1e-8, releps=1e-8, rng=np.random.default_rng(0)
    )
    assert 1 - inside == pytest.approx(alpha, rel=0.01)
    assert pocock_spending(1.0, alpha) == pytest.approx(alpha)


FAMILY = Family("mine/looks", size=1, alpha=0.01)
KNOWN = KnownSd(5.7, 10)


class Made(ReadySession):
    """Runs whose scores are known by init."""

    def __init__(self, effects, sd=4.0):
        super().__init__(self.scored)
        self.effects, self.sd = effects, sd

    def scored(self, run):
        noise = np.random.default_rng((run.seed, len(run.recipe.table.init))).normal()
        score = 50 + self.effects.get(run.recipe.table.init, 0) + self.sd * noise
        return make_result(run, accuracy=score)


def decided(made, comparisons, in_time=True, known=KNOWN, family=FAMILY, most=20):
    comparisons = tuple(replace(pair, known_sd=known) for pair in comparisons)
    stated = claim("mine/looks/a", says="a", family=family, on=ONE)
    case = Case(stated, replace(ONE, most_seeds=most), comparisons, None)
    return judge_case(case, made, may_go_on=in_time).decisions


def test_seeds_follow_need():
    """A small effect goes on to further analyses, with the new seeds too."""
    made = Made({})
    [decision] = decided(made, [ONE["pretrained"] < ONE["xavier"]])
    assert decision.verdict is Verdict.UNDECIDED
    assert [len(runs) // 2 for runs in made.asked] == [5, 10, 20]
    assert (decision.outcome.n, len(decision.left)) == (20, 20)
    assert decision.alpha == pytest.approx(0.01 * schedule(5, 20, 0.01)[2].share)


BELOW = ONE["pretrained"] < ONE["xavier"]
BELOW_SIGMA = ONE["pretrained"].sigma < ONE["xavier"].sigma


@pytest.mark.parametrize(
    ("comparison", "measures", "in_time", "verdict", "n"),
    [
        (BELOW, None, True, Verdict.SUPPORTED, 5),  # a large effect
        (BELOW_SIGMA, {"sigma": 0.5}, True, Verdict.NO_EFFECT, 5),  # no seed changes a table's
        (BELOW, {}, True, Verdict.NOT_RUN, None),  # no measure, and no more training for it
        # The first is always taken, since without it there is no verdict at all.
        (ONE["xavier_pretrained"] < ONE["xavier"], None, False, Verdict.UNDECIDED, 5),
    ],
)
def test_there_is_one_analysis_where_more_would_not_help(comparison, measures, in_time, verdict, n):
    """It is decided, can't change, can't be decided, or the time is over."""
    made = Made({"pretrained": -40})
    if measures is not None:
        made.record = lambda run: make_result(run, **measures)
    [decision] = decided(made, [comparison], in_time)
    assert (decision.verdict, len(made.asked)) == (verdict, 1)
    assert decision.alpha == pytest.approx(0.01 * schedule(5, 20, 0.01)[0].share)
    assert n is None or decision.outcome.n == n


def test_scores_that_are_equal_on_every_seed_show_no_equality():
    """Though the registered deviation would show that their difference is within the margin."""
    made = Made({}, sd=0.0)
    [decision] = decided(made, [ONE["pretrained"].within(40).alike(ONE["xavier"])])
    assert (decision.verdict, bool(decision.reason)) == (Verdict.UNDECIDED, True)


def test_a_later_analysis_takes_only_what_is_open():
    """What was decided stays as it was; a claim that fell is not looked at again."""
    clear, close = ONE["pretrained"] < ONE["xavier"], ONE["xavier_pretrained"] < ONE["xavier"]
    made = Made({"pretrained": -40})
    first, second = decided(made, [clear, close])
    assert (first.outcome.n, second.outcome.n) == (5, 20)
    assert verdict_of([first.verdict, second.verdict]) is Verdict.UNDECIDED
    later = {run.recipe.table.init for runs in made.asked[1:] for run in runs}
    assert later == {"xavier", "xavier_pretrained"}
    fallen = ONE["pretrained"] > ONE["xavier"]
    made = Made({"pretrained": -40})
    assert verdict_of([one.verdict for one in decided(made, [fallen, close])]) is Verdict.REFUTED
    assert len(made.asked) == 1


def test_one_of_several_comparisons_refutes_at_its_part_alone():
    """Any of them can make the claim fall, so together they may err no more than one."""
    made, alpha = Made({"pretrained": -9.8}, sd=0.01), 0.03

    def verdicts(comparisons):
        family = replace(FAMILY, alpha=alpha)
        found = decided(made, comparisons, known=KnownSd(7.6, 1000), family=family, most=5)
        return {one.verdict for one in found}, found[0].outcome.p_against

    falls, holds = ONE["pretrained"] > ONE["xavier"], ONE["pretrained"] < ONE["xavier"]
    alone, p = verdicts([falls])
    assert alpha / 3 < p < alpha
    assert alone == {Verdict.REFUTED}
    assert verdicts([falls] * 3)[0] == {Verdict.UNDECIDED}
    assert verdicts([holds] * 3)[0] == {Verdict.SUPPORTED}


def test_every_kind_of_quantity_takes_more_seeds():
    """Differences of differences, constants, other seeds and rank correlations."""
    from embinit.lab.quantities import rank_correlation

    other = replace(ONE, source="micro-t5")
    pairs = [(ONE[init], ONE["xavier"]) for init in ("pretrained", "xavier_pretrained")]
    correlated = rank_correlation([*pairs, (other["pretrained"], other["xavier"])])
    for quantity in (
        ONE["pretrained"] - ONE["xavier"],
        ONE["xavier"].on_other_seeds(),
        correlated,
        correlated.on_other_seeds(),
    ):
        twice = (quantity > 0.0).with_seeds(2 * quantity.seeds)
        assert len(twice.runs()) == 2 * len(quantity.runs())
        assert len(twice.left.values(lambda run: None)) == 2 * quantity.seeds
        assert set(quantity.runs()) < set(twice.runs())
        assert len(twice.right.values(lambda run: None)) == 2 * quantity.seeds


def stated_over(arm, most=6, margin=0.0, expects=None):
    """A claim that an arm is above Xavier, with three seeds and then more."""
    arms = make_experiment(seeds=3, most_seeds=most)

    @claim(
        f"mine/looks/{arm}", says=arm, family=Family("mine/looks", size=1), on=arms, expects=expects
    )
    def it_helps(experiment):
        assert experiment[arm].with_margin(margin) > experiment["xavier"].with_margin(margin)

    return read(it_helps, arms)


@pytest.fixture
def session(tmp_path):
    return Session(Store(tmp_path), None, "cpu")


def keep(session, case, score):
    """Stores a case's runs, by seed and whether they are GloVe's, which took four times as long."""
    for run in case.runs():
        ours = run.recipe.table.init == "pretrained"
        result = make_result(run, accuracy=score(run.seed, ours), loss=float(ours))
        took = {"seconds": 4.0 if ours else 1.0}
        session.store.put(session.key(run), replace(result, provenance=took))


def test_an_analysis_costs_what_its_missing_runs_take(session):
    """An arm's stored runs tell how long its next ones take, whatever kinds of runs cost."""
    case = stated_over("pretrained")
    keep(session, case, lambda seed, ours: 70.0 + ours * (1 + seed))
    following = judge_stored(case, session)
    assert following.costs.keys() == {run for run in following.runs if run.seed >= 3}
    assert following.seconds == pytest.approx(3 * (4.0 + 1.0))


def test_an_analysis_costs_what_is_made_before_its_runs_too(session, monkeypatch):
    """Each table once, however many of its runs read it: else one seems cheap that isn't."""
    case = stated_over("pretrained")
    before = judge_stored(case, session).seconds
    tables = {seed: Making(f"table of {seed}", print, 100 * SECOND) for seed in range(3)}
    monkeypatch.setattr(session, "lacks", lambda run: [tables[run.seed]])
    assert judge_stored(case, session).seconds == pytest.approx(before + 3 * 100)


@pytest.mark.parametrize(("effect", "seeds"), [(14.0, 6), (6.0, 12), (3.8, 24), (0.1, 24)])
def test_a_claim_is_expected_to_end_with_the_seeds_that_it_needs(session, effect, seeds):
    """Were its mean and standard deviation those of the stored runs."""
    case = stated_over("pretrained", most=24)
    keep(session, case, lambda seed, ours: 70.0 + ours * (effect + 3.0 * (seed - 1)))
    following = judge_stored(case, session)
    [comparison] = case.comparisons
    assert set(expected_runs(following)) == set(comparison.with_seeds(seeds).runs())
    assert set(following.runs) == set(comparison.with_seeds(6).runs())


def test_a_first_analysis_is_owed_and_so_is_each_of_a_control(session):
    """Nothing is known of either before; a claim's later one is taken if a budget has time."""
    claimed, control = stated_over("pretrained"), stated_over("pretrained", expects=Verdict.REFUTED)
    first = [judge_stored(case, session) for case in (claimed, control)]
    assert [pending.is_owed for pending in first] == [True, True]
    assert all(pending.costs.keys() == set(claimed.runs()) for pending in first)
    keep(session, claimed, lambda seed, ours: 70.0 + seed % 2)
    assert [judge_stored(case, session).is_owed for case in (claimed, control)] == [False, True]
