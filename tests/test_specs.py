"""A spec's digest names what decides a run, and what specs got later leaves old runs their name."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import fields, replace

from hypothesis import assume, given
from hypothesis import strategies as st

from builders import parts_of, values_of, with_part
from embinit import specs
from embinit.lab import specs as lab_specs
from embinit.lab.specs import ModelRecipe
from embinit.runs.kinds import KINDS
from embinit.specs import FunctionRecipe, RunSpec, canonical
from test_kinds import RUNS

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


def part_in(run, path):
    """What a run's canonical JSON tells of the part at a path: the layout has no recipe."""
    plain = json.loads(canonical(run))
    if path[:1] == ("recipe",):
        path = ("training",) if run.kind == FunctionRecipe.kind else path[1:]
    for step in path:
        plain = plain[step]
    return plain


def test_every_class_of_a_spec_is_frozen_and_part_of_a_run():
    """The tests below go through what a run is made of, so no class may stand beside it."""
    assert {type(part) for run in RUNS.values() for _, part in parts_of(run)} == set(CLASSES)
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
    assert name not in part_in(before, path)
    assert part_in(after, path)[name] == "another"
    assert before.digest() != after.digest()


@given(run=values_of(RunSpec), data=st.data())
def test_every_other_field_is_always_part_of_the_digest(run, data):
    """At its default too, since older digests have it."""
    path, part = data.draw(st.sampled_from(list(parts_of(run))))
    for field in fields(part):
        if (type(part), field.name) in {(RunSpec, "recipe"), (ModelRecipe, "training")}:
            continue  # their own fields are drawn as parts
        if (type(part), field.name) not in LATER:
            assert field.name in part_in(run, path)
            changed = with_part(run, path, replace(part, **{field.name: "another"}))
            assert changed.digest() != run.digest()


@given(values_of(RunSpec))
def test_a_digest_is_of_the_values_alone(run):
    """Plain data in, plain data out: whoever makes an equal spec makes the same digest."""
    again = with_part(run, (), replace(run))
    assert again.digest() == run.digest()
    assert json.loads(canonical(run)) == json.loads(canonical(again))
    assert canonical({"b": (run,), "a": 1}) == canonical({"a": 1, "b": [again]})
