"""Inits of a decoupled input table: where the two papers meet.

Kim et al.'s finding 1 has a table much wider than Xavier's fare worse, and standardising repair it,
in models that add positions without a LayerNorm after. Here the table is the input of a masked
language model, with learned positions and a LayerNorm after the sum.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim, planted
from embinit_papers.chung2021 import USUAL, masked_loss, planting, pretrained_for
from embinit_studies import INITS
from embinit_studies.coupling import first_from_vectors, from_vectors


@claim(
    "studies/inits/wide-below-xavier",
    says="Under pre-training too, GloVe's wide table fares worse than Xavier",
    where="Kim et al. 2024, finding 1",
    family=INITS,
    experiments=from_vectors,
)
def test_a_wide_table_fares_worse_than_xavier(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim(
    "studies/inits/standardised-above-wide",
    says="Under pre-training too, standardising GloVe's table repairs it",
    where="Kim et al. 2024, finding 1",
    family=INITS,
    experiments=from_vectors,
)
def test_standardising_repairs_a_wide_table(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "studies/inits/standardised-not-below-xavier",
    says="A standardised GloVe table does not fare worse than Xavier",
    where="Kim et al. 2024, finding 3",
    family=INITS,
    experiments=from_vectors,
)
def test_a_standardised_table_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "studies/inits/normal-alike-xavier",
    says="BERT's N(0, .02) fares as Xavier does",
    where="ours",
    family=INITS,
    experiments=from_vectors,
)
def test_berts_start_fares_as_xaviers(experiment):
    assert experiment[USUAL].alike(experiment["xavier"])


@claim(
    "studies/inits/control-a-a",
    says="Control: N(0, .02) differs from N(0, .02) on other seeds",
    where="control",
    family=INITS,
    experiments=first_from_vectors,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_start_against_itself(experiment):
    assert experiment[USUAL] > experiment[USUAL].on_other_seeds()


@claim(
    "studies/inits/control-falsehood",
    says="Control: a model that was not pre-trained guesses hidden words better than one from "
    "Xavier's start that was",
    where="control",
    family=INITS,
    experiments=first_from_vectors,
    expects=Verdict.REFUTED,
)
def test_control_xaviers_start_gains_by_pretraining(experiment):
    raw = pretrained_for(experiment, 0)
    assert masked_loss(raw) < experiment["xavier"].measured_by("masked_loss")


@claim(
    "studies/inits/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    family=INITS,
    experiments=from_vectors,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


test_control_a_small_loss_is_found = planted(INITS, on=planting(from_vectors), small=True)
