"""Beyond the paper: exploratory claims on the mechanism. No finding of the paper rests on them.

Scale is told apart from content, absorption from saturation, and positions that touch the table
from those that don't.
"""

from __future__ import annotations

from embinit_papers.kim2024 import (
    TRANSLATION,
    on_the_encoder,
    only_on,
    scaled,
    table1,
    table4,
    with_sinusoidal_positions,
)
from embinit_studies import TIERS, claim
from embinit_studies.changes import (
    with_faint_positions,
    with_norm_after_sum,
    with_orthogonal_positions,
    with_positions_in_attention,
)

SIGMAS = (0.01, 0.05, 0.25, 1.25, 6.25)
PROBES = only_on(table4, *TIERS)
GLOVE = only_on(on_the_encoder(table1("glove", tasks=TRANSLATION)), "micro")


@claim(
    "studies/beyond/too-wide-costs",
    says="Exploratory: GloVe's content at a growing sigma trains worse and worse from 0.25 on",
    where="beyond Table 2",
    experiments=GLOVE,
)
def test_too_wide_a_table_costs(experiment):
    first, second, third = (experiment.with_sigma(sigma)["pretrained"] for sigma in SIGMAS[2:])
    assert second < first
    assert third < second


@claim(
    "studies/beyond/too-narrow-drowns",
    says="Exploratory: GloVe's content at sigma 0.01 drowns in the positions: 0.05 trains better",
    where="beyond Table 2",
    experiments=GLOVE,
)
def test_too_narrow_a_table_drowns(experiment):
    small, larger = (experiment.with_sigma(sigma)["pretrained"] for sigma in SIGMAS[:2])
    assert small < larger


@claim(
    "studies/beyond/norm-does-not-undo-absorption",
    says="Exploratory: a LayerNorm after the sum leaves unscaled GloVe below GloVe_Xavier",
    where="beyond A.1",
    experiments=GLOVE,
)
def test_a_norm_does_not_undo_absorption(experiment):
    normed = with_norm_after_sum(experiment)
    assert normed["pretrained"] < normed["pretrained_xavier"]


@claim(
    "studies/beyond/norm-repairs-saturation",
    says="Exploratory: a LayerNorm after the sum wins back a part of what unscaled GloVe loses",
    where="beyond A.1",
    experiments=GLOVE,
)
def test_a_norm_repairs_saturation(experiment):
    normed = with_norm_after_sum(experiment)
    lost = experiment["pretrained_xavier"] - experiment["pretrained"]
    assert normed["pretrained_xavier"] - normed["pretrained"] < lost


@claim(
    "studies/beyond/positions-off-the-table",
    says="Exploratory: without added positions unscaled GloVe loses less to GloVe_Xavier",
    where="beyond section 6",
    experiments=GLOVE,
)
def test_positions_off_the_table_cost_raw_glove_less(experiment):
    lost = experiment["pretrained_xavier"] - experiment["pretrained"]
    for kind in ("relative", "rotary"):
        other = with_positions_in_attention(experiment, kind)
        assert other["pretrained_xavier"] - other["pretrained"] < lost


@claim(
    "studies/beyond/positions-apart",
    says="Exploratory: positions in GloVe_Xavier's least used directions cost nothing",
    where="beyond section 5.1",
    experiments=GLOVE,
)
def test_positions_apart_cost_nothing(experiment):
    apart = with_orthogonal_positions(experiment)
    assert apart["pretrained_xavier"] >= experiment["pretrained_xavier"]


@claim(
    "studies/beyond/positions-apart-keep-relations",
    says="Exploratory: positions in the least used directions leave word relations alone",
    where="beyond Table 4",
    experiments=PROBES,
)
def test_positions_apart_keep_relations(experiment):
    read = scaled(experiment, "sqrt(D)").with_sigma(0.04)
    assert with_orthogonal_positions(read)["pretrained"].alike(experiment["pretrained"])
    assert with_sinusoidal_positions(read)["pretrained"] < experiment["pretrained"]


@claim(
    "studies/beyond/strength-not-directions",
    says="Exploratory: positions as faint in all directions leave as many word relations",
    where="beyond Table 4",
    experiments=PROBES,
)
def test_the_strength_of_positions_not_their_directions_costs_relations(experiment):
    read = scaled(experiment, "sqrt(D)").with_sigma(0.04)
    apart, faint = with_orthogonal_positions(read), with_faint_positions(read)
    assert faint["pretrained"].alike(apart["pretrained"])


@claim(
    "studies/beyond/faint-positions",
    says="Exploratory: downscaled positions serve GloVe_Xavier as well as orthogonal ones",
    where="beyond section 5.1",
    experiments=GLOVE,
)
def test_faint_positions_serve_as_well_as_positions_apart(experiment):
    faint, apart = with_faint_positions(experiment), with_orthogonal_positions(experiment)
    assert faint["pretrained_xavier"] >= apart["pretrained_xavier"]
