"""Tables 1 and 7: directions of their cells that no finding states, and the exceptions."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.kim2024 import TABLE_1, TRANSLATION, only_on, table1, with_planted_effect


@claim(
    "kim2024/table-1/raw-glove-near-xavier-on-sst2",
    says="On SST2 raw GloVe and Xavier fare alike",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("glove", tasks=("sst2",)),
)
def test_raw_glove_is_near_xavier_on_sst2(experiment):
    assert experiment["pretrained"].alike(experiment["xavier"])


@claim(
    "kim2024/table-1/raw-t5-not-below-on-sst2",
    says="On SST2 raw T5 fares worse than neither Xavier nor T5_Xavier",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("t5", tasks=("sst2",)),
)
def test_raw_t5_does_not_fare_worse_on_sst2(experiment):
    assert experiment["pretrained"] >= experiment["xavier"]
    assert experiment["pretrained"] >= experiment["pretrained_xavier"]


@claim(
    "kim2024/table-1/standardised-t5-not-below-xavier",
    says="T5_Xavier does not fare worse than Xavier",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("t5"),
)
def test_standardised_t5_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_xavier"] >= experiment["xavier"]


@claim(
    "kim2024/table-1/standardising-bert-gains-nothing",
    says="Standardising BERT's table, near Xavier's width already, does not make it fare better",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("bert", tasks=("sst2", "mnli", "iwslt2017")),
)
def test_standardising_bert_gains_nothing(experiment):
    assert experiment["pretrained_xavier"] <= experiment["pretrained"]


@claim(
    "kim2024/table-1/standardised-bert-above-bert-on-multi30k",
    says="On Multi30k BERT_Xavier fares better than BERT",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("bert", tasks=("multi30k",)),
)
def test_standardised_bert_fares_better_on_multi30k(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "kim2024/table-1/shuffled-t5-below-xavier",
    says="T5_Shuffled fares worse than Xavier",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("t5"),
)
def test_shuffled_t5_fares_worse_than_xavier(experiment):
    assert experiment["pretrained_shuffled"] < experiment["xavier"]


@claim(
    "kim2024/table-1/shuffled-bert-not-below-xavier",
    says="BERT_Shuffled does not fare worse than Xavier, but for Multi30k",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("bert", tasks=("sst2", "mnli", "iwslt2017")),
)
def test_shuffled_bert_does_not_fare_worse_than_xavier(experiment):
    assert experiment["pretrained_shuffled"] >= experiment["xavier"]


@claim(
    "kim2024/table-1/shuffled-bert-below-xavier-on-multi30k",
    says="On Multi30k BERT_Shuffled fares worse than Xavier",
    where="Table 1",
    family=TABLE_1,
    experiments=table1("bert", tasks=("multi30k",)),
)
def test_shuffled_bert_fares_worse_on_multi30k(experiment):
    assert experiment["pretrained_shuffled"] < experiment["xavier"]


@claim(
    "kim2024/table-7/stretched-to-bert-not-below-xavier",
    says="Xavier stretched to BERT's mean and sigma does not fare worse than Xavier",
    where="Table 7, section 5.2",
    family=TABLE_1,
    experiments=table1("bert", tasks=("sst2", "mnli", "iwslt2017")),
)
def test_stretching_xavier_to_bert_costs_nothing(experiment):
    assert experiment["xavier_pretrained"] >= experiment["xavier"]


@claim(
    "kim2024/table-7/stretched-to-bert-below-xavier-on-multi30k",
    says="On Multi30k Xavier stretched to BERT's mean and sigma fares worse than Xavier",
    where="Table 7",
    family=TABLE_1,
    experiments=table1("bert", tasks=("multi30k",)),
)
def test_stretching_xavier_to_bert_costs_on_multi30k(experiment):
    assert experiment["xavier_pretrained"] < experiment["xavier"]


@claim(
    "kim2024/table-1/mismatched-mnli",
    says="On MNLI's mismatched genres too, wide tables fare worse and standardising repairs them",
    where="Table 1",
    family=TABLE_1,
    experiments=only_on(table1("glove", "t5", tasks=("mnli",)), "sample", "paper"),
)
def test_the_same_holds_on_mismatched_genres(experiment):
    raw = experiment["pretrained"].measured_by("test_accuracy", keep_margin=True)
    assert raw < experiment["xavier"].measured_by("test_accuracy", keep_margin=True)
    assert raw < experiment["pretrained_xavier"].measured_by("test_accuracy", keep_margin=True)


@claim(
    "kim2024/table-1/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=TABLE_1,
    experiments=table1("bert"),
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/table-7/control-falsehood",
    says="Control: Xavier stretched to T5's width fares better than Xavier",
    where="control",
    family=TABLE_1,
    experiments=table1("t5", tasks=TRANSLATION),
    expects=Verdict.REFUTED,
)
def test_control_stretching_to_t5_does_not_help(experiment):
    assert experiment["xavier_pretrained"] > experiment["xavier"]


@claim(
    "kim2024/table-1/control-sensitivity",
    says="Control: a loss as large as the paper's largest on the task is found",
    where="control",
    family=TABLE_1,
    experiments=with_planted_effect(table1("glove")),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
