"""A session's claims: read at collection, judged on demand, their verdicts turned into outcomes.

A claim test is parametrised over its experiments on the tier, read once at collection to learn
its runs, and judged when they are stored. SUPPORTED passes, REFUTED and NO EFFECT fail, UNDECIDED
is an expected failure (``embinit_strict`` makes it fail), NOT RUN is skipped; a control passes when
its verdict is the one it expects. What the claims can see is told before anything trains. Verdicts
travel with the reports, so that they reach the controller from any worker, which writes
``verdicts.json`` and the HTML report.
"""

from __future__ import annotations

import contextlib
import fnmatch
import gc
import json
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.audit import Audit
from embinit.claims.comparisons import OTHER_SEEDS
from embinit.claims.definitions import Claim, Misstated
from embinit.claims.experiments import Experiment
from embinit.claims.foresight import foreseen_runs
from embinit.claims.judging import Case, Judgement, broken, judge
from embinit.claims.lock import lock_beside
from embinit.claims.looks import seeds_of_looks
from embinit.claims.next_looks import NextLook, by_worth, next_look
from embinit.claims.statements import Statement
from embinit.data.files import write_atomically
from embinit.data.outside import read_bytes
from embinit.errors import (
    InputError,
    OutputError,
    Status,
    is_unwritable,
    lacking_models,
    printable,
)
from embinit.papers import arm_labels, every_paper, is_tier, paper, papers_of, unknown_tier
from embinit.pytest_plugin import (
    BEGAN,
    CONTROLLER,
    MARK,
    NAMED,
    PHASES,
    STARTED,
    STRICT,
    UNUSABLE,
    outlook,
    progress_line,
)
from embinit.pytest_plugin.folder import Folder
from embinit.pytest_plugin.items import (
    NO_CLAIM,
    UNREADABLE,
    Unreadable,
    argument,
    cannot_be_read,
    experiments_name,
    ids_of,
    lacks_its_claim,
    read_item,
    reason_of,
    skip_reason,
)
from embinit.pytest_plugin.outcomes import AUDIT_PROPERTY, settle, settle_audit
from embinit.pytest_plugin.registering import Registering
from embinit.pytest_plugin.unloadable import Unloadable
from embinit.registry import nearest
from embinit.report import baseline
from embinit.report.verdicts import (
    add_holm,
    claim_entry,
    locks_of,
    not_beforehand,
    properties,
)
from embinit.runs import progress
from embinit.runs.machine import SESSION_ROOM, end_with, require_room
from embinit.runs.modules import Home, load_modules
from embinit.runs.session import Session
from embinit.runs.store import DamagedWarning, Store
from embinit.specs import RunSpec

PROPERTY = "embinit.verdict"
CLUSTER_ADDRESS = "embinit.cluster"
FAILED = "embinit.failed"
UNWRITTEN = "embinit.unwritten"
PATHS = "embinit.paths"
LOOKS_AHEAD = 4
MOST_NAMED = 5
FIRST_WORKER = "gw0"
"""pytest-xdist's name for the worker that tells what the claims can see, as all of them could."""
CASE: pytest.StashKey[Case] = pytest.StashKey()


class ClaimSession:
    """The claims of one pytest session, as one of its plugins.

    Attributes:
        config: pytest's configuration.
        started: When the session started, in seconds since the epoch.
        verdicts: The claims' entries in the verdicts document.
        audits: The audits' entries.
        registering: What is registered, in a session that judges nothing.
        errors: The claims that broke, and so have no verdict: their entries in the document.
        skipped: The claims that were collected and skipped, and so have none either.
        unfinished: Why the session ended before each claim had its verdict; None if it did not.
        cluster: The address of the Ray cluster that trains; None without one.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Checks the options.

        Raises:
            pytest.UsageError: One of them can't be used.
        """
        self.config = config
        self.started = config.stash[STARTED]
        self.verdicts: list[dict[str, Any]] = []
        self.audits: list[dict[str, Any]] = []
        self.registering = Registering(
            self.option("register"),
            self.option("freeze"),
            self._most_seeds,
            in_part=bool(self.option("claim")),
        )
        self.errors: list[dict[str, str]] = []
        self.skipped: list[dict[str, str]] = []
        self.unfinished: str | None = None
        self.cluster: str | None = None
        self._session: Session | None = None
        self._cases: list[Case] = []
        self._next_looks: dict[str, NextLook] = {}
        self._expected: set[RunSpec] | None = None
        self._ended: set[str] = set()
        self._without: set[object] = set()
        self._absent = 0
        self._unmatched = ""
        self._unloadable: list[str] = []
        self._watched: frozenset[str] = frozenset()
        self._modules: dict[Home, None] = {}
        self._planned_first: list[RunSpec] = []
        self._open = contextlib.ExitStack()
        self._begun = False
        self._state: progress.State | None = None
        self._unwritten, self._reported = False, False
        self._blessed: baseline.Document | None = None
        self._moved: float | None = None
        try:
            self._check_options()
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        if self._is_worker:
            end_with(os.getppid())
        else:
            progress.sweep(self._marks, self.started)
        # Where warnings are errors, a damaged record must still be made again.
        config.addinivalue_line("filterwarnings", "default::embinit.runs.store.DamagedWarning")

    def option(self, name: str) -> Any:
        """The value of one of embinit's options.

        Args:
            name: The option's name without the prefix ``--embinit-``.
        """
        return self.config.getoption(f"embinit_{name.replace('-', '_')}")

    @property
    def tier(self) -> str:
        """The tier's name."""
        return str(self.option("tier"))

    @property
    def _is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    @property
    def _is_alone(self) -> bool:
        """Whether this process is no worker and has no workers beside it."""
        return not self._is_worker and not self.config.getoption("numprocesses", None)

    @property
    def _on_ray(self) -> bool:
        return bool(self.option("engine") == "ray")

    @property
    def _controller(self) -> int:
        """The id of the process that shows progress: a worker's controller, or this process."""
        return int(getattr(self.config, "workerinput", {}).get(CONTROLLER, os.getpid()))

    @property
    def _name(self) -> str:
        """The session's name, which workers share with their controller."""
        given = getattr(self.config, "workerinput", {}).get("testrunuid")
        return str(given or uuid.uuid4().hex)

    @property
    def _marks(self) -> Path:
        """The folder in which sessions write what they plan and train."""
        return self._path("store") / "sessions"

    def _path(self, name: str) -> Path:
        """The path that an option names.

        It is relative to where pytest was called if the command line names it or there is no
        project, and else to the project's root.

        Raises:
            InputError: It begins with the home of a user whom the machine doesn't know.
        """
        shared = getattr(self.config, "workerinput", {}).get(PATHS, {})
        if name in shared:
            return Path(shared[name])
        try:
            given = Path(self.option(name)).expanduser()
        except RuntimeError as error:
            raise InputError(f"--embinit-{name} {self.option(name)}: {error}") from None
        called = self.config.invocation_params
        options = (f"--embinit-{name}", f"--{name}")
        told = any(str(each).partition("=")[0] in options for each in called.args)
        base = called.dir if told or self.config.inipath is None else self.config.rootpath
        return (base / given).absolute()

    @property
    def _data_dir(self) -> Path | None:
        named = self.option("data-dir") or os.environ.get("EMBINIT_DATA")
        return Path(named).absolute() if named else None

    @property
    def _baseline(self) -> Path | None:
        named = self.option("baseline")
        return None if named is None else self._path("baseline")

    def _check_options(self) -> None:
        every_paper()  # one that can't be loaded is told before claims are collected
        seeds, most = self.option("seeds"), self.option("max-seeds")
        if seeds is not None and seeds < 2:
            raise InputError(f"--embinit-seeds {seeds}: a paired test needs at least 2; 5 is usual")
        for name, count in (("seeds", seeds), ("max-seeds", most)):
            if count is not None and count > OTHER_SEEDS:
                raise InputError(
                    f"--embinit-{name} {count}: at most {OTHER_SEEDS}, where the seeds of controls "
                    "begin"
                )
        if seeds is not None and most is not None:
            _check_looks(seeds, most)
        if (registered := self.option("register")) is not None and registered < 2:
            raise InputError(
                f"--embinit-register {registered}: a spread needs at least 2; 10 are usual"
            )
        if self._baseline is not None:
            try:
                empty = {"session": {"tier": self.tier}, "claims": []}
                self._blessed = baseline.read(self._baseline)
                baseline.changes(empty, self._blessed)
            except InputError as error:
                raise InputError(f"--embinit-baseline: {error}") from None
        if (fail_on := self.option("fail-on")) is not None:
            try:
                self._moved = baseline.size_in_margins(fail_on)
            except InputError as error:
                raise InputError(f"--embinit-fail-on: {error}") from None
            if self._baseline is None:
                raise InputError("--embinit-fail-on moved asks for --embinit-baseline VERDICTS")
        if self._data_dir is not None and not os.path.isdir(self._data_dir):
            raise InputError(
                f"--embinit-data-dir {self._data_dir} is not a directory; name one that exists"
            )
        self._sources()
        _check_name("store", self._path("store"))
        if not self._is_worker:
            _check_folder(self._path("report-dir"))
        if self._on_ray:
            self._join_ray()
        elif self.option("device") != "cpu":
            _check_device(self.option("device"))

    def _sources(self) -> list[tuple[str, Path]]:
        """The pairs of name and path that --embinit-source gives."""
        if not self.option("source"):
            return []
        from embinit.data.sources import named_source

        return [named_source(given) for given in self.option("source")]

    def _join_ray(self) -> None:
        """Joins the Ray cluster before anything else; a worker joins its controller's."""
        from embinit.runs import ray_engine

        share = self.option("gpu-share")
        if not 0 < share <= 1:
            raise InputError(
                f"--embinit-gpu-share {share}: a share of one GPU is above 0 and up to 1"
            )
        if self.config.option.collectonly or self.option("no-train"):
            return
        workerinput = getattr(self.config, "workerinput", {})
        self.cluster = ray_engine.connect(
            workerinput.get(CLUSTER_ADDRESS, self.option("ray-address")), self.option("device")
        )

    def pytest_unconfigure(self) -> None:
        """Leaves the Ray cluster."""
        if self.cluster is not None:
            from embinit.runs import ray_engine

            ray_engine.disconnect()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tells a worker its controller, and the cluster that trains."""
        node.workerinput[CONTROLLER] = os.getpid()
        node.workerinput[PATHS] = {name: str(self._path(name)) for name in ("store", "report-dir")}
        if self.cluster is not None:
            node.workerinput[CLUSTER_ADDRESS] = self.cluster

    def _store(self) -> Store:
        """The store; a session that trains nothing only reads it, from read-only media too.

        Raises:
            InputError: It can't be written, or read.
        """
        path = self._path("store")
        return Store(path, write=not (self.option("no-train") and (path / "runs").is_dir()))

    @property
    def session(self) -> Session:
        """This process's view of the plan and the store, opened when it is first needed.

        Raises:
            pytest.UsageError: The store can't be used.
        """
        if self._session is None:
            try:
                store = self._store()
            except InputError as error:
                raise pytest.UsageError(str(error)) from None
            may_train = not self.option("no-train")
            where = (store, self._data_dir, self.option("device"), self._sources(), may_train)
            if self._on_ray:
                from embinit.runs.ray_engine import RaySession

                self._session = RaySession(*where, gpu_share=self.option("gpu-share"))
            else:
                self._session = Session(*where)
            self._session.name = self._name
            self._session.modules = tuple(self._modules)
        return self._session

    def parametrise(self, metafunc: pytest.Metafunc) -> None:
        """Parametrises a claim over its experiments on the tier."""
        claim = Claim.of(metafunc.function)
        if claim is None:
            return
        seeds = self.option("seeds")
        try:
            name = experiments_name(metafunc.function, metafunc.cls)
        except InputError:
            return  # it is told when the claim is read
        if any(name in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")):
            return
        try:
            experiments: list[Experiment | Unreadable] = [
                self._fitting(replace(each, seeds=seeds or each.seeds))
                for each in self._experiments(claim)
            ]
        except Exception as error:
            experiments = [Unreadable(error)]
        if not experiments:
            self._without.add(metafunc.function)
        ids = ["unreadable" if isinstance(each, Unreadable) else each.name for each in experiments]
        metafunc.parametrize(name, experiments, ids=ids)

    def _fitting(self, experiment: Experiment) -> Experiment:
        """The experiment as wide as the vectors that an option names for its source."""
        if experiment.model is None or experiment.source not in dict(self._sources()):
            return experiment
        from embinit.data.sources import SOURCES, use_source

        for name, path in self._sources():
            use_source(name, path)
        try:
            width = SOURCES[experiment.source](self._data_dir).dim
        except InputError:
            return experiment  # it is told before anything trains
        return experiment.as_wide_as(width)

    def _experiments(self, claim: Claim) -> Sequence[Experiment]:
        """The claim's experiments; none on a tier that other papers have and its own lacks."""
        known = paper(claim.paper)
        lacking = known is not None and self.tier not in known.tiers
        return () if lacking else claim.experiments(self.tier)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        """Counts all claims before any is deselected; reads those that are left at the end."""
        unloadable = [item for item in items if isinstance(item, Unloadable)]
        folders: list[Folder] = []
        known = {item.name.partition("[")[0]: ids_of(item)[0] for item in items if ids_of(item)}

        def select() -> None:
            if not is_tier(self.tier):  # experiments may name tiers of their own
                raise pytest.UsageError(str(unknown_tier(self.tier)))
            folders.append(Folder.of(items, self._count))
            self._select(items)

        self._or_unusable(items, select)
        yield
        # Any selection may ask for a claim that such a module has.
        items[:0] = [item for item in unloadable if folders and item not in items]
        self._unloadable = [item.line for item in unloadable]
        if folders:
            self._watched = folders[0].watched
            self._or_unusable(items, lambda: self._read_all(items, folders[0]))
        if known and not items and (keyword := self.config.option.keyword):
            self._unmatched = _nothing_fits(keyword, known)

    def _or_unusable(self, items: list[pytest.Item], step: Callable[[], None]) -> None:
        """Does a step; a worker tells its controller of a usage error there, and runs no test.

        pytest-xdist would take the error for a crash of the worker.
        """
        try:
            step()
        except pytest.UsageError as error:
            if not self._is_worker:
                raise
            getattr(self.config, "workeroutput")[UNUSABLE] = str(error)  # noqa: B009
            items.clear()

    def _select(self, items: list[pytest.Item]) -> None:
        """Keeps the claims and audits whose ids --embinit-claim asks for, and no other test.

        Raises:
            pytest.UsageError: There is none.
        """
        globs: list[str] = self.option("claim")
        if not globs:
            return
        ids = {item: ids_of(item) for item in items}
        kept = [
            item
            for item in items
            if isinstance(item, Unloadable)
            or any(fnmatch.fnmatchcase(each, glob) for each in ids[item] for glob in globs)
        ]
        if not kept:
            known = sorted({each for every in ids.values() for each in every})
            near = "".join(nearest(glob, known) for glob in globs)
            raise pytest.UsageError(
                f"--embinit-claim: no claim fits {', '.join(globs)}: {near}embinit list tells them"
            )
        self.config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept

    def _count(self, claim: Claim) -> int:
        """How many experiments a claim has on the tier; one where that can't be told."""
        try:
            return len(self._experiments(claim))
        except Exception:
            return 1

    def _read_all(self, items: list[pytest.Item], folder: Folder) -> None:
        """Reads every selected claim once, and plans the runs of all of them.

        A claim without an experiment on this tier is deselected, since there is nothing to run. A
        claim that can't be read fails when its turn comes; the others are run.

        Raises:
            pytest.UsageError: The schedule of looks is impossible for a claim, or there is too
                little memory.
        """
        try:
            require_room(SESSION_ROOM)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None
        absent = [item for item in items if getattr(item, "function", None) in self._without]
        if absent:
            self._absent = len(absent)
            self.config.hook.pytest_deselected(items=absent)
            items[:] = [item for item in items if item not in absent]
        wanted: list[list[RunSpec]] = []
        for item in items:
            if not isinstance(item, pytest.Function):
                continue
            stated = Statement.of(item.function)
            if stated is None:
                if lacks_its_claim(item):
                    cannot_be_read(item, InputError(NO_CLAIM))
                continue
            home = (item.module.__name__, str(item.path))
            self._modules[home] = None
            item.user_properties.append((MARK, json.dumps(home)))
            named = {"nodeid": argument(item), "id": ids_of(item)[-1]}
            item.user_properties.append((NAMED, json.dumps(named)))
            if isinstance(stated, Misstated):
                cannot_be_read(item, stated.error)
            claim = Claim.of(item.function)
            if claim is None:
                continue
            self._let_it_train(item)
            _check_lock(item)
            try:
                item.stash[CASE] = read_item(item, folder.family(claim, self.tier))
            except Exception as error:
                cannot_be_read(item, error)
            else:
                self._check_schedule(item.stash[CASE])
                self._cases.append(item.stash[CASE])
                if not self.config.option.collectonly:
                    wanted.append(self._first_runs(item.stash[CASE]))
        self._check_sources()
        if any(wanted):
            self._refuse_broken_sources(run for runs in wanted for run in runs)
            # A claim that lacks one run can't be decided, so its other runs would be no use.
            possible = [runs for runs in wanted if not any(map(self.session.problem, runs))]
            self._planned_first = [run for runs in possible for run in runs]
            self.session.want(self._planned_first)
            progress.tell_plan(self.session, self._controller)
            self._tell_foreseen()
            if getattr(self.config, "workerinput", {}).get("workerid") == FIRST_WORKER:
                with contextlib.suppress(OSError):
                    write_atomically(self._outlook, "\n".join(self._foreseen()))

    def _tell_foreseen(self) -> None:
        """Tells progress which runs later looks are expected to take, from one process for all."""
        worker = getattr(self.config, "workerinput", {}).get("workerid", FIRST_WORKER)
        no_looks = self.registering.is_asked_for or self.option("no-train")
        if worker != FIRST_WORKER or no_looks:
            return
        runs: list[RunSpec] = []
        for case in self._cases:
            with contextlib.suppress(Exception):  # what is wrong with a claim is told in its turn
                # Of a claim that can't be run no run is planned.
                if not any(map(self.session.problem, case.runs())):
                    runs += foreseen_runs(case, self._most_seeds)
        self._tell_later(runs)

    def _tell_later(self, runs: Iterable[RunSpec]) -> None:
        """Tells progress which runs are expected, where they are others than were told last."""
        expected = dict.fromkeys(runs)
        if expected.keys() != self._expected:
            self._expected = set(expected)
            with contextlib.suppress(Exception):  # an estimate ends no session
                progress.tell_later(self.session, self._controller, expected)

    def _retell_later(self) -> None:
        """Tells progress what is expected once a claim is decided, if that is less than before."""
        store, first = self.session.store, self._planned_first
        if self._expected and all(self.session.key(run) in store for run in first):
            self._order_of_looks()

    def _let_it_train(self, item: pytest.Function) -> None:
        """Lifts pytest-timeout's limit: within the first claim the runs of all are trained."""
        if self.config.pluginmanager.has_plugin("timeout") and not item.get_closest_marker(
            "timeout"
        ):
            item.add_marker(pytest.mark.timeout(0))

    def _check_sources(self) -> None:
        """Refuses a source that an option names and no claim reads.

        Raises:
            pytest.UsageError: There is one, and embinit has none of that name either.
        """
        given = [name for name, _ in self._sources()]
        if not given or not self._cases:
            return
        from embinit.data.sources import is_named_here

        read = {
            source
            for case in self._cases
            for run in case.runs()
            if (source := run.table.source) is not None
        }
        for name in given:
            if name not in read and is_named_here(name):
                raise pytest.UsageError(
                    f"--embinit-source {name}=…: no claim reads a source {name!r}: "
                    f"{nearest(name, read)}they read {', '.join(sorted(read)) or 'none'}"
                )

    def _refuse_broken_sources(self, runs: Iterable[RunSpec]) -> None:
        """Refuses a source that an option names and that is broken further down than its start.

        What lacks data is NOT RUN. But a file that was named is there, and nobody meant it so.

        Raises:
            pytest.UsageError: There is one.
        """
        if not (given := self._sources()):
            return
        for problem in filter(None, map(self.session.problem, runs)):
            for name, path in given:
                if str(path) in problem:
                    raise pytest.UsageError(f"--embinit-source {name}={path}: {problem}")

    @property
    def _outlook(self) -> Path:
        """The file by which the first worker tells its controller what the claims can see."""
        return self._marks / f"outlook-{self._controller}.txt"

    def _foreseen(self) -> list[str]:
        """What the claims can see, in lines; none where pytest is to be quiet."""
        if self.option("list"):
            return outlook.listing(self._cases)
        verbosity = self.config.get_verbosity()
        # Told before anything trains, since the test that fails comes in its turn.
        broken = [f"embinit: its claims are not run: {line}" for line in self._unloadable]
        broken += [self._unmatched] if self._unmatched else []
        broken += map(printable, outlook.unseen_lines(self._cases))
        if verbosity < 0 or self.registering.is_asked_for:
            return broken
        lines = [*broken, *outlook.session_lines(self._cases, self._most_seeds)]
        lines += outlook.doubts(self._cases, self._watched)
        if self._absent:
            lines.insert(
                0, f"embinit: {self._absent} left out, with no experiment on tier {self.tier}"
            )
        if verbosity > 0 and self.config.option.collectonly:
            lines += outlook.claim_lines(self._cases, self._most_seeds)
        return lines

    def pytest_report_collectionfinish(self) -> list[str]:
        """Tells what the claims can see before anything trains."""
        return self._foreseen()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> None:
        """Tells what the first worker's claims can see."""
        if node.gateway.id == FIRST_WORKER:
            self.tell_outlook()

    def tell_outlook(self) -> None:
        """Writes the first worker's lines to the terminal, once."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        with contextlib.suppress(OSError):
            lines = read_bytes(self._outlook).decode(errors="replace").splitlines()
            self._outlook.unlink()
            if reporter is not None and lines:
                reporter.ensure_newline()
                for line in lines:
                    reporter.write_line(printable(line))

    def _first_runs(self, case: Case) -> list[RunSpec]:
        """The runs that a claim's first look takes, or those that are measured beforehand."""
        return self.registering.runs(case) if self.registering.is_asked_for else case.runs()

    def _check_schedule(self, case: Case) -> None:
        try:
            case.seeds_of_looks(self._most_seeds)
        except InputError as error:
            raise pytest.UsageError(f"--embinit-max-seeds: {error}") from None

    @property
    def _most_seeds(self) -> int | None:
        """The most seeds of a look, where an option says so; --embinit-seeds alone is one look."""
        seeds, most = self.option("seeds"), self.option("max-seeds")
        return int(most or seeds) if most or seeds else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        """Judges a claim or makes an audit; every other test is left to pytest.

        Returns:
            True for a claim and an audit, which stops pytest from calling the test; else None.
        """
        audit = Audit.of(pyfuncitem.function)
        if audit is not None:
            settle_audit(pyfuncitem, audit)
            return True
        if UNREADABLE in pyfuncitem.stash:
            pytest.fail(printable(pyfuncitem.stash[UNREADABLE]), pytrace=False)
        if CASE not in pyfuncitem.stash:
            return None
        if self.registering.is_asked_for:
            self.registering.register(
                pyfuncitem, pyfuncitem.stash[CASE], self.session, self._ensure
            )
            return True
        judgement = self._judge(pyfuncitem)
        self._retell_later()
        entry = claim_entry(judgement, argument(pyfuncitem), self.session.key, self.session.result)
        pyfuncitem.user_properties.append((PROPERTY, json.dumps(entry)))
        pyfuncitem.user_properties.extend(properties(entry))
        if judgement.failures:
            pyfuncitem.user_properties.append((FAILED, "; ".join(judgement.failures)))
        settle(pyfuncitem, judgement, bool(self.config.getini(STRICT)))
        return True

    def _judge(self, item: pytest.Function) -> Judgement:
        """Judges a claim. What goes wrong there is the claim's, and never the session's."""
        case = item.stash[CASE]
        try:
            require_room()
            return judge(
                case,
                session=self.session,
                max_seeds=self._most_seeds,
                ensure=self._ensure,
                may_go_on=lambda runs: self._may_look_again(case, runs),
            )
        except Exception as error:
            if isinstance(error, OutputError):
                item.user_properties.append((UNWRITTEN, str(error)))
            return broken(case, error, self._most_seeds)

    def _plan(self, runs: Iterable[RunSpec]) -> bool:
        """Lets runs join the plan; whether there are new ones."""
        if more := self.session.want_more(runs):
            progress.tell_plan(self.session, self._controller, more)
        return bool(more)

    def _ensure(self, runs: list[RunSpec], soon: Sequence[RunSpec] = ()) -> None:
        """Gets ``runs`` stored. Those of a later look join the plan first, and so do ``soon``."""
        if not self._plan([*runs, *soon]):
            return self.session.ensure(runs)
        with self._helped():
            return self.session.ensure(runs)

    def _may_look_again(self, case: Case, runs: list[RunSpec]) -> bool:
        """Whether a later look may begin; what is worth more is trained before it.

        All first looks come first. Then controls are looked at until they are decided, whatever the
        budget: no verdict counts without them. Then the look is taken that decides most claims for
        the time that its runs take. Every worker finds the same order in the store, so that a
        budget ends with the least promising claims.
        """
        if self.option("no-train"):
            return True  # what the store has was paid for; what it lacks is a problem of its own
        self.session.ensure(self._planned_first)
        self._planned_first = []
        may_train = case.claim.expects is not None
        # What another claim's look has trained costs nothing, and is in no order of looks.
        while not all(self.session.key(run) in self.session.store for run in runs):
            if not may_train and not self._in_time():
                return False
            order = self._order_of_looks()
            if case.id not in {each.case.id for each in order}:
                return True
            # The next ones join the plan too, for workers that find these runs in training.
            soon = [run for each in order[1:LOOKS_AHEAD] for run in each.runs]
            first = order[0]
            if first.case.claim.expects is None and not self._in_time():
                return False
            if first.case.id == case.id:
                self._plan(soon)
                return True
            self._ensure(list(first.runs), soon)
            if first.is_next(self.session):  # its runs were lost from the store
                self._ended.add(first.case.id)
        return True

    def _order_of_looks(self) -> list[NextLook]:
        """The next looks of what the stored runs leave open: controls, then what promises most.

        It holds until the first of them is taken.
        """
        following = []
        for case in self._cases:
            if case.id in self._ended:
                continue
            look = self._next_looks.get(case.id)
            if look is None or not look.is_next(self.session):
                look = None
                with contextlib.suppress(Exception):  # it breaks its own claim, in its turn
                    look = next_look(case, self.session, self._most_seeds)
            if look is None:  # all first looks are stored by now, so it will never have one
                self._ended.add(case.id)
            else:
                self._next_looks[case.id] = look
                following.append(look)
        self._tell_later(run for look in following for run in look.expected)
        return sorted(by_worth(following), key=lambda look: look.case.claim.expects is None)

    @property
    def _ends(self) -> float | None:
        """When no later look begins any more, by ``time.monotonic``; None without a budget."""
        budget = self.option("budget")
        return None if budget is None else self.config.stash[BEGAN] + 60 * budget

    def _in_time(self) -> bool:
        """Whether a later look may begin."""
        return self._ends is None or time.monotonic() < self._ends

    @property
    def _seconds(self) -> float:
        """How long the session has run, whatever was done to the clock meanwhile."""
        return time.monotonic() - self.config.stash[BEGAN]

    def _helped(self) -> contextlib.AbstractContextManager[None]:
        """A context in which others train too: this machine's other cores, or the cluster."""
        helps = self._session is not None and (self._is_alone or self._on_ray)
        return self.session.helped() if helps else contextlib.nullcontext()

    def begin(self) -> None:
        """Shows the session's progress from now on, and lets others train."""
        if not self._begun:
            self._begun = True
            if not self._is_worker:
                self._open.enter_context(progress_line.shown(self.config, self._marks, self._ends))
            self._open.enter_context(self._helped())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        """Shows progress and lets others train while the tests run."""
        self.begin()
        try:
            return (yield)
        finally:
            self._close()

    def _close(self) -> None:
        """Ends the session's progress; how far it came is kept."""
        if self._begun and not self._is_worker and self._state is None:
            self._state = progress.Runs(self._marks, os.getpid(), ends=self._ends).look()
        self._open.close()

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Lets no warning, which may be anybody's text, move the terminal."""
        told = printable(text := str(warning_message.message))
        if told != text:
            warning_message.message = told

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collects the verdicts from the reports; a claim without a verdict is broken."""
        if self._is_worker:
            return
        entries = int(self.registering.collect(report))
        named, is_statement, failure = {"nodeid": report.nodeid}, False, ""
        collected = {PROPERTY: self.verdicts, AUDIT_PROPERTY: self.audits}
        for name, value in report.user_properties:
            if name == MARK:
                is_statement = True
                module, file = json.loads(str(value))
                self._modules[module, file] = None
            if name == NAMED:
                named = json.loads(str(value))
            if name == FAILED:
                failure = str(value)
            self._unwritten |= name == UNWRITTEN
            if name in collected:
                entries += 1
                if report.when == "call":
                    collected[name].append(json.loads(str(value)))
        self._reported |= is_statement or report.when not in PHASES
        # What fails before or after a claim's own test is no verdict either.
        broke = not entries or report.when != "call"
        if report.failed and (failure or (is_statement and broke) or report.when not in PHASES):
            _tell(self.errors, {**named, "reason": failure or reason_of(report)})
        if report.skipped and is_statement and not entries and not self.registering.is_asked_for:
            _tell(self.skipped, {**named, "reason": skip_reason(report)})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that can't be collected may have claims, which then have no verdict."""
        if self._is_worker:
            return
        if report.failed:
            _tell(self.errors, {"nodeid": report.nodeid, "reason": reason_of(report)})
        if report.skipped and baseline.has_claims_of(self._blessed, report.nodeid):
            self._reported = True
            _tell(self.skipped, {"nodeid": report.nodeid, "reason": skip_reason(report)})

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keeps why the session was interrupted."""
        self.unfinished = str(excinfo.value) or "it was interrupted from the keyboard"

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        """Sets pytest's exit status, to one of ``embinit.errors.Status``."""
        self._close()
        if not self._is_worker:
            stopped = session.shouldfail or session.shouldstop
            # Where nothing but other tests is there, pytest's own status stands.
            if self.unfinished is None and stopped and (self._cases or self._reported):
                self.unfinished = str(stopped)
            session.exitstatus = self._status(session.exitstatus)
        yield
        if self._unwritten:  # the summary has tried to write the report
            session.exitstatus = self._status(session.exitstatus)

    def _status(self, status: int) -> int:
        """What the session ends with, where pytest itself would end with ``status``."""
        if status in (Status.BROKEN, Status.UNUSABLE):
            return status
        if self.unfinished is not None:
            return Status.INTERRUPTED
        if self._unwritten:
            return Status.UNWRITABLE
        if self.errors:
            return Status.BROKEN
        # Where all that was asked for is skipped, pytest knows of no test.
        if status in (Status.IN_ORDER, Status.NOTHING) and self._reported and self._faults():
            return Status.NOT_IN_ORDER
        return status

    def _faults(self) -> list[str]:
        """What is not in order; nothing is where nothing was to be judged."""
        if self._is_worker or self.registering.is_asked_for:
            return []
        return baseline.faults(self._judged(), self._blessed, self._moved)

    def _judged(self) -> dict[str, Any]:
        """The verdicts document without what is told of the session itself."""
        lists = {"errors": self.errors, "skipped": self.skipped}
        return {
            "schema_version": 1,
            "session": {"tier": self.tier},
            "claims": self.verdicts,
            "audits": self.audits,
            **{name: entries for name, entries in lists.items() if entries},
        }

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> Iterator[None]:
        """Writes the report and prints the verdicts, below pytest's own summary."""
        yield
        with warnings.catch_warnings():
            # pytest's own filters are those from before the claims were loaded here.
            warnings.simplefilter("default", DamagedWarning)
            if self._is_worker:
                return
            try:
                if self.registering.is_asked_for:
                    whole = self._reported and not self.errors
                    self.registering.write(terminalreporter, whole)
                elif self._reported:
                    self._conclude(terminalreporter)
            except Exception as error:
                if not (isinstance(error, OutputError) or is_unwritable(error)):
                    raise
                self._unwritten = True
                terminalreporter.write_line(printable(f"NOT WRITTEN: {error}"), red=True)

    def _conclude(self, terminalreporter: Any) -> None:
        """Prints the verdicts, and writes the report.

        Raises:
            OutputError: The report can't be written.
        """
        from embinit.report import past, write_report
        from embinit.report.verdict_table import clean, verdict_lines

        load_modules(self._modules)  # what claims register, here where no claim was collected
        # statsmodels and pytest call gc.collect(), which would walk all of torch's objects.
        gc.freeze()
        for entries in (self.verdicts, self.audits):
            entries.sort(key=lambda entry: entry["id"])
        add_holm(self.verdicts)
        try:
            # A disk that is full can be read.
            store = Store(self._path("store"), write=False)
        except InputError:
            store = None  # nothing was trained
        runs = {} if store is None else self._runs(store)
        about = self._about(store, runs)
        document = {**self._judged(), "session": about}
        terminalreporter.section("verdicts")
        writer = self.config.get_terminal_writer()
        width = writer.fullwidth if terminalreporter.isatty else None
        for line in verdict_lines(self.verdicts, self.audits, width, writer.hasmarkup):
            terminalreporter.write_line(line)
        for line in not_beforehand(self.verdicts):
            terminalreporter.write_line(clean(line))
        for each in locks_of(self.verdicts):
            terminalreporter.write_line(f"{each['lock']} {each['digest']}")
        self._tell_changes(terminalreporter)
        for word, entries in (("ERROR", self.errors), ("SKIPPED", self.skipped)):
            for entry in entries:
                name = entry.get("id", entry["nodeid"])
                terminalreporter.write_line(clean(f"{word} {name}: {entry['reason']}"), red=True)
        for fault in baseline.faults_of_session(document):
            terminalreporter.write_line(clean(f"NOT IN ORDER: {fault}"), red=True)
        for note in about.get("notes", ()):
            terminalreporter.write_line(clean(note), yellow=True)
        for trouble in self._session.troubles if self._session is not None else ():
            terminalreporter.write_line(clean(trouble), yellow=True)
        if self.unfinished is not None:
            terminalreporter.write_line(clean(f"unfinished: {self.unfinished}"), red=True)
            if self._state is not None:
                terminalreporter.write_line(f"{self._state.stored} are stored; run again")
        histories = [] if self._baseline is None else [self._baseline.parent / past.NAME]
        directory, replace_whole = self._path("report-dir"), self.option("replace-report")
        page = write_report(document, runs, directory, histories, replace_whole)
        terminalreporter.write_line(printable(f"report: {page}"))

    def _runs(self, store: Store) -> dict[str, Any]:
        """The stored runs of the session's claims by key, each with its arm's name."""
        from embinit.report.arms import Run

        label = arm_labels(papers_of(entry["paper"] for entry in self.verdicts))
        results = store.results(sorted(self._keys()))
        return {key: Run(key, label(result.spec), result) for key, result in results}

    def _keys(self) -> set[str]:
        return {
            key
            for entry in self.verdicts
            for comparison in entry["comparisons"]
            for key in comparison["runs"]
        }

    def _tell_changes(self, terminalreporter: Any) -> None:
        from embinit.report.verdict_table import clean

        if self._baseline is None:
            return
        terminalreporter.section("against the baseline")
        changes = [] if self._blessed is None else baseline.changes(self._judged(), self._blessed)
        for change in changes:
            fault = baseline.is_fault(change, self._moved)
            word = "LOST" if change.lost else "MOVED" if fault else "moved"
            for line in f"{word}: {change}".splitlines():
                terminalreporter.write_line(clean(line), red=fault)
        if not changes:
            terminalreporter.write_line("every verdict as it was, every effect where it was")

    def _about(self, store: Store | None, runs: Mapping[str, Any]) -> dict[str, Any]:
        """The session's entry in the verdicts document.

        Args:
            store: The store, if there is one.
            runs: The stored runs of the session's claims.
        """
        from embinit.runs.functions import other_versions, untrue_seeds
        from embinit.runs.results import device_name, moment, versions

        results = [run.result for run in runs.values()]
        notes = [*untrue_seeds(results), *other_versions(results)]
        keys, device = self._keys(), str(self.option("device"))
        fresh = sum(
            store is not None and store.path(key).stat().st_mtime >= self.started for key in runs
        )
        first = {entry["looks"][0]["seeds"] for entry in self.verdicts}
        locks = locks_of(self.verdicts)
        return {
            **({"locks": locks} if locks else {}),
            **({"notes": notes} if notes else {}),
            "started": moment(self.started),
            "wall_seconds": round(self._seconds, 1),
            "tier": self.tier,
            # The nodes of a cluster may have what this machine has not.
            "device": f"{device} (Ray cluster)" if self._on_ray else device_name(device),
            "seeds": self.option("seeds") or max(first, default=0),
            "command": " ".join(["pytest", *self.config.invocation_params.args]),
            "runs": {
                "wanted": len(keys),
                "trained": fresh,
                "stored": len(keys) - fresh,
            },
            "versions": versions(),
            "data_dir_given": self._data_dir is not None,
            **({} if self.unfinished is None else {"unfinished": self.unfinished}),
        }

    def pytest_report_header(self) -> str:
        """The line in pytest's header: tier, device and cluster."""
        header = f"embinit: tier {self.tier}, device {self.option('device')}"
        return header if self.cluster is None else f"{header}, Ray at {self.cluster}"


def _tell(entries: list[dict[str, str]], entry: dict[str, str]) -> None:
    """Adds an entry, once for each test."""
    if entry["nodeid"] not in [each["nodeid"] for each in entries]:
        entries.append(entry)


def _check_lock(item: pytest.Function) -> None:
    """Refuses a lock that can't be read, before anything trains.

    Raises:
        pytest.UsageError: It is damaged, or of a newer embinit.
    """
    try:
        _ = lock_beside(item.path).document
    except InputError as error:
        raise pytest.UsageError(str(error)) from None


def _nothing_fits(keyword: str, known: Mapping[str, str]) -> str:
    """A line on a ``-k`` that selects none of the claims.

    Args:
        keyword: What ``-k`` says.
        known: The claims' ids by the names of their tests.
    """
    named = [f"{name} ({known[name]})" for name in sorted(known)]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    near = nearest(keyword, [*known, *known.values()])
    return printable(
        f"embinit: -k {keyword!r} selects no claim: {near}it takes names of tests, and "
        f"--embinit-claim ids: {', '.join(named[:MOST_NAMED])}{more}"
    )


def _check_looks(seeds: int, most: int) -> None:
    try:
        seeds_of_looks(seeds, most)
    except InputError as error:
        raise InputError(f"--embinit-max-seeds: {error}") from None


def _check_name(option: str, folder: Path) -> None:
    """Refuses a folder that the file system can't look up, as by a name that is too long."""
    try:
        os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return  # it is made, or refused when it is
    except OSError as error:
        raise InputError(
            f"--embinit-{option} {folder}: {error.strerror or error}; name another folder"
        ) from None


def _check_folder(folder: Path) -> None:
    """Refuses a folder for the report that can't be written, before anything trains."""
    _check_name("report-dir", folder)
    known = next(each for each in (folder, *folder.parents) if each.exists())
    if not known.is_dir() or not os.access(known, os.W_OK):
        what = "can't be written" if known.is_dir() else "is no folder"
        raise InputError(f"--embinit-report-dir {folder}: {known} {what}; name another folder")


def _check_device(device: str) -> None:
    try:
        import torch
    except ModuleNotFoundError as error:
        raise (lacking_models(error) or error) from None
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"--embinit-device {device} can't be used here ({reason}); try cpu"
        ) from None
