"""Zero rows under clipping, and their repair.

A zero row that a norm reads has a gradient that is limited by the norm's epsilon alone. In
words-untied the input rows are zero while the output rows are healthy, as in the models of the
threads; repair takes the output row's direction.
"""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.extending import USUAL, ZERO, untied_words, untrained, words


@claim(
    "extending/zero/costs-a-step",
    says="With zero rows clipping leaves less of the first gradient than with rows of pieces",
    where="NeMo Automodel #3136; prime-rl #126",
    family=ZERO,
    experiments=untied_words,
)
def test_zero_rows_cost_a_step(experiment):
    kept = [experiment[arm].measured_by("kept_gradient") for arm in ("zero input", "subtokens")]
    assert kept[0] < kept[1]


@claim(
    "extending/zero/repair-saves-the-step",
    says="Rows repaired from the output table's direction keep more of the first gradient",
    where="NeMo Automodel #3136",
    family=ZERO,
    experiments=untied_words,
)
def test_repair_saves_the_step(experiment):
    kept = [
        experiment[arm].measured_by("kept_gradient") for arm in ("repaired input", "zero input")
    ]
    assert kept[0] > kept[1]


@claim(
    "extending/zero/repair-learns-faster",
    says="With repaired rows the loss is lower while the model is trained on",
    where="ours: does the lost step matter to Adam?",
    family=ZERO,
    experiments=untied_words,
)
def test_repaired_rows_learn_faster(experiment):
    mean = [experiment[arm].measured_by("loss_area") for arm in ("repaired input", "zero input")]
    assert mean[0] < mean[1]


@claim(
    "extending/zero/control-a-a",
    says="Control: rows of noise fare otherwise than on other seeds",
    where="control",
    family=ZERO,
    experiments=words,
    expects=Verdict.NO_EFFECT,
)
def test_control_noise_against_itself(experiment):
    mean = experiment[USUAL].measured_by("loss_area")
    assert mean < mean.on_other_seeds()


@claim(
    "extending/zero/control-falsehood",
    says="Control: in a tied table zero rows keep more of the first gradient than mean rows",
    where="control",
    family=ZERO,
    experiments=words,
    expects=Verdict.REFUTED,
)
def test_control_zero_rows_of_a_tied_table_keep_less(experiment):
    kept = [experiment[arm].measured_by("kept_gradient") for arm in ("zero", "mean")]
    assert kept[0] > kept[1]


@claim(
    "extending/zero/control-sensitivity",
    says="Control: what the base learnt shows after training on",
    where="control",
    family=ZERO,
    experiments=words,
    expects=Verdict.SUPPORTED,
)
def test_control_the_base_is_seen(experiment):
    assert experiment[USUAL] < untrained(experiment)[USUAL]
