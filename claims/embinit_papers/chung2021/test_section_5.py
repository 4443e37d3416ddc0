"""Section 5: wider output tables, layers that are dropped, and reinvested parameters.

Tables 4 to 6. A reinvested model has within 6 % of the coupled model's parameters in fine-tuning.
"""

from __future__ import annotations

from embinit_papers.chung2021 import claim, each_task, on_average, score, where_shown
from embinit_papers.chung2021.shapes import (
    coupled,
    layers_added,
    narrow_input,
    output_widths,
    reinvested_in_layers,
    reinvested_in_width,
)


@claim(
    "chung2021/section-5/wider-output-improves",
    says="At a narrow input, each wider output table (H / 6, H, 4 H) is fine-tuned better",
    where="section 5, Table 4",
    experiments=each_task,
    equal="finetuning",
)
def test_each_wider_output_table_improves(experiment):
    narrow, own, wide = (
        score(narrow_input(experiment, width)) for width in output_widths(experiment)
    )
    assert narrow < own
    assert own < wide


@claim(
    "chung2021/section-5/layers-added-help-less",
    says="Layers that are added in pre-training and dropped after it help less, on average, than "
    "an output table of the model's width that costs as much",
    where="section 5, Table 5",
    experiments=where_shown("layers"),
    equal="finetuning",
)
def test_layers_that_are_dropped_help_less(experiment):
    assert score(layers_added(experiment)) < score(narrow_input(experiment))


@claim(
    "chung2021/section-5/reinvested-in-width-above-coupled",
    says="Parameters saved by a narrow input and put into H beat the coupled model",
    where="section 5, Table 6",
    experiments=where_shown("width", each_task),
)
def test_reinvesting_in_width_beats_the_coupled_model(experiment):
    assert score(reinvested_in_width(experiment)) > score(coupled(experiment))


@claim(
    "chung2021/section-5/reinvested-in-layers-above-coupled",
    says="Parameters saved by a narrow input and put into layers beat the coupled model",
    where="section 5, Table 6",
    experiments=where_shown("layers", each_task),
)
def test_reinvesting_in_layers_beats_the_coupled_model(experiment):
    assert score(reinvested_in_layers(experiment)) > score(coupled(experiment))


@claim(
    "chung2021/section-5/layers-above-width",
    says="Saved parameters gain more in layers than in H",
    where="section 5, Table 6",
    experiments=where_shown("layers", each_task),
)
def test_layers_gain_more_than_width(experiment):
    assert score(reinvested_in_layers(experiment)) > score(reinvested_in_width(experiment))


@claim(
    "chung2021/section-5/narrow-input-below-coupled",
    says="Without reinvesting, the model with a narrow input is below the coupled one, on average",
    where="section 5, Table 6",
    experiments=on_average,
)
def test_a_narrow_input_alone_is_below_the_coupled_model(experiment):
    assert score(narrow_input(experiment)) < score(coupled(experiment))
