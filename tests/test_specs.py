"""A spec's digest names what decides a run, and what specs got later leaves old runs their name."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import (
    make_experiment,
    make_function_run,
    parts_of,
    values_of,
    with_part,
)
from embinit import specs
from embinit.lab import specs as lab_specs
from embinit.lab.specs import DataSpec, ModelRecipe, Procedure, TrainingSpec
from embinit.runs.kinds import KINDS
from embinit.specs import FunctionRecipe, RunSpec, canonical
from embinit_papers import chung2021
from embinit_papers.kim2024.experiments import experiments, probes
from embinit_studies.table_pretraining import pretrainings

CLASSES = [
    one
    for module in (specs, lab_specs)
    for one in vars(module).values()
    if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module.__name__
]
RECIPES = [getattr(KINDS[name], "procedure", KINDS[name].recipe) for name in KINDS]
LATER = {
    (one, field.name): field.default
    for one in {*CLASSES, *RECIPES}
    for field in fields(one)
    if "later" in field.metadata
}


def told(run, path):
    """What a run's canonical JSON tells of the part at a path: the layout has no recipe."""
    plain = json.loads(canonical(run))
    if path[:1] == ("recipe",):
        path = ("training",) if run.kind == FunctionRecipe.kind else path[1:]
    for step in path:
        plain = plain[step]
    return plain


def test_every_class_of_a_spec_is_frozen_and_part_of_a_run():
    """The tests below go through what a run is made of, so no class may stand beside it."""
    run = next(
        iter([one.run(chung2021.USUAL, 0) for one in chung2021.experiments("micro")]),
    )
    met = {type(part) for _, part in parts_of(run)}
    [table] = [one.run("pretrained", 0) for one in pretrainings("micro")][:1]
    [probe] = [one.run("pretrained", 0) for one in probes("micro")][:1]
    met |= {type(part) for one in (table, probe) for _, part in parts_of(one)}
    met |= {type(part) for _, part in parts_of(make_function_run())}
    assert met == set(CLASSES)
    assert all(one.__dataclass_params__.frozen for one in CLASSES)


@given(run=values_of(RunSpec), data=st.data())
def test_a_later_field_at_its_default_is_no_part_of_the_digest(run, data):
    """However deep it lies; any other value makes it another run."""
    parts = list(parts_of(run))
    later = [(path, name) for path, part in parts for kind, name in LATER if type(part) is kind]
    assume(later)
    path, name = data.draw(st.sampled_from(later))
    part = dict(parts)[path]
    default = LATER[type(part), name]
    before = with_part(run, path, replace(part, **{name: default}))
    after = with_part(run, path, replace(part, **{name: "another"}))
    assert name not in told(before, path)
    assert told(after, path)[name] == "another"
    assert before.digest() != after.digest()


@given(run=values_of(RunSpec), data=st.data())
def test_every_other_field_is_always_part_of_the_digest(run, data):
    """At its default too, since older digests have it."""
    path, part = data.draw(st.sampled_from(list(parts_of(run))))
    for field in fields(part):
        if (type(part), field.name) in {(RunSpec, "recipe"), (ModelRecipe, "training")}:
            continue  # their own fields are drawn as parts
        if (type(part), field.name) not in LATER:
            assert field.name in told(run, path)
            changed = with_part(run, path, replace(part, **{field.name: "another"}))
            assert changed.digest() != run.digest()


@given(values_of(RunSpec))
def test_a_digest_is_of_the_values_alone(run):
    """Plain data in, plain data out: whoever makes an equal spec makes the same digest."""
    again = with_part(run, (), replace(run))
    assert again.digest() == run.digest()
    assert json.loads(canonical(run)) == json.loads(canonical(again))
    assert canonical({"b": (run,), "a": 1}) == canonical({"a": 1, "b": [again]})


def test_a_class_gets_a_field_and_keeps_its_digests():
    """What ``specs.later`` is for, at the top, in a recipe and in lists of parts."""

    @dataclass(frozen=True)
    class Before(Procedure):
        steps: int
        kind: ClassVar[str] = "mine"

    @dataclass(frozen=True)
    class After(Procedure):
        steps: int
        added: DataSpec | None = specs.later(None)  # noqa: RUF009, a field and no default
        kind: ClassVar[str] = "mine"

    one = make_experiment()
    old, new = (replace(one, training=kind(3)).run("xavier", 0) for kind in (Before, After))
    assert old.digest() == new.digest()
    other = new.changed(training=After(3, one.data))
    assert other.digest() != new.digest()
    assert canonical({"parts": (After(1), [After(2)])}) == canonical(
        {"parts": (Before(1), [Before(2)])}
    )


def run_of(tier, name, init):
    [one] = [one for one in experiments(tier) if one.name == name]
    return one.run(init, 0)


@pytest.mark.parametrize(
    ("run", "digest"),
    [
        (
            lambda: run_of("micro", "glove-micro-translation", "pretrained").changed(
                training=TrainingSpec(32, 5, 3e-3, validation_bleu=True)
            ),
            "9d2d72d5615cb8ccf0dff2ca1a19fbbf33f93cdf66e1195af0633c3734efc02a",
        ),
        (
            lambda: run_of("paper", "bert-sst2", "xavier"),
            "41972350e88b85f27f5e5f7c6f8e49613a2f0dbb6409791989f1674f507155c7",
        ),
        (
            lambda: (
                next(one for one in experiments("paper") if one.name == "bert-sst2")
                .without_positions()
                .frozen()
                .with_sigma(0.5)
                .with_layers(2)
                .run("pretrained", 0)
            ),
            "f31baa5b4bff04c92f1a9bd8afb2d4b0b25fb2ea061f6afe9ff014c54db80925",
        ),
        (
            lambda: probes("micro")[0].run("pretrained", 3),
            "4da21e5612f106f516137e22e1a9859279ec3a8674f5aa0b890b5879d18d059a",
        ),
        (
            lambda: pretrainings("micro")[0].run("pretrained", 3),
            "762a4252d4764e7ae8773f91d376e153e21c5a59fbba9ee743ed896f2a52fde8",
        ),
    ],
)
def test_the_digests_of_stored_runs_stand(run, digest):
    """A digest that changes leaves every stored run behind; a new field belongs in ``_later``."""
    assert run().digest() == digest
