"""The paper's open checks: longer training, depth, every family standardised."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.kim2024 import (
    NEXT_CHECKS,
    TRANSLATION,
    only_on,
    table1,
    trained_for_times,
    twice_as_deep,
    with_planted_effect,
)

INFERENCE = table1("glove", tasks=("mnli",))


@claim(
    "kim2024/next-checks/gain-lasts",
    says="Trained three times as long, GloVe_Xavier still fares better than raw GloVe",
    where="beyond Table 1",
    family=NEXT_CHECKS,
    experiments=only_on(INFERENCE, "micro", "paper"),
)
def test_the_gain_of_standardising_lasts(experiment):
    longer = trained_for_times(experiment, 3)
    assert longer["pretrained_xavier"] > longer["pretrained"]


@claim(
    "kim2024/next-checks/whatever-the-depth",
    says="As deep as usual, and twice as deep, raw GloVe fares worse than GloVe_Xavier",
    where="beyond A.2",
    family=NEXT_CHECKS,
    experiments=only_on(INFERENCE, "micro", "paper"),
)
def test_raw_glove_fares_worse_at_any_depth(experiment):
    for one in (experiment, twice_as_deep(experiment)):
        assert one["pretrained"] < one["pretrained_xavier"]


@claim(
    "kim2024/next-checks/every-family-standardised",
    says="Standardised, no family's table fares worse than Xavier",
    where="beyond Table 1",
    family=NEXT_CHECKS,
    experiments=table1(tasks=TRANSLATION),
)
def test_no_standardised_table_fares_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "kim2024/next-checks/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=NEXT_CHECKS,
    experiments=INFERENCE,
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/next-checks/control-falsehood",
    says="Control: raw GloVe fares better than GloVe_Xavier",
    where="control",
    family=NEXT_CHECKS,
    experiments=table1("glove", tasks=TRANSLATION),
    expects=Verdict.REFUTED,
)
def test_control_raw_glove_does_not_fare_better(experiment):
    assert experiment["pretrained"] > experiment["pretrained_xavier"]


@claim(
    "kim2024/next-checks/control-sensitivity",
    says="Control: a loss as large as the paper's largest on the task is found",
    where="control",
    family=NEXT_CHECKS,
    experiments=with_planted_effect(table1("glove")),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
