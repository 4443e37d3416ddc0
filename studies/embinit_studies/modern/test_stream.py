"""The residual stream: positions in it (finding 2), and large sigmas in pre-norm models."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.modern import OLD, STREAM, in_architectures


@claim(
    "modern/stream/raw-loses-less-without-added-positions",
    says="Prediction: with nothing added that a table could absorb, GloVe's as it is loses less "
    "to Xavier's",
    where="kim2024, finding 2: absorption",
    family=STREAM,
    experiments=in_architectures("post-norm-rotary"),
)
def test_raw_tables_lose_less_without_added_positions(experiment):
    old = experiment.with_architecture(OLD)
    assert experiment.pretrained() - experiment.xavier() < old.pretrained() - old.xavier()


@claim(
    "modern/stream/width-costs-less-without-added-positions",
    says="Prediction: with nothing added that a table could absorb, width costs less",
    where="kim2024, finding 2: absorption",
    family=STREAM,
    experiments=in_architectures("post-norm-rotary"),
)
def test_width_costs_less_without_added_positions(experiment):
    old = experiment.with_architecture(OLD)
    assert (
        experiment.xavier_pretrained() - experiment.xavier()
        < old.xavier_pretrained() - old.xavier()
    )


@claim(
    "modern/stream/a-wide-table-stays-in-the-stream",
    says="Exploratory: in pre-norm more of the last state is the embedding where the table is "
    "wide, before training and after",
    where="ours",
    family=STREAM,
    experiments=in_architectures("pre-norm", "llama"),
)
def test_a_wide_table_stays_in_the_stream(experiment):
    for measure in ("embedding_share", "embedding_share_after"):
        wide, narrow = experiment.xavier_pretrained(), experiment.xavier()
        assert wide.measured_by(measure) > narrow.measured_by(measure)


@claim(
    "modern/stream/a-wide-table-starves-the-layers",
    says="Exploratory: in pre-norm the first layer's gradient at step 0 is smaller where the "
    "table is wide",
    where="Takase et al., 2312.16903",
    family=STREAM,
    experiments=in_architectures("pre-norm", "llama"),
)
def test_a_wide_table_starves_the_layers(experiment):
    name = "first_layer_gradient_norm"
    assert experiment.xavier_pretrained().measured_by(name) < experiment.xavier().measured_by(name)


@claim(
    "modern/stream/a-wide-table-slows",
    says="Exploratory: in pre-norm the mean loss while it trains is higher from a wide table",
    where="ours",
    family=STREAM,
    experiments=in_architectures("pre-norm", "llama"),
)
def test_a_wide_table_slows(experiment):
    wide, narrow = experiment.xavier_pretrained(), experiment.xavier()
    assert wide.measured_by("loss_area") > narrow.measured_by("loss_area")


@claim(
    "modern/stream/not-by-its-share",
    says="Exploratory: where its rate grows with its width, a wide table is faster than Xavier's, "
    "however much of the stream it is",
    where="ours: the step slows, and not the share",
    family=STREAM,
    experiments=in_architectures("pre-norm", "llama"),
)
def test_a_wide_table_that_learns_is_faster(experiment):
    wide, narrow = experiment.with_scaled_table_rate().xavier_pretrained(), experiment.xavier()
    assert wide.measured_by("loss_area") < narrow.measured_by("loss_area")


@claim(
    "modern/stream/tied-starts-huge",
    says="Exploratory: a tied table that is wide makes the first loss higher than Xavier's",
    where="ours: its rows are the logits' weights",
    family=STREAM,
    experiments=in_architectures("llama-tied"),
)
def test_a_wide_tied_table_makes_the_first_loss_huge(experiment):
    narrow = experiment.xavier().measured_by("start_loss")
    assert experiment.pretrained().measured_by("start_loss") > narrow
    assert experiment.xavier_pretrained().measured_by("start_loss") > narrow


@claim(
    "modern/stream/control-a-a",
    says="Control: while it trains, Xavier's table differs from itself on other seeds",
    where="control",
    family=STREAM,
    experiments=in_architectures("llama"),
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    area = experiment.xavier().measured_by("loss_area", keep_margin=True)
    assert area > area.on_other_seeds()


@claim(
    "modern/stream/control-falsehood",
    says="Control: a tied table that is wide makes the first loss lower",
    where="control",
    family=STREAM,
    experiments=in_architectures("llama-tied"),
    expects=Verdict.REFUTED,
)
def test_control_a_wide_tied_table_does_not_lower_the_first_loss(experiment):
    wide, narrow = experiment.pretrained(), experiment.xavier()
    assert wide.measured_by("start_loss") < narrow.measured_by("start_loss")


@claim(
    "modern/stream/control-sensitivity",
    says="Control: a planted loss, as large as that of shuffling in post-norm, is seen",
    where="control",
    family=STREAM,
    experiments=in_architectures("pre-norm"),
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
