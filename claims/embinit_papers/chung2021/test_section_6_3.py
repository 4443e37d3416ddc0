"""Section 6.3: translations found by nearest neighbours in each layer (Figure 2, A.9)."""

from __future__ import annotations

from embinit.lab.measures import NEIGHBOURS_FALL, NEIGHBOURS_LAST_STEP, NEIGHBOURS_UPPER
from embinit_papers.chung2021 import claim, measured, over_output_widths, where_shown
from embinit_papers.chung2021.shapes import narrow_input, output_widths


@claim(
    "chung2021/section-6.3/upper-layers-translate",
    says="The wider the output table, the more translations the upper third of the layers finds",
    where="section 6.3, Figure 2",
    experiments=where_shown("translations"),
    equal="finetuning",
)
def test_upper_layers_translate_better_with_a_wider_output(experiment):
    assert over_output_widths(experiment, lambda arms: measured(arms, NEIGHBOURS_UPPER)) > 0


@claim(
    "chung2021/section-6.3/flatter-fall",
    says="The wider the output table, the less is lost from the best of the upper layers to the "
    "one before last",
    where="section 6.3, Figure 2",
    experiments=where_shown("translations"),
    equal="finetuning",
)
def test_the_fall_is_flatter_with_a_wider_output(experiment):
    assert over_output_widths(experiment, lambda arms: measured(arms, NEIGHBOURS_FALL)) < 0


@claim(
    "chung2021/section-6.3/last-layer-falls",
    says="At each output width the last layer finds fewer translations than the one before it",
    where="section 6.3, Figure 2",
    experiments=where_shown("translations"),
)
def test_the_last_layer_is_below_the_one_before(experiment):
    for width in output_widths(experiment):
        assert measured(narrow_input(experiment, width), NEIGHBOURS_LAST_STEP) > 0
