"""Finding 2: large-sigma tables absorb the positions (section 6, Tables 3 and 6)."""

from __future__ import annotations

from embinit_papers.kim2024 import claim, only_on, table1, table3


@claim(
    "kim2024/finding-2/positions-gain-less",
    says="Positions gain less for unscaled GloVe than for Xavier and for GloVe_Xavier",
    where="Table 3, section 6",
    experiments=table3,
)
def test_positions_gain_less_for_raw_glove(experiment):
    without = experiment.without_positions()
    raw = experiment["pretrained"] - without["pretrained"]
    assert raw < experiment["xavier"] - without["xavier"]
    assert raw < experiment["pretrained_xavier"] - without["pretrained_xavier"]


@claim(
    "kim2024/finding-2/frozen-alike",
    says="Frozen and without positions, GloVe and GloVe_Xavier train equally well",
    where="Table 3, section 6",
    experiments=table3,
)
def test_frozen_without_positions_width_matters_little(experiment):
    bare = experiment.frozen().without_positions()
    assert bare["pretrained"].alike(bare["pretrained_xavier"])


@claim(
    "kim2024/finding-2/frozen-above-xavier",
    says="Frozen and without positions, GloVe and GloVe_Xavier train better than Xavier",
    where="Table 3, section 6",
    experiments=table3,
)
def test_frozen_without_positions_meaning_helps(experiment):
    bare = experiment.frozen().without_positions()
    assert bare["pretrained"] > bare["xavier"]
    assert bare["pretrained_xavier"] > bare["xavier"]


@claim(
    "kim2024/finding-2/pe-share",
    says="With a large-sigma table positions are a smaller share of the input's variance",
    where="Table 6",
    # On the synthetic language it would restate how embinit trained its own tables.
    experiments=only_on(table1("glove", "t5", full=("multi30k",)), "sample", "paper", "full"),
)
def test_wide_tables_leave_positions_a_smaller_share(experiment):
    assert experiment["pretrained"].pe_share < experiment["xavier"].pe_share
    assert experiment["pretrained"].pe_share < experiment["pretrained_xavier"].pe_share
