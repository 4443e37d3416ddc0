"""Controls: settings that must be worse, one for each task, and unequal budgets to be caught."""

from __future__ import annotations

from embinit.claims import Verdict
from embinit_papers.chung2021.setting import USUAL
from embinit_papers.chung2021.shapes import coupled, pretrained_for
from embinit_papers.kim2024 import blind, on_the_encoder, only_on, table1
from embinit_studies import TIERS, claim
from embinit_studies.repairs import inputs
from embinit_studies.table_pretraining import BERT_START, pretraining
from embinit_studies.two_languages import experiments, first_experiment


@claim(
    "studies/readings/control-falsehood",
    says="Control: a model that cannot distinguish words trains better than Xavier",
    where="control",
    experiments=only_on(on_the_encoder(table1("glove")), *TIERS),
    expects=Verdict.REFUTED,
)
def test_control_a_blind_model_does_not_fare_better(experiment):
    assert blind(experiment)["xavier"] > experiment["xavier"]


@claim(
    "studies/positions/control-blind",
    says="Control: a model that cannot distinguish words trains worse than Xavier",
    where="control",
    experiments=inputs("sentiment"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_blind_model_fares_worse_in_long_texts(experiment):
    assert blind(experiment)["xavier"] < experiment["xavier"]


@claim(
    "studies/decoupling/control-sensitivity",
    says="Control: pre-training teaches what fine-tuning shows",
    where="control",
    experiments=experiments,
    expects=Verdict.SUPPORTED,
)
def test_control_pretraining_is_seen(experiment):
    assert experiment[USUAL] > pretrained_for(experiment, 0)[USUAL]


@claim(
    "studies/decoupling/control-budget",
    says="Control: two tables and a single one have as many parameters at pre-training",
    where="control",
    experiments=first_experiment,
    expects=Verdict.NOT_RUN,
    equal="pretraining",
)
def test_control_a_second_table_has_parameters(experiment):
    assert experiment[USUAL] >= coupled(experiment)[USUAL]


@claim(
    "studies/pretrained-sigma/control-falsehood",
    says="Control: T5's table is wider when it starts from BERT's start",
    where="control",
    experiments=pretraining("t5"),
    expects=Verdict.REFUTED,
)
def test_control_a_narrow_start_does_not_widen(experiment):
    from_bert = experiment.with_training("from BERT's start", start=BERT_START)
    assert from_bert["pretrained"] > experiment["pretrained"]
