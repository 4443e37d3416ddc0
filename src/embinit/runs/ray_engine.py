"""Many machines: the same plan, its cohorts trained as tasks of a Ray cluster.

The session plans, holds the locks and stores. A task carries the specs of its cohort and their
keys, by which its node checks that it reads the same data. Ray runs a task again if it was lost
with its node; when the head is lost, the runs that are left are recorded as failed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import math
import os
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embinit.errors import InputError
from embinit.files.writing import write_atomically
from embinit.runs.kinds import Cohort, kind_of
from embinit.runs.machine import cores, limit_threads
from embinit.runs.modules import Home, load_modules
from embinit.runs.results import RunResult
from embinit.runs.session import REASON, WAIT_SECONDS, Session, failure_reason, key_of, results_of
from embinit.specs import RunSpec

RETRIES = 5
"""How often a cohort is begun again after its node was lost. Some nodes are rented by the hour."""

CONNECT_SECONDS = 10.0
"""How long to wait for an address to answer. Ray itself tries for minutes."""

HEAD_SECONDS = 20.0
"""How long the cluster's head may be silent before the cluster is given up."""

PATIENCE = ("RAY_gcs_rpc_server_reconnect_timeout_s", "600")
"""How long Ray lets a process live whose head is silent: longer than embinit takes to tell.

Ray then ends the process where it stands, without a report and with status 1. Its default is 60.
"""

OBJECT_BYTES = 100 * 2**20
"""Memory for results in transit on a cluster of one machine. Ray's default is a third of it."""


def connect(address: str | None, device: str = "cpu") -> str:
    """Joins a cluster, or starts one here without an address; returns its address.

    Without Ray, an answer or a node with the device it is an InputError.
    """
    ray = _ray()
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing leaves this machine
        settings |= {"num_cpus": cores(), "include_dashboard": False}
        settings |= {"object_store_memory": OBJECT_BYTES}
    else:
        _reach(address)
    try:
        ray.init(address or "local", **settings)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(_unreachable(address, error)) from error
    if device != "cpu" and not ray.cluster_resources().get("GPU"):
        ray.shutdown()
        raise InputError(
            f"--embinit-device {device}: no node of the Ray cluster has a GPU; try cpu"
        )
    return str(address or ray.get_runtime_context().gcs_address)


def disconnect() -> None:
    """Leaves the cluster, and ends it if it was started here."""
    _ray().shutdown()


def _ray() -> Any:
    os.environ.setdefault(*PATIENCE)  # Ray reads it when it is imported
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise InputError(
            "--embinit-engine ray needs Ray, which isn't installed; pip install 'embinit[ray]'"
        ) from None


def _reach(address: str) -> None:
    """InputError if nothing listens at ``address``."""
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    try:
        url = urlsplit(named if "://" in named else f"//{named}")
        if url.hostname and url.port:
            socket.create_connection((url.hostname, url.port), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise InputError(_unreachable(address, error)) from None


def _unreachable(address: str | None, error: Exception) -> str:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    if address is None:
        return f"--embinit-engine ray: Ray can't be started on this machine ({reason})"
    return (
        f"--embinit-engine ray:{address}: no Ray cluster can be joined there ({reason}); name the "
        "host:port that `ray start --head` told, and start Ray on this machine as one of its "
        "nodes; with --embinit-engine ray this machine alone is used"
    )


def work(
    cohort: Cohort,
    keys: Sequence[str],
    data_dir: Path | None,
    device: str,
    definitions: Sequence[Callable[[], None]],
    modules: Sequence[Home] = (),
    twice: bool = False,
    sharing: int | None = None,
) -> list[RunResult] | InputError:
    """The Ray task: trains a cohort on a node, by the same paths as here.

    An InputError is returned, not raised, so that Ray does not wrap it.
    """
    try:
        load_modules(modules)
        limit_threads(load=kind_of(cohort.runs[0]).needs_models)
        for define in definitions:
            define()
        if [key_of(run, data_dir) for run in cohort.runs] != list(keys):
            raise InputError(
                "it has other data, vectors or versions of packages than the session; have the "
                "same at the same paths on every node"
            )
        return results_of(cohort, data_dir, device, twice=twice, sharing=sharing)
    except InputError as error:
        return InputError(f"node {platform.node()}: {error}")
    except Exception as error:
        error.add_note(REASON + failure_reason(error))  # a traceback stays on its node
        raise


@dataclass(frozen=True)
class _Task:
    """A cohort in training: the keys of its runs, and the locks that are held on them."""

    keys: tuple[str, ...]
    locks: contextlib.ExitStack


class RaySession(Session):
    """A session whose cohorts a Ray cluster trains; a thread hands them out and stores results."""

    def __init__(self, *where: Any, gpu_share: float = 1.0) -> None:
        """Opens a session; a cohort takes ``gpu_share`` of a GPU."""
        super().__init__(*where)
        self.gpu_share = gpu_share
        self._turn = threading.Lock()
        self._resources: dict[str, float] = {}
        self._answered = -math.inf
        self._lost: InputError | None = None
        self._tasks: dict[Any, _Task] = {}
        self._failed: dict[str, Exception] = {}
        self._helper: threading.Thread | None = None
        self._marked: list[str] = []

    def set_plan(self, runs: Iterable[RunSpec]) -> None:
        """Adds runs to the plan, between two turns of the thread."""
        with self._turn:
            super().set_plan(runs)

    def extend_plan(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """Lets runs join the plan, between two turns of the thread."""
        with self._turn:
            return super().extend_plan(runs)

    def ensure(self, runs: Iterable[RunSpec]) -> None:
        """Returns when all ``runs`` are stored."""
        with self.with_helpers():
            super().ensure(runs)

    @contextlib.contextmanager
    def with_helpers(self) -> Iterator[None]:
        """Hands out cohorts and stores results while the context is open.

        At the end, cohorts in training are waited for, since other sessions may wait for them too.
        After an interruption they are cancelled, and what has arrived is stored.
        """
        if self._helper is not None or not self.may_train:
            yield
            return
        over = threading.Event()
        self._answered = time.monotonic()

        def ask() -> None:
            # Ray's own calls wait for a silent head without an end, and this thread with them.
            with contextlib.suppress(Exception):
                while not over.is_set():
                    self._resources = _ray().cluster_resources()
                    self._answered = time.monotonic()
                    over.wait(1)

        def help_on() -> None:
            # The session meets again any error that ends this.
            with contextlib.suppress(Exception):
                while not over.is_set():
                    if not self._train_one([]):
                        over.wait(WAIT_SECONDS)

        threading.Thread(target=ask, daemon=True).start()
        self._helper = threading.Thread(target=help_on, daemon=True)
        self._helper.start()
        whole = False
        try:
            yield
            whole = True
        finally:
            over.set()
            self._helper.join()
            self._helper = None
            try:
                while whole and self._gather(WAIT_SECONDS):
                    pass
            finally:
                self._cancel()

    def _train_one(self, missing: list[RunSpec]) -> bool:
        """Hands out cohorts and stores results. False if no cohort is in training."""
        with self._turn:
            silence = time.monotonic() - self._answered
            if silence > HEAD_SECONDS:
                self._give_up()
            elif silence < 2:
                self._submit(self._order(missing))
            out = self._gather(WAIT_SECONDS)
        for run in missing:
            if (error := self._lost or self._failed.get(self.key(run))) is not None:
                self._fail(run, getattr(error, "cause", None) or error)
        return out

    def _give_up(self) -> None:
        """Lets go of all tasks: the cluster's head is lost."""
        address = _ray().get_runtime_context().gcs_address
        self._lost = InputError(
            f"the head of the Ray cluster at {address} is lost; what was trained is stored: start "
            "the cluster again, then the session"
        )
        self._let_go()

    def _submit(self, cohorts: Iterable[Cohort]) -> None:
        """Hands out twice as many cohorts as there are slots: a cluster grows by demand."""
        taken = {key for task in self._tasks.values() for key in task.keys} | self._failed.keys()
        slots = self.slots
        for cohort in cohorts:
            if len(self._tasks) >= 2 * slots:
                break
            if all(self.key(run) in taken for run in cohort.runs):
                continue
            with contextlib.ExitStack() as locks:
                held = locks.enter_context(self._held(cohort))
                left = tuple(run for run in held if self.key(run) not in taken)
                if left:
                    keys = tuple(map(self.key, left))
                    device = "cpu" if self.device == "cpu" else "cuda"  # the task sees its own GPU
                    where = (self.data_dir, device, self.definitions, self.modules)
                    twice = self._is_made_twice(left)
                    sharing = None if device == "cpu" else max(1, int(1 / self.gpu_share + 1e-9))
                    task = self._work.remote(Cohort(left), keys, *where, twice, sharing)
                    self._tasks[task] = _Task(keys, locks.pop_all())
        self._mark(slots)

    @cached_property
    def _work(self) -> Any:
        """The task, which the head is told of once: a silent one would be waited for."""
        return _ray().remote(**self._needs())(work)

    def _needs(self) -> dict[str, Any]:
        """The resources that a task takes of its node, and how often it is begun again."""
        gpus = {} if self.device == "cpu" else {"num_gpus": self.gpu_share}
        return {"num_cpus": 1, **gpus, "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}

    @property
    def slots(self) -> int:
        """How many cohorts the cluster trains at once, as large as it is now."""
        has = self._resources
        slots = has.get("CPU", 0) if self.device == "cpu" else has.get("GPU", 0) / self.gpu_share
        return max(1, int(slots))

    def _gather(self, seconds: float) -> bool:
        """Stores results that arrive within ``seconds``. False if no cohort was in training."""
        if not self._tasks:
            return False
        ray = _ray()
        ray.wait(list(self._tasks), num_returns=1, timeout=seconds)
        arrived, _ = ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        for reference in arrived:
            task = self._tasks.pop(reference)
            with task.locks:
                try:
                    self._store(task.keys, ray.get(reference, timeout=HEAD_SECONDS))
                except ray.exceptions.RayTaskError as error:
                    self._failed |= dict.fromkeys(task.keys, error)
                except ray.exceptions.RayError as error:
                    reason = next(iter(str(error).splitlines()), type(error).__name__)
                    lost = InputError(
                        f"a cohort was lost {RETRIES + 1} times with its node: {reason}"
                    )
                    self._failed |= dict.fromkeys(task.keys, lost)
                except InputError as error:
                    self._failed |= dict.fromkeys(task.keys, error)
        return True

    def _store(self, keys: Sequence[str], results: list[RunResult] | InputError) -> None:
        if isinstance(results, InputError):
            raise results
        for key, result in zip(keys, results, strict=True):
            self.store.put(key, result)
        self.trained += len(keys)

    def _cancel(self) -> None:
        """Stores what has arrived, and cancels the rest."""
        self._gather(0)
        for reference in self._tasks:
            _ray().cancel(reference, force=True)
        self._let_go()

    def _let_go(self) -> None:
        """Forgets all tasks, so that others may train their runs."""
        for task in self._tasks.values():
            task.locks.close()
        self._tasks.clear()
        self._mark(0)

    def _mark(self, slots: int) -> None:
        """Writes a mark of the runs in training: those of the first ``slots`` tasks."""
        running = [key for task in list(self._tasks.values())[:slots] for key in task.keys]
        if running == self._marked:
            return
        mark = self.store.root / "sessions" / f"{os.getpid()}.json"
        with contextlib.suppress(OSError):
            if running:
                write_atomically(mark, json.dumps({"share": 0.0, "runs": running}))
            else:
                mark.unlink(missing_ok=True)
            self._marked = running
