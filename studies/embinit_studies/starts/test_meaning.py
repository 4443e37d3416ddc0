"""Meaning: the effect of the words' meaning, and of their vectors' shape alone."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.starts import MEANING, on_tasks, translation


@claim(
    "starts/meaning/own-words",
    says="Exploratory: in translation words do better with their own vectors than with others'",
    where="kim2024, finding 3",
    family=MEANING,
    experiments=on_tasks("translation"),
)
def test_own_vectors_help(experiment):
    assert experiment.start("standardised") > experiment.start("shuffled")


@claim(
    "starts/meaning/other-words-cost-nothing",
    says="Exploratory: a trained table of other words' vectors is as good as Xavier's",
    where="ours: the vectors' shape does no harm",
    family=MEANING,
    experiments=on_tasks("translation"),
)
def test_the_vectors_of_other_words_cost_nothing(experiment):
    assert experiment.start("shuffled") >= experiment.start("xavier")


@claim(
    "starts/meaning/frozen-own-words",
    says="Exploratory: in a frozen table words do better with their own vectors than with others'",
    where="ours",
    family=MEANING,
    experiments=on_tasks("translation", "sentiment"),
)
def test_own_vectors_help_a_frozen_table(experiment):
    frozen = experiment.frozen()
    assert frozen.start("standardised") > frozen.start("shuffled")


@claim(
    "starts/meaning/norms-cost-order",
    says="Exploratory: with GloVe's norms Xavier's rows fare worse where order decides",
    where="ours: frequent words, which GloVe makes long, drown their positions",
    family=MEANING,
    experiments=on_tasks("inference"),
)
def test_norms_cost_order(experiment):
    assert experiment.start("norms") < experiment.start("xavier")


@claim(
    "starts/meaning/control-a-a",
    says="Control: Xavier differs from itself on other seeds",
    where="control",
    family=MEANING,
    experiments=translation,
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    start = experiment.start("xavier")
    assert start > start.on_other_seeds()


@claim(
    "starts/meaning/control-falsehood",
    says="Control: a frozen table does better with the vectors of other words",
    where="control",
    family=MEANING,
    experiments=translation,
    expects=Verdict.REFUTED,
)
def test_control_other_words_do_not_help_a_frozen_table(experiment):
    assert experiment.frozen().start("shuffled") > experiment.frozen().start("standardised")


@claim(
    "starts/meaning/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=MEANING,
    experiments=translation,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
