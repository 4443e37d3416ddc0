"""Geometry: the effects of the rows' lengths and directions at one energy of the table."""

from __future__ import annotations

from embinit.claims import Verdict, claim
from embinit_studies.starts import GEOMETRY, on_tasks, translation


@claim(
    "starts/geometry/equal-rows-are-as-good",
    says="Exploratory: rows of equal energy are as good a start as standardised ones",
    where="after Nguyen and Chiang 2018, FixNorm",
    family=GEOMETRY,
    experiments=on_tasks("translation", "sentiment"),
)
def test_rows_of_equal_energy_are_as_good(experiment):
    assert experiment.start("equal-rows") >= experiment.start("standardised")


@claim(
    "starts/geometry/all-but-the-top-is-as-good",
    says="Exploratory: without mean and first direction a table is as good a start as standardised",
    where="after Mu and Viswanath 2018",
    family=GEOMETRY,
    experiments=on_tasks(),
)
def test_all_but_the_top_is_as_good(experiment):
    assert experiment.start("all-but-the-top") >= experiment.start("standardised")


@claim(
    "starts/geometry/orthogonal-is-as-good",
    says="Exploratory: words and positions in subspaces of their own are as good a start",
    where="ours: a table can spare a quarter of its directions",
    family=GEOMETRY,
    experiments=on_tasks("translation", "sentiment"),
)
def test_orthogonal_subspaces_are_as_good(experiment):
    assert experiment.start("orthogonal") >= experiment.start("standardised")


@claim(
    "starts/geometry/whitening-costs-frozen-tables",
    says="Exploratory: Zipfian whitening costs a frozen table",
    where="ours, against Yokoi et al. 2024, who compare vectors and train nothing",
    family=GEOMETRY,
    experiments=on_tasks("sentiment", "inference"),
)
def test_whitening_costs_a_frozen_table(experiment):
    frozen = experiment.frozen()
    assert frozen.start("whitened") < frozen.start("standardised")


@claim(
    "starts/geometry/control-a-a",
    says="Control: the standardised table differs from itself on other seeds",
    where="control",
    family=GEOMETRY,
    experiments=translation,
    expects=Verdict.NO_EFFECT,
)
def test_control_standardised_against_itself(experiment):
    start = experiment.start("standardised")
    assert start > start.on_other_seeds()


@claim(
    "starts/geometry/control-falsehood",
    says="Control: the table as it is fares better than standardised",
    where="control",
    family=GEOMETRY,
    experiments=translation,
    expects=Verdict.REFUTED,
)
def test_control_the_table_as_it_is_does_not_fare_better(experiment):
    assert experiment.start("raw") > experiment.start("standardised")


@claim(
    "starts/geometry/control-sensitivity",
    says="Control: a planted loss, as large as the paper's largest, is found",
    where="control",
    family=GEOMETRY,
    experiments=translation,
    expects=Verdict.SUPPORTED,
)
def test_control_a_planted_loss_is_found(experiment):
    assert experiment.finds_planted()
