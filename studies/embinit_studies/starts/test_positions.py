"""Positions: added to the words, in the attention alone, or both."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.starts import BEST, POSITIONS, RIVALS, on_tasks, translation


@claim(
    "starts/positions/attention-helps-beside-the-sum",
    says="Exploratory: positions in attention beside added ones help GloVe's table",
    where="ours",
    family=POSITIONS,
    experiments=on_tasks("translation", "sentiment"),
)
def test_positions_in_attention_help_beside_added_ones(experiment):
    assert experiment.start("both") > experiment.start("standardised")


@claim(
    "starts/positions/attention-costs-nothing-beside-the-sum",
    says="Exploratory: where order decides, positions in attention beside added ones cost nothing",
    where="ours",
    family=POSITIONS,
    experiments=on_tasks("inference"),
)
def test_positions_in_attention_cost_nothing(experiment):
    assert experiment.start("both") >= experiment.start("standardised")


@claim(
    "starts/positions/attention-helps-xavier-too",
    says="Exploratory: positions in attention beside added ones help Xavier's table",
    where="ours",
    family=POSITIONS,
    experiments=on_tasks("translation", "sentiment"),
)
def test_positions_in_attention_help_xavier(experiment):
    assert experiment.start("xavier-both") > experiment.start("xavier")


@claim(
    "starts/positions/meaning-adds-to-it",
    says="Exploratory: with positions in both, GloVe's table is better than Xavier's",
    where="ours: meaning is kept",
    family=POSITIONS,
    experiments=on_tasks("translation"),
)
def test_meaning_adds_to_positions_in_both(experiment):
    assert experiment.start("both") > experiment.start("xavier-both")


@claim(
    "starts/positions/attention-alone-finds-negation",
    says="Exploratory: positions in attention alone help sentiment, where no added ones are used",
    where="ours: what is denied stands beside its negation",
    family=POSITIONS,
    experiments=on_tasks("sentiment"),
)
def test_positions_in_attention_alone_help_sentiment(experiment):
    assert experiment.start("rotary") > experiment.start("standardised")


@claim(
    "starts/positions/attention-alone-costs-inference",
    says="Exploratory: positions in attention alone cost inference",
    where="ours: words of two sentences are compared by their positions",
    family=POSITIONS,
    experiments=on_tasks("inference"),
)
def test_positions_in_attention_alone_cost_inference(experiment):
    assert experiment.start("rotary") < experiment.start("standardised")


@claim(
    "starts/positions/the-sum-helps-beside-attention",
    says="Exploratory: added positions beside those in attention help inference",
    where="ours",
    family=POSITIONS,
    experiments=on_tasks("inference"),
)
def test_added_positions_help_beside_those_in_attention(experiment):
    assert experiment.start("both") > experiment.start("rotary")


@claim(
    "starts/positions/attention-helps-berts-table-too",
    says="Exploratory: positions in attention beside added ones help another model's table too",
    where="ours: BERT's table of the made language",
    family=POSITIONS,
    experiments=on_tasks("translation", "sentiment"),
)
def test_positions_in_attention_help_berts_table(experiment):
    assert experiment.start("bert-both") > experiment.start("bert")


@claim(
    "starts/positions/best-trained",
    says="Exploratory: with positions in both, BERT's table is no worse than those near it",
    where="ours: it was the best of the seeds that were explored",
    family=POSITIONS,
    experiments=on_tasks(),
)
def test_positions_in_both_are_among_the_best(experiment):
    for rival in RIVALS:
        assert experiment.start(BEST) >= experiment.start(rival)


@claim(
    "starts/positions/best-frozen",
    says="Exploratory: with positions in both, BERT's frozen table is no worse than those near it",
    where="ours: it was the best of the seeds that were explored",
    family=POSITIONS,
    experiments=on_tasks(),
)
def test_positions_in_both_are_among_the_best_where_tables_are_frozen(experiment):
    frozen = experiment.frozen()
    for rival in RIVALS:
        assert frozen.start(BEST) >= frozen.start(rival)


@claim(
    "starts/positions/control-a-a",
    says="Control: the start with positions in both differs from itself on other seeds",
    where="control",
    family=POSITIONS,
    experiments=translation,
    expects=Verdict.NO_EFFECT,
)
def test_control_both_against_itself(experiment):
    start = experiment.start("both")
    assert start > start.on_other_seeds()


@claim(
    "starts/positions/control-falsehood",
    says="Control: Xavier fares better than GloVe with positions in both",
    where="control",
    family=POSITIONS,
    experiments=translation,
    expects=Verdict.REFUTED,
)
def test_control_xavier_does_not_fare_better(experiment):
    assert experiment.start("xavier") > experiment.start("both")


@claim(
    "starts/positions/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=POSITIONS,
    experiments=translation,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
