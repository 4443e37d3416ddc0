"""Hooks by which a lab takes part in a session of claims.

A package names a module with hooks in the entry-point group ``embinit.pytest``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from embinit.claims import Case
    from embinit.claims.experiments import Experiment
    from embinit.runs.session import Definition
    from embinit.specs import RunSpec

GROUP = "embinit.pytest"


def pytest_embinit_definitions(config: pytest.Config) -> Sequence[Definition]:  # type: ignore[empty-body]
    """Gives what every process that trains defines first; InputError for an unusable option."""


@pytest.hookspec(firstresult=True)
def pytest_embinit_experiment(
    config: pytest.Config, experiment: Experiment, data_dir: Path | None
) -> Experiment | None:
    """Gives an experiment in the setting that the options ask for; None leaves it as it is."""


def pytest_embinit_collected(
    config: pytest.Config,
    cases: Sequence[Case],
    wanted: Sequence[RunSpec],
    problem: Callable[[RunSpec], str | None],
) -> None:
    """Checks the options against all claims, before anything trains; else pytest.UsageError.

    ``wanted`` has the runs of this session; ``problem`` gives why a run can't be made here.
    """
