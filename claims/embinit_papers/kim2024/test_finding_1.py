"""Finding 1: tables of a much larger sigma than Xavier's fare worse; standardising repairs that.

BERT's table, whose width is near Xavier's, does not fare worse (section 1, Tables 1, 2 and 7).
"""

from __future__ import annotations

from embinit.claims import claim, rank_correlation
from embinit.claims.paired_tests import Verdict
from embinit_papers.kim2024 import (
    FINDING_1,
    TRANSLATION,
    everywhere,
    first_experiment,
    only_on,
    table1,
    with_planted_effect,
)


def but_t5_on_sst2(tier):
    """The experiments in which large-sigma tables are worse: GloVe's all, T5's but SST2's."""
    return table1("glove")(tier) + table1("t5", tasks=("mnli", *TRANSLATION))(tier)


@claim(
    "kim2024/finding-1/wide-below-xavier",
    says="A pre-trained table that is much wider than Xavier's fares worse than Xavier",
    where="Table 1",
    family=FINDING_1,
    experiments=but_t5_on_sst2,
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
    experiments=but_t5_on_sst2,
)
def test_standardising_repairs_wide_tables(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "kim2024/finding-1/stretched-xavier-below-xavier",
    says="Xavier stretched to a wide table's mean and sigma fares worse than Xavier",
    where="Table 7 (GloVe: ours)",
    family=FINDING_1,
    experiments=table1("glove", "t5"),
)
def test_stretching_xavier_makes_it_fare_worse(experiment):
    assert experiment["xavier_pretrained"] < experiment["xavier"]


@claim(
    "kim2024/finding-1/wide-tables-peak-later",
    says="A wide table reaches its best epoch later than Xavier",
    where="Table 1",
    family=FINDING_1,
    experiments=only_on(table1("glove", "t5"), "sample", "paper"),
)
def test_wide_tables_reach_their_best_epoch_later(experiment):
    assert experiment["pretrained"].best_epoch > experiment["xavier"].best_epoch


@claim(
    "kim2024/finding-1/dose-response",
    says="Over all sources and tasks, the wider a table beside Xavier's, the more it costs",
    where="Figure 1, section 5.2",
    family=FINDING_1,
    experiments=first_experiment,
)
def test_what_a_table_costs_grows_with_its_width(experiment):
    every = everywhere(experiment)
    assert rank_correlation([(arms["pretrained"], arms["xavier"]) for arms in every]) > 0


@claim(
    "kim2024/finding-1/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=FINDING_1,
    experiments=table1("glove"),
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/finding-1/control-falsehood",
    says="Control: Xavier stretched to the table's width fares better than Xavier",
    where="control",
    family=FINDING_1,
    experiments=table1("glove", tasks=TRANSLATION),
    expects=Verdict.REFUTED,
)
def test_control_stretching_does_not_help(experiment):
    assert experiment["xavier_pretrained"] > experiment["xavier"]


@claim(
    "kim2024/finding-1/control-sensitivity",
    says="Control: a loss as large as the paper's largest on the task is found",
    where="control",
    family=FINDING_1,
    experiments=with_planted_effect(table1("glove")),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
