"""Finding 3: pre-trained meaning is used; shuffling a table hurts (Table 1, section 5)."""

from __future__ import annotations

from embinit.claims import a_a, claim, planted
from embinit_papers.kim2024 import FINDING_3, blind_falsehood, table1


@claim(
    "kim2024/finding-3/shuffled-below-original",
    says="A pre-trained table with its rows and columns shuffled fares worse than the original",
    where="Table 1, section 5.2",
    family=FINDING_3,
    experiments=table1("bert", "t5", full=("sst2", "multi30k")),
)
def test_shuffling_a_table_hurts(experiment):
    assert experiment["pretrained_shuffled"] < experiment["pretrained"]


@claim(
    "kim2024/finding-3/standardised-above-xavier",
    says="GloVe_Xavier fares better than Xavier",
    where="Table 1, section 5.1",
    family=FINDING_3,
    experiments=table1("glove", full=("sst2", "multi30k")),
)
def test_standardised_glove_fares_better_than_xavier(experiment):
    assert experiment["pretrained_xavier"] > experiment["xavier"]


test_control_a_a = a_a(FINDING_3, on=table1("bert"), arm="pretrained_shuffled")
test_control_falsehood = blind_falsehood(FINDING_3, on=table1("bert"))
test_control_a_large_loss_is_found = planted(FINDING_3, on=table1("glove"))
test_control_a_small_loss_is_found = planted(
    FINDING_3,
    on=lambda tier: table1("glove", full=("sst2",))(tier) + table1("bert")(tier),
    small=True,
)
