"""Repairs: what a large-sigma table costs, and which of three causes has to be repaired."""

from __future__ import annotations

from embinit_studies import claim
from embinit_studies.repairs import CAUSES, effect_of, large_sigma, tables


@claim(
    "studies/repairs/costs",
    says="A random table with eight times Xavier's sigma trains worse",
    where="causes/repair/width-costs",
    experiments=tables(),
)
def test_a_large_sigma_table_fares_worse(experiment):
    assert large_sigma(experiment) < experiment["xavier"]


@claim(
    "studies/repairs/all-three-repairs-restore",
    says="With scale, ratio and step repaired, a large sigma costs nothing",
    where="causes/repair/all-three-restore",
    experiments=tables("translation", "inference"),  # on sentiment 20 draws resolve 2.3 points
)
def test_all_three_repairs_restore_a_large_sigma_table(experiment):
    assert large_sigma(experiment, *CAUSES) >= experiment["xavier"]


@claim(
    "studies/repairs/no-single-repair-restores",
    says="With a single cause repaired, a large-sigma table still trains worse",
    where="causes/repair/no-single-repair-does",
    experiments=tables("translation"),
)
def test_no_single_repair_restores_a_large_sigma_table(experiment):
    for cause in CAUSES:
        assert large_sigma(experiment, cause) < experiment["xavier"]


@claim(
    "studies/repairs/step-weighs-most",
    says="Of the three repairs, that of Adam's step gains most",
    where="causes/effects",
    experiments=tables("translation"),
)
def test_the_step_weighs_most_for_a_drawn_table(experiment):
    for other in ("scale", "ratio"):
        assert effect_of(experiment, "step") > effect_of(experiment, other)
