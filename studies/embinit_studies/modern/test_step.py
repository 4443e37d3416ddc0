"""Step: Adam moves a table by the learning rate, whatever its sigma; is that the whole cost?"""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import STEP, in_architectures


@claim(
    "modern/step/repair-helps",
    says="Exploratory: a wide table ends at a lower loss where its rate grows with its width",
    where="ours: Adam moves a table by the rate, whatever its width",
    family=STEP,
    experiments=in_architectures(),
)
def test_a_rate_that_grows_with_the_width_helps(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() < experiment.xavier_pretrained()


@claim(
    "modern/step/repair-is-enough",
    says="Exploratory: in today's parts a wide table whose rate grows with it is no worse than "
    "Xavier's",
    where="ours: the step is what width costs there",
    family=STEP,
    experiments=in_architectures("pre-norm", "llama", "llama-tied", "llama-normed"),
)
def test_the_repair_is_enough_in_todays_parts(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() <= experiment.xavier()


@claim(
    "modern/step/repair-is-not-enough-in-post-norm",
    says="Exploratory: in post-norm a wide table whose rate grows with it is worse than Xavier's",
    where="ours: the sum that saturates is as wide as before",
    family=STEP,
    experiments=in_architectures("post-norm", "post-norm-rotary"),
)
def test_the_repair_is_not_enough_in_post_norm(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() > experiment.xavier()


@claim(
    "modern/step/all-that-a-norm-after-lookup-leaves",
    says="Exploratory: with a norm right after lookup GloVe's table whose rate grows with its "
    "width is alike the standardised one",
    where="ours: the norm takes the width away, and Adam's step is all that is left of it",
    family=STEP,
    experiments=in_architectures("llama-normed"),
)
def test_after_a_norm_the_step_is_all_that_width_changes(experiment):
    assert experiment.with_scaled_table_rate().pretrained().alike(experiment.pretrained_xavier())


@claim(
    "modern/step/wide-is-best-where-it-learns",
    says="Exploratory: in Llama's parts GloVe's table as it is, at a rate that grows with its "
    "width, ends at a lower loss than the standardised one",
    where="ours",
    family=STEP,
    experiments=in_architectures("llama", "llama-tied"),
)
def test_a_wide_table_that_learns_is_best(experiment):
    assert experiment.with_scaled_table_rate().pretrained() < experiment.pretrained_xavier()


@claim(
    "modern/step/wide-tables-need-it-more",
    says="Exploratory: a wide table gains more by the higher rate than Xavier's does",
    where="ours",
    family=STEP,
    experiments=in_architectures("post-norm", "llama"),
)
def test_wide_tables_need_it_more(experiment):
    stepped = experiment.with_scaled_table_rate()
    wide = experiment.xavier_pretrained() - stepped.xavier_pretrained()
    assert wide > experiment.xavier() - stepped.xavier()


@claim(
    "modern/step/control-a-a",
    says="Control: a wide table whose rate grows with it differs from itself on other seeds",
    where="control",
    family=STEP,
    experiments=in_architectures("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_a_repaired_table_against_itself(experiment):
    wide = experiment.with_scaled_table_rate().xavier_pretrained()
    assert wide > wide.on_other_seeds()


@claim(
    "modern/step/control-falsehood",
    says="Control: in post-norm a rate that grows with a table's width does harm",
    where="control",
    family=STEP,
    experiments=in_architectures("post-norm"),
    expects=Verdict.REFUTED,
)
def test_control_the_repair_does_no_harm(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() > experiment.xavier_pretrained()


@claim(
    "modern/step/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=STEP,
    experiments=in_architectures("llama-normed"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
