"""Many machines: an engine whose tasks are those of a Ray cluster.

The session plans, holds the locks and stores. A task carries its stack and the keys of its runs,
by which its node checks that it reads the same data. Ray runs a task again if it was lost with its
node.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import threading
import time
from dataclasses import replace
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from embinit.errors import InputError
from embinit.runs.engines import Processes, TrainerTask, answer
from embinit.runs.instructions import VARIABLE, asked
from embinit.runs.kinds import Making, Progress
from embinit.runs.machine import cores
from embinit.runs.results import RunResult
from embinit.runs.trainers.processes import RunFailed, Surroundings, TrainerEnded

RETRIES = 5
"""How often a stack is begun again after its node was lost. Some nodes are rented by the hour."""

LOST_SECONDS = 30.0
"""How long the cluster's head may not answer; after 60 s Ray ends the whole process, unsaid."""

CONNECT_SECONDS = 10.0
"""How long to wait for an address to answer. Ray itself tries for minutes."""

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
    try:
        if address is not None:
            _reach(address)
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
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise InputError(
            "--embinit-engine ray needs Ray, which isn't installed; pip install ray"
        ) from None


def _reach(address: str) -> None:
    """OSError or ValueError if nothing listens at ``address``."""
    named = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    url = urlsplit(named if "://" in named else f"//{named}")
    if url.hostname and url.port:
        socket.create_connection((url.hostname, url.port), CONNECT_SECONDS).close()


def _unreachable(address: str | None, error: Exception) -> str:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    if address is None:
        return f"--embinit-engine ray: Ray can't be started on this machine ({reason})"
    return (
        f"--embinit-engine ray:{address}: no Ray cluster can be joined there ({reason}); name the "
        "host:port that `ray start --head` told, and start Ray on this machine as one of its "
        "nodes; with --embinit-engine ray this machine alone is used"
    )


class RayEngine(Processes):
    """An engine of a cluster's nodes; a stack takes a core, or a GPU of its own."""

    def __init__(self, device: str) -> None:
        self._gpus = int(device != "cpu")
        self._resources: dict[str, float] = {}
        self._heard = time.monotonic()
        self._closed = threading.Event()
        self._making = threading.Lock()
        super().__init__(["cpu"], Surroundings())
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        """Asks how large the cluster is, and so whether its head is there."""
        with contextlib.suppress(Exception):
            while not self._closed.is_set():
                self._resources = _ray().cluster_resources()
                self._heard = time.monotonic()
                self._closed.wait(1)

    @property
    def slots(self) -> int:
        """How many stacks the cluster trains at once, and one that waits: it grows by demand."""
        return 1 + max(1, int(self._resources.get("GPU" if self._gpus else "CPU", 0)))

    @property
    def needs(self) -> dict[str, Any]:
        """The resources that a task takes of its node, and how often it is begun again."""
        places: dict[str, Any] = {"num_cpus": 1, "num_gpus": self._gpus}
        if named := asked():
            places["runtime_env"] = {"env_vars": {VARIABLE: named}}
        return {**places, "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}

    @cached_property
    def _answer(self) -> Any:
        """What a task calls, which the head node gets once."""
        return _ray().remote(**self.needs)(answer)

    def make(self, number: int, task: TrainerTask, progress: Progress) -> list[RunResult]:
        """Makes a stack on some node; a table is made here, in a folder that nodes share."""
        if isinstance(task.what, Making):
            with self._making:
                return super().make(0, task, progress)
        if self._gpus:  # a task sees its own GPU alone
            task = replace(task, context=replace(task.context, device="cuda", sharers=1))
        ray = _ray()
        reference, answered = self._answer.remote(task.sent), None
        while answered is None:
            try:
                answered = ray.get(reference, timeout=1)
            except ray.exceptions.GetTimeoutError:
                if self._closed.is_set():
                    ray.cancel(reference, force=True)
                    raise TrainerEnded("the session has ended") from None
                if time.monotonic() - self._heard > LOST_SECONDS:
                    raise RunFailed(
                        f"the Ray cluster's head has not answered for {LOST_SECONDS:g} s; start "
                        "the cluster again, and then the session: what is stored is kept"
                    ) from None
            except ray.exceptions.RayTaskError as error:
                raise (getattr(error, "cause", None) or error) from None
            except ray.exceptions.RayError as error:
                reason = next(iter(str(error).splitlines()), type(error).__name__)
                raise InputError(
                    f"a stack was lost {RETRIES + 1} times with its node: {reason}"
                ) from error
        outcome, *given = answered
        if outcome == "failed":
            raise RunFailed(*given)
        made: list[RunResult] = given[0]
        return made

    def close(self) -> None:
        """Cancels what is in training."""
        self._closed.set()
        super().close()
