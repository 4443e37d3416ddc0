"""Meaning: finding 3. Which word a vector belongs to is worth something in every architecture."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import MEANING, in_architectures


@claim(
    "modern/meaning/shuffling-costs",
    says="Exploratory: GloVe's table ends at a higher loss where each word has another's vector",
    where="kim2024, finding 3",
    family=MEANING,
    experiments=in_architectures(),
)
def test_shuffling_costs(experiment):
    assert experiment.pretrained_shuffled() > experiment.pretrained()


@claim(
    "modern/meaning/standardised-better-than-xavier",
    says="Exploratory: GloVe's table, as wide as Xavier's, ends at a lower loss",
    where="kim2024, finding 3",
    family=MEANING,
    experiments=in_architectures("pre-norm", "llama", "llama-tied", "llama-normed"),
)
def test_meaning_helps_at_xaviers_width(experiment):
    assert experiment.pretrained_xavier() < experiment.xavier()


@claim(
    "modern/meaning/worth-most-where-tied",
    says="Exploratory: shuffling costs more where the table is the output table too",
    where="ours: its rows then say what to predict",
    family=MEANING,
    experiments=in_architectures("llama-tied"),
)
def test_meaning_is_worth_most_where_tables_are_tied(experiment):
    untied = experiment.with_architecture("llama")
    assert (
        experiment.pretrained_shuffled() - experiment.pretrained()
        > untied.pretrained_shuffled() - untied.pretrained()
    )


@claim(
    "modern/meaning/control-a-a",
    says="Control: GloVe's table differs from itself on other seeds",
    where="control",
    family=MEANING,
    experiments=in_architectures("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_glove_against_itself(experiment):
    assert experiment.pretrained() > experiment.pretrained().on_other_seeds()


@claim(
    "modern/meaning/control-falsehood",
    says="Control: where tables are tied, shuffled vectors end at a lower loss",
    where="control",
    family=MEANING,
    experiments=in_architectures("llama-tied"),
    expects=Verdict.REFUTED,
)
def test_control_shuffling_does_not_help(experiment):
    assert experiment.pretrained_shuffled() < experiment.pretrained()


@claim(
    "modern/meaning/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=MEANING,
    experiments=in_architectures("llama"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
