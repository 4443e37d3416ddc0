"""Table 4: which of GloVe's word-to-word relations survive scaling, standardising and positions.

On ``micro`` the synthetic language's synonyms stand for the analogies. The positions that are added
are those of a sequence of 64 words; with longer ones less survives.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.kim2024 import TABLE_4, scaled, table4, with_sinusoidal_positions


@claim(
    "kim2024/table-4/scaled",
    says="Multiplying GloVe by √D leaves word relations alone",
    where="Table 4, row 2",
    family=TABLE_4,
    experiments=table4,
)
def test_scaling_keeps_relations(experiment):
    assert scaled(experiment, "sqrt(D)")["pretrained"].alike(experiment["pretrained"])


@claim(
    "kim2024/table-4/with-positions",
    says="Adding positions to GloVe without scaling leaves word relations alone, as printed",
    where="Table 4, row 3",
    family=TABLE_4,
    experiments=table4,
)
def test_positions_keep_relations_of_unscaled_glove(experiment):
    read = with_sinusoidal_positions(experiment)
    assert read["pretrained"].alike(experiment["pretrained"])


@claim(
    "kim2024/table-4/standardised",
    says="Standardising GloVe to Xavier's sigma leaves word relations alone, with √D or without",
    where="Table 4, rows 4 and 5",
    family=TABLE_4,
    experiments=table4,
)
def test_standardising_keeps_relations(experiment):
    assert experiment["pretrained_xavier"].alike(experiment["pretrained"])
    assert scaled(experiment, "sqrt(D)")["pretrained_xavier"].alike(experiment["pretrained"])


@claim(
    "kim2024/table-4/standardised-with-positions",
    says="Adding positions to GloVe_Xavier costs word relations",
    where="Table 4, row 6",
    family=TABLE_4,
    experiments=table4,
)
def test_positions_destroy_relations_of_standardised_glove(experiment):
    read = with_sinusoidal_positions(experiment)
    assert read["pretrained_xavier"] < experiment["pretrained"]


@claim(
    "kim2024/table-4/with-scaled-positions",
    says="Adding positions × σp/σx to GloVe costs word relations",
    where="Table 4, row 7",
    family=TABLE_4,
    experiments=table4,
)
def test_wide_positions_destroy_relations(experiment):
    read = with_sinusoidal_positions(scaled(experiment, "one", "sigma_p/sigma_x"))
    assert read["pretrained"] < experiment["pretrained"]
