"""Output width: a wider output table helps, though fine-tuning never sees it.

Trends over four widths: the slope of a score over the width's doublings, one a seed.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.chung2021 import (
    OUTPUT_WIDTH,
    experiments,
    over_output_widths,
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
