"""A session of claims: this plugin collects them, and others train, judge and conclude.

A claim is parametrised over its experiments on the tier, read at collection to learn its runs, and
judged when they are stored. SUPPORTED passes, REFUTED and NO EFFECT fail, UNDECIDED is an expected
failure, NOT RUN is skipped; a control passes when its verdict is the one it expects. Verdicts
travel with the reports, so that the controller gets them from any worker.
"""

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
from embinit.pytest_plugin import CONTROL, hooks, is_control, parametrized
from embinit.pytest_plugin.conclusion import Conclusion
from embinit.pytest_plugin.files import Files
from embinit.pytest_plugin.items import (
    CASE,
    ITEM_RESULT,
    ItemResult,
    argument,
    cannot_be_read,
    ends_session,
    experiments_name,
    parameter,
    read_item,
)
from embinit.pytest_plugin.judging import Judging
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


class ClaimSession:
    """The claims of one pytest session; ``conclusion`` learns of the reports of their tests."""

    def __init__(self, config: pytest.Config) -> None:
        """Checks the options (pytest.UsageError), and registers the other plugins."""
        if not hasattr(config.hook, hooks.pytest_embinit_definitions.__name__):
            config.pluginmanager.add_hookspecs(hooks)
        config.pluginmanager.load_setuptools_entrypoints(hooks.GROUP)
        with unusable_ends():
            options = self._options = SessionOptions(config)
            training = self._training = TrainingPlugin(options)
        self.conclusion = Conclusion(options, training)
        config.pluginmanager.register(training)
        config.pluginmanager.register(Judging(options, training))
        if not options.is_worker:  # the process that the user called concludes
            config.pluginmanager.register(self.conclusion)
        self._without: set[object] = set()
        self._unreadable: dict[object, BaseException] = {}
        self._absent = 0

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Parametrises a claim over its experiments on the tier."""
        claim = Claim.of(metafunc.function)
        if claim is None:
            return
        try:
            name = experiments_name(metafunc.function, metafunc.cls)
            if name in parametrized(metafunc.definition):
                return
            experiments = self._experiments(claim)
        except BaseException as error:
            if ends_session(error):
                raise
            self._unreadable[metafunc.function] = error
            return
        if not experiments:
            self._without.add(metafunc.function)
        metafunc.parametrize(name, experiments, ids=[experiment.name for experiment in experiments])

    def _experiments(self, claim: Claim) -> list[Experiment]:
        """The claim's experiments in the setting that the options ask for.

        There are none on a tier that other papers have and its own lacks.
        """
        options, known = self._options, paper(claim.paper)
        if known is not None and options.tier not in known.tiers:
            return []
        seeds, fit = options.option("seeds"), options.config.hook.pytest_embinit_experiment
        given = (
            replace(experiment, seeds=seeds or experiment.seeds)
            for experiment in claim.experiments(options.tier)
        )
        return [
            fit(config=options.config, experiment=experiment, data_dir=options.data_dir)
            or experiment
            for experiment in given
        ]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Counts all claims before any is deselected; reads those that are left at the end."""
        with unusable_ends():
            with_tier(self._options.tier, or_own=True)
        files = Files(items, self._without)
        yield
        with unusable_ends():
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
        given = parameter(item)
        name = stated.id if given is None else f"{stated.id}[{given.name}]"
        item.stash[ITEM_RESULT] = ItemResult(home, {"nodeid": argument(item), "id": name})
        if isinstance(stated, Misstated):
            cannot_be_read(item, stated.error)
        if not isinstance(stated, Claim):
            return
        # Within the first claim the runs of all are trained.
        if self._options.config.pluginmanager.has_plugin("timeout") and not item.get_closest_marker(
            "timeout"
        ):
            item.add_marker(pytest.mark.timeout(0))
        _ = nearest_lock(item.path).document  # one that can't be read ends the session
        try:
            if item.function in self._unreadable:
                raise self._unreadable[item.function]
            case = self._case(item, stated, files)
        except BaseException as error:
            cannot_be_read(item, error)
            return
        item.stash[CASE] = case
        with unusable_ends("--embinit-max-seeds: "):
            case.seeds_of_analyses()

    def _case(self, item: pytest.Function, claim: Claim, files: Files) -> Case:
        family = files.family(claim, self._options.tier)
        return read_item(item, family, self._options.most_seeds)

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
                    known[test.path].append(self._case(test, claim, files))
        for item in asked:
            case = item.stash[CASE]
            item.stash[CASE] = with_known_noise(case, known[item.path], self._training.session)

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
