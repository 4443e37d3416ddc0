"""Real sentiment: the factorial of repairs on SST-2, with published vectors and without."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import REAL_SENTIMENT, contrast, on_real_text
from embinit_studies.repairs import REPAIRS

sentiment = on_real_text("sentiment")
"""A query for SST-2 with Xavier's table and with GloVe's."""

xavier_table = on_real_text("sentiment", "xavier")
"""A query for Xavier's table, on which controls are tested."""


@claim(
    "causes/real-sentiment/width-costs",
    says="Exploratory: on SST-2 a table eight times as wide fares worse",
    where="kim2024, Tables 1 and 7",
    family=REAL_SENTIMENT,
    experiments=sentiment,
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.large_sigma() < experiment.small_sigma()


@claim(
    "causes/real-sentiment/all-three-restore",
    says="Exploratory: on SST-2 a wide table with all three repairs is as good as the narrow",
    where="ours, of micro",
    family=REAL_SENTIMENT,
    experiments=sentiment,
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    assert experiment.large_sigma(*REPAIRS) >= experiment.small_sigma()


@claim(
    "causes/real-sentiment/step-is-a-cause",
    says="Exploratory: on SST-2 a rate that grows with a table's width helps a wide one, on the "
    "mean over the others",
    where="ours, of micro",
    family=REAL_SENTIMENT,
    experiments=sentiment,
)
def test_step_is_a_cause(experiment):
    assert contrast(experiment, "step") > 0


@claim(
    "causes/real-sentiment/scale-is-a-cause",
    says="Exploratory: on SST-2 a LayerNorm after the sum helps a drawn table, on the mean",
    where="kim2024, section 5: saturation",
    family=REAL_SENTIMENT,
    experiments=xavier_table,
)
def test_scale_is_a_cause(experiment):
    assert contrast(experiment, "scale") > 0


@claim(
    "causes/real-sentiment/ratio-alone-harms",
    says="Exploratory: on SST-2 wider positions alone make a drawn wide table worse",
    where="ours, of micro: the sum that saturates gets wider still",
    family=REAL_SENTIMENT,
    experiments=xavier_table,
)
def test_ratio_alone_harms(experiment):
    assert experiment.large_sigma("ratio") < experiment.large_sigma()


@claim(
    "causes/real-sentiment/control-a-a",
    says="Control: on SST-2 the narrow table differs from itself on other seeds",
    where="control",
    family=REAL_SENTIMENT,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_the_narrow_table_against_itself(experiment):
    assert experiment.small_sigma() > experiment.small_sigma().on_other_seeds()


@claim(
    "causes/real-sentiment/control-falsehood",
    says="Control: on SST-2 wider positions alone help a drawn wide table",
    where="control",
    family=REAL_SENTIMENT,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_wider_positions_alone_do_not_help(experiment):
    assert experiment.large_sigma("ratio") > experiment.large_sigma()


@claim(
    "causes/real-sentiment/control-sensitivity",
    says="Control: on SST-2 a planted loss, as large as the paper's largest, is found",
    where="control",
    family=REAL_SENTIMENT,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
