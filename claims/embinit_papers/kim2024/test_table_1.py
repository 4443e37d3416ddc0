"""Tables 1 and 7: what the paper says of their cells beyond its findings, and its exceptions."""

from __future__ import annotations

from embinit.lab.quantities import rank_correlation
from embinit_papers.kim2024 import (
    claim,
    everywhere,
    first_experiment,
    no_vectors,
    on_task,
    only_on,
    table1,
)

BUT_MULTI30K = ("sst2", "mnli", "iwslt2017")


@claim(
    "kim2024/table-1/mbert-below-xavier-on-multi30k",
    says="On Multi30k mBERT's table trains worse than Xavier",
    where="Table 1, section 5.2",
    experiments=table1("bert", tasks=("multi30k",), full=("multi30k",)),
)
def test_mbert_fares_worse_than_xavier_on_multi30k(experiment):
    assert experiment["pretrained"] < experiment["xavier"]


@claim(
    "kim2024/table-1/t5-above-xavier-on-sst2",
    says="On SST2 unscaled T5 trains better than Xavier",
    where="Table 1",
    experiments=table1("t5", tasks=("sst2",)),
)
def test_raw_t5_fares_better_than_xavier_on_sst2(experiment):
    assert experiment["pretrained"] > experiment["xavier"]


@claim(
    "kim2024/table-1/t5-above-t5-xavier-on-sst2",
    says="On SST2 unscaled T5 trains better than T5_Xavier, despite its large sigma",
    where="section 5.2",
    experiments=table1("t5", tasks=("sst2",)),
)
def test_raw_t5_fares_better_than_standardised_on_sst2(experiment):
    assert experiment["pretrained"] > experiment["pretrained_xavier"]


@claim(
    "kim2024/table-1/bert-above-bert-xavier",
    says="BERT's table trains better unscaled than standardized, but for Multi30k",
    where="section 5.2",
    experiments=table1("bert", tasks=BUT_MULTI30K, full=("sst2",)),
)
def test_bert_fares_better_as_it_is(experiment):
    assert experiment["pretrained"] > experiment["pretrained_xavier"]


@claim(
    "kim2024/table-1/standardising-bert-gains-nothing",
    says="Standardizing BERT's table, near Xavier's sigma already, does not make it train better",
    where="section 1",
    experiments=table1("bert", tasks=BUT_MULTI30K, full=("sst2",)),
)
def test_standardising_bert_gains_nothing(experiment):
    assert experiment["pretrained_xavier"] <= experiment["pretrained"]


@claim(
    "kim2024/table-1/standardised-bert-above-bert-on-multi30k",
    says="On Multi30k BERT_Xavier trains better than BERT",
    where="section 5.2, Table 1",
    experiments=table1("bert", tasks=("multi30k",), full=("multi30k",)),
)
def test_standardised_bert_fares_better_on_multi30k(experiment):
    assert experiment["pretrained_xavier"] > experiment["pretrained"]


@claim(
    "kim2024/table-1/bert-gains-most-on-mnli",
    says="What BERT's table gains over Xavier is more on MNLI than on SST2",
    where="section 5.2",
    experiments=table1("bert", tasks=("mnli",)),
)
def test_bert_gains_most_on_mnli(experiment):
    sst2 = on_task(experiment, "sst2")
    gain = experiment["pretrained"] - experiment["xavier"]
    assert gain > sst2["pretrained"] - sst2["xavier"]


@claim(
    "kim2024/table-1/meaning-matters-most-on-mnli",
    says="What BERT's table gains over BERT_Shuffled is more on MNLI than on SST2",
    where="section 5.2, Table 1",
    experiments=table1("bert", tasks=("mnli",)),
)
def test_meaning_matters_most_on_mnli(experiment):
    sst2 = on_task(experiment, "sst2")
    gain = experiment["pretrained"] - experiment["pretrained_shuffled"]
    assert gain > sst2["pretrained"] - sst2["pretrained_shuffled"]


@claim(
    "kim2024/table-1/cost-grows-with-sigma",
    says="Over all sources and tasks, the larger a table's sigma than Xavier's, the more it costs",
    where="section 5.2",
    experiments=first_experiment,
)
def test_what_a_table_costs_grows_with_its_sigma(experiment):
    every = everywhere(experiment)
    assert rank_correlation([(arms["pretrained"], arms["xavier"]) for arms in every]) > 0


@claim(
    "kim2024/table-1/shuffled-bert-above-xavier",
    says="BERT_Shuffled trains better than Xavier, so BERT's distribution alone is better",
    where="section 3.4 (a condition), Table 1",
    experiments=table1("bert", tasks=BUT_MULTI30K, full=("sst2",)),
)
def test_shuffled_bert_fares_better_than_xavier(experiment):
    assert experiment["pretrained_shuffled"] > experiment["xavier"]


@claim(
    "kim2024/table-1/shuffled-mbert-below-xavier-on-multi30k",
    says="On Multi30k mBERT_Shuffled trains worse than Xavier",
    where="section 3.4, Table 1",
    experiments=table1("bert", tasks=("multi30k",), full=("multi30k",)),
)
def test_shuffled_mbert_fares_worse_than_xavier_on_multi30k(experiment):
    assert experiment["pretrained_shuffled"] < experiment["xavier"]


@claim(
    "kim2024/table-1/shuffled-t5-below-xavier",
    says="T5_Shuffled trains worse than Xavier",
    where="Table 1, section 5.2",
    experiments=table1("t5"),
)
def test_shuffled_t5_fares_worse_than_xavier(experiment):
    assert experiment["pretrained_shuffled"] < experiment["xavier"]


def stretched_to_bert(tier):
    """BERT's experiments; on ``full`` the one with its tokenizer and printed sigma too."""
    ours = table1("bert", tasks=("sst2", "iwslt2017"), full=("sst2",))
    return ours(tier) + no_vectors("bert", task="sst2")(tier)


@claim(
    "kim2024/table-7/stretched-to-bert-above-xavier",
    says="On SST2 and IWSLT2017 Xavier at BERT's mean and sigma trains better than Xavier",
    where="section 5.2, Table 7",
    family="kim2024/table-1",
    experiments=stretched_to_bert,
)
def test_stretching_xavier_to_bert_helps(experiment):
    assert experiment["xavier_pretrained"] > experiment["xavier"]


@claim(
    "kim2024/table-7/bert-above-stretched-xavier",
    says="BERT's table trains better than Xavier stretched to its mean and sigma",
    where="section 5.2, Table 7",
    family="kim2024/table-1",
    experiments=table1("bert", tasks=BUT_MULTI30K, full=("sst2",)),
)
def test_bert_fares_better_than_stretched_xavier(experiment):
    assert experiment["pretrained"] > experiment["xavier_pretrained"]


@claim(
    "kim2024/table-7/stretched-to-bert-alike-on-mnli",
    says="On MNLI Xavier stretched to BERT's mean and sigma trains as well as Xavier",
    where="Table 7",
    family="kim2024/table-1",
    experiments=table1("bert", tasks=("mnli",)),
)
def test_stretching_xavier_to_bert_changes_nothing_on_mnli(experiment):
    assert experiment["xavier_pretrained"].alike(experiment["xavier"])


def stretched_to_mbert(tier):
    """BERT's experiment on Multi30k; on ``full`` the one with mBERT's tokenizer and sigma."""
    return table1("bert", tasks=("multi30k",))(tier) + no_vectors("bert", task="multi30k")(tier)


@claim(
    "kim2024/table-7/stretched-to-mbert-below-xavier",
    says="On Multi30k Xavier stretched to mBERT's mean and sigma trains worse than Xavier",
    where="Table 7",
    family="kim2024/table-1",
    experiments=stretched_to_mbert,
)
def test_stretching_xavier_to_mbert_costs_on_multi30k(experiment):
    assert experiment["xavier_pretrained"] < experiment["xavier"]


@claim(
    "kim2024/table-1/mismatched-mnli",
    says="On mismatched MNLI too, large-sigma embeddings train worse, and standardizing repairs it",
    where="Table 1",
    experiments=only_on(table1("glove", "t5", tasks=("mnli",)), "sample", "paper"),
)
def test_the_same_holds_on_mismatched_genres(experiment):
    raw = mismatched(experiment, "pretrained")
    assert raw < mismatched(experiment, "xavier")
    assert raw < mismatched(experiment, "pretrained_xavier")


def mismatched(experiment, init):
    """An arm's accuracy on the mismatched genres."""
    return experiment[init].measured_by("test_accuracy", keep_margin=True)


@claim(
    "kim2024/table-1/mismatched-mnli-standardised-glove",
    says="On MNLI's mismatched genres too, GloVe_Xavier trains better than Xavier",
    where="Table 1",
    experiments=only_on(table1("glove", tasks=("mnli",)), "sample", "paper"),
)
def test_standardised_glove_fares_better_on_mismatched_genres(experiment):
    assert mismatched(experiment, "pretrained_xavier") > mismatched(experiment, "xavier")


@claim(
    "kim2024/table-1/mismatched-mnli-bert",
    says="On MNLI's mismatched genres too, BERT's table trains better than any other init",
    where="Table 1",
    experiments=only_on(table1("bert", tasks=("mnli",)), "sample", "paper"),
)
def test_bert_fares_best_on_mismatched_genres(experiment):
    for init in ("xavier", "pretrained_xavier", "pretrained_shuffled"):
        assert mismatched(experiment, "pretrained") > mismatched(experiment, init)
