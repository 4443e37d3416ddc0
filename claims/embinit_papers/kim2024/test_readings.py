"""Readings of the paper's tables that its text does not state, or states the other way."""

from __future__ import annotations

from embinit.claims import claim
from embinit.lab.quantities import rank_correlation
from embinit_papers.kim2024 import (
    READINGS,
    TRANSLATION,
    everywhere,
    first_experiment,
    scaled,
    table1,
    table4,
    with_narrow_missing,
    with_sinusoidal_positions,
)


@claim(
    "kim2024/readings/raw-glove-near-xavier-on-sst2",
    says="On SST2 raw GloVe and Xavier fare alike",
    where="Table 1; the text says worse",
    family=READINGS,
    experiments=table1("glove", tasks=("sst2",), full=("sst2",)),
    excludes="kim2024/finding-1/wide-below-xavier",
)
def test_raw_glove_is_near_xavier_on_sst2(experiment):
    assert experiment["pretrained"].alike(experiment["xavier"])


@claim(
    "kim2024/readings/dose-response",
    says="Over all sources and tasks, the wider a table beside Xavier's, the more it costs",
    where="beyond section 5.2",
    family=READINGS,
    experiments=first_experiment,
)
def test_what_a_table_costs_grows_with_its_width(experiment):
    every = everywhere(experiment)
    assert rank_correlation([(arms["pretrained"], arms["xavier"]) for arms in every]) > 0


@claim(
    "kim2024/readings/training-needs-positions",
    says="Training the table gains Xavier and GloVe_Xavier more with positions than without",
    where="Table 3",
    family=READINGS,
    experiments=lambda tier: table1("glove", tasks=TRANSLATION, full=("multi30k",), seeds=6)(tier)[
        :1
    ],
)
def test_training_gains_more_with_positions(experiment):
    frozen, without = experiment.frozen(), experiment.without_positions()
    bare = frozen.without_positions()
    for init in ("xavier", "pretrained_xavier"):
        assert experiment[init] - frozen[init] > without[init] - bare[init]


@claim(
    "kim2024/readings/missing-words-cost-glove",
    says="Raw GloVe fares better with rows at Xavier's sigma for words it lacks than at its own",
    where="beyond Table 1",
    family=READINGS,
    experiments=table1("glove", tasks=(), full=("sst2",), seeds=8),
)
def test_wide_rows_for_missing_words_cost_glove(experiment):
    assert with_narrow_missing(experiment)["pretrained"] > experiment["pretrained"]


@claim(
    "kim2024/readings/scaled-with-positions",
    says="Adding positions to GloVe × √D leaves word relations alone",
    where="beyond Table 4",
    family=READINGS,
    experiments=table4,
)
def test_positions_keep_relations_of_scaled_glove(experiment):
    read = with_sinusoidal_positions(scaled(experiment, "sqrt(D)"))
    assert read["pretrained"].alike(experiment["pretrained"])


@claim(
    "kim2024/readings/standardised-times-root-with-positions",
    says="Adding positions to GloVe_Xavier × √D costs word relations",
    where="beyond Table 4",
    family=READINGS,
    experiments=table4,
)
def test_positions_destroy_relations_of_standardised_glove_times_root(experiment):
    read = with_sinusoidal_positions(scaled(experiment, "sqrt(D)"))
    assert read["pretrained_xavier"] < experiment["pretrained"]
