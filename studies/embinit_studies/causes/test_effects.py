"""Effects: factorial contrasts over all combinations of the repairs of a large-sigma table."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import EFFECTS, FOLLOWED, contrast, on_tasks, with_glove, xavier_table


@claim(
    "causes/effects/scale-is-a-cause",
    says="Exploratory: a LayerNorm after the sum helps a wide table, on the mean over the others",
    where="kim2024, section 5: saturation",
    family=EFFECTS,
    experiments=on_tasks("translation", "sentiment"),
)
def test_scale_is_a_cause(experiment):
    assert contrast(experiment, "scale") > 0


@claim(
    "causes/effects/ratio-is-a-cause",
    says="Exploratory: wider positions help a wide table where order counts, on the mean",
    where="kim2024, finding 2: absorption",
    family=EFFECTS,
    experiments=on_tasks("translation", "inference"),
)
def test_ratio_is_a_cause(experiment):
    assert contrast(experiment, "ratio") > 0


@claim(
    "causes/effects/step-is-a-cause",
    says="Exploratory: a table's rate that grows with its width helps a wide table, on the mean",
    where="ours: Adam moves a table by the rate, whatever its width",
    family=EFFECTS,
    experiments=on_tasks("translation", "sentiment"),
)
def test_step_is_a_cause(experiment):
    assert contrast(experiment, "step") > 0


@claim(
    "causes/effects/ratio-weighs-most-on-inference",
    says="Exploratory: on inference, which the order of words decides, ratio is the main cause",
    where="ours",
    family=EFFECTS,
    experiments=on_tasks("inference"),
)
def test_ratio_weighs_most_where_order_decides(experiment):
    assert contrast(experiment, "ratio") > contrast(experiment, "scale")
    assert contrast(experiment, "ratio") > contrast(experiment, "step")


@claim(
    "causes/effects/ratio-alone-harms-sentiment",
    says="Exploratory: where order is not used, wider positions alone make a wide table worse",
    where="ours: the sum that saturates gets wider still",
    family=EFFECTS,
    experiments=on_tasks("sentiment"),
)
def test_ratio_alone_harms_where_order_is_not_used(experiment):
    assert experiment.large_sigma("ratio") < experiment.large_sigma()


@claim(
    "causes/effects/ratio-needs-scale",
    says="Exploratory: on sentiment wider positions do better under a LayerNorm after the sum",
    where="ours",
    family=EFFECTS,
    experiments=on_tasks("sentiment"),
)
def test_ratio_needs_scale(experiment):
    assert contrast(experiment, "scale", "ratio") > 0


@claim(
    "causes/effects/ratio-needs-step",
    says="Exploratory: in translation wider positions do better where the table's rate grows too",
    where="ours",
    family=EFFECTS,
    experiments=on_tasks(FOLLOWED),
)
def test_ratio_needs_step(experiment):
    assert contrast(experiment, "ratio", "step") > 0


@claim(
    "causes/effects/scale-needs-step",
    says="Exploratory: a drawn table gains more by the norm where its rate grows too",
    where="ours: the norm's gain is lost on rows that hardly learn",
    family=EFFECTS,
    experiments=xavier_table,
)
def test_scale_needs_step(experiment):
    assert contrast(experiment, "scale", "step") > 0


@claim(
    "causes/effects/a-drawn-table-needs-the-step-more",
    says="Exploratory: the step weighs more for a drawn table than for GloVe's",
    where="ours: a drawn table has to learn what GloVe's has",
    family=EFFECTS,
    experiments=xavier_table,
)
def test_a_drawn_table_needs_the_step_more(experiment):
    assert contrast(experiment, "step") > contrast(with_glove(experiment), "step")


@claim(
    "causes/effects/control-a-a",
    says="Control: a wide table with its step repaired differs from itself on other seeds",
    where="control",
    family=EFFECTS,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_repaired_table_against_itself(experiment):
    step = experiment.large_sigma("step")
    assert step > step.on_other_seeds()


@claim(
    "causes/effects/control-falsehood",
    says="Control: a rate that grows with a table's width does harm on the mean",
    where="control",
    family=EFFECTS,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_a_repair_does_no_harm(experiment):
    assert contrast(experiment, "step") < 0


@claim(
    "causes/effects/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=EFFECTS,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
