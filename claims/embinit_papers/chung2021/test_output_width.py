"""Output width: a wider output table helps, though fine-tuning never sees it.

Trends over four widths: the slope of a score over the width's doublings, one a seed.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim, planted
from embinit_papers.chung2021 import (
    OUTPUT_WIDTH,
    USUAL,
    experiments,
    first_experiment,
    masked_loss,
    over_output_widths,
    planting,
    pretrained_for,
    transfer,
    transferring,
)


@claim(
    "chung2021/output-width/improves-fine-tuning",
    says="The wider the output table, the better the fine-tuned model",
    where="abstract",
    family=OUTPUT_WIDTH,
    experiments=experiments,
    equal="finetuning",
)
def test_a_wider_output_table_improves_the_fine_tuned_model(experiment):
    assert over_output_widths(experiment) > 0


@claim(
    "chung2021/output-width/improves-transfer",
    says="The wider the output table, the better the transfer to the other language",
    where="abstract",
    family=OUTPUT_WIDTH,
    experiments=transferring,
    equal="finetuning",
)
def test_a_wider_output_table_improves_transfer(experiment):
    assert over_output_widths(experiment, transfer) > 0


@claim(
    "chung2021/output-width/control-a-a",
    says="Control: a model differs from the same on other seeds",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_model_against_itself(experiment):
    assert experiment[USUAL] < experiment[USUAL].on_other_seeds()


@claim(
    "chung2021/output-width/control-falsehood",
    says="Control: the wider the output table, the worse hidden words are guessed",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    expects=Verdict.REFUTED,
)
def test_control_a_wider_output_table_guesses_better(experiment):
    assert over_output_widths(experiment, masked_loss) > 0


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


test_control_a_small_loss_is_found = planted(OUTPUT_WIDTH, on=planting(experiments), small=True)
