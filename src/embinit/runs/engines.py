"""Who trains: this process itself, processes of this machine, or a cluster (``ray_engine``).

An engine has trainers, each of which makes one task after the other while a thread of the session
waits for it. Trainers plan, judge and store nothing.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from embinit.errors import InputError
from embinit.runs.kinds import Cohort, Making, RunContext, kind_of
from embinit.runs.machine import keep_freed_memory, limit_threads, sharers
from embinit.runs.modules import Home
from embinit.runs.results import RunResult
from embinit.runs.store import key_of
from embinit.runs.trainers.processes import (
    Surroundings,
    TaskProcess,
    TrainerEnded,
    Trainers,
)

Progress = Callable[[float], None]
"""Gets the share of a task that is done, 0 to 1."""


@dataclass(frozen=True)
class Task:
    """What a trainer makes, as it is sent: a cohort with its runs' keys, or a table for later.

    ``sharing`` is how many processes share the device's memory, ``twice`` whether a function's run
    is made again, to see that its seed decides it.
    """

    what: Cohort | Making
    keys: tuple[str, ...]
    data_dir: Path | None
    device: str
    definitions: tuple[Callable[[], None], ...] = ()
    modules: tuple[Home, ...] = ()
    twice: bool = False
    sharing: int | None = None

    def make(self, progress: Progress, trainers: Trainers | None = None) -> list[RunResult]:
        """Makes it in this process; the results of a cohort's runs, in its order."""
        if isinstance(self.what, Making):
            self.what.maker(self.what.name)
            return []
        kind = kind_of(self.what.runs[0])
        limit_threads(load=kind.needs_models)
        keep_freed_memory()
        sharing = self.sharing or sharers(self.device)
        context = RunContext(self.data_dir, self.device, progress, sharing, self.twice, trainers)
        return kind.make(self.what, context)

    def make_apart(self, progress: Progress) -> list[RunResult]:
        """Makes it in a process that knows nothing of its session, from the same data alone."""
        for define in self.definitions:
            define()
        runs = self.what.runs if isinstance(self.what, Cohort) else ()
        if [key_of(run, self.data_dir) for run in runs] != [*self.keys]:
            raise InputError(
                "it has other data, vectors or versions of packages than the session; have the "
                "same at the same paths"
            )
        return self.make(progress)


class Trainer(Protocol):
    """Makes one task after the other."""

    def make(self, task: Task, progress: Progress) -> list[RunResult]:
        """The results of a cohort's runs, in its order; TrainerEnded where the trainer did."""


class Engine(Protocol):
    """Trainers, of which a session uses up to ``slots`` at once."""

    @property
    def slots(self) -> int:
        """How many tasks are made at once, at the most."""

    def trainer(self, number: int) -> Trainer:
        """A trainer by its number; it raises NotStarted where it can't be had."""

    def close(self) -> None:
        """Ends all trainers at once, whatever they make."""


class Here:
    """The trainer that is this process, whose functions have processes of their own."""

    def __init__(self, trainers: Trainers) -> None:
        self._trainers = trainers

    def make(self, task: Task, progress: Progress) -> list[RunResult]:
        """Makes it."""
        return task.make(progress, self._trainers)


class Processes:
    """An engine of processes on this machine, one for each of ``devices``."""

    def __init__(self, devices: Sequence[str], surroundings: Surroundings) -> None:
        sharing = Counter(devices)
        self._trainers = [ProcessTrainer(each, sharing[each], surroundings) for each in devices]

    @property
    def slots(self) -> int:
        """One for each of the devices."""
        return len(self._trainers)

    def trainer(self, number: int) -> Trainer:
        """A trainer, whose process is started when it is first needed."""
        return self._trainers[number]

    def close(self) -> None:
        """Kills the processes."""
        for trainer in self._trainers:
            trainer.close()


class ProcessTrainer:
    """A process that makes cohorts on one device; users' functions have processes of their own."""

    def __init__(self, device: str, sharing: int, surroundings: Surroundings) -> None:
        self._device, self._sharing, self._surroundings = device, sharing, surroundings
        self._functions = Trainers(surroundings)
        self._process: TaskProcess | None = None
        self._lock, self._closed = threading.Lock(), False

    def make(self, task: Task, progress: Progress) -> list[RunResult]:
        """Makes it there; a function is called by the thread that asks."""
        task = replace(task, device=self._device, sharing=self._sharing)
        if isinstance(task.what, Cohort) and kind_of(task.what.runs[0]).traced:
            return task.make(progress, self._functions)
        with self._lock:
            if self._closed:
                raise TrainerEnded("the session has ended")
            if self._process is None or self._process.process.poll() is not None:
                if self._process is not None:
                    self._process.end()
                self._process = TaskProcess(self._surroundings, self._device)
        results: list[RunResult] = self._process.make(task, progress)
        return results

    def close(self) -> None:
        """Kills it and all that it started."""
        self._functions.end()
        with self._lock:
            self._closed = True
            if self._process is not None:
                self._process.end()
