"""Section 6.1: masked words that are predicted (Table 8).

Word similarity is not asked: ``micro``'s pre-training teaches none, and human ratings of word pairs
are not among the data.
"""

from __future__ import annotations

from embinit.lab.measures import MASKED_ACCURACY
from embinit_papers.chung2021 import claim, measured, on_average
from embinit_papers.chung2021.shapes import coupled, narrow_input, output_widths


@claim(
    "chung2021/section-6.1/wider-output-predicts-better",
    says="Each wider output table (H / 6, H, 4 H) predicts more of held-out text's masked words",
    where="section 6.1, Table 8",
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
    experiments=on_average,
)
def test_two_tables_predict_more_masked_words(experiment):
    coupled_accuracy = measured(coupled(experiment), MASKED_ACCURACY)
    assert measured(experiment, MASKED_ACCURACY) > coupled_accuracy
