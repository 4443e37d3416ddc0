"""Table 4: which of GloVe's word relations survive scaling, standardizing and positions.

Two settings are reconstructed. The labels of the rows say that positions are added to GloVe as it
is; the text next to the table says that the table is multiplied by √D first. Only in the second
reading can the printed numbers come out (the audit ``unscaled-positions``), so it is what the
claims ask. The number of positions is ``experiments.POSITIONS``. On ``micro`` the synthetic
language's synonyms represent the analogies.

That scaling and standardizing leave relations alone (rows 2, 4 and 5) is arithmetic: a cosine
doesn't change with a factor. embinit's own tests state it; no seed varies it, so no claim can.
"""

from __future__ import annotations

from embinit_papers.kim2024 import claim, scaled, table4, with_sinusoidal_positions


def added(experiment, pe_scale="one"):
    """The experiment whose table is multiplied by √D before positions are added."""
    return with_sinusoidal_positions(scaled(experiment, "sqrt(D)", pe_scale))


@claim(
    "kim2024/table-4/scaled-with-positions",
    says="Adding positions to GloVe × √D leaves word relations alone",
    where="Table 4, row 3, as section 6 reads it (a reconstruction)",
    experiments=table4,
)
def test_positions_keep_relations_of_scaled_glove(experiment):
    assert added(experiment)["pretrained"].alike(experiment["pretrained"])


@claim(
    "kim2024/table-4/standardised-loses-relations",
    says="Adding positions to GloVe_Xavier × √D costs word relations",
    where="Table 4, row 6, section 6 (a reconstruction)",
    experiments=table4,
)
def test_positions_cost_standardised_glove_relations(experiment):
    assert added(experiment)["pretrained_xavier"] < experiment["pretrained"]


@claim(
    "kim2024/table-4/standardised-keeps-some-relations",
    says="With positions GloVe_Xavier × √D keeps more word relations than GloVe_Shuffled × √D has",
    where="Table 4, row 6, section 5.1 (a reconstruction)",
    experiments=table4,
)
def test_some_relations_of_standardised_glove_remain(experiment):
    read = added(experiment)
    assert read["pretrained_xavier"] > read["pretrained_shuffled"]


@claim(
    "kim2024/table-4/large-positions-cost-relations",
    says="Adding positions × σp/σx to GloVe × √D costs word relations, and more remain than in "
    "GloVe_Shuffled",
    where="Table 4, row 7, section 6 (a reconstruction)",
    experiments=table4,
)
def test_large_positions_cost_relations(experiment):
    read = added(experiment, "sigma_p/sigma_x")
    assert read["pretrained"] < experiment["pretrained"]
    assert read["pretrained"] > read["pretrained_shuffled"]
