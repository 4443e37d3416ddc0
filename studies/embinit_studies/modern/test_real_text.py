"""Real text: the effects of sigma, the step and meaning with published vectors."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import REAL_TEXT, on_real_text


@claim(
    "modern/real-text/width-costs",
    says="Exploratory: on real text Xavier's table, as wide as GloVe's, ends at a higher loss",
    where="kim2024, Table 7",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_a_wide_table_costs(experiment):
    assert experiment.xavier_pretrained() > experiment.xavier()


@claim(
    "modern/real-text/shuffling-costs",
    says="Exploratory: on real text GloVe's table ends at a higher loss, if its rows are shuffled",
    where="kim2024, finding 3",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_shuffling_costs(experiment):
    assert experiment.pretrained_shuffled() > experiment.pretrained()


@claim(
    "modern/real-text/repair-helps",
    says="Exploratory: on real text a wide table gains by a rate that grows with its width",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_a_rate_that_grows_with_the_width_helps(experiment):
    assert experiment.with_scaled_table_rate().xavier_pretrained() < experiment.xavier_pretrained()


@claim(
    "modern/real-text/raw-is-best-where-tied",
    says="Exploratory: on real text GloVe's table as it is ends lower than Xavier's, where tied",
    where="ours, against kim2024, finding 1",
    family=REAL_TEXT,
    experiments=on_real_text("llama-tied"),
)
def test_raw_tables_fare_better_where_tied(experiment):
    assert experiment.pretrained() < experiment.xavier()


@claim(
    "modern/real-text/raw-is-below-xavier-where-it-learns",
    says="Exploratory: on real text GloVe's table as it is ends below Xavier's, once it learns",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(),
)
def test_a_raw_table_that_learns_is_below_xavier(experiment):
    assert experiment.with_scaled_table_rate().pretrained() < experiment.xavier()


@claim(
    "modern/real-text/control-a-a",
    says="Control: GloVe's table differs from itself on other seeds",
    where="control",
    family=REAL_TEXT,
    experiments=on_real_text("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_a_table_against_itself(experiment):
    assert experiment.pretrained() > experiment.pretrained().on_other_seeds()


@claim(
    "modern/real-text/control-falsehood",
    says="Control: a wide table ends at a lower loss in post-norm",
    where="control",
    family=REAL_TEXT,
    experiments=on_real_text("post-norm"),
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.xavier_pretrained() < experiment.xavier()


@claim(
    "modern/real-text/control-sensitivity",
    says="Control: a planted loss, as large as what shuffling cost beforehand, is found",
    where="control",
    family=REAL_TEXT,
    experiments=on_real_text("llama"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
