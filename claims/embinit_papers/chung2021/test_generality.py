"""Generality: a wide output table keeps the last layers from overspecialising.

Before fine-tuning, each layer's mean over a sentence's words is read by a linear probe, and asked
for the sentence's translation. What is measured is how far the last layer falls below the best one.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit_papers.chung2021 import (
    GENERALITY,
    before_fine_tuning,
    first_experiment,
    over_output_widths,
)


@claim(
    "chung2021/generality/probes-drop-less",
    says="The wider the output table, the less probes lose from the best layer to the last",
    where="abstract",
    family=GENERALITY,
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_keeps_probes_from_dropping(experiment):
    assert over_output_widths(experiment, before_fine_tuning("probe_drop")) < 0


@claim(
    "chung2021/generality/retrieval-drops-less",
    says="The wider the output table, the less retrieval across languages loses from the best "
    "layer to the last",
    where="abstract",
    family=GENERALITY,
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_keeps_retrieval_from_dropping(experiment):
    assert over_output_widths(experiment, before_fine_tuning("retrieval_drop")) < 0
