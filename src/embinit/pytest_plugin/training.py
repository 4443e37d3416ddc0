"""The plugin that trains: it opens the store, shows progress and lets others help."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from embinit.errors import InputError
from embinit.pytest_plugin import progress_line
from embinit.pytest_plugin.session_options import CLUSTER, GIVEN, SessionOptions
from embinit.pytest_plugin.state import SessionState
from embinit.runs import progress
from embinit.runs.functions import Surroundings, Trainers
from embinit.runs.machine import end_with
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import RunSpec


class Training:
    """The training of a session's runs; ``progress`` is how far it came, once it is closed."""

    def __init__(self, options: SessionOptions, state: SessionState) -> None:
        """Joins the cluster, if one trains; pytest.UsageError where it can't be joined."""
        self._options, self._state = options, state
        self.cluster: str | None = None
        self.progress: progress.ProgressSnapshot | None = None
        self._session: Session | None = None
        self._open = contextlib.ExitStack()
        self._begun = False
        self.surroundings: Surroundings | None = None
        if options.on_ray:
            try:
                self._join_ray()
            except InputError as error:
                raise pytest.UsageError(str(error)) from None
        if options.is_worker:
            end_with(os.getppid())
        else:
            progress.sweep(options.marks, options.started)

    def _join_ray(self) -> None:
        """Joins the Ray cluster before anything else; a worker joins its controller's."""
        from embinit.runs import ray_engine

        if self._options.config.option.collectonly or self._options.option("no-train"):
            return
        self.cluster = ray_engine.connect(self._options.cluster, self._options.option("device"))

    def pytest_unconfigure(self) -> None:
        """Leaves the Ray cluster."""
        if self.cluster is not None:
            from embinit.runs import ray_engine

            ray_engine.disconnect()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Gives a worker the same paths, and the cluster that trains."""
        paths = {name: str(self._options.path(name)) for name in ("store", "report-dir")}
        node.workerinput[GIVEN] = {**paths, CLUSTER: self.cluster}

    def _store(self) -> Store:
        """The store; a session that trains nothing only reads it, from read-only media too."""
        path = self._options.path("store")
        return Store(
            path, write=not (self._options.option("no-train") and (path / "runs").is_dir())
        )

    @property
    def session(self) -> Session:
        """This process's view of the plan and the store, opened when it is first needed."""
        if self._session is None:
            try:
                store = self._store()
            except InputError as error:
                raise pytest.UsageError(str(error)) from None
            may_train = not self._options.option("no-train")
            where = (
                store,
                self._options.data_dir,
                self._options.option("device"),
                self._options.definitions(),
                may_train,
            )
            if self._options.on_ray:
                from embinit.runs.ray_engine import RaySession

                self._session = RaySession(*where, gpu_share=self._options.gpu_share)
            else:
                self._session = Session(*where)
            self._session.name = self._options.name
            self._session.modules = tuple(self._state.modules)
            self._session.trainers = Trainers(self.surroundings)
        return self._session

    @property
    def troubles(self) -> Sequence[str]:
        """Troubles in training that ended no run, a line each."""
        return () if self._session is None else self._session.troubles

    def plan(self, runs: Iterable[RunSpec]) -> bool:
        """Lets runs join the plan; whether there are new ones."""
        if more := self.session.extend_plan(runs):
            progress.publish_plan(self.session, self._options.controller, more)
        return bool(more)

    def ensure(self, runs: list[RunSpec], soon: Sequence[RunSpec] = ()) -> None:
        """Gets ``runs`` stored. Those of a later look join the plan first, and so do ``soon``."""
        self.plan([*runs, *soon])
        lacking = self.session.may_train and any(map(self.session.is_missing, runs))
        with self._helped() if lacking else contextlib.nullcontext():
            return self.session.ensure(runs)

    def _helped(self) -> contextlib.AbstractContextManager[None]:
        """A context in which others train too: this machine's other cores, or the cluster."""
        helps = self._session is not None and (self._options.is_alone or self._options.on_ray)
        return self.session.with_helpers() if helps else contextlib.nullcontext()

    def begin(self) -> None:
        """Shows the session's progress from now on, and lets others train."""
        if not self._begun:
            self._begun = True
            if not self._options.is_worker:
                self._open.enter_context(
                    progress_line.shown(
                        self._options.config,
                        self._options.marks,
                        self._options.ends,
                    )
                )
            self._open.enter_context(self._helped())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        """Shows progress and lets others train while the tests run."""
        self.begin()
        try:
            return (yield)
        finally:
            self.close()

    def close(self) -> None:
        """Ends the session's progress; how far it came is kept."""
        if self._begun and not self._options.is_worker and self.progress is None:
            self.progress = progress.ProgressMonitor(
                self._options.marks, os.getpid(), ends=self._options.ends
            ).look()
        self._open.close()
        if self._session is not None:
            self._session.trainers.end()
