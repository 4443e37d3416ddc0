"""Controls: what claims are about must be there to be seen, and unequal budgets must be caught."""

from __future__ import annotations

from embinit.claims import Verdict
from embinit.lab.measures import MASKED_ACCURACY, NEIGHBOURS_LAST_STEP, NEIGHBOURS_UPPER, PROBE_MIX
from embinit_papers.chung2021 import claim, each_task, measured, on_average, score, where_shown
from embinit_papers.chung2021.shapes import coupled, deeper, narrow_input, pretrained_for


@claim(
    "chung2021/section-5/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    experiments=each_task,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert score(experiment) > score(pretrained_for(experiment, 0))


@claim(
    "chung2021/section-5/control-depth",
    says="Control: one more layer of equal width is fine-tuned better",
    where="control",
    experiments=where_shown("layers"),
    expects=Verdict.SUPPORTED,
)
def test_control_one_more_layer_helps(experiment):
    assert score(deeper(experiment)) > score(experiment)


@claim(
    "chung2021/section-5/control-budget",
    says="Control: a narrow and a coupled input table have as many parameters in fine-tuning",
    where="control",
    experiments=on_average,
    expects=Verdict.NOT_RUN,
    equal="finetuning",
)
def test_control_unequal_budgets_are_caught(experiment):
    assert score(narrow_input(experiment)) > score(coupled(experiment))


@claim(
    "chung2021/section-6.1/control-sensitivity",
    says="Control: pre-training teaches to predict masked words",
    where="control",
    experiments=on_average,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen_by_masked_words(experiment):
    untaught = pretrained_for(experiment, 0)
    assert measured(experiment, MASKED_ACCURACY) > measured(untaught, MASKED_ACCURACY)


@claim(
    "chung2021/section-6.2/control-sensitivity",
    says="Control: pre-training teaches what probes on a mix of layers read",
    where="control",
    experiments=where_shown("probes"),
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen_by_probes(experiment):
    untaught = pretrained_for(experiment, 0)
    assert measured(experiment, PROBE_MIX) > measured(untaught, PROBE_MIX)


@claim(
    "chung2021/section-6.3/control-sensitivity",
    says="Control: pre-training teaches upper layers to translate, and specialises the last one",
    where="control",
    experiments=where_shown("translations"),
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen_by_neighbours(experiment):
    untaught = pretrained_for(experiment, 0)
    assert measured(experiment, NEIGHBOURS_UPPER) > measured(untaught, NEIGHBOURS_UPPER)
    last_step = measured(experiment, NEIGHBOURS_LAST_STEP)
    assert last_step > measured(untaught, NEIGHBOURS_LAST_STEP)
