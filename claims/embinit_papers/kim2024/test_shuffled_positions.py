"""Shuffled position encodings: an experiment that a summary of the paper tells of.

The paper has none; its shuffles are of a table's rows and columns.
"""

from __future__ import annotations

from embinit_papers.kim2024 import claim, table1, with_shuffled_positions


@claim(
    "kim2024/shuffled-positions/standardised-above-xavier",
    says="With shuffled positions, GloVe_Xavier still trains better than Xavier",
    where="a summary",
    experiments=table1("glove"),
)
def test_meaning_still_helps_with_shuffled_positions(experiment):
    shuffled = with_shuffled_positions(experiment)
    assert shuffled["pretrained_xavier"] > shuffled["xavier"]


@claim(
    "kim2024/shuffled-positions/bert-above-xavier",
    says="With shuffled positions, BERT's table still trains better than Xavier",
    where="a summary",
    experiments=table1("bert"),
)
def test_bert_still_helps_with_shuffled_positions(experiment):
    shuffled = with_shuffled_positions(experiment)
    assert shuffled["pretrained"] > shuffled["xavier"]


@claim(
    "kim2024/shuffled-positions/standardised-above-raw",
    says="With shuffled positions, GloVe_Xavier trains better than unscaled GloVe",
    where="a summary",
    experiments=table1("glove"),
)
def test_standardising_helps_with_shuffled_positions(experiment):
    shuffled = with_shuffled_positions(experiment)
    assert shuffled["pretrained_xavier"] > shuffled["pretrained"]
