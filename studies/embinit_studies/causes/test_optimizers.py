"""Optimizers: whether a large sigma still costs where steps are proportional to the table."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.causes import OPTIMIZERS, with_table, xavier_table


@claim(
    "causes/optimizers/step-gains-less-under-adafactor",
    says="Exploratory: a rate that grows with a table's width gains less under Adafactor than Adam",
    where="ours: Adafactor's step is proportional to the table already",
    family=OPTIMIZERS,
    experiments=with_table("xavier", "t5"),
)
def test_the_step_gains_less_under_adafactor(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert (
        adafactor.large_sigma("step") - adafactor.large_sigma()
        < experiment.large_sigma("step") - experiment.large_sigma()
    )


@claim(
    "causes/optimizers/step-harms-t5-under-adafactor",
    says="Exploratory: under Adafactor T5's wide table fares worse at a rate as much higher",
    where="ours: the step is then too long by the width",
    family=OPTIMIZERS,
    experiments=with_table("t5"),
)
def test_the_step_harms_t5_under_adafactor(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert adafactor.large_sigma("step") < adafactor.large_sigma()


@claim(
    "causes/optimizers/width-costs-less-under-adafactor",
    says="Exploratory: a table eight times as wide loses less under Adafactor than under Adam",
    where="ours: of the three causes Adafactor lacks the step",
    family=OPTIMIZERS,
    experiments=with_table("xavier", "t5"),
)
def test_width_costs_less_under_adafactor(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert (
        adafactor.small_sigma() - adafactor.large_sigma()
        < experiment.small_sigma() - experiment.large_sigma()
    )


@claim(
    "causes/optimizers/width-costs-under-adafactor",
    says="Exploratory: a table eight times as wide fares worse under Adafactor too",
    where="ours: saturation and absorption are left",
    family=OPTIMIZERS,
    experiments=with_table("xavier", "t5"),
)
def test_width_still_costs_under_adafactor(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert adafactor.large_sigma() < adafactor.small_sigma()


@claim(
    "causes/optimizers/scale-and-ratio-restore-under-adafactor",
    says="Exploratory: under Adafactor two repairs, scale and ratio, restore a wide table",
    where="ours: by arithmetic it is the same training, but for the norm after the sum",
    family=OPTIMIZERS,
    experiments=with_table("xavier", "t5"),
)
def test_two_repairs_restore_a_wide_table_under_adafactor(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert adafactor.large_sigma("scale", "ratio") >= adafactor.small_sigma()


@claim(
    "causes/optimizers/t5-costs-as-it-is",
    says="Exploratory: T5's table as it is fares worse than standardised, under Adafactor too",
    where="kim2024, Table 1: T5's table, whose pre-training was by Adafactor",
    family=OPTIMIZERS,
    experiments=with_table("t5"),
)
def test_t5_as_it_is_costs_under_the_optimizer_that_made_it(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert adafactor.unscaled() < adafactor.small_sigma()


@claim(
    "causes/optimizers/control-a-a",
    says="Control: a wide table under Adafactor differs from itself on other seeds",
    where="control",
    family=OPTIMIZERS,
    experiments=xavier_table,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_wide_table_against_itself(experiment):
    wide = experiment.with_optimizer("adafactor").large_sigma()
    assert wide > wide.on_other_seeds()


@claim(
    "causes/optimizers/control-falsehood",
    says="Control: under Adafactor a table eight times as wide fares better",
    where="control",
    family=OPTIMIZERS,
    experiments=xavier_table,
    expects=Verdict.REFUTED,
)
def test_control_a_wide_table_does_not_fare_better(experiment):
    adafactor = experiment.with_optimizer("adafactor")
    assert adafactor.large_sigma() > adafactor.small_sigma()


@claim(
    "causes/optimizers/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found under Adafactor",
    where="control",
    family=OPTIMIZERS,
    experiments=xavier_table,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.with_optimizer("adafactor").finds_planted()
