"""Positions: added to the table, in attention, in both, or scored apart from the words."""

from __future__ import annotations

from dataclasses import replace

from embinit.lab.specs import PositionSpec
from embinit_studies import claim
from embinit_studies.repairs import inputs


def added(arms, vectors="GloVe"):
    """The metric with positions added to standardized vectors."""
    return replace(arms["pretrained"], label=f"{vectors}, standardised")


def added_and_in_attention(arms, init="pretrained", table="GloVe"):
    """The metric with added positions, and rotary ones in attention."""
    label = f"{table}, positions added and in attention"
    return replace(arms.with_model(attention="rotary")[init], label=label)


def in_attention_alone(arms):
    """The metric with rotary positions in attention."""
    return _with_none_added(arms, "rotary", "GloVe, positions in attention alone")


def scored_apart(arms, vectors="GloVe"):
    """The metric with positions that attention scores apart from the words."""
    unscaled = " as it is" if arms.sigma is None else ""
    return _with_none_added(arms, "untied", f"{vectors}{unscaled}, positions scored apart")


def _with_none_added(arms, attention, label):
    arms = arms.changed(positions=PositionSpec("none")).with_model(attention=attention)
    return replace(arms["pretrained"], label=label)


@claim(
    "studies/positions/told-twice-gain",
    says="Positions in attention in addition to added ones help GloVe",
    where="starts/positions/attention-helps-beside-the-sum",
    experiments=inputs(),
)
def test_positions_in_both_places_gain(experiment):
    assert added_and_in_attention(experiment) > added(experiment)


@claim(
    "studies/positions/meaning-adds-to-it",
    says="With positions in both, GloVe's table is better than Xavier's",
    where="starts/positions/meaning-adds-to-it",
    experiments=inputs("translation"),
)
def test_meaning_adds_to_positions_in_both_places(experiment):
    xavier = added_and_in_attention(experiment, "xavier", "Xavier")
    assert added_and_in_attention(experiment) > xavier


@claim(
    "studies/positions/attention-alone-costs-inference",
    says="Positions in attention alone cost inference",
    where="starts/positions/attention-alone-costs-inference",
    experiments=inputs("inference"),
)
def test_positions_in_attention_alone_cost_inference(experiment):
    assert in_attention_alone(experiment) < added(experiment)


@claim(
    "studies/positions/apart-help-sentiment",
    says="Separately scored positions help BERT's table to find a negation",
    where="starts/apart/helps-sentiment",
    experiments=inputs("sentiment"),
)
def test_positions_scored_apart_help_sentiment(experiment):
    bert = experiment.changed(source="micro-bert")
    assert scored_apart(bert, "BERT") > added(bert, "BERT")


@claim(
    "studies/positions/width-costs-though-nothing-is-added",
    says="A large-sigma table trains worse though it can absorb no positions",
    where="starts/apart/width-still-costs",
    experiments=inputs(),
)
def test_a_large_sigma_table_costs_though_nothing_is_added(experiment):
    assert scored_apart(experiment.changed(sigma=None)) < scored_apart(experiment)
