"""Readings of the paper's tables that its text does not state, or states the other way."""

from __future__ import annotations

from embinit_papers.kim2024 import claim, table1, table3, with_missing_at_xavier


@claim(
    "kim2024/readings/raw-glove-near-xavier-on-sst2",
    says="On SST2 unscaled GloVe and Xavier train equally well",
    where="Table 1; the text says worse",
    experiments=table1("glove", tasks=("sst2",), full=("sst2",)),
)
def test_raw_glove_is_near_xavier_on_sst2(experiment):
    assert experiment["pretrained"].alike(experiment["xavier"])


@claim(
    "kim2024/readings/training-needs-positions",
    says="Training the table gains Xavier and GloVe_Xavier more with positions than without",
    where="Table 3",
    experiments=table3,
)
def test_training_gains_more_with_positions(experiment):
    frozen, without = experiment.frozen(), experiment.without_positions()
    bare = frozen.without_positions()
    for init in ("xavier", "pretrained_xavier"):
        assert experiment[init] - frozen[init] > without[init] - bare[init]


@claim(
    "kim2024/readings/missing-words-cost-glove",
    says="Unscaled GloVe trains better with missing words at Xavier's sigma than at its own",
    where="beyond Table 1",
    experiments=table1("glove", tasks=(), full=("sst2",), seeds=8),
)
def test_wide_rows_for_missing_words_cost_glove(experiment):
    assert with_missing_at_xavier(experiment)["pretrained"] > experiment["pretrained"]
