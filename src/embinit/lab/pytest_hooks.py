"""The option ``--embinit-source NAME=PATH``: a source that is read from a path of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embinit.claims import Case
from embinit.claims.experiments import Experiment
from embinit.errors import InputError
from embinit.lab.experiments import ModelExperiment
from embinit.registry import nearest
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.lab.data.sources import NamedSource


def pytest_embinit_definitions(config: pytest.Config) -> Sequence[NamedSource]:
    """The sources that the option names.

    Raises:
        InputError: One of them can't be read.
    """
    given = config.getoption("embinit_source")
    if not given:
        return ()
    from embinit.lab.data.sources import named_source

    return [named_source(each) for each in given]


def pytest_embinit_experiment(
    config: pytest.Config, experiment: Experiment, data_dir: Path | None
) -> Experiment | None:
    """The experiment as wide as the vectors that the option names for its source."""
    if not isinstance(experiment, ModelExperiment) or experiment.model is None:
        return None
    given = pytest_embinit_definitions(config)
    if experiment.source not in [each.name for each in given]:
        return None
    from embinit.lab.data.sources import SOURCES

    for define in given:
        define()
    try:
        width = SOURCES[experiment.source](data_dir).dim
    except InputError:
        return None  # it is told before anything trains
    return experiment.as_wide_as(width)


def pytest_embinit_collected(
    config: pytest.Config,
    cases: Sequence[Case],
    wanted: Sequence[RunSpec],
    problem: Callable[[RunSpec], str | None],
) -> None:
    """Refuses a source that no claim reads, and one that is broken further down than its start.

    What lacks data is NOT RUN. But a file that was named is there, and nobody meant it so.

    Raises:
        pytest.UsageError: There is one.
    """
    if not (given := pytest_embinit_definitions(config)):
        return
    from embinit.lab.data.sources import is_named_here

    runs = (run for case in cases for run in case.runs())
    read = {name for run in runs if (name := run.recipe.columns.get("source"))}
    for each in given:
        if each.name not in read and is_named_here(each.name):
            raise pytest.UsageError(
                f"--embinit-source {each.name}=…: no claim reads a source {each.name!r}: "
                f"{nearest(each.name, read)}they read {', '.join(sorted(read)) or 'none'}"
            )
    for told in filter(None, map(problem, wanted)):
        for each in given:
            if str(each.path) in told:
                raise pytest.UsageError(f"--embinit-source {each.name}={each.path}: {told}")
