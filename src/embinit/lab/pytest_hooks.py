"""The lab's part of a session: ``--embinit-source``, read from a path, and ``embinit_worlds``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from embinit.claims import Case
from embinit.claims.experiments import Experiment
from embinit.errors import InputError
from embinit.lab.data.microcosm.draws import CLAIMING, SETS
from embinit.lab.draws import split_draw
from embinit.lab.experiments import ModelExperiment, draws_named
from embinit.options import WORLDS
from embinit.registry import nearest
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.lab.data.sources.opening import NamedSource


def pytest_embinit_definitions(config: pytest.Config) -> Sequence[NamedSource]:
    """The sources that ``--embinit-source`` names; InputError if they or the draws are no good."""
    _draws(config)
    given = config.getoption("embinit_source")
    if not given:
        return ()
    from embinit.lab.data.sources.opening import named_source

    return [named_source(text) for text in given]


def _draws(config: pytest.Config) -> tuple[int, ...] | None:
    """The data draws that ``embinit_worlds`` names; InputError if they aren't free."""
    given: str = config.getini(WORLDS)
    if not given:
        return None
    try:
        draws = draws_named(given)
    except InputError as error:
        raise InputError(f"{WORLDS} {error}") from None
    if len(draws) == 1:  # the first of as many as claims have
        draws = tuple(range(draws[0], draws[0] + len(CLAIMING)))
    for name, kept in SETS.items():
        if not name.endswith("claiming") and not set(kept).isdisjoint(draws):
            raise InputError(
                f"{WORLDS} {given}: {kept[0]} to {kept[-1]} are the data draws of {name}, on "
                "which no claim is judged; name others, such as 9000-9019"
            )
    return draws


def pytest_embinit_experiment(
    config: pytest.Config, experiment: Experiment, data_dir: Path | None
) -> Experiment | None:
    """The experiment as wide as the vectors named for its source, on the data draws named."""
    if not isinstance(experiment, ModelExperiment):
        return None
    draws, changed = _draws(config), experiment
    if draws is not None and experiment.data_draws is not None:
        most = min(experiment.most_seeds or experiment.seeds, len(draws))
        seeds = min(experiment.seeds, most)
        changed = replace(
            experiment,
            data_draws=draws,
            seeds=seeds,
            most_seeds=most,
            replicated=experiment,
        )
    given = pytest_embinit_definitions(config)
    if experiment.model is None or experiment.source not in [source.name for source in given]:
        return changed
    from embinit.lab.data.sources import SOURCES

    for define in given:
        define()
    try:
        width = SOURCES[experiment.source](data_dir).dim
    except InputError:
        return changed  # it is reported before anything trains
    return changed.as_wide_as(width)


def pytest_embinit_collected(
    config: pytest.Config,
    cases: Sequence[Case],
    wanted: Sequence[RunSpec],
    problem: Callable[[RunSpec], str | None],
) -> None:
    """Makes tables of draws that are missing; UsageError for draws and sources no claim reads.

    A named source that is broken further down is a UsageError too, and not missing data (NOT RUN).
    """
    drawn = any(getattr(case.experiment, "data_draws", None) is not None for case in cases)
    if _draws(config) is not None and not drawn:
        raise pytest.UsageError(
            f"{WORLDS} {config.getini(WORLDS)}: no claim here has a "
            "data draw for each seed; leave it out"
        )
    if not config.getoption("embinit_no_train"):
        _make_tables(wanted)
        if drawn and wanted:
            from embinit.lab.data.preparation import share_texts

            share_texts()
    if not (given := pytest_embinit_definitions(config)):
        return
    from embinit.lab.data.sources.opening import is_named_here

    runs = (run for case in cases for run in case.runs())
    read = {name for run in runs if (name := run.recipe.columns.get("source"))}
    for source in given:
        if source.name not in read and is_named_here(source.name):
            raise pytest.UsageError(
                f"--embinit-source {source.name}=…: no claim reads a source {source.name!r}: "
                f"{nearest(source.name, read)}they read {', '.join(sorted(read)) or 'none'}"
            )
    for why in filter(None, map(problem, wanted)):
        for source in given:
            if str(source.path) in why:
                raise pytest.UsageError(f"--embinit-source {source.name}={source.path}: {why}")


def _make_tables(wanted: Iterable[RunSpec]) -> None:
    """Has tables made that runs read and that aren't shipped: as work for trainers."""
    read = (run.recipe.columns.get("source") for run in wanted)
    if not any(name and split_draw(name)[1] for name in read):
        return
    from embinit.lab.data.sources import microcosm
    from embinit.lab.table_pretraining.making import SECONDS, make_table

    microcosm.make_missing(make_table, SECONDS)
