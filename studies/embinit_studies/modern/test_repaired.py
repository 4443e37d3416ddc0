"""Repaired: the causes of what width costs, taken apart by their repairs in each architecture."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import OLD, REPAIRED, Decoder, in_architectures

POST_NORM = ("post-norm", "post-norm-rotary")

UNNORMED = (*POST_NORM, "pre-norm", "llama", "llama-tied")
"""The architectures with further causes than the step, which ``STEP`` has claims on."""


@claim(
    "modern/repaired/all-restore",
    says="Exploratory: without a norm after lookup a drawn table that is wide, with all repairs, "
    "is no worse than the narrow one",
    where="ours: untied, it is nearly the same training, but for the norm after the sum",
    family=REPAIRED,
    experiments=in_architectures(*UNNORMED),
)
def test_all_repairs_restore_a_wide_table(experiment):
    whole = experiment.repaired(*experiment.repairs)
    assert whole.xavier_pretrained() <= experiment.xavier()


@claim(
    "modern/repaired/all-restore-glove",
    says="Exploratory: in all but rotary post-norm GloVe's table as it is, with all repairs, is no "
    "worse than standardised",
    where="ours: untied, it is nearly the same training, but for the norm after the sum",
    family=REPAIRED,
    experiments=in_architectures("post-norm", "pre-norm", "llama", "llama-tied"),
)
def test_all_repairs_restore_a_given_table(experiment):
    whole = experiment.repaired(*experiment.repairs)
    assert whole.pretrained() <= experiment.pretrained_xavier()


@claim(
    "modern/repaired/step-is-a-cause",
    says="Exploratory: without a norm after lookup a drawn table that is wide gains by a rate that "
    "grows with its width, on the mean over the other repairs",
    where="ours: Adam moves a table by the rate, whatever its width",
    family=REPAIRED,
    experiments=in_architectures(*UNNORMED),
)
def test_step_is_a_cause(experiment):
    assert experiment.effect(Decoder.xavier_pretrained, "step") < 0


@claim(
    "modern/repaired/step-is-a-cause-for-glove",
    says="Exploratory: in all but Llama's parts untied GloVe's table as it is gains by a rate that "
    "grows with its width, on the mean over the other repairs",
    where="ours: Adam moves a table by the rate, whatever its width",
    family=REPAIRED,
    experiments=in_architectures("post-norm", "post-norm-rotary", "pre-norm", "llama-tied"),
)
def test_step_is_a_cause_for_a_given_table(experiment):
    assert experiment.effect(Decoder.pretrained, "step") < 0


@claim(
    "modern/repaired/scale-is-a-cause-in-post-norm",
    says="Exploratory: in post-norm a wide table, drawn or GloVe's, gains by a norm after the sum, "
    "on the mean",
    where="kim2024, section 5: saturation",
    family=REPAIRED,
    experiments=in_architectures(*POST_NORM),
)
def test_scale_is_a_cause_in_post_norm(experiment):
    assert experiment.effect(Decoder.xavier_pretrained, "scale") < 0
    assert experiment.effect(Decoder.pretrained, "scale") < 0


@claim(
    "modern/repaired/scale-is-what-the-step-leaves",
    says="Exploratory: in post-norm a norm after the sum takes away what the higher rate leaves of "
    "a drawn table's cost",
    where="ours: width costs the step and the scale there",
    family=REPAIRED,
    experiments=in_architectures(*POST_NORM),
)
def test_scale_is_what_the_step_leaves(experiment):
    both, step = experiment.repaired("scale", "step"), experiment.repaired("step")
    assert both.xavier_pretrained() < step.xavier_pretrained()
    assert both.xavier_pretrained() <= experiment.xavier()


@claim(
    "modern/repaired/scale-brings-less-in-pre-norm",
    says="Exploratory: where norms stand before the sub-layers, a norm after the sum brings a "
    "drawn table that is wide less than in post-norm",
    where="ours: there each sub-layer reads what a norm has made narrow",
    family=REPAIRED,
    experiments=in_architectures("pre-norm", "llama", "llama-tied"),
)
def test_scale_brings_less_in_pre_norm(experiment):
    old = experiment.with_architecture(OLD)
    here, there = (each.effect(Decoder.xavier_pretrained, "scale") for each in (experiment, old))
    assert here > there


@claim(
    "modern/repaired/ratio-is-no-cause",
    says="Exploratory: with scale and step repaired, wider sinusoids change the loss of a drawn "
    "table that is wide by less than the margin",
    where="ours, against kim2024, finding 2: a decoder hardly needs added positions",
    family=REPAIRED,
    experiments=in_architectures("post-norm", "pre-norm"),
)
def test_ratio_is_no_cause(experiment):
    wide, widened = experiment.repaired("scale", "step"), experiment.repaired(*experiment.repairs)
    assert widened.xavier_pretrained().alike(wide.xavier_pretrained())


@claim(
    "modern/repaired/control-a-a",
    says="Control: a wide table with all repairs differs from itself on other seeds",
    where="control",
    family=REPAIRED,
    experiments=in_architectures("post-norm"),
    expects=Verdict.NO_EFFECT,
)
def test_control_a_repaired_table_against_itself(experiment):
    whole = experiment.repaired(*experiment.repairs).xavier_pretrained()
    assert whole > whole.on_other_seeds()


@claim(
    "modern/repaired/control-falsehood",
    says="Control: in post-norm a norm after the sum does harm to a wide table",
    where="control",
    family=REPAIRED,
    experiments=in_architectures("post-norm"),
    expects=Verdict.REFUTED,
)
def test_control_the_norm_does_no_harm(experiment):
    assert experiment.repaired("scale").xavier_pretrained() > experiment.xavier_pretrained()


@claim(
    "modern/repaired/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=REPAIRED,
    experiments=in_architectures("llama-tied"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
