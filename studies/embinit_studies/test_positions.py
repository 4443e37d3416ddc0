"""Positions: added to the table, in attention, in both, or scored apart from the words."""

from __future__ import annotations

from embinit.claims import claim
from embinit_studies import POSITIONS
from embinit_studies.repairs import from_scheme, inputs


@claim(
    "studies/positions/told-twice-gain",
    says="Positions in attention in addition to added ones help GloVe",
    where="starts/positions/attention-helps-beside-the-sum",
    family=POSITIONS,
    experiments=inputs(),
)
def test_positions_in_both_places_gain(experiment):
    assert from_scheme(experiment, "both") > from_scheme(experiment, "standardised")


@claim(
    "studies/positions/meaning-adds-to-it",
    says="With positions in both, GloVe's table is better than Xavier's",
    where="starts/positions/meaning-adds-to-it",
    family=POSITIONS,
    experiments=inputs("translation"),
)
def test_meaning_adds_to_positions_in_both_places(experiment):
    assert from_scheme(experiment, "both") > from_scheme(experiment, "xavier-both")


@claim(
    "studies/positions/attention-alone-costs-inference",
    says="Positions in attention alone cost inference",
    where="starts/positions/attention-alone-costs-inference",
    family=POSITIONS,
    experiments=inputs("inference"),
)
def test_positions_in_attention_alone_cost_inference(experiment):
    assert from_scheme(experiment, "rotary") < from_scheme(experiment, "standardised")


@claim(
    "studies/positions/apart-help-sentiment",
    says="Separately scored positions help BERT's table to find a negation",
    where="starts/apart/helps-sentiment",
    family=POSITIONS,
    experiments=inputs("sentiment"),
)
def test_positions_scored_apart_help_sentiment(experiment):
    assert from_scheme(experiment, "bert-untied") > from_scheme(experiment, "bert")


@claim(
    "studies/positions/width-costs-though-nothing-is-added",
    says="A large-sigma table trains worse though it can absorb no positions",
    where="starts/apart/width-still-costs",
    family=POSITIONS,
    experiments=inputs(),
)
def test_a_large_sigma_table_costs_though_nothing_is_added(experiment):
    assert from_scheme(experiment, "raw-untied") < from_scheme(experiment, "untied")
