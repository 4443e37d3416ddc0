"""Elsewhere: the factorial in other settings of translation, and with language models' tables."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import (
    ELSEWHERE,
    FOLLOWED,
    contrast,
    in_setting,
    with_a_language_models_table,
)
from embinit_studies.repairs import REPAIRS

xavier_table = in_setting(tables=["xavier"])
"""A query for Xavier's table in every setting in which its model learns."""

twice_the_epochs = in_setting("twice the epochs", tables=["xavier"])
"""A query for the setting on which controls are tested."""


def all_settings_and_tables(tier):
    """Every setting with every table."""
    return [*in_setting()(tier), *with_a_language_models_table()(tier)]


def where_positions_count(tier):
    """GloVe's table in longer training, and language models' tables."""
    return [
        *in_setting("twice the epochs", tables=["glove"])(tier),
        *with_a_language_models_table(FOLLOWED, "inference")(tier),
    ]


@claim(
    "causes/elsewhere/width-costs",
    says="Exploratory: wherever the model learns, a table eight times as wide fares worse",
    where="kim2024, Tables 1 and 7",
    family=ELSEWHERE,
    experiments=all_settings_and_tables,
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.large_sigma() < experiment.small_sigma()


@claim(
    "causes/elsewhere/all-three-restore",
    says="Exploratory: wherever the model learns, all three repairs restore a wide table",
    where="ours: by arithmetic it is the same training, but for the norm after the sum",
    family=ELSEWHERE,
    experiments=all_settings_and_tables,
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    assert experiment.large_sigma(*REPAIRS) >= experiment.small_sigma()


@claim(
    "causes/elsewhere/scale-is-a-cause",
    says="Exploratory: wherever the model learns, a LayerNorm after the sum helps a drawn table",
    where="kim2024, section 5: saturation",
    family=ELSEWHERE,
    experiments=xavier_table,
)
def test_scale_is_a_cause(experiment):
    assert contrast(experiment, "scale") > 0


@claim(
    "causes/elsewhere/step-is-a-cause",
    says="Exploratory: wherever the model learns, a rate that grows with width helps a drawn table",
    where="ours: Adam moves a table by the rate, whatever its width",
    family=ELSEWHERE,
    experiments=xavier_table,
)
def test_step_is_a_cause(experiment):
    assert contrast(experiment, "step") > 0


@claim(
    "causes/elsewhere/ratio-is-a-cause",
    says="Exploratory: wider positions help GloVe's table in long training, and language models'",
    where="kim2024, finding 2: absorption",
    family=ELSEWHERE,
    experiments=where_positions_count,
)
def test_ratio_is_a_cause(experiment):
    assert contrast(experiment, "ratio") > 0


@claim(
    "causes/elsewhere/ratio-outweighs-step-in-the-end",
    says="Exploratory: trained twice as long, GloVe's table loses more by the ratio than the step",
    where="ours: in time the rows learn, and positions are drowned still",
    family=ELSEWHERE,
    experiments=in_setting("twice the epochs", tables=["glove"]),
)
def test_ratio_outweighs_step_in_the_end(experiment):
    assert contrast(experiment, "ratio") > contrast(experiment, "step")


@claim(
    "causes/elsewhere/step-outweighs-ratio-at-first",
    says="Exploratory: trained half as long, GloVe's table loses more by the step than the ratio",
    where="ours: rows that can't move yet cost more than positions that are drowned",
    family=ELSEWHERE,
    experiments=in_setting("half the epochs", tables=["glove"]),
)
def test_step_outweighs_ratio_at_first(experiment):
    assert contrast(experiment, "step") > contrast(experiment, "ratio")


@claim(
    "causes/elsewhere/control-a-a",
    says="Control: trained twice as long, a wide table differs from itself on other seeds",
    where="control",
    family=ELSEWHERE,
    experiments=twice_the_epochs,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_wide_table_against_itself(experiment):
    step = experiment.large_sigma("step")
    assert step > step.on_other_seeds()


@claim(
    "causes/elsewhere/control-falsehood",
    says="Control: trained twice as long, a wide table fares better",
    where="control",
    family=ELSEWHERE,
    experiments=twice_the_epochs,
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.large_sigma() > experiment.small_sigma()


@claim(
    "causes/elsewhere/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found in long training",
    where="control",
    family=ELSEWHERE,
    experiments=twice_the_epochs,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
