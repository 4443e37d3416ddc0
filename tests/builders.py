"""What tests are made of: results that no training gave, an experiment of no paper, any spec."""

import dataclasses
import functools
import os
import subprocess
import sys
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, ModelSpec, P, TrainingSpec
from embinit.lab.tables.diagnostics import TableStatistics
from embinit.registry import Registry
from embinit.runs.kinds import KINDS
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import FunctionRecipe, R, RunSpec
from embinit_papers.kim2024.experiments import experiments


def set_apart(
    monkeypatch: pytest.MonkeyPatch, registry: Registry[Any], empty: bool = False
) -> None:
    """Lets a test register what it likes: the registry is as it was afterwards.

    Its entries, where they come from and the digests of their code go together. A digest that
    stays behind gives a built-in task's runs other keys in whatever test comes later.
    """
    for name, value in vars(registry).items():
        if isinstance(value, dict | set):
            monkeypatch.setattr(registry, name, type(value)() if empty else value.copy())


def ran(
    *command: object, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command in the checkout or in another folder."""
    printed = {"capture_output": True, "text": True, "check": False}
    environ, home = {**os.environ, **variables}, cwd or Path(__file__).parents[1]
    return subprocess.run([*map(str, command)], cwd=home, env=environ, **printed)


python = functools.partial(ran, sys.executable)
"""Runs this Python in a process of its own."""


def make_function_run() -> RunSpec:
    """A run of a user's function."""
    recipe = FunctionRecipe("mine.trained", '{"arm": "a"}')
    return RunSpec(recipe, 3)


OWN_KINDS = [p.name for p in entry_points(group="embinit.kinds") if p.module[:8] == "embinit."]
"""The kinds of runs that embinit has itself."""


def make_experiment(**changes: Any) -> ModelExperiment:
    """A small experiment on the synthetic language's opinions; ``changes`` are its fields."""
    usual: dict[str, Any] = {
        "name": "mine-sentiment",
        "tier": "micro",
        "role": "sentiment",
        "source": "micro-glove",
        "source_label": "GloVe",
        "data": DataSpec("micro-sentiment", ("whitespace",), Cut(train=300, validation=100), 1),
        "model": ModelSpec(64, 2, 1, 16),
        "training": TrainingSpec(32, 1, 3e-3),
        "metric": MEASURES["accuracy"],
        "seeds": 5,
        "margin": 4.0,
    }
    return ModelExperiment(**{**usual, **changes})


def small_experiment(role: str, cut: Cut, **training: Any) -> ModelExperiment:
    """An experiment of the first paper with little to train, which follows no BLEU."""
    [one] = experiments("micro", ("glove",), (role,))
    one = one.changed()
    return dataclasses.replace(
        one,
        model=dataclasses.replace(one.model, layers=1, feed_forward=16),
        training=dataclasses.replace(one.training, **training),
        data=dataclasses.replace(one.data, max_length=7, cut=cut),
    )


def make_result(
    run: RunSpec,
    *,
    outputs: Sequence[str] = (),
    references: Sequence[str] = (),
    curves: Mapping[str, Sequence[float]] | None = None,
    tables: Mapping[str, TableStatistics] | None = None,
    positions: Mapping[str, TableStatistics] | None = None,
    **measures: float,
) -> RunResult:
    """The result of a run that was not made."""
    return RunResult(
        run,
        measures,
        curves=curves or {},
        tables=tables or {},
        positions=positions or {},
        outputs=outputs,
        references=references,
    )


class ReadySession:
    """A session that trains nothing: runs are there once they are asked for, as ``record`` says."""

    def __init__(self, record: Callable[[RunSpec], RunResult]) -> None:
        self.record = record
        self.asked: list[set[RunSpec]] = []

    def problem(self, run: RunSpec) -> None:
        """Nothing is wrong with any run."""

    def nothing(self, of: object) -> list[Any]:
        """No run fails, is made twice, or waits for what is made first."""
        return []

    failures = made_twice = lacks = nothing

    def is_missing(self, run: RunSpec) -> bool:
        """Whether nobody has asked for it."""
        return not any(run in runs for runs in self.asked)

    def ensure(self, runs: Iterable[RunSpec]) -> None:
        """Notes what is asked for."""
        self.asked.append({*runs})

    def result(self, run: RunSpec) -> RunResult:
        """What the run comes to."""
        return self.record(run)

    def key(self, run: RunSpec) -> str:
        """The run's name."""
        return run.digest()


def make_table(**changes: Any) -> TableStatistics:
    """A table's statistics; ``changes`` are fields of ``TableStatistics``."""
    usual: dict[str, Any] = {
        "minimum": -0.2,
        "maximum": 0.3,
        "mean": 0.0,
        "sigma": 0.1,
        "row_norm_percentiles": (0.5, 0.8, 1.1),
        "rows": 10,
        "dim": 64,
    }
    return TableStatistics(**{**usual, **changes})


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.none() | st.booleans() | NUMBERS | st.text()


@functools.cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Draws any value of a type that a spec or a result has; of a dataclass, every field is drawn.

    A run's recipe is of any class that a registered kind has, and so is a recipe's procedure.
    """
    if hint is Any:
        return st.recursive(
            PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
        )
    if hint in (R, P):
        attribute = "recipe" if hint is R else "procedure"
        classes = {getattr(KINDS[name], attribute, None): None for name in KINDS}
        return st.one_of(*(values_of(one) for one in classes if one is not None))
    if dataclasses.is_dataclass(hint):
        types = typing.get_type_hints(hint)
        names = [one.name for one in dataclasses.fields(hint)]
        return st.deferred(
            lambda: st.builds(hint, **{name: values_of(types[name]) for name in names})
        )
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Mapping:
        return st.dictionaries(values_of(inner[0]), values_of(inner[1]), max_size=3)
    if origin is Sequence or inner[1:] == (...,):
        return st.lists(values_of(inner[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, inner))
    if inner:
        return st.one_of(*map(values_of, inner))
    simple = {float: NUMBERS, int: st.integers(-(2**53), 2**53)}
    return simple[hint] if hint in simple else st.from_type(hint)


def parts_of(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every dataclass within a dataclass, itself included, each with its path."""
    if dataclasses.is_dataclass(value):
        yield path, value
        for one in dataclasses.fields(value):
            yield from parts_of(getattr(value, one.name), (*path, one.name))
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from parts_of(inner, (*path, number))


def with_part(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    """The same with another part at ``path``."""
    if not path:
        return part
    first, rest = path[0], path[1:]
    if isinstance(value, tuple):
        changed = with_part(value[first], rest, part)
        return (*value[:first], changed, *value[first + 1 :])
    return dataclasses.replace(value, **{first: with_part(getattr(value, first), rest, part)})
