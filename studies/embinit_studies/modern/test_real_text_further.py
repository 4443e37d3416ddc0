"""Real text, further: the two architectures that came later, rotary post-norm and a norm after
lookup.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import FURTHER, REAL_TEXT_FURTHER, on_real_text

further = on_real_text(*FURTHER)
"""A query for the two architectures."""


@claim(
    "modern/real-text-further/width-costs",
    says="Exploratory: on real text Xavier's table, as wide as GloVe's, ends at a higher loss",
    where="kim2024, Table 7",
    family=REAL_TEXT_FURTHER,
    experiments=further,
)
def test_a_wide_table_costs(experiment):
    assert experiment.xavier_pretrained() > experiment.xavier()


@claim(
    "modern/real-text-further/shuffling-costs",
    says="Exploratory: on real text GloVe's table ends at a higher loss, if its rows are shuffled",
    where="kim2024, finding 3",
    family=REAL_TEXT_FURTHER,
    experiments=further,
)
def test_shuffling_costs(experiment):
    assert experiment.pretrained_shuffled() > experiment.pretrained()


@claim(
    "modern/real-text-further/standardised-better-than-xavier",
    says="Exploratory: on real text GloVe's table, standardised, ends below Xavier's",
    where="kim2024, finding 3",
    family=REAL_TEXT_FURTHER,
    experiments=further,
)
def test_a_standardised_table_is_better_than_xavier(experiment):
    assert experiment.pretrained_xavier() < experiment.xavier()


@claim(
    "modern/real-text-further/repair-helps",
    says="Exploratory: on real text a wide table gains by a rate that grows with its width",
    where="ours, of micro",
    family=REAL_TEXT_FURTHER,
    experiments=further,
)
def test_a_rate_that_grows_with_the_width_helps(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() < experiment.xavier_pretrained()


@claim(
    "modern/real-text-further/repair-is-not-enough-in-post-norm",
    says="Exploratory: on real text, in post-norm, a wide table at that rate is worse than "
    "Xavier's, and GloVe's worse than standardised",
    where="ours, of micro",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("post-norm-rotary"),
)
def test_the_repair_is_not_enough_in_post_norm(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() > experiment.xavier()
    assert experiment.with_scaled_table_rate().pretrained() > experiment.pretrained_xavier()


@claim(
    "modern/real-text-further/repair-is-enough-after-a-norm",
    says="Exploratory: on real text, after a norm, a wide table at that rate is no worse than "
    "Xavier's",
    where="ours, of micro",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("llama-normed"),
)
def test_the_repair_is_enough_after_a_norm(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() <= experiment.xavier()


@claim(
    "modern/real-text-further/all-that-a-norm-after-lookup-leaves",
    says="Exploratory: on real text, after a norm, GloVe's table at that rate is alike the "
    "standardised one",
    where="ours: the norm takes the width away, and Adam's step is all that is left of it",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("llama-normed"),
)
def test_after_a_norm_the_step_is_all_that_width_changes(experiment):
    assert experiment.with_scaled_table_rate().pretrained().alike(experiment.pretrained_xavier())


@claim(
    "modern/real-text-further/control-a-a",
    says="Control: GloVe's table differs from itself on other seeds",
    where="control",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("llama-normed"),
    expects=Verdict.NO_EFFECT,
)
def test_control_a_table_against_itself(experiment):
    assert experiment.pretrained() > experiment.pretrained().on_other_seeds()


@claim(
    "modern/real-text-further/control-falsehood",
    says="Control: a wide table ends at a lower loss in rotary post-norm",
    where="control",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("post-norm-rotary"),
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.xavier_pretrained() < experiment.xavier()


@claim(
    "modern/real-text-further/control-sensitivity",
    says="Control: a planted loss, as large as what shuffling cost beforehand, is found",
    where="control",
    family=REAL_TEXT_FURTHER,
    experiments=on_real_text("llama-normed"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
