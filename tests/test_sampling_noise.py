"""The test set's noise: statsmodels' exact tests, sacreBLEU's p where it is known, and no guess."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from builders import make_experiment, make_result
from embinit.claims import Family, claim, judge
from embinit.claims.comparisons import Comparison
from embinit.claims.entries import TESTED, claim_entry
from embinit.claims.experiments import Experiment
from embinit.claims.sampling_noise import MOST_SEEDS, paired_runs, sampling_noise
from embinit.report.arms import Run
from embinit.report.document import add_sampling_noise
from embinit.runs.measures import MEASURES
from embinit.specs import RunSpec

outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60)


TRANSLATION = make_experiment(metric=MEASURES["bleu"])
SENTIMENT = make_experiment()


def comparison(arms: Experiment) -> Comparison:
    """GloVe against Xavier with one seed."""
    return arms["pretrained"].with_seeds(1) < arms["xavier"].with_seeds(1)


def lookup(left, right, references):
    """A store that has the two runs' outputs."""
    said = {"pretrained": left, "xavier": right}
    return lambda run: make_result(run, outputs=said[run.recipe.table.init], references=references)


def noise_of(compared, found):
    """The noise of a comparison whose runs' results ``found`` gives; None where none is tested."""
    pairs = [[found(run) for run in pair] for pair in paired_runs(compared)]
    return sampling_noise(compared.left.measure.test, pairs) if pairs else None


@settings(max_examples=60)
@given(outcomes)
def test_classes_are_compared_by_mcnemars_exact_test(right):
    """The discordant pairs are a fair coin's throws, and a score's interval is Wilson's."""
    sides = [["1" if hit else "0" for hit in side] for side in zip(*right, strict=True)]
    found = noise_of(comparison(SENTIMENT), lookup(*sides, ["1"] * len(right)))
    table = [[right.count((own, other)) for other in (True, False)] for own in (True, False)]
    assert found.p == pytest.approx((mcnemar(table, exact=True).pvalue,))
    assert found.examples == len(right)
    ends = [proportion_confint(side.count("1"), len(side), method="wilson") for side in sides]
    assert found.spread == pytest.approx(sum(50 * (high - low) for low, high in ends) / 2)


def sentences(words, wrong):
    """Sixty sentences, every ``wrong``-th of them of other words."""
    return [f"{words if i % wrong else 'other words stand'} {i} of them" for i in range(60)]


def test_translations_are_compared_on_the_same_sentences():
    """A far better system differs, equal outputs can't, whichever side they stand on."""
    references = [f"the right words {i} of them" for i in range(60)]
    good, bad = sentences("the right words", 20), sentences("the right words", 2)
    translation = comparison(TRANSLATION)
    found = noise_of(translation, lookup(good, bad, references))
    assert found.p[0] < 0.01
    assert 1 < found.spread < 30
    turned = noise_of(translation, lookup(bad, good, references))
    assert turned.p == found.p
    assert turned.spread == pytest.approx(found.spread)
    assert noise_of(translation, lookup(good, good, references)).p == (1.0,)


def test_nothing_is_said_where_there_is_no_such_test():
    """Another measure, a difference of differences, runs stored without their outputs."""
    arms = TRANSLATION
    known = lookup(["a"], ["a"], ["a"])
    assert noise_of(arms["pretrained"].sigma > arms["xavier"].sigma, known) is None
    gap = arms["pretrained"] - arms["xavier"]
    assert noise_of(gap < arms["pretrained_xavier"] - arms["xavier"], known) is None
    assert noise_of(arms["pretrained"] < 30.0, known) is None
    assert noise_of(comparison(TRANSLATION), make_result) is None
    assert noise_of(comparison(TRANSLATION), lookup(["a"], ["a", "b"], ["a"])) is None


def test_each_seed_has_its_own_p():
    """They are told one by one; pooling them would count the same examples again."""
    arms = SENTIMENT

    def found(run):
        hits = 10 if run.seed == 0 and run.recipe.table.init == "pretrained" else 5
        return make_result(run, outputs=["1"] * hits + ["0"] * (10 - hits), references=["1"] * 10)

    compared = arms["pretrained"].with_seeds(2) < arms["xavier"].with_seeds(2)
    assert noise_of(compared, found).p == (pytest.approx(2 * 0.5**5), 1.0)
    assert json.dumps(noise_of(compared, found).p)
    many = arms["pretrained"].with_seeds(20) < arms["xavier"].with_seeds(20)
    assert len(noise_of(many, found).p) == MOST_SEEDS


def judged(experiment, found):
    """The document of a claim that was judged by the results that ``found`` gives, and its runs."""

    @claim("mine/one/a", says="a", family=Family("mine/one", 1), on=lambda tier: [experiment])
    def test_a(arms):
        assert arms["pretrained"] < arms["xavier"]

    session = SimpleNamespace(
        problem=lambda run: None,
        failures=lambda runs: [],
        made_twice=lambda runs: [],
        result=found,
        ensure=list,
    )
    judgement = judge(test_a, experiment, session)
    entry = claim_entry(judgement, "", RunSpec.digest, lambda key, compared: ())
    wanted = [run for decision in judgement.decisions for run in decision.comparison.runs()]
    runs = {run.digest(): Run(run.digest(), "", found(run)) for run in wanted}
    return {"claims": [entry], "session": {}}, runs


def test_the_document_tests_the_runs_of_a_session():
    """When it is written: judging tests none, and none is tested where a run is gone."""
    hit = lookup(["1"] * 5 + ["0"] * 5, ["1"] * 10, ["1"] * 10)

    def found(run):
        return replace(
            hit(run), measures={"accuracy": 50.0 + run.seed + 0.1 * len(run.recipe.table.init)}
        )

    document, runs = judged(SENTIMENT, found)
    [entry] = document["claims"]
    [compared] = entry["comparisons"]
    assert compared["test_set"] is None
    for left in ({}, dict(list(runs.items())[1:])):
        other = copy.deepcopy(document)
        add_sampling_noise(other, left)
        [without] = other["claims"][0]["comparisons"]
        assert without["test_set"] is None
        assert TESTED not in without
    add_sampling_noise(document, runs)
    p = pytest.approx(2 * 0.5**5)
    assert compared["test_set"]["p"] == [p] * MOST_SEEDS
    assert TESTED not in compared
    assert document["session"] == {}
