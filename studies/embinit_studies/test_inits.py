"""Inits of a decoupled input table: where the two papers meet.

Kim et al.'s finding 1 has a table of much larger sigma than Xavier's fare worse, and standardising
repair it, in models that add positions without a LayerNorm after. Here the table is the input of a
masked language model, with learned positions and a LayerNorm after the sum.
"""

from __future__ import annotations

from embinit_papers.chung2021.setting import USUAL
from embinit_studies import claim
from embinit_studies.two_languages import from_vectors, resolved


@claim(
    "studies/inits/wide-below-xavier",
    says="Under pre-training too, GloVe's large-sigma table trains worse than Xavier",
    where="Kim et al. 2024, finding 1",
    experiments=from_vectors,
)
def test_a_wide_table_fares_worse_than_xavier(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim(
    "studies/inits/standardised-above-wide",
    says="Under pre-training too, standardizing GloVe's table repairs it",
    where="Kim et al. 2024, finding 1",
    experiments=from_vectors,
)
def test_standardising_repairs_a_wide_table(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "studies/inits/standardised-not-below-xavier",
    says="A standardized GloVe table does not train worse than Xavier",
    where="Kim et al. 2024, finding 3",
    experiments=resolved(from_vectors),
)
def test_a_standardised_table_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "studies/inits/normal-alike-xavier",
    says="BERT's N(0, .02) trains as well as Xavier",
    where="ours",
    experiments=resolved(from_vectors),
)
def test_berts_start_fares_as_xaviers(experiment):
    assert experiment[USUAL].alike(experiment["xavier"])
