"""Measures: what is read off outputs is what the metric's library says, and one entry adds one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import make_experiment, make_result, make_table, set_apart
from embinit.errors import InputError
from embinit.lab.measures import table_statistic
from embinit.runs.measures import MEASURES, Measure, measure
from embinit.stats.statements import Verdict

ONE = make_experiment()
RUN = ONE.run("xavier", 0)


def on(measure):
    """An arm of that measure, off whose curve more is read."""
    return ONE["xavier"].measured_by(measure).with_margin(2.0)


@given(st.floats(0, 700))
def test_perplexity_is_e_to_the_loss(loss):
    """Beyond all numbers it is none, as of a run that diverged."""
    assert MEASURES["perplexity"].of(make_result(RUN, validation_loss=loss)) == math.exp(loss)
    assert MEASURES["perplexity"].of(make_result(RUN, validation_loss=loss + 1e4)) is None


def test_what_lacks_its_material_has_no_such_measure():
    """Runs stored without curves."""
    for known in (MEASURES["perplexity"], on(MEASURES["bleu"]).over_epochs.measure):
        assert known.of(make_result(RUN)) is None
    assert on(MEASURES["bleu"]).epochs_to(1.0).measure.of(make_result(RUN)) is None


@given(st.lists(st.integers(-3, 3), min_size=1), st.sampled_from(["up", "down"]))
def test_a_curve_peaks_where_it_is_best_first(points, better):
    """As numpy finds it; a curve without a direction has no peak."""
    known = replace(MEASURES["bleu"], better=better)
    result = make_result(RUN, curves={known.curve: tuple(map(float, points))})
    extremes = {"up": (np.max, np.argmax), "down": (np.min, np.argmin)}[better]
    arm = on(known)
    found = arm.peak.measure.of(result), arm.peak_epoch.measure.of(result)
    assert found == (extremes[0](points), extremes[1](points) + 1)
    with pytest.raises(InputError, match="doesn't say which way it goes"):
        _ = on(replace(known, better=None)).peak


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
        arm = on(known)

        def read(*quantities):
            return [quantity.measure.of(result) for quantity in quantities]

        assert read(*map(arm.at_epoch, (1, 2, 3))) == [1.0, 4.0, None]
        assert read(arm.over_epochs, arm.over_last(1), arm.over_last(9)) == [2.5, 4.0, None]
        assert read(arm.distance_from([2.0, 2.0]), arm.distance_from([2.0])) == [2.0, None]
        if known.better is None:
            with pytest.raises(InputError, match="doesn't say which way it goes"):
                arm.epochs_to(1.0)
            known = replace(known, better="up")
            arm = on(known)
        wanted = {"down": [None, 1.0, 1.0, 1.0], "up": [1.0, 1.0, 2.0, None]}
        assert read(*map(arm.epochs_to, (0.5, 1.0, 2.0, 9.0))) == wanted[known.better]
        kept = [arm.at_epoch(1), arm.over_epochs, arm.over_last(2)]
        kept += [arm.distance_from([1.0]), arm.distance_from([2.0])]
        others = [arm.at_epoch(2), arm.epochs_to(1)]
        assert len({known, *(one.measure for one in (*kept, *others))}) == len(kept) + 3
        assert (arm.epochs_to(1).unit, arm.epochs_to(1).margin) == ("epochs", 0)
        for derived in kept:
            assert (derived.unit, derived.margin) == (arm.unit, arm.margin)
            assert (derived.measure.unit, derived.measure.better) == (known.unit, known.better)
            assert "_" not in derived.measure.in_words
    else:
        for derive in (
            lambda arm: arm.at_epoch(1),
            lambda arm: arm.over_epochs,
            lambda arm: arm.over_last(1),
            lambda arm: arm.distance_from([1.0]),
        ):
            with pytest.raises(InputError, match=f"no curve shows {name} while a run trains"):
                derive(on(known))


@pytest.mark.parametrize(
    ("derive", "message"),
    [
        (lambda arm: arm.at_epoch(0), "there is no epoch 0"),
        (lambda arm: arm.over_last(0), "there are no last 0 epochs"),
        (lambda arm: arm.distance_from([]), "a reference curve has finite numbers"),
        (lambda arm: arm.distance_from([1.0, float("nan")]), "a reference curve has finite"),
    ],
)
def test_a_reading_of_a_curve_that_cannot_be_is_refused(derive, message):
    with pytest.raises(InputError, match=message):
        derive(on(MEASURES["bleu"]))


@pytest.mark.parametrize("name", ["minimum", "maximum", "mean", "sigma", "rows"])
def test_a_tables_statistic_is_read_off_the_encoders_table(name):
    table = make_table(**{name: 7})
    read = table_statistic(name)
    tables = {"decoder": make_table(), "encoder": table}
    assert read.of(make_result(RUN, tables=tables)) == 7.0
    assert read.of_start
    assert read.of(make_result(RUN, tables={"decoder": table})) is None


def test_a_registered_measure_is_compared_with_nothing_else_changed(monkeypatch):
    """By its name, in its unit and words; where it is missing is told so."""
    set_apart(monkeypatch, MEASURES)
    longest = Measure(
        "longest_output",
        "characters",
        "the longest output",
        "down",
        read=lambda result: max(map(len, result.outputs), default=None),
    )
    MEASURES.register("longest_output", longest)
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
