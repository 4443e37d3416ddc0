"""Real text: the factorial of repairs on Multi30k, with published vectors and without."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import FOLLOWED, REAL_TEXT, on_real_text
from embinit_studies.repairs import REPAIRS

xavier_table = on_real_text(FOLLOWED, "xavier")
"""A query for Xavier's table, on which controls are tested."""


@claim(
    "causes/real-text/width-costs",
    says="Exploratory: on real text a table eight times as wide fares worse",
    where="kim2024, Tables 1 and 7",
    family=REAL_TEXT,
    experiments=on_real_text(FOLLOWED),
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.large_sigma() < experiment.small_sigma()


@claim(
    "causes/real-text/all-three-restore",
    says="Exploratory: on real text a wide table with all three repairs is as good as the narrow",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(FOLLOWED),
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    assert experiment.large_sigma(*REPAIRS) >= experiment.small_sigma()


@claim(
    "causes/real-text/no-single-repair-does",
    says="Exploratory: on real text a wide table with a single repair still fares worse",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(FOLLOWED),
)
def test_no_single_repair_restores_a_wide_table(experiment):
    for repair in REPAIRS:
        assert experiment.large_sigma(repair) < experiment.small_sigma()


@claim(
    "causes/real-text/no-pair-does",
    says="Exploratory: on real text a wide table with two repairs still fares worse",
    where="ours, of micro",
    family=REAL_TEXT,
    experiments=on_real_text(FOLLOWED),
)
def test_no_pair_of_repairs_restores_a_wide_table(experiment):
    for left_out in REPAIRS:
        pair = [repair for repair in REPAIRS if repair != left_out]
        assert experiment.large_sigma(*pair) < experiment.small_sigma()


@claim(
    "causes/real-text/control-a-a",
    says="Control: the narrow table differs from itself on other seeds",
    where="control",
    family=REAL_TEXT,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_the_narrow_table_against_itself(experiment):
    assert experiment.small_sigma() > experiment.small_sigma().on_other_seeds()


@claim(
    "causes/real-text/control-falsehood",
    says="Control: a table eight times as wide fares better",
    where="control",
    family=REAL_TEXT,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    assert experiment.large_sigma() > experiment.small_sigma()


@claim(
    "causes/real-text/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=REAL_TEXT,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
