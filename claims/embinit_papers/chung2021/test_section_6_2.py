"""Section 6.2: fine-tuning without the last layers, and probes on a mix of all (Figure 1, Table 9).

All arms have a narrow input. A cost is the accuracy lost without so many last layers.
"""

from __future__ import annotations

from embinit.lab.measures import PROBE_MIX
from embinit_papers.chung2021 import claim, cost, measured, over_output_widths, where_shown
from embinit_papers.chung2021.shapes import narrow_input, output_widths


@claim(
    "chung2021/section-6.2/narrow-output-needs-no-last-layers",
    says="With a narrow output table, fine-tuning without the last one or two layers costs nothing",
    where="section 6.2, Figure 1",
    experiments=where_shown("removal"),
)
def test_a_narrow_output_needs_no_last_layers(experiment):
    narrow = narrow_input(experiment, output_widths(experiment)[0])
    assert cost(narrow, 1) <= 0
    assert cost(narrow, 2) <= 0


@claim(
    "chung2021/section-6.2/wide-output-needs-the-last-layers",
    says="With a wide output table, fine-tuning without any of the last layers costs",
    where="section 6.2, Figure 1",
    experiments=where_shown("removal"),
)
def test_a_wide_output_needs_the_last_layers(experiment):
    wide = narrow_input(experiment, output_widths(experiment)[-1])
    assert cost(wide, 1) > 0
    assert cost(wide, 2) > 0
    assert cost(wide, 3) > 0


@claim(
    "chung2021/section-6.2/removal-costs-more",
    says="The wider the output table, the more fine-tuning without the last one or two layers "
    "costs",
    where="section 6.2, Figure 1",
    experiments=where_shown("removal"),
)
def test_removal_costs_more_with_a_wider_output(experiment):
    assert over_output_widths(experiment, lambda arms: cost(arms, 1)) > 0
    assert over_output_widths(experiment, lambda arms: cost(arms, 2)) > 0


@claim(
    "chung2021/section-6.2/own-width-needs-all-but-one",
    says="With an output table of the model's width, fine-tuning without one layer costs nothing, "
    "and without more it costs",
    where="section 6.2, Figure 1",
    experiments=where_shown("removal"),
)
def test_the_own_width_needs_all_layers_but_one(experiment):
    own = narrow_input(experiment)
    assert cost(own, 1) <= 0
    assert cost(own, 2) > 0
    assert cost(own, 3) > 0


@claim(
    "chung2021/section-6.2/mixed-probes-improve",
    says="The wider the output table, the more probes read off a mix of all layers",
    where="section 6.2, Table 9",
    experiments=where_shown("probes"),
    equal="finetuning",
)
def test_probes_on_a_mix_improve_with_the_output_width(experiment):
    assert over_output_widths(experiment, lambda arms: measured(arms, PROBE_MIX)) > 0
