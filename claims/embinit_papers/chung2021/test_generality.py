"""Generality: a wide output table keeps the last layers from overspecialising.

Before fine-tuning, each layer's mean over a sentence's words is read by a linear probe, and asked
for the sentence's translation. What is measured is how far the last layer falls below the best one.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.chung2021 import (
    GENERALITY,
    before_fine_tuning,
    first_experiment,
    over_output_widths,
    pretrained_for,
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


@claim(
    "chung2021/generality/control-a-a",
    says="Control: a model's last layer probes otherwise than the same model's on other seeds",
    where="control",
    family=GENERALITY,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_last_layer_against_itself(experiment):
    last = before_fine_tuning("probe_last")(experiment)
    assert last > last.on_other_seeds()


@claim(
    "chung2021/generality/control-falsehood",
    says="Control: what probes lose from the best layer to the last, two margins lower, is above "
    "itself on other seeds",
    where="control",
    family=GENERALITY,
    experiments=first_experiment,
    expects=Verdict.REFUTED,
)
def test_control_a_lower_drop_is_no_higher(experiment):
    drop = before_fine_tuning("probe_drop")(experiment)
    assert drop.lowered(2 * drop.margin) > drop.on_other_seeds()


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
