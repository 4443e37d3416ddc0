"""Controls: pre-training must be seen in each task, and unequal budgets must be caught."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.chung2021 import (
    GENERALITY,
    OUTPUT_WIDTH,
    REINVESTMENT,
    USUAL,
    before_fine_tuning,
    coupled,
    experiments,
    first_experiment,
    pretrained_for,
    reinvested,
)


@claim(
    "chung2021/output-width/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=experiments,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


@claim(
    "chung2021/generality/control-sensitivity",
    says="Control: pre-training specialises the last layer: probes lose more from the best layer "
    "to it than without any",
    where="control",
    family=GENERALITY,
    experiments=first_experiment,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_specialises_the_last_layer(experiment):
    drop = before_fine_tuning("probe_drop")
    assert drop(experiment) > drop(pretrained_for(experiment, 0))


@claim(
    "chung2021/reinvestment/control-budget",
    says="Control: with one layer more than was freed the reinvested model is fine-tuned better",
    where="control",
    family=REINVESTMENT,
    experiments=first_experiment,
    expects=Verdict.NOT_RUN,
    equal="finetuning",
)
def test_control_a_layer_too_many(experiment):
    assert reinvested(experiment, too_many=1)[USUAL] > coupled(experiment)[USUAL]
