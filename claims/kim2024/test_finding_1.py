"""Finding 1: tables much wider than Xavier's fare worse, and standardising repairs them.

BERT's table, whose width is near Xavier's, does not fare worse (section 1, Tables 1, 2 and 7).
"""

from __future__ import annotations

from embinit.claims import claim
from embinit.inference import Verdict
from embinit.papers.kim2024 import FINDING_1, table1


@claim(
    "kim2024/finding-1/wide-below-xavier",
    says="A pre-trained table that is much wider than Xavier's fares worse than Xavier",
    where="Table 1",
    family=FINDING_1,
    experiments=table1("glove", "t5"),
)
def test_wide_tables_fare_worse_than_xavier(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim(
    "kim2024/finding-1/bert-not-below-xavier",
    says="BERT's table, near Xavier's width, does not fare worse than Xavier",
    where="Table 1",
    family=FINDING_1,
    experiments=table1("bert"),
)
def test_bert_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained"] >= experiment["xavier"]


@claim(
    "kim2024/finding-1/standardising-repairs",
    says="Standardising a wide table to Xavier's sigma makes it fare better",
    where="Table 1",
    family=FINDING_1,
    experiments=table1("glove", "t5"),
)
def test_standardising_repairs_wide_tables(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "kim2024/finding-1/stretched-xavier-below-xavier",
    says="Xavier stretched to a wide table's mean and sigma fares worse than Xavier",
    where="Table 7",
    family=FINDING_1,
    experiments=table1("glove", "t5"),
)
def test_stretching_xavier_makes_it_fare_worse(experiment):
    assert experiment["xavier_pretrained"] < experiment["xavier"]


@claim(
    "kim2024/finding-1/wider-than-xavier",
    says="A pre-trained table is wider than Xavier's: its sigma is larger",
    where="Table 2",
    family=FINDING_1,
    experiments=table1("glove", "bert", "t5", roles=("translation",)),
)
def test_pretrained_tables_are_wider_than_xavier(experiment):
    assert experiment["pretrained"].sigma > experiment["xavier"].sigma


@claim(
    "kim2024/finding-1/glove-wider-than-bert",
    says="GloVe's table is wider than BERT's",
    where="Table 2",
    family=FINDING_1,
    experiments=table1("glove", roles=("translation",)),
)
def test_glove_is_wider_than_bert(experiment):
    assert experiment["pretrained"].sigma > experiment.of_source("bert")["pretrained"].sigma


@claim(
    "kim2024/finding-1/t5-wider-than-glove",
    says="T5's table is wider than GloVe's",
    where="Table 2",
    family=FINDING_1,
    experiments=table1("t5", roles=("translation",)),
)
def test_t5_is_wider_than_glove(experiment):
    assert experiment["pretrained"].sigma > experiment.of_source("glove")["pretrained"].sigma


@claim(
    "kim2024/finding-1/wide-tables-peak-later",
    says="A wide table reaches its best epoch later than Xavier",
    where="Table 1",
    family=FINDING_1,
    experiments=table1("glove", "t5"),
)
def test_wide_tables_reach_their_best_epoch_later(experiment):
    assert experiment["pretrained"].best_epoch > experiment["xavier"].best_epoch


@claim(
    "kim2024/finding-1/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=FINDING_1,
    experiments=table1("glove"),
    expects=Verdict.UNDECIDED,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/finding-1/control-falsehood",
    says="Control: Xavier stretched to the table's width fares better than Xavier",
    where="control",
    family=FINDING_1,
    experiments=table1("glove", roles=("translation",)),
    expects=Verdict.REFUTED,
)
def test_control_stretching_does_not_help(experiment):
    assert experiment["xavier_pretrained"] > experiment["xavier"]
