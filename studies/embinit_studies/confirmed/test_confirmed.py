"""Twelve statements of the studies, in worlds that none of them was explored in."""

from __future__ import annotations

from embinit.claims import a_a, claim, falsehood, planted
from embinit_studies.causes import contrast
from embinit_studies.confirmed import (
    DECODERS,
    POSITIONS,
    ROWS,
    WIDTH,
    decoders,
    inputs,
    tables,
    words,
)
from embinit_studies.repairs import REPAIRS


@claim(
    "confirmed/width/costs",
    says="A drawn table eight times as wide fares worse",
    where="causes/repair/width-costs",
    family=WIDTH,
    experiments=tables(),
)
def test_a_wide_table_fares_worse(experiment):
    assert experiment.large_sigma() < experiment.small_sigma()


@claim(
    "confirmed/width/all-three-repairs-restore",
    says="With scale, ratio and step repaired a wide table is as good as the narrow one",
    where="causes/repair/all-three-restore",
    family=WIDTH,
    experiments=tables(),
)
def test_all_three_repairs_restore_a_wide_table(experiment):
    assert experiment.large_sigma(*REPAIRS) >= experiment.small_sigma()


@claim(
    "confirmed/width/no-single-repair-restores",
    says="With a single cause repaired a wide table still fares worse than the narrow one",
    where="causes/repair/no-single-repair-does",
    family=WIDTH,
    experiments=tables("translation"),
)
def test_no_single_repair_restores_a_wide_table(experiment):
    for repair in REPAIRS:
        assert experiment.large_sigma(repair) < experiment.small_sigma()


@claim(
    "confirmed/width/step-weighs-most",
    says="Of the three repairs that of Adam's step brings a drawn table most",
    where="causes/effects",
    family=WIDTH,
    experiments=tables("translation"),
)
def test_the_step_weighs_most_for_a_drawn_table(experiment):
    for other in ("scale", "ratio"):
        assert contrast(experiment, "step") > contrast(experiment, other)


@claim(
    "confirmed/positions/told-twice-gain",
    says="Positions in attention beside added ones help GloVe's table",
    where="starts/positions/attention-helps-beside-the-sum",
    family=POSITIONS,
    experiments=inputs(),
)
def test_positions_told_twice_gain(experiment):
    assert experiment.start("both") > experiment.start("standardised")


@claim(
    "confirmed/positions/meaning-adds-to-it",
    says="With positions in both, GloVe's table is better than Xavier's",
    where="starts/positions/meaning-adds-to-it",
    family=POSITIONS,
    experiments=inputs("translation"),
)
def test_meaning_adds_to_positions_told_twice(experiment):
    assert experiment.start("both") > experiment.start("xavier-both")


@claim(
    "confirmed/positions/attention-alone-costs-inference",
    says="Positions in attention alone cost inference",
    where="starts/positions/attention-alone-costs-inference",
    family=POSITIONS,
    experiments=inputs("inference"),
)
def test_positions_in_attention_alone_cost_inference(experiment):
    assert experiment.start("rotary") < experiment.start("standardised")


@claim(
    "confirmed/positions/apart-help-sentiment",
    says="Positions scored apart help BERT's table where a negation has to be found",
    where="starts/apart/helps-sentiment",
    family=POSITIONS,
    experiments=inputs("sentiment"),
)
def test_positions_apart_help_sentiment(experiment):
    assert experiment.start("bert-untied") > experiment.start("bert")


@claim(
    "confirmed/positions/width-costs-though-nothing-is-added",
    says="A wide table fares worse though it can absorb no positions",
    where="starts/apart/width-still-costs",
    family=POSITIONS,
    experiments=inputs(),
)
def test_a_wide_table_costs_though_nothing_is_added(experiment):
    assert experiment.start("raw-untied") < experiment.start("untied")


@claim(
    "confirmed/rows/near-copies-learn-more-slowly",
    says="New tokens that start as near-copies are predicted worse in the end than rows of noise",
    where="extending/rows",
    family=ROWS,
    experiments=words,
)
def test_near_copies_learn_more_slowly_than_noise(experiment):
    last = [experiment[arm].measured_by("new_token_loss") for arm in ("near-copies", "noise")]
    assert last[0] > last[1]


@claim(
    "confirmed/decoders/width-costs",
    says="In a decoder a drawn table as wide as GloVe's ends at a higher loss",
    where="modern/width",
    family=DECODERS,
    experiments=decoders(),
)
def test_a_wide_table_costs_in_a_decoder(experiment):
    assert experiment.xavier_pretrained() > experiment.xavier()


@claim(
    "confirmed/decoders/its-rate-helps",
    says="In a decoder a drawn table that is wide gains by a rate that grows with its width",
    where="modern/step",
    family=DECODERS,
    experiments=decoders(),
)
def test_a_rate_that_grows_with_the_width_helps(experiment):
    stepped = experiment.with_scaled_table_rate()
    assert stepped.xavier_pretrained() < experiment.xavier_pretrained()


test_control_width_a_a = a_a(WIDTH, on=tables("translation"))
test_control_width_falsehood = falsehood(WIDTH, on=tables("translation"))
test_control_width_planted = planted(WIDTH, on=tables("translation"))
test_control_positions_a_a = a_a(POSITIONS, on=inputs("sentiment"))
test_control_positions_falsehood = falsehood(POSITIONS, on=inputs("sentiment"))
test_control_positions_planted = planted(POSITIONS, on=inputs("sentiment"))
test_control_rows_a_a = a_a(ROWS, on=words)
test_control_rows_falsehood = falsehood(ROWS, on=words)
test_control_rows_planted = planted(ROWS, on=words)
test_control_decoders_a_a = a_a(DECODERS, on=decoders("llama"))
test_control_decoders_falsehood = falsehood(DECODERS, on=decoders("llama"))
test_control_decoders_planted = planted(DECODERS, on=decoders("llama"))
