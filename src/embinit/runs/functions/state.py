"""Whether pytest's process has the code and the variables that a function was trained with."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from embinit.runs.functions.calling import INPUTS
from embinit.runs.functions.definition import Training, training_named
from embinit.runs.results import RunResult
from embinit.runs.trainers.globals import described
from embinit.runs.trainers.inputs import seal
from embinit.runs.trainers.processes import Trainers

if TYPE_CHECKING:
    from embinit.runs.session import Session

SHOWN = 60
MEND = "fixtures and tests don't reach training: set it where it is defined, or pass an argument"


def difference(results: Iterable[RunResult], session: Session) -> str | None:
    """What is another in this process than where some runs were trained; None where nothing is.

    A name whose value differs from import to import, such as a time, is passed over.
    """
    secret, seen = session.store.secret(), set()
    for result in results:
        if (inputs := result.provenance.get(INPUTS)) is None:
            continue
        known = training_named(result.spec.recipe.task)
        for name, digest in inputs["variables"].items():
            if seal(os.environ.get(name), secret) != digest:
                return f"the variable {name} is another in pytest's process than {_where(known)}"
        for name, digest in inputs["state"].items():
            if (module := sys.modules.get(name)) is None or (known.home, name, digest) in seen:
                continue
            seen.add((known.home, name, digest))
            here = described(module)
            if seal(json.dumps(here, sort_keys=True), secret) != digest:
                there, volatile = _imported(session.trainers, known.home, name)
                file = Path(str(getattr(module, "__file__", name))).name
                for each in sorted((here.keys() | there.keys()) - volatile):
                    if here.get(each) != there.get(each):
                        told = [_shown(where.get(each)) for where in (here, there)]
                        return (
                            f"{each} of {file} is {told[0]} in pytest's process (a fixture, a "
                            f"test or a conftest.py changed it), and {told[1]} {_where(known)}"
                        )
    return None


@functools.cache
def _imported(
    trainers: Trainers, home: tuple[str, str], module: str
) -> tuple[dict[str, str], frozenset[str]]:
    """The globals of a module in a process of its own, and those that each import gives anew."""
    states = []
    for _ in range(2):
        fresh = trainers.of(home, alone=True)
        try:
            states.append(fresh.state(module))
        finally:
            trainers.drop(fresh)
    one, other = states
    names = one.keys() | other.keys()
    return one, frozenset(name for name in names if one.get(name) != other.get(name))


def _where(known: Training) -> str:
    return f"where {known.name.rpartition(':')[2]} was run; {MEND}"


def _shown(value: str | None) -> str:
    if value is None:
        return "missing"
    return value if len(value) <= SHOWN else f"{value[: SHOWN - 1]}…"
