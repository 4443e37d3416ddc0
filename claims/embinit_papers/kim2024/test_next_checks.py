"""Checks that a summary of the paper leaves open: longer training, depth, every family.

The paper's own future work is another: GLUE, relative positions, more repeats, free word order.
"""

from __future__ import annotations

from embinit_papers.kim2024 import (
    TRANSLATION,
    claim,
    only_on,
    table1,
    trained_for_times,
    twice_as_deep,
)

INFERENCE = table1("glove", tasks=("mnli",))


@claim(
    "kim2024/next-checks/gain-lasts",
    says="Trained three times as long, GloVe_Xavier still trains better than unscaled GloVe",
    where="a summary",
    experiments=only_on(INFERENCE, "micro", "paper"),
)
def test_the_gain_of_standardising_lasts(experiment):
    longer = trained_for_times(experiment, 3)
    assert longer["pretrained_xavier"] > longer["pretrained"]


@claim(
    "kim2024/next-checks/whatever-the-depth",
    says="As deep as usual, and twice as deep, unscaled GloVe trains worse than GloVe_Xavier",
    where="a summary",
    experiments=only_on(INFERENCE, "micro", "paper"),
)
def test_raw_glove_fares_worse_at_any_depth(experiment):
    for one in (experiment, twice_as_deep(experiment)):
        assert one["pretrained"] < one["pretrained_xavier"]


@claim(
    "kim2024/next-checks/depth-widens-the-gap",
    says="Twice as deep, unscaled GloVe loses more to GloVe_Xavier than at the usual depth",
    where="a summary",
    experiments=only_on(INFERENCE, "micro", "paper"),
)
def test_depth_widens_the_gap(experiment):
    deep = twice_as_deep(experiment)
    gap = experiment["pretrained_xavier"] - experiment["pretrained"]
    assert deep["pretrained_xavier"] - deep["pretrained"] > gap


@claim(
    "kim2024/next-checks/slow-first-epoch",
    says="After the first epoch unscaled GloVe is at a higher validation loss than GloVe_Xavier",
    where="a summary",
    experiments=table1("glove", full=("sst2", "multi30k")),
)
def test_raw_glove_is_behind_after_the_first_epoch(experiment):
    def first_loss(init):
        return experiment[init].measured_by("validation_loss").at_epoch(1)

    assert first_loss("pretrained") > first_loss("pretrained_xavier")


@claim(
    "kim2024/next-checks/every-family-standardised",
    says="Standardized, no family's table trains worse than Xavier",
    where="a summary",
    experiments=table1(tasks=TRANSLATION, full=("multi30k",)),
)
def test_no_standardised_table_fares_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]
