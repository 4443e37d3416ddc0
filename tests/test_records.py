"""A result is kept as plain data and read back as it was, of whatever kind its run is."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    OWN_KINDS,
    make_experiment,
    make_function_run,
    make_result,
    make_table,
    values_of,
)
from embinit.errors import InputError
from embinit.lab.specs import ModelRecipe
from embinit.runs.kinds import KINDS, result_of
from embinit.runs.results import Coverage, RunResult
from embinit.specs import RunSpec
from embinit_papers import chung2021
from embinit_papers.kim2024.experiments import probes
from embinit_studies.table_pretraining import pretrainings

RUNS = {
    run.kind: run
    for run in (
        make_experiment().run("pretrained", 3),
        chung2021.experiments("micro")[0].run("pretrained", 3),
        pretrainings("micro")[0].run("pretrained", 3),
        probes("micro")[0].run("pretrained", 3),
        make_function_run(),
    )
}


def record_of(kind):
    """A full record of a run of that kind, as JSON gives it back."""
    result = make_result(
        RUNS[kind],
        outputs=("a", "b"),
        references=("a", "c"),
        curves={"loss": (1.0, 0.5)},
        tables={"encoder": make_table()},
        positions={"encoder": make_table()},
        accuracy=50.0,
    )
    result = dataclasses.replace(result, coverage={"encoder": Coverage(3, 2, 9, 8)})
    return json.loads(json.dumps(result.as_record()))


def test_every_kind_has_an_example_here():
    assert set(RUNS) == set(OWN_KINDS)


@pytest.mark.parametrize("kind", sorted(RUNS))
@settings(max_examples=40)
@given(data=st.data())
def test_a_result_is_read_back_as_it_was(kind, data):
    """Every field of the result and of its spec, drawn at will, through JSON and back."""
    drawn = data.draw(values_of(KINDS[kind].recipe))
    if isinstance(drawn, ModelRecipe):
        procedure = data.draw(values_of(KINDS[kind].procedure))
        drawn = dataclasses.replace(drawn, training=procedure)
    run = RunSpec(drawn, data.draw(values_of(int)))
    result = dataclasses.replace(data.draw(values_of(RunResult)), spec=run)
    record = json.loads(json.dumps(result.as_record()))
    again = result_of(record)
    assert record["kind"] == kind
    assert again == result
    assert again.spec.digest() == run.digest()
    assert again.as_record() == result.as_record()


CHANGES = {
    "a field too many": lambda record: record.update(unheard=1),
    "one too many of a table": lambda record: record["tables"]["encoder"].update(unheard=1),
    "no measures": lambda record: record.pop("measures"),
    "no kind": lambda record: record.pop("kind"),
    "no seed": lambda record: record["spec"].pop("seed"),
    "an unheard-of kind": lambda record: record.update(kind="unheard-of"),
    "a number for a spec": lambda record: record.update(spec=5),
    "a number for measures": lambda record: record.update(measures=5),
    "a number for curves": lambda record: record.update(curves=5),
}


@pytest.mark.parametrize("kind", sorted(RUNS))
def test_what_is_no_record_is_one_clear_error(kind):
    """A field too few or too many, another type, and the kind of another run."""
    assert result_of(record_of(kind)).as_record()["kind"] == kind
    others = {other: (lambda record, other=other: record.update(kind=other)) for other in RUNS}
    del others[kind]
    for what, change in {**CHANGES, **others}.items():
        change(record := record_of(kind))
        with pytest.raises(InputError):
            print(what, result_of(record))
