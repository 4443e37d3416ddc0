"""Finding 3: pre-trained meaning is used; shuffling a table hurts (Tables 1 and 7, section 5)."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.kim2024 import (
    FINDING_3,
    TRANSLATION,
    first_experiment,
    table1,
    with_planted_effect,
    with_shuffled_positions,
)


@claim(
    "kim2024/finding-3/shuffled-below-original",
    says="A pre-trained table with its rows and columns shuffled fares worse than the original",
    where="Table 1 (GloVe: ours)",
    family=FINDING_3,
    experiments=table1(),
)
def test_shuffling_a_table_hurts(experiment):
    assert experiment["pretrained_shuffled"] < experiment["pretrained"]


@claim(
    "kim2024/finding-3/standardised-not-below-xavier",
    says="GloVe_Xavier does not fare worse than Xavier",
    where="Table 1",
    family=FINDING_3,
    experiments=table1("glove"),
)
def test_standardised_glove_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "kim2024/finding-3/with-shuffled-positions",
    says="With shuffled positions, a wide table standardised still does not fare worse than Xavier",
    where="section 5",
    family=FINDING_3,
    experiments=table1("glove", "t5"),
)
def test_meaning_still_helps_with_shuffled_positions(experiment):
    shuffled = with_shuffled_positions(experiment)
    assert shuffled["pretrained_xavier"] >= shuffled["xavier"]


@claim(
    "kim2024/finding-3/bert-with-shuffled-positions",
    says="With shuffled positions, BERT's table still does not fare worse than Xavier",
    where="section 5",
    family=FINDING_3,
    experiments=table1("bert"),
)
def test_bert_still_helps_with_shuffled_positions(experiment):
    shuffled = with_shuffled_positions(experiment)
    assert shuffled["pretrained"] >= shuffled["xavier"]


@claim(
    "kim2024/finding-3/control-falsehood",
    says="Control: shuffling a table makes it fare better",
    where="control",
    family=FINDING_3,
    experiments=table1("glove", tasks=TRANSLATION),
    expects=Verdict.REFUTED,
)
def test_control_shuffling_does_not_help(experiment):
    assert experiment["pretrained_shuffled"] > experiment["pretrained"]


@claim(
    "kim2024/finding-3/control-a-a",
    says="Control: a shuffled table differs from one shuffled on other seeds",
    where="control",
    family=FINDING_3,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_shuffled_table_against_itself(experiment):
    shuffled = experiment["pretrained_shuffled"]
    assert shuffled > shuffled.on_other_seeds()


@claim(
    "kim2024/finding-3/control-sensitivity",
    says="Control: a loss as large as the paper's largest on the task is found",
    where="control",
    family=FINDING_3,
    experiments=with_planted_effect(table1("glove")),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
