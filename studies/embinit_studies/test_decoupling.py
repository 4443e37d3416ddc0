"""Decoupling: input and output embeddings need not be one table.

The arms have as many parameters at fine-tuning, since the output table is thrown away before.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim, planted
from embinit_papers.chung2021 import (
    USUAL,
    coupled,
    masked_loss,
    planting,
    pretrained_for,
    transfer,
)
from embinit_studies import DECOUPLING
from embinit_studies.coupling import experiments, first_experiment, transferring, wider


@claim(
    "studies/decoupling/not-below-coupled",
    says="A model with two tables is not fine-tuned worse than one with a single table",
    where="after the abstract",
    family=DECOUPLING,
    experiments=experiments,
    equal="finetuning",
)
def test_decoupling_does_not_hurt(experiment):
    assert experiment[USUAL] >= coupled(experiment)[USUAL]


@claim(
    "studies/decoupling/transfers-not-below-coupled",
    says="A model with two tables does not transfer worse to the other language",
    where="after the abstract",
    family=DECOUPLING,
    experiments=transferring,
    equal="finetuning",
)
def test_decoupling_does_not_hurt_transfer(experiment):
    assert transfer(experiment) >= transfer(coupled(experiment))


@claim(
    "studies/decoupling/above-coupled-when-wider",
    says="In a model twice as wide, two tables are fine-tuned better than a single one",
    where="after the abstract",
    family=DECOUPLING,
    experiments=experiments,
    equal="finetuning",
)
def test_decoupling_helps_a_wider_model(experiment):
    wide = wider(experiment)
    assert wide[USUAL] > coupled(wide)[USUAL]


@claim(
    "studies/decoupling/control-a-a",
    says="Control: a model with two tables differs from the same on other seeds",
    where="control",
    family=DECOUPLING,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_model_against_itself(experiment):
    assert experiment[USUAL] > experiment[USUAL].on_other_seeds()


@claim(
    "studies/decoupling/control-falsehood",
    says="Control: a model that was not pre-trained guesses hidden words better",
    where="control",
    family=DECOUPLING,
    experiments=first_experiment,
    expects=Verdict.REFUTED,
)
def test_control_pretraining_helps(experiment):
    raw = pretrained_for(experiment, 0)
    assert masked_loss(raw) < masked_loss(experiment)


@claim(
    "studies/decoupling/control-budget",
    says="Control: two tables and a single one have as many parameters at pre-training",
    where="control",
    family=DECOUPLING,
    experiments=first_experiment,
    expects=Verdict.NOT_RUN,
    equal="pretraining",
)
def test_control_a_second_table_has_parameters(experiment):
    assert experiment[USUAL] >= coupled(experiment)[USUAL]


@claim(
    "studies/decoupling/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    family=DECOUPLING,
    experiments=experiments,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


test_control_a_small_loss_is_found = planted(DECOUPLING, on=planting(experiments), small=True)
