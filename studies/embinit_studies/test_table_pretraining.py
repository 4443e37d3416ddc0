"""Why T5's sigma is large and BERT's is not: synthetic pre-trainings with one change each.

The paper (section 3.3) has T5's table unbounded because positions aren't added to it. Its recipe
differs from BERT's in two more things that bear on width: the sigma that the table starts from, and
Adafactor's parameter scale, which makes steps proportional to the table. Exploratory; the paper
trains neither. The sigma of the table is what is measured.
"""

from __future__ import annotations

from dataclasses import replace

from embinit_studies import claim
from embinit_studies.table_pretraining import BERT_START, T5_RATE, T5_START, pretraining


@claim(
    "studies/pretrained-sigma/t5-widens",
    says="Exploratory: the large sigma of T5's table grows as it trains",
    where="beyond section 3.3",
    experiments=pretraining("t5"),
)
def test_t5_s_table_widens(experiment):
    assert experiment["pretrained"] > T5_START


@claim(
    "studies/pretrained-sigma/parameter-scale-widens-t5",
    says="Exploratory: with steps that don't grow with it, T5's sigma grows less",
    where="beyond section 3.3",
    experiments=pretraining("t5"),
)
def test_the_parameter_scale_widens_t5_s_table(experiment):
    unscaled = experiment.with_training(
        "without parameter scale", optimizer="adafactor-but-for-the-table"
    )
    assert unscaled["pretrained"] < experiment["pretrained"]


@claim(
    "studies/pretrained-sigma/added-positions-bound-t5",
    says="Exploratory: with positions added to the table, T5's sigma grows less",
    where="section 3.3",
    experiments=pretraining("t5"),
)
def test_added_positions_bound_t5_s_table(experiment):
    added = experiment.with_training("with positions added", relative=False)
    assert added["pretrained"] < experiment["pretrained"]


@claim(
    "studies/pretrained-sigma/relative-positions-free-bert",
    says="Exploratory: with relative positions, which aren't added, BERT's sigma grows more",
    where="section 3.3",
    experiments=pretraining("bert"),
)
def test_relative_positions_free_bert_s_table(experiment):
    relative = experiment.with_training("with relative positions", relative=True)
    assert relative["pretrained"] > experiment["pretrained"]


@claim(
    "studies/pretrained-sigma/parameter-scale-holds-bert",
    says="Exploratory: under Adafactor, steps in proportion to it keep BERT's sigma smaller",
    where="beyond section 3.3",
    experiments=pretraining("bert"),
)
def test_the_parameter_scale_holds_bert_s_table(experiment):
    scaled, unscaled = (
        experiment.with_training(said, optimizer=optimizer, rate=T5_RATE)
        for said, optimizer in (
            ("with Adafactor", "adafactor"),
            ("with Adafactor without parameter scale", "adafactor-but-for-the-table"),
        )
    )
    assert scaled["pretrained"] < unscaled["pretrained"]


@claim(
    "studies/pretrained-sigma/the-start-decides",
    says="Exploratory: with initializations exchanged, T5's sigma is the smaller one",
    where="beyond section 3.3",
    experiments=pretraining("t5"),
)
def test_the_start_decides(experiment):
    [bert] = pretraining("bert")(experiment.tier)
    bert = replace(bert, seeds=experiment.seeds)
    bert = bert.with_training("from T5's start", start=T5_START)
    from_bert = experiment.with_training("from BERT's start", start=BERT_START)
    assert from_bert["pretrained"] < bert["pretrained"]
