"""Untied attention (TUPE): positions have scores of their own and are not added."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.starts import UNTIED, on_real_text, on_tasks, translation


@claim(
    "starts/apart/helps-sentiment",
    says="Exploratory: positions scored apart help BERT's table where a negation has to be found",
    where="ours, after Ke et al. 2021 (TUPE)",
    family=UNTIED,
    experiments=on_tasks("sentiment"),
)
def test_positions_apart_help_sentiment(experiment):
    assert experiment.start("bert-untied") > experiment.start("bert")


@claim(
    "starts/apart/costs-nothing",
    says="Exploratory: positions scored apart cost nothing where added ones serve",
    where="ours, after Ke et al. 2021 (TUPE)",
    family=UNTIED,
    experiments=on_tasks("translation", "inference"),
)
def test_positions_apart_cost_nothing(experiment):
    assert experiment.start("bert-untied") >= experiment.start("bert")


@claim(
    "starts/apart/as-good-as-both",
    says="Exploratory: positions scored apart are as good as added and rotary ones together",
    where="ours",
    family=UNTIED,
    experiments=on_tasks("sentiment", "inference"),
)
def test_positions_apart_are_as_good_as_positions_in_both(experiment):
    assert experiment.start("bert-untied") >= experiment.start("bert-both")


@claim(
    "starts/apart/helps-a-frozen-table",
    says="Exploratory: in translation positions scored apart help BERT's frozen table",
    where="ours: nothing drowns its words",
    family=UNTIED,
    experiments=on_tasks("translation"),
)
def test_positions_apart_help_a_frozen_table(experiment):
    frozen = experiment.frozen()
    assert frozen.start("bert-untied") > frozen.start("bert")


@claim(
    "starts/apart/width-still-costs",
    says="Exploratory: a wide table fares worse though it can absorb no positions",
    where="ours, against kim2024, finding 2, as the only cause",
    family=UNTIED,
    experiments=on_tasks(),
)
def test_a_wide_table_costs_though_nothing_is_added(experiment):
    assert experiment.start("raw-untied") < experiment.start("untied")


@claim(
    "starts/apart/control-a-a",
    says="Control: positions scored apart differ from themselves on other seeds",
    where="control",
    family=UNTIED,
    experiments=translation,
    expects=Verdict.NO_EFFECT,
)
def test_control_positions_apart_against_themselves(experiment):
    start = experiment.start("bert-untied")
    assert start > start.on_other_seeds()


@claim(
    "starts/apart/control-falsehood",
    says="Control: added positions serve sentiment better than those scored apart",
    where="control",
    family=UNTIED,
    experiments=on_tasks("sentiment"),
    expects=Verdict.REFUTED,
)
def test_control_added_positions_do_not_serve_sentiment_better(experiment):
    assert experiment.start("bert") > experiment.start("bert-untied")


@claim(
    "starts/apart/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=UNTIED,
    experiments=translation,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()


@claim(
    "starts/apart/real-text-not-worse",
    says="Exploratory: on real text positions scored apart serve translation as added ones do",
    where="ours, of micro",
    family=UNTIED,
    experiments=on_real_text("translation"),
)
def test_on_real_text_positions_apart_are_not_worse(experiment):
    assert experiment.start("untied") >= experiment.start("standardised")
    assert experiment.start("xavier-untied") >= experiment.start("xavier")


@claim(
    "starts/apart/real-text-above-xavier",
    says="Exploratory: on real text vectors with positions scored apart are above Xavier",
    where="ours, of micro",
    family=UNTIED,
    experiments=on_real_text("translation"),
)
def test_on_real_text_positions_apart_are_above_xavier(experiment):
    assert experiment.start("untied") > experiment.start("xavier")


@claim(
    "starts/apart/real-text-falsehood",
    says="Control: on real text Xavier is above vectors with positions scored apart",
    where="control",
    family=UNTIED,
    experiments=on_real_text("translation", source="glove"),
    expects=Verdict.REFUTED,
)
def test_control_on_real_text_xavier_is_not_above(experiment):
    assert experiment.start("xavier") > experiment.start("untied")
