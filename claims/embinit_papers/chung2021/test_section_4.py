"""Section 4: decoupling alone, and narrower input or output tables (Tables 2 and 3)."""

from __future__ import annotations

from embinit_papers.chung2021 import claim, on_average, score
from embinit_papers.chung2021.shapes import coupled, narrow_input, narrow_output


@claim(
    "chung2021/section-4/decoupling-alike",
    says="Two tables of equal widths are fine-tuned about as well as one, on average",
    where="section 4, Table 2",
    experiments=on_average,
    equal="finetuning",
)
def test_decoupling_alone_changes_little(experiment):
    assert score(experiment).alike(score(coupled(experiment)))


@claim(
    "chung2021/section-4/narrow-input-not-below-narrow-output",
    says="A narrow input table is no worse than a narrow output table, on average, with far fewer "
    "parameters in fine-tuning",
    where="section 4, Table 3",
    experiments=on_average,
)
def test_a_narrow_input_costs_no_more_than_a_narrow_output(experiment):
    assert score(narrow_input(experiment)) >= score(narrow_output(experiment))


@claim(
    "chung2021/section-4/narrow-output-costs",
    says="A narrow output table is worse than one of the model's width, on average",
    where="section 4, Tables 2 and 3",
    experiments=on_average,
    equal="finetuning",
)
def test_a_narrow_output_costs(experiment):
    assert score(narrow_output(experiment)) < score(experiment)


@claim(
    "chung2021/section-4/narrow-input-costs",
    says="A narrow input table is worse than one of the model's width, on average",
    where="section 4, Tables 2 and 3",
    experiments=on_average,
)
def test_a_narrow_input_costs(experiment):
    assert score(narrow_input(experiment)) < score(experiment)
