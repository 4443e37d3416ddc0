"""Reinvestment: a narrow input table pays for more layers.

What a narrower table frees goes into whole layers, and what is left over into feed-forward width:
at fine-tuning both arms have as many parameters, which is checked before anything is trained.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim, planted
from embinit_papers.chung2021 import (
    REINVESTMENT,
    USUAL,
    coupled,
    experiments,
    first_experiment,
    masked_loss,
    planting,
    pretrained_for,
    reinvested,
    transfer,
    transferring,
)


@claim(
    "chung2021/reinvestment/above-coupled",
    says="A narrow input table, its parameters reinvested in layers, is fine-tuned better than one "
    "coupled table",
    where="abstract",
    family=REINVESTMENT,
    experiments=experiments,
    equal="finetuning",
)
def test_reinvesting_the_input_table_beats_coupling(experiment):
    assert reinvested(experiment)[USUAL] > coupled(experiment)[USUAL]


@claim(
    "chung2021/reinvestment/transfers-above-coupled",
    says="A narrow input table, its parameters reinvested in layers, transfers better to the other "
    "language than one coupled table",
    where="abstract",
    family=REINVESTMENT,
    experiments=transferring,
    equal="finetuning",
)
def test_reinvesting_the_input_table_transfers_better(experiment):
    assert transfer(reinvested(experiment)) > transfer(coupled(experiment))


@claim(
    "chung2021/reinvestment/control-a-a",
    says="Control: the coupled model differs from the same on other seeds",
    where="control",
    family=REINVESTMENT,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_the_coupled_model_against_itself(experiment):
    assert coupled(experiment)[USUAL] > coupled(experiment)[USUAL].on_other_seeds()


@claim(
    "chung2021/reinvestment/control-falsehood",
    says="Control: a model that was not pre-trained guesses hidden words better than the "
    "coupled one",
    where="control",
    family=REINVESTMENT,
    experiments=first_experiment,
    expects=Verdict.REFUTED,
)
def test_control_the_coupled_model_gains_by_pretraining(experiment):
    raw = pretrained_for(experiment, 0)
    assert masked_loss(raw) < masked_loss(coupled(experiment))


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


@claim(
    "chung2021/reinvestment/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    family=REINVESTMENT,
    experiments=experiments,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


test_control_a_small_loss_is_found = planted(REINVESTMENT, on=planting(experiments), small=True)
