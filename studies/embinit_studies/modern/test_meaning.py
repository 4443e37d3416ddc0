"""Meaning: finding 3. Which word a vector belongs to is worth something in every architecture."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import MEANING, on


@claim(
    "modern/meaning/shuffling-costs",
    says="Exploratory: GloVe's table ends at a higher loss where each word has another's vector",
    where="kim2024, finding 3",
    family=MEANING,
    experiments=on(),
)
def test_shuffling_costs(experiment):
    assert experiment.shuffled() > experiment.raw()


@claim(
    "modern/meaning/standardised-better-than-xavier",
    says="Exploratory: GloVe's table, as wide as Xavier's, ends at a lower loss",
    where="kim2024, finding 3",
    family=MEANING,
    experiments=on("pre-norm", "llama", "llama-tied", "llama-normed"),
)
def test_meaning_helps_at_xaviers_width(experiment):
    assert experiment.standardised() < experiment.drawn()


@claim(
    "modern/meaning/worth-most-where-tied",
    says="Exploratory: shuffling costs more where the table is the output table too",
    where="ours: its rows then say what to predict",
    family=MEANING,
    experiments=on("llama-tied"),
)
def test_meaning_is_worth_most_where_tables_are_tied(experiment):
    untied = experiment.with_architecture("llama")
    assert experiment.shuffled() - experiment.raw() > untied.shuffled() - untied.raw()


@claim(
    "modern/meaning/control-a-a",
    says="Control: GloVe's table differs from itself on other seeds",
    where="control",
    family=MEANING,
    experiments=on("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_glove_against_itself(experiment):
    assert experiment.raw() > experiment.raw().on_other_seeds()


@claim(
    "modern/meaning/control-falsehood",
    says="Control: where tables are tied, shuffled vectors end at a lower loss",
    where="control",
    family=MEANING,
    experiments=on("llama-tied"),
    expects=Verdict.REFUTED,
)
def test_control_shuffling_does_not_help(experiment):
    assert experiment.shuffled() < experiment.raw()


@claim(
    "modern/meaning/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=MEANING,
    experiments=on("llama"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
