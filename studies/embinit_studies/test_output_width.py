"""Readings: what the abstract's sentences would lead one to expect besides what they say."""

from __future__ import annotations

from embinit.claims import Verdict, claim, planted
from embinit_papers.chung2021 import (
    USUAL,
    before_fine_tuning,
    masked_loss,
    over_output_widths,
    planting,
    pretrained_for,
)
from embinit_studies import OUTPUT_WIDTH
from embinit_studies.coupling import experiments, first_experiment, over_input_widths


@claim(
    "studies/output-width/matters-more-than-input-width",
    says="Widening the output table gains more than widening the input table as much",
    where="after the abstract",
    family=OUTPUT_WIDTH,
    experiments=experiments,
)
def test_output_width_matters_more_than_input_width(experiment):
    assert over_output_widths(experiment) > over_input_widths(experiment)


@claim(
    "studies/output-width/last-layer-probes-better",
    says="The wider the output table, the more probes read off the last layer",
    where="after the abstract",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_lifts_the_last_layers_probes(experiment):
    assert over_output_widths(experiment, before_fine_tuning("probe_last")) > 0


@claim(
    "studies/output-width/last-layer-retrieves-better",
    says="The wider the output table, the more translations the last layer finds",
    where="after the abstract",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_lifts_the_last_layers_retrieval(experiment):
    assert over_output_widths(experiment, before_fine_tuning("retrieval_last")) > 0


@claim(
    "studies/output-width/control-a-a",
    says="Control: a last layer's probe differs from the same model's on other seeds",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    expects=Verdict.NO_EFFECT,
)
def test_control_a_last_layer_against_itself(experiment):
    last = before_fine_tuning("probe_last")(experiment)
    assert last > last.on_other_seeds()


@claim(
    "studies/output-width/control-falsehood",
    says="Control: a model that was not pre-trained guesses hidden words better",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=first_experiment,
    expects=Verdict.REFUTED,
)
def test_control_pretraining_helps(experiment):
    raw = pretrained_for(experiment, 0)
    assert masked_loss(raw) < masked_loss(experiment)


@claim(
    "studies/output-width/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    family=OUTPUT_WIDTH,
    experiments=experiments,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


test_control_a_small_loss_is_found = planted(OUTPUT_WIDTH, on=planting(experiments), small=True)
