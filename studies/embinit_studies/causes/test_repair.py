"""Repair: a large sigma costs, no single repair undoes that, and all three do."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import FOLLOWED, REPAIR, on_tasks, xavier_table
from embinit_studies.repairs import REPAIRS


@claim(
    "causes/repair/width-costs",
    says="Exploratory: a table eight times as wide fares worse",
    where="kim2024, Tables 1 and 7",
    family=REPAIR,
    experiments=on_tasks(),
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.large_sigma() < experiment.small_sigma()


@claim(
    "causes/repair/all-three-restore",
    says="Exploratory: with scale, ratio and step repaired a wide table is as good as the narrow",
    where="ours: by arithmetic it is the same training, but for the norm after the sum",
    family=REPAIR,
    experiments=on_tasks(),
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    assert experiment.large_sigma(*REPAIRS) >= experiment.small_sigma()


@claim(
    "causes/repair/no-single-repair-does",
    says="Exploratory: with a single cause repaired a wide table still fares worse",
    where="ours",
    family=REPAIR,
    experiments=on_tasks(),
)
def test_no_single_repair_restores_a_wide_table(experiment):
    for repair in REPAIRS:
        assert experiment.large_sigma(repair) < experiment.small_sigma()


@claim(
    "causes/repair/no-pair-does",
    says="Exploratory: with two of the causes repaired a wide table still fares worse",
    where="ours",
    family=REPAIR,
    experiments=on_tasks(FOLLOWED),
)
def test_no_pair_of_repairs_restores_a_wide_table(experiment):
    for left_out in REPAIRS:
        pair = [repair for repair in REPAIRS if repair != left_out]
        assert experiment.large_sigma(*pair) < experiment.small_sigma()


@claim(
    "causes/repair/control-a-a",
    says="Control: the narrow table differs from itself on other seeds",
    where="control",
    family=REPAIR,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_the_narrow_table_against_itself(experiment):
    assert experiment.small_sigma() > experiment.small_sigma().on_other_seeds()


@claim(
    "causes/repair/control-falsehood",
    says="Control: a table eight times as wide fares better",
    where="control",
    family=REPAIR,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.large_sigma() > experiment.small_sigma()


@claim(
    "causes/repair/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=REPAIR,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
