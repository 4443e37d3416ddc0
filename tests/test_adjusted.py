"""An early decision's effect without the winner's curse."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from embinit.claims.adjusted import _conditional, adjusted
from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import RegisteredSd, Relation, Verdict, compare

ALPHA = 0.0025
LOOKS = schedule(3, 20, ALPHA)
MIRRORED = {Relation.ABOVE: Relation.BELOW, Relation.NOT_BELOW: Relation.NOT_ABOVE}
DIFFERENCES = [5.1, 4.2, 5.8]


def decided(differences, relation=Relation.ABOVE, looks=LOOKS, sd=1.0, margin=1.0):
    """The comparison as the look with as many seeds decides it."""
    look = next(each for each in looks if each.seeds == len(differences))
    left, right = tuple(differences), (0.0,) * len(differences)
    spread = None if sd is None else RegisteredSd(sd, 10)
    outcome = compare(left, right, relation, ALPHA * look.share, margin, spread=spread)
    comparison = SimpleNamespace(relation=relation)
    return SimpleNamespace(outcome=outcome, left=left, right=right, comparison=comparison)


def test_one_look_takes_the_quantile_of_the_truncated_normal():
    """At a first look the conditional likelihood is a truncated normal's, in closed form."""
    deviate, least = 3.4, 3.1

    def likelihood(effect):
        return stats.norm.pdf(deviate - effect) / stats.norm.sf(least - effect)

    whole = integrate.quad(likelihood, 0, 12)[0]
    effects = _conditional(deviate, [3], [least])
    for share, effect in zip((0.025, 0.5, 0.975), effects, strict=True):
        assert integrate.quad(likelihood, 0, effect)[0] / whole == pytest.approx(share, abs=0.01)


def test_the_chance_to_pass_only_here_is_that_of_simulated_seeds():
    """Oracle for later looks: sums of normal seeds, of which earlier looks passed none."""
    counts, bounds, deviate = [3, 6, 12], [1.6, 1.7, 1.5], 1.9
    rng, effects = np.random.default_rng(0), np.linspace(0.0, 5.0, 41)
    noise = rng.normal(size=(60_000, counts[-1])).cumsum(axis=1)
    chances = []
    for effect in effects:
        drift = effect / np.sqrt(counts[-1])
        means = [(noise[:, n - 1] + drift * n) / np.sqrt(n) for n in counts]
        here = means[-1] >= bounds[-1]
        for mean, bound in zip(means[:-1], bounds, strict=False):
            here &= mean < bound
        chances.append(here.mean())
    likelihood = stats.norm.pdf(deviate - effects) / np.maximum(chances, 1e-9)
    share = integrate.cumulative_simpson(likelihood, x=effects, initial=0.0)
    low, middle, _ = _conditional(deviate, counts, bounds)
    at = np.interp([low, middle], effects, share / np.interp(5.0, effects, share))
    assert at == pytest.approx([0.025, 0.5], abs=0.04)


@given(
    st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3),
    st.floats(3.0, 40.0),
    st.sampled_from([*MIRRORED]),
)
@settings(max_examples=20, deadline=None)
def test_an_adjusted_effect_lies_from_bound_to_mean_and_mirrors(noise, effect, relation):
    """A verdict excludes what lies beyond its bound; adjusting takes off, on both sides alike."""
    differences = np.asarray(noise) + effect
    decision = decided(differences, relation)
    fair = adjusted(decision, LOOKS, ALPHA)
    if decision.outcome.verdict is not Verdict.SUPPORTED:
        assert fair is None
        return
    bound = 0.0 if relation is Relation.ABOVE else -1.0
    assert bound <= fair.interval[0] < fair.difference < fair.interval[1]
    assert fair.difference <= decision.outcome.difference * 1.01
    mirrored = adjusted(decided(-differences, MIRRORED[relation]), LOOKS, ALPHA)
    assert mirrored.difference == pytest.approx(-fair.difference)
    assert mirrored.interval == pytest.approx((-fair.interval[1], -fair.interval[0]))
    refuted = decided(-differences, Relation.ABOVE)
    if refuted.outcome.verdict is Verdict.REFUTED and relation is Relation.ABOVE:
        assert adjusted(refuted, LOOKS, ALPHA).difference == pytest.approx(-fair.difference)


def test_a_larger_mean_has_a_larger_effect_and_one_far_out_is_left_alone():
    """The nearer a mean lies to its bound, the more of it is luck; far beyond it none is."""
    means = np.linspace(4.0, 60.0, 30)
    pairs = [decided(np.asarray([0.3, -0.3, 0.0]) + mean) for mean in means]
    fair = [adjusted(each, LOOKS, ALPHA) for each in pairs]
    effects = [each.difference for each in fair if each is not None]
    assert len(effects) > 20
    assert np.all(np.diff(effects) > 0)
    assert effects[-1] == pytest.approx(means[-1], rel=0.01)
    assert effects[0] < 0.95 * means[0]


def test_a_look_that_hung_on_one_seed_says_little_of_the_effect():
    """What kept the first look open was one odd seed, not that its mean was unluckily small."""
    differences = [4.0, 3.0, 2.0, 3.5, 4.0, 3.0]
    assert decided(differences[:3]).outcome.hangs_on is not None
    whole = decided(differences)
    assert whole.outcome.verdict is Verdict.SUPPORTED
    mean = whole.outcome.difference
    assert adjusted(whole, LOOKS, ALPHA).difference == pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize(
    ("differences", "relation", "looks"),
    [
        (DIFFERENCES, Relation.ABOVE, (Look(3, 1.0),)),
        (DIFFERENCES, Relation.ABOVE, (Look(2, 0.5), Look(3, 0.6))),
        ([0.1, -0.1, 0.0], Relation.ABOVE, LOOKS),
        ([0.01, -0.01, 0.0], Relation.ALIKE, LOOKS),
        ([5.0] * 12, Relation.ABOVE, LOOKS),
    ],
    ids=["one look", "last look", "undecided", "alike", "tied"],
)
def test_where_no_early_look_chose_the_mean_it_stands(differences, relation, looks):
    """One look, the last one, an open comparison and a difference within a margin have no curse."""
    sd = 0.01 if relation is Relation.ALIKE else 1.0
    decision = decided(differences, relation, looks, None if len(differences) == 12 else sd)
    assert (decision.outcome.verdict is Verdict.UNDECIDED) == (differences[0] == 0.1)
    assert adjusted(decision, looks, ALPHA) is None


def test_early_decisions_have_their_effect_back():
    """Simulated claims that an early look supported: the mean is too large, the adjusted is not."""
    rng, truth, found = np.random.default_rng(1), 1.5, []
    while len(found) < 60:
        differences = rng.normal(truth, 1.0, 6)
        if differences[:3].mean() < 2.4 and differences.mean() < 1.6:
            continue  # no look can support it with a spread of at least 1
        early = decided(differences[:3])
        if early.outcome.verdict is Verdict.UNDECIDED:
            early = decided(differences)
        if early.outcome.verdict is Verdict.SUPPORTED:
            fair = adjusted(early, LOOKS, ALPHA)
            covered = fair.interval[0] <= truth <= fair.interval[1]
            found.append((early.outcome.difference, fair.difference, covered))
    naive, fair, covered = np.asarray(found).T
    assert np.median(naive) > 1.2 * truth
    assert abs(np.median(fair) - truth) < 0.25 * truth
    assert covered.mean() >= 0.9
