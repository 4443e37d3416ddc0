"""Records: results as plain data, read back as the same typed results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cattrs.errors import CattrsError

from embinit.errors import InputError
from embinit.runs.kinds import KINDS
from embinit.runs.results import RunResult
from embinit.runs.structure import fields_of
from embinit.specs import RunSpec


def result_of(record: Mapping[str, Any]) -> RunResult:
    """The result of a record that ``RunResult.as_record`` made.

    InputError for another shape, or a kind of run that nobody registered. A MemoryError or
    RecursionError says nothing of the record.
    """
    try:
        plain = dict(record)
        spec = spec_of(plain.pop("spec"), plain.pop("kind"))
        return RunResult(spec, **fields_of(RunResult, plain))
    except InputError:
        raise
    # What plain data lacks, or has in another shape, shows as any of these.
    except (CattrsError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"no run record ({type(error).__name__}: {error})") from error


def spec_of(plain: Mapping[str, Any], kind: str) -> RunSpec:
    """The spec of a run of a ``kind`` from ``RunSpec.as_dict``; InputError for an unknown kind."""
    layout = dict(plain)
    seed = layout.pop("seed")
    if type(seed) is not int:
        raise ValueError(f"the seed {seed!r} is no whole number")
    recipe = KINDS[kind].recipe_of(layout)
    if layout.keys() != recipe.layout().keys():
        raise ValueError(f"a spec of the kind {kind!r} has {', '.join(recipe.layout())}")
    return RunSpec(recipe, seed)
