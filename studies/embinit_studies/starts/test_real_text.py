"""Real text: positions added and in attention, with published vectors on SST-2 and Multi30k."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.starts import REAL_TEXT, on_real_text

glove_translation = on_real_text("translation", source="glove")
"""A query for translation with GloVe's vectors, on which controls are tested."""


@claim(
    "starts/real-text/both-is-not-worse",
    says="Exploratory: on real text positions in attention beside added ones cost nothing",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_positions_in_both_cost_nothing(experiment):
    assert experiment.start("both") >= experiment.start("standardised")


@claim(
    "starts/real-text/both-is-not-below-xavier",
    says="Exploratory: on real text vectors with positions in both are not below Xavier",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_vectors_with_positions_in_both_are_not_below_xavier(experiment):
    assert experiment.start("both") >= experiment.start("xavier")


@claim(
    "starts/real-text/vectors-help-translation",
    says="Exploratory: on real text standardised vectors help translation",
    where="kim2024, finding 3",
    family=REAL_TEXT,
    experiments=on_real_text("translation"),
)
def test_vectors_help_translation(experiment):
    assert experiment.start("standardised") > experiment.start("xavier")


@claim(
    "starts/real-text/meaning-adds-to-both",
    says="Exploratory: in translation of real text vectors add to positions in both",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text("translation"),
)
def test_meaning_adds_to_positions_in_both(experiment):
    assert experiment.start("both") > experiment.start("xavier-both")


@claim(
    "starts/real-text/both-helps-sentiment",
    says="Exploratory: on SST-2 positions in attention beside added ones help vectors",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text("sentiment"),
)
def test_positions_in_both_help_sentiment(experiment):
    assert experiment.start("both") > experiment.start("standardised")


@claim(
    "starts/real-text/control-a-a",
    says="Control: positions in both differ from themselves on other seeds",
    where="control",
    family=REAL_TEXT,
    experiments=glove_translation,
    expects=Verdict.NO_EFFECT,
)
def test_control_both_against_itself(experiment):
    start = experiment.start("both")
    assert start > start.on_other_seeds()


@claim(
    "starts/real-text/control-falsehood",
    says="Control: Xavier is above vectors with positions in both",
    where="control",
    family=REAL_TEXT,
    experiments=glove_translation,
    expects=Verdict.REFUTED,
)
def test_control_xavier_is_not_above_both(experiment):
    assert experiment.start("xavier") > experiment.start("both")


@claim(
    "starts/real-text/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=REAL_TEXT,
    experiments=glove_translation,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
