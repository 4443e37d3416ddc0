"""The paper's open checks: the tables of word2vec, fastText and ELMo.

Before any model was trained from these tables, the directions were registered from the tables'
sigmas alone. A table above three times Xavier's sigma is wide in the finding's sense: unscaled, it
fares worse than Xavier. Standardised, no table does. No run of these arms was looked at.

On ``micro`` Xavier's sigma is 0.05 to 0.06, and all three tables are wide: word2vec's sigma is
0.40, fastText's 0.37, ELMo's 1.71. On ``sample`` only word2vec's is taken to be wide: the published
Google News vectors have a norm of about 2 (not measured here), and so a sigma of about 0.1, with
Xavier's below 0.03. The sigma of published fastText and ELMo vectors depends on the file, so
nothing is claimed of these unscaled.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.kim2024 import (
    OTHER_TABLES,
    TRANSLATION,
    other_tables,
    table1,
    with_planted_effect,
)


def wide(tier):
    """The experiments whose table has a known sigma above three times Xavier's."""
    return other_tables()(tier) if tier == "micro" else other_tables("word2vec")(tier)


@claim(
    "kim2024/other-tables/standardised-not-below-xavier",
    says="Standardised, a table of word2vec, fastText or ELMo does not fare worse than Xavier",
    where="beyond Table 1",
    family=OTHER_TABLES,
    experiments=other_tables(),
)
def test_standardised_tables_do_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "kim2024/other-tables/wide-below-xavier",
    says="A table of word2vec, fastText or ELMo that is much wider than Xavier's fares worse",
    where="beyond Table 1",
    family=OTHER_TABLES,
    experiments=wide,
)
def test_wide_tables_fare_worse_than_xavier(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim(
    "kim2024/other-tables/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=OTHER_TABLES,
    experiments=other_tables("word2vec"),
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/other-tables/control-falsehood",
    says="Control: raw word2vec fares better than word2vec_Xavier",
    where="control",
    family=OTHER_TABLES,
    experiments=other_tables("word2vec", tasks=TRANSLATION),
    expects=Verdict.REFUTED,
)
def test_control_raw_word2vec_does_not_fare_better(experiment):
    assert experiment["pretrained"] > experiment["pretrained_xavier"]


@claim(
    "kim2024/other-tables/control-sensitivity",
    says="Control: a loss as large as the paper's largest on the task is found",
    where="control",
    family=OTHER_TABLES,
    experiments=with_planted_effect(table1("glove")),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
