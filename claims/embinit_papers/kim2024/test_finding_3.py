"""Finding 3: pre-trained meaning is used; shuffling a table hurts (Table 1, section 5)."""

from __future__ import annotations

from embinit_papers.kim2024 import TRANSLATION, claim, table1


@claim(
    "kim2024/finding-3/shuffled-below-original",
    says="A pre-trained table with its rows and columns shuffled trains worse than the original",
    where="Table 1, section 5.2",
    experiments=table1("bert", "t5", full=("sst2", "multi30k")),
)
def test_shuffling_a_table_hurts(experiment):
    assert experiment["pretrained_shuffled"] < experiment["pretrained"]


@claim(
    "kim2024/finding-3/standardised-above-xavier",
    says="GloVe_Xavier trains better than Xavier",
    where="Table 1, section 5.1",
    experiments=table1("glove", full=("sst2", "multi30k")),
)
def test_standardised_glove_fares_better_than_xavier(experiment):
    assert experiment["pretrained_xavier"] > experiment["xavier"]


@claim(
    "kim2024/finding-3/standardised-sub-words-above-xavier",
    says="In translation BERT_Xavier and T5_Xavier train better than Xavier",
    where="section 1, Table 1",
    experiments=table1("bert", "t5", tasks=TRANSLATION, full=("multi30k",)),
)
def test_standardised_sub_words_fare_better_than_xavier(experiment):
    assert experiment["pretrained_xavier"] > experiment["xavier"]
