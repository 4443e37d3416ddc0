"""AdamW: whether its decay changes a large-sigma table's cost, and its repairs."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import ADAMW, with_table, xavier_table
from embinit_studies.repairs import REPAIRS


@claim(
    "causes/adamw/width-costs",
    says="Exploratory: under AdamW too a table eight times as wide fares worse",
    where="kim2024, Tables 1 and 7",
    family=ADAMW,
    experiments=with_table(),
)
def test_a_wide_table_fares_worse(experiment):
    adamw = experiment.with_optimizer("adamw")
    assert adamw.large_sigma() < adamw.small_sigma()


@claim(
    "causes/adamw/step-helps",
    says="Exploratory: under AdamW too a rate that grows with a table's width helps a wide one",
    where="ours: its step is Adam's, but for a decay of less than 1 % in a whole run",
    family=ADAMW,
    experiments=with_table(),
)
def test_the_step_helps(experiment):
    adamw = experiment.with_optimizer("adamw")
    assert adamw.large_sigma("step") > adamw.large_sigma()


@claim(
    "causes/adamw/all-three-restore",
    says="Exploratory: under AdamW too all three repairs restore a wide table",
    where="ours: by arithmetic it is the same training, but for the norm and the decay",
    family=ADAMW,
    experiments=with_table(),
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    adamw = experiment.with_optimizer("adamw")
    assert adamw.large_sigma(*REPAIRS) >= adamw.small_sigma()


@claim(
    "causes/adamw/control-a-a",
    says="Control: a wide table under AdamW differs from itself on other seeds",
    where="control",
    family=ADAMW,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_wide_table_against_itself(experiment):
    wide = experiment.with_optimizer("adamw").large_sigma()
    assert wide > wide.on_other_seeds()


@claim(
    "causes/adamw/control-falsehood",
    says="Control: under AdamW a table eight times as wide fares better",
    where="control",
    family=ADAMW,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    adamw = experiment.with_optimizer("adamw")
    assert adamw.large_sigma() > adamw.small_sigma()


@claim(
    "causes/adamw/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found under AdamW",
    where="control",
    family=ADAMW,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.with_optimizer("adamw").finds_planted()
