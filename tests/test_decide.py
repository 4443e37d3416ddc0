"""One comparison is decided in one place: claims, ``seeds`` and ``judge`` come to one outcome."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import make_experiment, make_result, set_apart
from embinit.claims.comparisons import Comparison
from embinit.claims.seeds import on_seeds
from embinit.runs.trainings import TRAININGS
from embinit.scores.arms import Arms, Score
from embinit.scores.judging import Plan, judge
from embinit.stats.counts import decide_counts
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, KnownSd, Pairing, Relation, Verdict, verdict_of

SCORES = st.integers(-40, 40).map(lambda score: 30 + score / 8)
SIDES = st.lists(SCORES, min_size=6, max_size=12)
PAIRS = st.lists(st.tuples(SCORES, SCORES), min_size=6, max_size=12)
MARGINS = st.sampled_from([0.0, 0.5, 4.0])


def train(seed: int, side: str) -> float:
    """A training function, whose numbers these tests make up."""
    return 0.0


@pytest.fixture(scope="module", autouse=True)
def _apart():
    with pytest.MonkeyPatch.context() as patch:
        set_apart(patch, TRAININGS)
        yield


def of_claims(pairs, evidence):
    """What a claim and a test with ``seeds`` come to, by runs with these scores."""
    arms, seeds = make_experiment(), on_seeds("micro")[0]
    sides = arms["pretrained"], arms["xavier"]
    own = seeds(train, side="left"), seeds(train, side="right")

    def lookup(run):
        named = getattr(run.recipe, "arguments", "") or run.recipe.table.init
        value = pairs[run.seed]["right" in named or named == "xavier"]
        # A second measure differs, as arms of equal results are a failure of their own.
        apart = {"accuracy": value, "score": value, "loss": float("right" in named or "x" in named)}
        return make_result(run, **apart)

    for left, right in (sides, own):
        left, right = (side.with_margin(evidence.margin) for side in (left, right))
        stated = Comparison(left, evidence.relation, right).with_seeds(len(pairs))
        stated = replace(stated, known_sd=evidence.known_sd)
        yield stated.decide(lookup, evidence.level).outcome


def of_judge(evidence):
    """What ``judge`` comes to, with one analysis at the number of its runs."""
    paired = evidence.pairing is Pairing.BY_SEED
    sides = {
        name: [Score(value, "", str(n) if paired else "") for n, value in enumerate(values)]
        for name, values in (("new", evidence.left), ("base", evidence.right))
    }
    n = min(len(evidence.left), len(evidence.right))
    lower = evidence.relation is Relation.BELOW
    plan = Plan(lower, evidence.margin, alpha=evidence.level, most=n)
    [judged] = judge(Arms(sides), plan, "base")
    return judged.outcome


@given(PAIRS, st.sampled_from([*Relation]), MARGINS, st.sampled_from([0.001, 0.05]), st.booleans())
def test_claims_seeds_and_judge_come_to_one_outcome(pairs, relation, margin, level, known):
    """On any pairs, relation and margin: nothing is decided, or changed, anywhere else."""
    left, right = zip(*pairs, strict=True)
    evidence = Evidence(left, right, relation, level, margin)
    if known:
        evidence = replace(evidence, known_sd=KnownSd(1.0, 10))
    outcome = decide(evidence)
    assert [*of_claims(pairs, evidence)] == [outcome, outcome]
    if not (relation.uses_margin or known or left == right):
        single = replace(evidence, leave_one_out=False)  # as judge decides a single analysis
        assert of_judge(single) == decide(single)


@given(SIDES, SIDES, st.sampled_from([Relation.BELOW, Relation.ABOVE]), MARGINS)
def test_judge_decides_nothing_itself_without_pairs(left, right, relation, margin):
    """Also where an arm's scores don't vary; equal sides alone have a reason of their own."""
    assume(left != right)
    evidence = Evidence(left, right, relation, 0.05, margin, pairing=Pairing.NONE)
    evidence = replace(evidence, leave_one_out=False)
    named = replace(evidence, names=("new", "base"))
    assert of_judge(evidence) == decide(named)


@given(PAIRS, MARGINS, st.sampled_from([Pairing.BY_SEED, Pairing.NONE]))
def test_an_effect_that_does_not_matter_is_no_effect(pairs, margin, pairing):
    """Where the whole interval is inside the margin, and each without one seed, ``<`` isn't true.

    Only a chosen margin can say so: without one an effect of any size is SUPPORTED or REFUTED.
    """
    left, right = (np.array(side) for side in zip(*pairs, strict=True))
    outcome = decide(Evidence(left, right, Relation.BELOW, 0.05, margin, pairing=pairing))
    low, high = outcome.interval
    inside = max(-low, high) < margin
    assert (outcome.verdict is Verdict.NO_EFFECT) <= inside
    if inside and outcome.verdict is not Verdict.UNDECIDED:
        rests = [
            decide(Evidence(*rest, Relation.BELOW, 0.05, margin, pairing=pairing))
            for rest in _without_one(left, right, pairing)
        ]
        ends = [end for rest in rests for end in (-rest.interval[0], rest.interval[1])]
        no_effect = max(ends) < margin
        assert (outcome.verdict is Verdict.NO_EFFECT) == no_effect
        assert (outcome.hangs_on is None) == no_effect


def _without_one(left, right, pairing):
    for index in range(len(left)):
        rest = np.delete(left, index)
        yield rest, np.delete(right, index) if pairing is Pairing.BY_SEED else right
        if pairing is Pairing.NONE:
            yield left, np.delete(right, index)


@pytest.mark.parametrize("fewest", [6, 7])
def test_fewer_values_than_the_first_analysis_has_decide_nothing(fewest):
    """However far apart: a level is only there at planned numbers of runs."""
    left, right = [1.0, 1.1, 0.9, 1.0, 1.2, 0.8], [9.0, 9.1, 8.9, 9.0, 9.2, 8.7]
    outcome = decide(Evidence(left, right, Relation.BELOW, 0.05, 1.0, fewest=fewest))
    assert (outcome.verdict is Verdict.SUPPORTED) == (fewest == 6)
    assert outcome.interval[1] < 0  # the numbers are there all the same


@given(st.lists(st.sampled_from([*Verdict])), st.sampled_from([*Verdict]))
def test_a_claim_falls_with_one_comparison_and_holds_with_all(verdicts, more):
    """REFUTED comes before NO EFFECT, and nothing is SUPPORTED by default."""
    order = [Verdict.NOT_RUN, Verdict.REFUTED, Verdict.NO_EFFECT, Verdict.UNDECIDED]
    order.append(Verdict.SUPPORTED)
    assert verdict_of([]) is Verdict.NOT_RUN
    whole = verdict_of([*verdicts, more])
    assert whole is min([*verdicts, more], key=order.index)


@given(st.integers(1, 30), st.integers(1, 30), st.data())
def test_counts_are_decided_alike_from_either_side(n, m, data):
    """Whether more or fewer successes are wanted, and whichever arm is first."""
    hits, other = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    margin = data.draw(st.sampled_from([0.0, 0.3]))
    one = decide_counts((hits, other), (n, m), Relation.ABOVE, 0.05, margin)
    two = decide_counts((other, hits), (m, n), Relation.BELOW, 0.05, margin)
    assert one.verdict is two.verdict
    assert (one.p, one.difference) == pytest.approx((two.p, -two.difference))
