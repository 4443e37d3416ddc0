"""Measures: what is read off outputs is what the metric's library says, and one entry adds one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_experiment, make_result, make_table, set_apart
from embinit.claims.curves import (
    at_epoch,
    distance_from,
    epochs_to,
    over_epochs,
    over_last,
    peak,
    peak_epoch,
)
from embinit.errors import InputError
from embinit.lab.measures import table_statistic
from embinit.runs.measures import MEASURES, Measure, measure
from embinit.stats.statements import Verdict

ONE = make_experiment()
RUN = ONE.run("xavier", 0)


@given(st.floats(0, 700))
def test_perplexity_is_e_to_the_loss(loss):
    """Beyond all numbers it is none, as of a run that diverged."""
    assert MEASURES["perplexity"].of(make_result(RUN, validation_loss=loss)) == math.exp(loss)
    assert MEASURES["perplexity"].of(make_result(RUN, validation_loss=loss + 1e4)) is None


def test_what_lacks_its_material_has_no_such_measure():
    """Runs stored without curves."""
    for known in (MEASURES["perplexity"], over_epochs(MEASURES["bleu"])):
        assert known.of(make_result(RUN)) is None
    assert epochs_to(MEASURES["bleu"], 1.0).of(make_result(RUN)) is None


@given(st.lists(st.integers(-3, 3), min_size=1), st.sampled_from(["up", "down"]))
def test_a_curve_peaks_where_it_is_best_first(points, better):
    """As numpy finds it; a curve without a direction has no peak."""
    known = replace(MEASURES["bleu"], better=better)
    result = make_result(RUN, curves={known.curve: tuple(map(float, points))})
    extremes = {"up": (np.max, np.argmax), "down": (np.min, np.argmin)}[better]
    found = peak(known).of(result), peak_epoch(known).of(result)
    assert found == (extremes[0](points), extremes[1](points) + 1)
    with pytest.raises(InputError, match="doesn't say which way it goes"):
        peak(replace(known, better=None))


@pytest.mark.parametrize("name", list(MEASURES))
def test_every_measure_is_registered_whole(name):
    """Under its own name, in words, with a way that is better or none, and its curve."""
    known = MEASURES[name]
    assert known.name == name
    assert known.in_words
    assert "_" not in known.in_words
    assert known.better in ("up", "down", None)
    assert measure(name) is measure(known) is known
    if known.curve is not None:
        result = make_result(RUN, curves={known.curve: (1.0, 4.0)})
        assert [at_epoch(known, epoch).of(result) for epoch in (1, 2, 3)] == [1.0, 4.0, None]
        assert over_epochs(known).of(result) == 2.5
        assert over_last(known, 1).of(result) == 4.0
        assert over_last(known, 9).of(result) is None
        assert distance_from(known, [2.0, 2.0]).of(result) == 2.0
        assert distance_from(known, [2.0]).of(result) is None
        if known.better is None:
            with pytest.raises(InputError, match="doesn't say which way it goes"):
                epochs_to(known, 1.0)
            known = replace(known, better="up")
        wanted = {"down": [None, 1.0, 1.0, 1.0], "up": [1.0, 1.0, 2.0, None]}
        reached = [epochs_to(known, value).of(result) for value in (0.5, 1.0, 2.0, 9.0)]
        assert reached == wanted[known.better]
        kept = [at_epoch(known, 1), over_epochs(known), over_last(known, 2)]
        kept += [distance_from(known, [1.0]), distance_from(known, [2.0])]
        assert len({known, at_epoch(known, 2), epochs_to(known, 1), *kept}) == len(kept) + 3
        assert epochs_to(known, 1).unit == "epochs"
        for derived in kept:
            assert (derived.unit, derived.better) == (known.unit, known.better)
            assert "_" not in derived.in_words
    else:
        for derive in (
            lambda one: at_epoch(one, 1),
            over_epochs,
            lambda one: over_last(one, 1),
            lambda one: distance_from(one, [1.0]),
            lambda one: epochs_to(replace(one, better="up"), 1.0),
        ):
            with pytest.raises(InputError, match=f"no curve shows {name} while a run trains"):
                derive(known)


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        (lambda one: at_epoch(one, 0), "there is no epoch 0"),
        (lambda one: over_last(one, 0), "there are no last 0 epochs"),
        (lambda one: distance_from(one, []), "a reference curve has finite numbers"),
        (lambda one: distance_from(one, [1.0, float("nan")]), "a reference curve has finite"),
    ],
)
def test_a_reading_of_a_curve_that_cannot_be_is_refused(derive, message):
    with pytest.raises(InputError, match=message):
        derive(MEASURES["bleu"])


@pytest.mark.parametrize("name", ["minimum", "maximum", "mean", "sigma", "rows"])
def test_a_tables_statistic_is_read_off_the_encoders_table(name):
    table = make_table(**{name: 7})
    read = table_statistic(name)
    tables = {"decoder": make_table(), "encoder": table}
    assert read.of(make_result(RUN, tables=tables)) == 7.0
    assert read.of_start
    assert read.of(make_result(RUN, tables={"decoder": table})) is None


@pytest.fixture
def registry(monkeypatch):
    """The measures; what a test registers is gone after it."""
    set_apart(monkeypatch, MEASURES)
    return MEASURES


def test_a_registered_measure_is_compared_with_nothing_else_changed(registry):
    """By its name, in its unit and words; where it is missing is told so."""
    longest = Measure(
        "longest_output",
        "characters",
        "the longest output",
        "down",
        read=lambda result: max(map(len, result.outputs), default=None),
    )
    registry.register("longest_output", longest)
    raw, base = (
        ONE[init].measured_by("longest_output").with_seeds(6) for init in ("pretrained", "xavier")
    )
    assert (raw.measure, raw.unit, raw.margin) == (longest, "characters", 0.0)

    def lookup(run):
        length = 2 * run.seed + (9 if run.recipe.table.init == "xavier" else run.seed % 2)
        return make_result(run, outputs=["a" * length], references=["b"])

    decision = (raw < base).decide(lookup, 0.01)
    assert decision.verdict is Verdict.SUPPORTED
    assert (decision.left[1], decision.right[1]) == (3, 11)
    lost = str((raw < base).decide(make_result, 0.01))
    assert lost.startswith("GloVe < Xavier: NOT RUN (GloVe has no the longest output from seeds 0")
