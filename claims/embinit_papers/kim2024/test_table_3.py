"""Table 3: init, trained or frozen, positions on or off, on Multi30k with GloVe."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_papers.kim2024 import TABLE_3, TRANSLATION, only_on, table1

INITS = ("xavier", "pretrained", "pretrained_xavier")


def grid(tier):
    """Multi30k with GloVe; the synthetic language's translation stands for it."""
    return table1("glove", tasks=TRANSLATION)(tier)[:1]


@claim(
    "kim2024/table-3/positions-gain-more-than-training",
    says="Positions alone gain more than training the table alone, whatever the init",
    where="Table 3, section 6",
    family=TABLE_3,
    experiments=grid,
)
def test_positions_gain_more_than_training(experiment):
    for init in INITS:
        assert experiment.frozen()[init] > experiment.without_positions()[init]


@claim(
    "kim2024/table-3/positions-gain-less-for-frozen-glove",
    says="Frozen too, positions gain less for raw GloVe than for Xavier and GloVe_Xavier",
    where="Table 3, section 6",
    family=TABLE_3,
    experiments=grid,
)
def test_positions_gain_less_for_frozen_glove(experiment):
    frozen = experiment.frozen()
    bare = frozen.without_positions()
    gain = frozen["pretrained"] - bare["pretrained"]
    assert gain < frozen["xavier"] - bare["xavier"]
    assert gain < frozen["pretrained_xavier"] - bare["pretrained_xavier"]


@claim(
    "kim2024/table-3/training-needs-positions",
    says="Training the table gains Xavier and GloVe_Xavier more with positions than without",
    where="Table 3",
    family=TABLE_3,
    experiments=grid,
)
def test_training_gains_more_with_positions(experiment):
    frozen, without = experiment.frozen(), experiment.without_positions()
    bare = frozen.without_positions()
    for init in ("xavier", "pretrained_xavier"):
        assert experiment[init] - frozen[init] > without[init] - bare[init]


@claim(
    "kim2024/table-3/raw-glove-peaks-late",
    says="Trained, raw GloVe reaches its best epoch later, with positions and without",
    where="Table 3, section 6",
    family=TABLE_3,
    experiments=only_on(grid, "sample", "paper"),
)
def test_raw_glove_reaches_its_best_epoch_late(experiment):
    for setting in (experiment, experiment.without_positions()):
        assert setting["pretrained"].best_epoch > setting["xavier"].best_epoch


@claim(
    "kim2024/table-3/control-a-a",
    says="Control: Xavier differs from Xavier on other seeds",
    where="control",
    family=TABLE_3,
    experiments=grid,
    expects=Verdict.NO_EFFECT,
)
def test_control_xavier_against_itself(experiment):
    assert experiment["xavier"] > experiment["xavier"].on_other_seeds()


@claim(
    "kim2024/table-3/control-falsehood",
    says="Control: switching positions off makes Xavier fare better",
    where="control",
    family=TABLE_3,
    experiments=grid,
    expects=Verdict.REFUTED,
)
def test_control_positions_do_not_hurt(experiment):
    assert experiment.without_positions()["xavier"] > experiment["xavier"]
