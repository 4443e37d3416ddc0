"""Readings of the first paper: statements that its tables suggest and do not print."""

from __future__ import annotations

from embinit_papers.kim2024 import on_the_encoder, only_on, table1
from embinit_studies import TIERS, claim

GLOVE = only_on(on_the_encoder(table1("glove")), *TIERS)
OTHER_TASKS = only_on(table1("glove", tasks=("sst2", "mnli")), *TIERS)


@claim(
    "studies/readings/stretched-to-glove-below-xavier",
    says="Xavier stretched to GloVe's mean and sigma trains worse than Xavier",
    where="beyond Table 7",
    experiments=GLOVE,
)
def test_stretching_xavier_to_glove_makes_it_fare_worse(experiment):
    assert experiment["xavier_pretrained"] < experiment["xavier"]


@claim(
    "studies/readings/shuffled-glove-below-original",
    says="GloVe's table with its rows and columns shuffled trains worse than the original",
    where="beyond Table 1",
    experiments=GLOVE,
)
def test_shuffling_glove_hurts(experiment):
    assert experiment["pretrained_shuffled"] < experiment["pretrained"]


@claim(
    "studies/readings/positions-gain-less-on-other-tasks",
    says="On other tasks than translation too, positions gain less for unscaled GloVe",
    where="beyond Table 3",
    experiments=OTHER_TASKS,
)
def test_positions_gain_less_for_raw_glove_on_other_tasks(experiment):
    without = experiment.without_positions()
    raw = experiment["pretrained"] - without["pretrained"]
    assert raw < experiment["xavier"] - without["xavier"]
    assert raw < experiment["pretrained_xavier"] - without["pretrained_xavier"]
