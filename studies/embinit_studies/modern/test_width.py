"""Width: finding 1. A large sigma costs, and the meaning of GloVe's vectors may outweigh that."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import OLD, WIDTH, in_architectures


@claim(
    "modern/width/width-costs",
    says="Exploratory: Xavier's table ends at a higher loss where it is as wide as GloVe's",
    where="kim2024, Table 7",
    family=WIDTH,
    experiments=in_architectures(),
)
def test_a_wide_table_costs(experiment):
    assert experiment.xavier_pretrained() > experiment.xavier()


@claim(
    "modern/width/raw-worse-than-xavier",
    says="Exploratory: in post-norm GloVe's table as it is ends at a higher loss than Xavier's",
    where="kim2024, finding 1",
    family=WIDTH,
    experiments=in_architectures("post-norm", "post-norm-rotary"),
)
def test_raw_tables_fare_worse_in_post_norm(experiment):
    assert experiment.pretrained() > experiment.xavier()


@claim(
    "modern/width/raw-better-than-xavier",
    says="Exploratory: in Llama's parts GloVe's table as it is ends at a lower loss than Xavier's",
    where="ours, against kim2024, finding 1",
    family=WIDTH,
    experiments=in_architectures("llama", "llama-tied", "llama-normed"),
)
def test_raw_tables_fare_better_in_llama(experiment):
    assert experiment.pretrained() < experiment.xavier()


@claim(
    "modern/width/standardising-helps",
    says="Exploratory: in post-norm GloVe's table ends at a lower loss standardised",
    where="kim2024, finding 1",
    family=WIDTH,
    experiments=in_architectures("post-norm", "post-norm-rotary"),
)
def test_standardising_helps_in_post_norm(experiment):
    assert experiment.pretrained_xavier() < experiment.pretrained()


@claim(
    "modern/width/costs-less-than-in-post-norm",
    says="Exploratory: width costs less where norms stand before sub-layers or after lookup",
    where="ours",
    family=WIDTH,
    experiments=in_architectures("pre-norm", "llama", "llama-normed"),
)
def test_width_costs_less_than_in_post_norm(experiment):
    old = experiment.with_architecture(OLD)
    assert (
        experiment.xavier_pretrained() - experiment.xavier()
        < old.xavier_pretrained() - old.xavier()
    )


@claim(
    "modern/width/control-a-a",
    says="Control: Xavier's table differs from itself on other seeds",
    where="control",
    family=WIDTH,
    experiments=in_architectures("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment.xavier() > experiment.xavier().on_other_seeds()


@claim(
    "modern/width/control-falsehood",
    says="Control: in post-norm a wide table ends at a lower loss",
    where="control",
    family=WIDTH,
    experiments=in_architectures(OLD),
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.xavier_pretrained() < experiment.xavier()


@claim(
    "modern/width/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=WIDTH,
    experiments=in_architectures(OLD),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
