"""The plugin that collects: it parametrises, selects and reads claims, and plans their runs."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from embinit.claims import power
from embinit.claims.definitions import Claim, Misstated
from embinit.claims.experiments import Experiment
from embinit.claims.judging import Case
from embinit.claims.known_noise import with_known_noise
from embinit.claims.lock import nearest_lock
from embinit.claims.seeds import NAME as SEEDS
from embinit.claims.seeds import SeedsClaim
from embinit.claims.statements import Statement
from embinit.errors import InputError
from embinit.papers import noise_floors, paper, with_tier
from embinit.pytest_plugin import CONTROL, is_control
from embinit.pytest_plugin.files import Files
from embinit.pytest_plugin.items import (
    CASE,
    ITEM_RESULT,
    ItemResult,
    argument,
    cannot_be_read,
    ends_session,
    experiments_name,
    id_of,
    read_item,
)
from embinit.pytest_plugin.power_summary import summary
from embinit.pytest_plugin.project_globals import ProjectGlobals
from embinit.pytest_plugin.session_options import SessionOptions, unusable_ends
from embinit.pytest_plugin.training import TrainingPlugin
from embinit.runs.trainers.processes import Surroundings
from embinit.specs import RunSpec

CONTROL_WITHOUT_ARMS = (
    f"it is marked {CONTROL}, and a control trains arms: let it take the fixture {SEEDS}, "
    "and assert what must be found"
)


class Collection:
    """The collection of a session's claims."""

    def __init__(self, options: SessionOptions, training: TrainingPlugin) -> None:
        self._options, self._training = options, training
        self._without: set[object] = set()
        self._unreadable: dict[object, BaseException] = {}
        self._absent = 0

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Parametrises a claim over its experiments on the tier."""
        claim = Claim.of(metafunc.function)
        if claim is None:
            return
        seeds = self._options.option("seeds")
        try:
            name = experiments_name(metafunc.function, metafunc.cls)
            marks = metafunc.definition.iter_markers("parametrize")
            if any(name in mark.args[0] for mark in marks):
                return
            experiments = [
                self._fitting(replace(experiment, seeds=seeds or experiment.seeds))
                for experiment in self._experiments(claim)
            ]
        except BaseException as error:
            if ends_session(error):
                raise
            self._unreadable[metafunc.function] = error
            return
        if not experiments:
            self._without.add(metafunc.function)
        metafunc.parametrize(name, experiments, ids=[experiment.name for experiment in experiments])

    def _fitting(self, experiment: Experiment) -> Experiment:
        """The experiment in the setting that the options ask for."""
        hook = self._options.config.hook.pytest_embinit_experiment
        changed: Experiment | None = hook(
            config=self._options.config, experiment=experiment, data_dir=self._options.data_dir
        )
        return experiment if changed is None else changed

    def _experiments(self, claim: Claim) -> Sequence[Experiment]:
        """The claim's experiments; none on a tier that other papers have and its own lacks."""
        known = paper(claim.paper)
        lacking = known is not None and self._options.tier not in known.tiers
        return () if lacking else claim.experiments(self._options.tier)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Counts all claims before any is deselected; reads those that are left at the end."""
        with unusable_ends():
            with_tier(self._options.tier, or_own=True)
        files = Files.of(items, self._without)
        yield
        self._read_all(items, files)

    def _read_all(self, items: list[pytest.Item], files: Files) -> None:
        """Reads every selected claim once, and plans the runs of all of them.

        A claim without an experiment here is deselected. An unreadable one fails in its turn.
        """
        absent = [item for item in items if getattr(item, "function", None) in self._without]
        if absent:
            self._absent = len(absent)
            self._options.config.hook.pytest_deselected(items=absent)
            items[:] = [item for item in items if item not in absent]
        self._training.surroundings = Surroundings()
        tests = [item for item in items if isinstance(item, pytest.Function)]
        on_seeds = {item.path for item in tests if SeedsClaim.of(item.function) is not None}
        for item in tests:
            stated = Statement.of(item.function)
            if stated is None and item.path in on_seeds and is_control(item):
                stated = Misstated(argument(item), "", error=InputError(CONTROL_WITHOUT_ARMS))
            if stated is not None:
                self._read(item, stated, files)
        if not (self._options.config.option.collectonly or self._training.registration):
            self._know_noise(items, files)
        self._training.cases += [item.stash[CASE] for item in items if CASE in item.stash]
        if cases := self._training.cases:
            plugins = self._options.config.pluginmanager.get_plugins()
            self._training.globals = ProjectGlobals(plugins)
            self._plan(cases)

    def _read(self, item: pytest.Function, stated: Statement, files: Files) -> None:
        home = (item.module.__name__, str(item.path))
        self._training.modules[home] = None
        named = {"nodeid": argument(item), "id": id_of(item, stated)}
        item.stash[ITEM_RESULT] = ItemResult(home, named)
        if isinstance(stated, Misstated):
            cannot_be_read(item, stated.error)
        if not isinstance(stated, Claim):
            return
        self._let_it_train(item)
        with unusable_ends():
            _ = nearest_lock(item.path).document
        try:
            if item.function in self._unreadable:
                raise self._unreadable[item.function]
            family = files.family(stated, self._options.tier)
            case = read_item(item, family, self._options.most_seeds)
        except BaseException as error:
            cannot_be_read(item, error)
            return
        item.stash[CASE] = case
        with unusable_ends("--embinit-max-seeds: "):
            case.seeds_of_analyses()

    def _plan(self, cases: Sequence[Case]) -> None:
        """Plans the first runs of claims, once the lab has checked the options against them."""
        options, registration = self._options, self._training.registration

        def first(case: Case) -> list[RunSpec]:
            if registration is None:
                return case.runs()
            return registration.runs(case, noise_floors(case.claim.paper, case.experiment.tier))

        wanted = [] if options.config.option.collectonly else [first(case) for case in cases]
        options.config.hook.pytest_embinit_collected(
            config=options.config,
            cases=cases,
            wanted=[run for runs in wanted for run in runs],
            problem=lambda run: self._training.session.problem(run),
        )
        if not any(wanted):
            return
        if registration is not None:
            session = self._training.session
            # A claim that lacks one run can't be registered, so its others would be no use.
            session.want(
                run for runs in wanted if not any(map(session.problem, runs)) for run in runs
            )
        elif not options.is_worker:
            self._training.analyses.begin(cases)

    def _know_noise(self, items: Sequence[pytest.Item], files: Files) -> None:
        """Lets tests with ``seeds`` know the noise of the arms of all tests of their file."""
        asked = [
            item for item in items if CASE in item.stash and item.stash[CASE].experiment.pools_noise
        ]
        known: dict[Path, list[Case]] = defaultdict(list)
        for test in files.tests if asked else ():
            if CASE in test.stash:
                known[test.path].append(test.stash[CASE])
            elif (claim := SeedsClaim.of(test.function)) is not None:
                with contextlib.suppress(
                    Exception, SystemExit, pytest.fail.Exception, pytest.skip.Exception
                ):
                    family = files.family(claim, self._options.tier)
                    known[test.path].append(read_item(test, family, self._options.most_seeds))
        for item in asked:
            case = item.stash[CASE]
            item.stash[CASE] = with_known_noise(case, known[item.path], self._training.session)

    def _let_it_train(self, item: pytest.Function) -> None:
        """Lifts pytest-timeout's limit: within the first claim the runs of all are trained."""
        if self._options.config.pluginmanager.has_plugin("timeout") and not item.get_closest_marker(
            "timeout"
        ):
            item.add_marker(pytest.mark.timeout(0))

    def pytest_report_collectionfinish(self) -> list[str]:
        """Says what the claims can see before anything trains, unless pytest is to be quiet."""
        verbosity = self._options.config.get_verbosity()
        if verbosity < 0 or self._training.registration:
            return []
        lines = [*summary(self._training.cases)]
        if line := self._training.progress_line():
            lines += [line, *self._training.analyses.longer_than_budget()]
        if self._absent:
            tier = self._options.tier
            lines.insert(0, f"embinit: {self._absent} left out, with no experiment on tier {tier}")
        if verbosity > 0 and self._options.config.option.collectonly:
            cases = self._training.cases
            lines += [f"{case.id}: {power.in_words(case)}" for case in cases]
        return lines
