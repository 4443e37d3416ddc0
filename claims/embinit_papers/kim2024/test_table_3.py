"""Table 3: init, trained or frozen, positions on or off, on Multi30k with GloVe."""

from __future__ import annotations

from embinit_papers.kim2024 import claim, no_vectors, only_on, table3

INITS = ("xavier", "pretrained", "pretrained_xavier")


@claim(
    "kim2024/table-3/positions-gain-more-than-training",
    says="Positions alone gain more than training the table alone, whatever the init",
    where="Table 3, section 6",
    experiments=table3,
)
def test_positions_gain_more_than_training(experiment):
    for init in INITS:
        assert experiment.frozen()[init] > experiment.without_positions()[init]


@claim(
    "kim2024/table-3/positions-gain-xavier-more-than-training",
    says="Positions alone gain Xavier more than training the table alone",
    where="Table 3, section 6",
    experiments=no_vectors("glove", task="multi30k"),
)
def test_positions_gain_xavier_more_than_training(experiment):
    assert experiment.frozen()["xavier"] > experiment.without_positions()["xavier"]


@claim(
    "kim2024/table-3/positions-gain-less-for-frozen-glove",
    says="Frozen too, positions gain less for unscaled GloVe than for Xavier and GloVe_Xavier",
    where="Table 3, section 6",
    experiments=table3,
)
def test_positions_gain_less_for_frozen_glove(experiment):
    frozen = experiment.frozen()
    bare = frozen.without_positions()
    gain = frozen["pretrained"] - bare["pretrained"]
    assert gain < frozen["xavier"] - bare["xavier"]
    assert gain < frozen["pretrained_xavier"] - bare["pretrained_xavier"]


@claim(
    "kim2024/table-3/standardised-has-the-least-loss",
    says="GloVe_Xavier, frozen or trained, ends at a lower loss than GloVe or Xavier",
    where="Table 3",
    experiments=table3,
)
def test_standardised_glove_ends_at_the_least_loss(experiment):
    for setting in (experiment, experiment.frozen()):
        loss = setting["pretrained_xavier"].measured_by("validation_loss")
        for init in INITS[:2]:
            assert loss < setting[init].measured_by("validation_loss")


@claim(
    "kim2024/table-3/raw-glove-peaks-late",
    says="Trained, unscaled GloVe reaches its best epoch later, with positions and without",
    where="Table 3, section 6",
    experiments=only_on(table3, "sample", "paper", "full"),
)
def test_raw_glove_reaches_its_best_epoch_late(experiment):
    for setting in (experiment, experiment.without_positions()):
        assert setting["pretrained"].best_epoch > setting["xavier"].best_epoch


@claim(
    "kim2024/table-3/training-alone-gains-standardised-nothing",
    says="Without positions, training the table does not make GloVe_Xavier train better",
    where="Table 3",
    experiments=table3,
)
def test_training_alone_gains_standardised_glove_nothing(experiment):
    bare = experiment.without_positions()
    assert bare["pretrained_xavier"] <= bare.frozen()["pretrained_xavier"]
