"""Section 6.1: word similarity in both tables, and masked words predicted (Table 8).

Human ratings of word pairs are, in the synthetic language, its own: which words are alike.
"""

from __future__ import annotations

from embinit.claims import claim
from embinit.lab.measures import (
    MASKED_ACCURACY,
    SIMILARITY_GAP,
    SIMILARITY_INPUT,
    SIMILARITY_OUTPUT,
)
from embinit_papers.chung2021 import (
    SECTION_6_1,
    measured,
    on_average,
    over_output_widths,
    where_shown,
)
from embinit_papers.chung2021.shapes import coupled, narrow_input, output_widths


@claim(
    "chung2021/section-6.1/input-similarity-alike",
    says="The decoupled input table has word similarity about as the coupled table has it",
    where="section 6.1, Table 8",
    family=SECTION_6_1,
    experiments=where_shown("word similarity"),
)
def test_the_input_table_keeps_word_similarity(experiment):
    decoupled = measured(experiment, SIMILARITY_INPUT)
    assert decoupled.alike(measured(coupled(experiment), SIMILARITY_INPUT))


@claim(
    "chung2021/section-6.1/output-similarity-below",
    says="The decoupled output table has less word similarity than the coupled table",
    where="section 6.1, Table 8",
    family=SECTION_6_1,
    experiments=where_shown("word similarity"),
)
def test_the_output_table_has_less_word_similarity(experiment):
    decoupled = measured(experiment, SIMILARITY_OUTPUT)
    assert decoupled < measured(coupled(experiment), SIMILARITY_OUTPUT)


@claim(
    "chung2021/section-6.1/gap-grows",
    says="The wider the output table, the further its word similarity is below the input table's",
    where="section 6.1, Table 8",
    family=SECTION_6_1,
    experiments=where_shown("word similarity"),
)
def test_a_wider_output_table_falls_further_below(experiment):
    assert over_output_widths(experiment, lambda arms: measured(arms, SIMILARITY_GAP)) > 0


@claim(
    "chung2021/section-6.1/wider-output-predicts-better",
    says="Each wider output table (H / 6, H, 4 H) predicts more of held-out text's masked words",
    where="section 6.1, Table 8",
    family=SECTION_6_1,
    experiments=on_average,
)
def test_each_wider_output_table_predicts_more_masked_words(experiment):
    narrow, own, wide = (
        measured(narrow_input(experiment, width), MASKED_ACCURACY)
        for width in output_widths(experiment)
    )
    assert narrow < own
    assert own < wide


@claim(
    "chung2021/section-6.1/decoupled-predicts-better",
    says="Two tables predict more of held-out text's masked words than one",
    where="section 6.1, Table 8",
    family=SECTION_6_1,
    experiments=on_average,
)
def test_two_tables_predict_more_masked_words(experiment):
    coupled_accuracy = measured(coupled(experiment), MASKED_ACCURACY)
    assert measured(experiment, MASKED_ACCURACY) > coupled_accuracy
