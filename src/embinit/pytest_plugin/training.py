"""The plugin that trains: it opens the store, starts trainers and shows progress."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
from collections.abc import Iterator, Sequence

import pytest

from embinit.claims.judging import Case
from embinit.claims.registering import Registration
from embinit.pytest_plugin.analysis_order import AnalysisOrder
from embinit.pytest_plugin.project_globals import ProjectGlobals
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.runs.engines import Processes
from embinit.runs.kept_runs import open_store
from embinit.runs.machine import end_with
from embinit.runs.modules import Home
from embinit.runs.progress import ProgressSnapshot, progress_of
from embinit.runs.session import Session
from embinit.runs.trainers.processes import Surroundings, Trainers

LINE_SECONDS, CI_SECONDS = 30.0, 300.0
"""The seconds between lines on progress: few, but no job is taken for hung."""


class TrainingPlugin:
    """The training of a session's runs.

    ``cases`` are the claims that were collected here, ``modules`` those of all claims. ``globals``
    has the project's before any test, where there are claims. ``registration`` is there in a
    session that only registers.
    """

    globals: ProjectGlobals

    def __init__(self, options: SessionOptions) -> None:
        """Joins the cluster, if one trains; InputError where it can't be joined."""
        self._options = options
        self.cases: list[Case] = []
        self.modules: dict[Home, None] = {}
        seeds = options.registered_seeds
        self.registration = None if seeds is None else Registration(seeds)
        self.analyses = AnalysisOrder(options, self)
        self.cluster: str | None = None
        self.surroundings: Surroundings | None = None
        self._open = contextlib.ExitStack()
        idle = options.config.option.collectonly or options.option("no-train")
        if options.is_worker:  # it trains by itself
            end_with(os.getppid())
        elif options.on_ray and not idle:
            from embinit.runs import ray_engine

            self.cluster = ray_engine.connect(options.cluster, options.option("device"))
            self._open.callback(ray_engine.disconnect)

    @functools.cached_property
    def session(self) -> Session:
        """The session's plan and store, opened when they are first needed."""
        options = self._options
        path, may_train = options.path("store"), not options.option("no-train")
        # A session that trains nothing only reads it, from read-only media too.
        is_there = path.is_file() or (path / "runs").is_dir()
        store = open_store(path, write=may_train or not is_there)
        device = options.devices[0] if options.is_worker else options.option("device")
        made = Session(store, options.data_dir, device, options.definitions(), may_train)
        made.places = len(options.devices)
        made.modules = tuple(self.modules)
        made.trainers = Trainers(self.surroundings)
        return made

    @property
    def _is_open(self) -> bool:
        return "session" in vars(self)

    @property
    def reached(self) -> ProgressSnapshot | None:
        """How far the session came; None where nothing was planned."""
        if not self._is_open:
            return None
        return progress_of(self.session, self.analyses.expected(), self._options.ends)

    @property
    def troubles(self) -> Sequence[str]:
        """The troubles that ended no run, a line each."""
        return self.session.troubles if self._is_open else ()

    def progress_line(self) -> str:
        """How far it came, and the time left; "" where nothing is left to train."""
        state = self.reached
        if state is None or state.ended:
            return ""
        return f"embinit: {self.analyses.judged}{state.stored} stored, {state.estimate}"

    def _engine(self) -> Processes | None:
        """Who trains; None for this process alone."""
        if self.cluster is not None:
            from embinit.runs.ray_engine import RayEngine

            return RayEngine(self._options.option("device"))
        devices = self._options.devices
        return Processes(devices, self.session.trainers.surroundings) if len(devices) > 1 else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        """Has trainers train, and shows progress, while the tests run."""
        if self._is_open and self.session.joined and not self._options.is_worker:
            self._show_progress()
            if (engine := self._engine()) is not None:
                self._open.enter_context(self.session.trained_by(engine))
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, _end)
                self._open.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL)
        try:
            return (yield)
        finally:
            self.close()

    def _show_progress(self) -> None:
        """Has how far the session came written now and then, through pytest, until its close."""
        in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(CI_SECONDS if in_ci else LINE_SECONDS):
                if line := self.progress_line():
                    _write(self._options.config, line)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        self._open.callback(watcher.join)
        self._open.callback(ended.set)

    def close(self) -> None:
        """Ends all training."""
        self._open.close()
        if self._is_open:
            self.session.trainers.end()


def _write(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    if reporter is None:
        return
    # The tests' output is captured, and this line is none of it.
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        reporter.ensure_newline()
        reporter.line(line)
        reporter.flush()  # into a file, lines would wait for the next test's end


def _end(number: int, frame: object) -> None:
    """Ends the session at a signal as Ctrl-C does, with a report."""
    raise KeyboardInterrupt("it was ended by SIGTERM")
