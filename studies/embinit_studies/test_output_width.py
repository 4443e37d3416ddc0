"""Readings: what the abstract's sentences would lead one to expect besides what they say."""

from __future__ import annotations

from embinit_studies import claim
from embinit_studies.two_languages import (
    before_fine_tuning,
    experiments,
    first_experiment,
    over_input_widths,
    over_output_widths,
)


@claim(
    "studies/output-width/matters-more-than-input-width",
    says="Widening the output table gains more than widening the input table as much",
    where="after the abstract",
    experiments=experiments,
)
def test_output_width_matters_more_than_input_width(experiment):
    assert over_output_widths(experiment) > over_input_widths(experiment)


@claim(
    "studies/output-width/last-layer-probes-better",
    says="The wider the output table, the more probes read off the last layer",
    where="after the abstract",
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_lifts_the_last_layers_probes(experiment):
    assert over_output_widths(experiment, before_fine_tuning("probe_last")) > 0


@claim(
    "studies/output-width/last-layer-retrieves-better",
    says="The wider the output table, the more translations the last layer finds",
    where="after the abstract",
    experiments=first_experiment,
    equal="finetuning",
)
def test_a_wider_output_table_lifts_the_last_layers_retrieval(experiment):
    assert over_output_widths(experiment, before_fine_tuning("retrieval_last")) > 0
