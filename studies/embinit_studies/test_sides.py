"""Sides: GloVe on both sides of a translation model, and on the encoder alone.

The decoder of an experiment on one side starts from Xavier in every arm; frozen, it has a random
table.
"""

from __future__ import annotations

from embinit_papers.kim2024 import TRANSLATION, only_on, table1
from embinit_studies import claim
from embinit_studies.changes import on_the_encoder_alone

GLOVE = only_on(table1("glove", tasks=TRANSLATION), "micro")


@claim(
    "studies/sides/unscaled-costs-more-on-both",
    says="Unscaled GloVe trains worse on both sides than on the encoder alone",
    where="beyond Table 1",
    experiments=GLOVE,
)
def test_unscaled_glove_costs_more_on_both_sides(experiment):
    assert experiment["pretrained"] < on_the_encoder_alone(experiment)["pretrained"]


@claim(
    "studies/sides/standardised-alike",
    says="Standardized GloVe trains as well on the encoder alone as on both sides",
    where="beyond Table 1",
    experiments=GLOVE,
)
def test_standardised_glove_trains_alike(experiment):
    one = on_the_encoder_alone(experiment)
    assert one["pretrained_xavier"].alike(experiment["pretrained_xavier"])


@claim(
    "studies/sides/frozen-unscaled-costs-more-on-both",
    says="Frozen without positions, unscaled GloVe trains worse on both sides",
    where="beyond Table 3",
    experiments=GLOVE,
)
def test_frozen_unscaled_glove_costs_more_on_both_sides(experiment):
    bare = experiment.frozen().without_positions()
    assert bare["pretrained"] < on_the_encoder_alone(bare)["pretrained"]


@claim(
    "studies/sides/frozen-gap-grows",
    says="Frozen without positions, GloVe_Xavier leads unscaled GloVe by more on both sides",
    where="beyond Table 3",
    experiments=GLOVE,
)
def test_the_frozen_gap_is_larger_on_both_sides(experiment):
    bare = experiment.frozen().without_positions()
    one = on_the_encoder_alone(bare)
    gap = bare["pretrained_xavier"] - bare["pretrained"]
    assert gap > one["pretrained_xavier"] - one["pretrained"]
