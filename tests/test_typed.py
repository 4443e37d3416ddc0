"""Dataclasses as JSON: what is written follows the schema, and is read as it was."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embinit.files.typed import Limits, as_json, from_json, schema_of


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part."""

    FORMER: ClassVar = ("gone",)

    name: Annotated[str | None, "Its name."] = None
    ends: tuple[float | None, float | None]
    share: Annotated[float, Limits(minimum=0, maximum=1)]


@dataclass(frozen=True, kw_only=True)
class Whole:
    """A whole."""

    version: Literal[2]
    notes: tuple[str, ...] = ()
    colour: Colour
    part: Part | None
    parts: tuple[Part, ...] = field(default_factory=tuple)
    counts: Mapping[str, int]
    late: Mapping[str, str] | tuple[str, ...]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
ENDS = st.tuples(st.none() | FLOATS, st.none() | FLOATS)
PARTS = st.builds(Part, name=st.none() | st.text(), ends=ENDS, share=st.floats(0, 1))
WHOLES = st.builds(
    Whole,
    version=st.just(2),
    notes=st.lists(st.text()).map(tuple),
    colour=st.sampled_from(Colour),
    part=st.none() | PARTS,
    parts=st.lists(PARTS).map(tuple),
    counts=st.dictionaries(st.text(), st.integers()),
    late=st.dictionaries(st.text(), st.text()),
)
ONE = Whole(
    version=2, colour=Colour.RED, part=Part(ends=(0.5, None), share=1.0), counts={}, late={}
)


@given(WHOLES)
def test_what_is_written_follows_the_schema_and_is_read_as_it_was(whole):
    """A reader checks the schema alone, so nothing that it lets pass may be lost or changed."""
    text = json.dumps(as_json(whole), allow_nan=False)
    jsonschema.validate(json.loads(text), schema_of(Whole), cls=jsonschema.Draft202012Validator)
    assert from_json(Whole, json.loads(text)) == whole


def test_fields_are_written_in_their_order_and_absent_ones_left_out():
    """A baseline's diff shows what moved; a list that is always written says that it is empty."""
    assert [*as_json(ONE)] == ["version", "colour", "part", "parts", "counts", "late"]
    noted = Whole(**{**vars(ONE), "notes": ("a",)})
    assert [*as_json(noted)][:2] == ["version", "notes"]
    assert as_json(ONE)["part"] == {"ends": [0.5, None], "share": 1.0}
    infinite = Part(ends=(-math.inf, math.nan), share=0.5)
    assert as_json(infinite) == {"ends": [None, None], "share": 0.5}  # JSON has no NaN


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 3},
        {"colour": "blue"},
        {"part": {"ends": [1.0], "share": 0.5}},
        {"part": {"ends": [1.0, 2.0], "share": 1.5}},
        {"part": {"ends": [1.0, 2.0], "share": 0.5, "name": None}},
        {"part": {"ends": [1.0, 2.0]}},
        {"counts": {"a": "b"}},
        {"more": 1},
    ],
    ids=str,
)
def test_the_schema_refuses_what_is_no_such_record(changed):
    """Of another type, beyond a limit, null in place of absent, lacking, or unknown."""
    validator = jsonschema.Draft202012Validator(schema_of(Whole))
    assert validator.is_valid(as_json(ONE))
    assert not validator.is_valid(as_json(ONE) | changed)


def test_what_is_no_longer_written_or_of_a_later_version_is_passed_over():
    """So documents stay readable; the schema names the former alone."""
    plain = {"ends": [0.5, None], "share": 1.0, "gone": 7}
    jsonschema.validate(plain, schema_of(Part))
    assert from_json(Part, {**plain, "later": 1}) == ONE.part
