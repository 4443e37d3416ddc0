"""Extent: sizes that the paper's words give, such as "marginal", "redundant" and "greatly".

The bounds were fixed before the runs that they judge.
"""

from __future__ import annotations

from dataclasses import replace

from embinit_papers.kim2024 import claim, scaled, table1, table4, with_sinusoidal_positions


@claim(
    "kim2024/extent/standardised-gains-little",
    says="What GloVe_Xavier gains over Xavier is marginal: less than two margins",
    where="section 7, Table 1",
    # A margin is a twentieth of what Xavier learns, or one point; the paper's largest gain is 1.4.
    experiments=table1("glove", full=("sst2", "multi30k")),
)
def test_standardised_glove_gains_little(experiment):
    gain = experiment["pretrained_xavier"] - experiment["xavier"]
    assert gain < 2 * experiment.margin


def of_t5(tier):
    """T5's experiments; on the synthetic language twelve draws at most have its table."""
    every = table1("t5")(tier)
    if tier != "micro":
        return every
    return [replace(one, most_seeds=12) for one in every]


@claim(
    "kim2024/extent/stretched-xavier-like-shuffled-t5",
    says="Xavier stretched to T5's mean and sigma trains as well as T5_Shuffled: it is redundant",
    where="section A.3, Tables 1 and 7",
    experiments=of_t5,
)
def test_stretched_xavier_is_like_shuffled_t5(experiment):
    assert experiment["xavier_pretrained"].alike(experiment["pretrained_shuffled"])


@claim(
    "kim2024/extent/most-relations-lost",
    says="Adding positions to GloVe_Xavier × √D costs more than half of its word relations",
    where="section 1 (greatly), Table 4 (a reconstruction)",
    experiments=table4,
)
def test_positions_cost_most_relations_of_standardised_glove(experiment):
    added = with_sinusoidal_positions(scaled(experiment, "sqrt(D)"))["pretrained_xavier"]
    assert experiment["pretrained"] - added > added
