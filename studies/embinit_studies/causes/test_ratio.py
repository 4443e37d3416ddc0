"""Ratio: the score over R, the energy of the words over that of the positions."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import FOLLOWED, RATIO, RATIOS, glove_table, on_tasks, xavier_table

FAINT, FAINTER, REGISTERED, EQUAL, WIDE, WIDEST = RATIOS
"""R from 0.02 to 20; at 1.25 words and positions are nearly as strong."""


@claim(
    "causes/ratio/plateau",
    says="Exploratory: a trained table is as good at R = 0.02 as at R = 0.3",
    where="ours",
    family=RATIO,
    experiments=on_tasks(FOLLOWED),
)
def test_trained_tables_have_a_plateau(experiment):
    assert experiment.at_ratio(FAINT) >= experiment.small_sigma()


@claim(
    "causes/ratio/cliff",
    says="Exploratory: from R = 0.3 on a trained table fares worse with each doubling of its width",
    where="ours",
    family=RATIO,
    experiments=on_tasks(FOLLOWED),
)
def test_trained_tables_have_a_cliff(experiment):
    assert experiment.at_ratio(EQUAL) < experiment.small_sigma()
    assert experiment.at_ratio(WIDE) < experiment.at_ratio(EQUAL)
    assert experiment.at_ratio(WIDEST) < experiment.at_ratio(WIDE)


@claim(
    "causes/ratio/frozen-tables-drown",
    says="Exploratory: a frozen table fares worse at R = 0.02 than at R = 1.25",
    where="ours: beside the positions its words are too faint to read",
    family=RATIO,
    experiments=on_tasks(FOLLOWED),
)
def test_a_faint_frozen_table_drowns(experiment):
    frozen = experiment.frozen()
    assert frozen.at_ratio(FAINT) < frozen.at_ratio(EQUAL)


@claim(
    "causes/ratio/frozen-tables-absorb",
    says="Exploratory: GloVe's frozen table fares worse at R = 20 than at R = 1.25",
    where="kim2024, finding 2, and Table 3",
    family=RATIO,
    experiments=glove_table,
)
def test_a_wide_frozen_table_absorbs(experiment):
    frozen = experiment.frozen()
    assert frozen.at_ratio(WIDEST) < frozen.at_ratio(EQUAL)


@claim(
    "causes/ratio/control-a-a",
    says="Control: a wide table differs from itself on other seeds",
    where="control",
    family=RATIO,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_wide_table_against_itself(experiment):
    assert experiment.at_ratio(EQUAL) > experiment.at_ratio(EQUAL).on_other_seeds()


@claim(
    "causes/ratio/control-falsehood",
    says="Control: the widest table fares better than the registered one",
    where="control",
    family=RATIO,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_the_widest_table_does_not_fare_better(experiment):
    assert experiment.at_ratio(WIDEST) > experiment.small_sigma()


@claim(
    "causes/ratio/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=RATIO,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
