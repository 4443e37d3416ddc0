"""Positive controls: settings that must be worse, one for each task and tier.

They keep the ids and the families of their registration. On ``full`` SST-2 alone has one: a run of
Multi30k takes eight times as long.
"""

from __future__ import annotations

from embinit.claims import Verdict
from embinit_papers.kim2024 import TRANSLATION, blind, claim, only_on, table1, table4


@claim(
    "kim2024/finding-1/control-falsehood",
    says="Control: a model that cannot distinguish words trains better than Xavier",
    where="control",
    experiments=table1("glove", full=("sst2",)),
    expects=Verdict.REFUTED,
)
def test_control_a_blind_model_does_not_fare_better(experiment):
    assert blind(experiment)["xavier"] > experiment["xavier"]


@claim(
    "kim2024/table-2/control-order",
    says="Control: GloVe's table standardized to 0.01 has a larger sigma than at 1",
    where="control",
    experiments=only_on(table1("glove", tasks=TRANSLATION), "sample", "paper"),
    expects=Verdict.REFUTED,
)
def test_control_a_narrow_table_is_not_wider(experiment):
    small, large = (experiment.with_sigma(sigma)["pretrained"] for sigma in (0.01, 1.0))
    assert small.sigma > large.sigma


@claim(
    "kim2024/table-4/control-falsehood",
    says="Control: a shuffled table has more word relations than the original",
    where="control",
    experiments=table4,
    expects=Verdict.REFUTED,
)
def test_control_shuffling_wins_no_relations(experiment):
    assert experiment["pretrained_shuffled"] > experiment["pretrained"]
