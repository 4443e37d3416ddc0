"""Who trains: processes of this machine, or a cluster (``ray_engine``).

An engine has trainers, each of which makes one task after the other while a thread of the session
waits for it. Trainers plan, judge and store nothing.
"""

from __future__ import annotations

import pickle
import platform
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.errors import InputError
from embinit.runs.instructions import is_pinned
from embinit.runs.kinds import Making, Progress, RunContext, Stack, unheard
from embinit.runs.machine import sharers
from embinit.runs.modules import Home, load_modules
from embinit.runs.results import RunResult, failure_reason
from embinit.runs.store import key_of
from embinit.runs.trainers.processes import Surroundings, Trainers, of_this_node


@dataclass(frozen=True)
class TrainerTask:
    """What a trainer makes, as it is sent: a stack with its runs' keys, or a table for later."""

    what: Stack | Making
    keys: tuple[str, ...]
    context: RunContext
    definitions: tuple[Callable[[], None], ...] = ()
    modules: tuple[Home, ...] = ()

    @property
    def sent(self) -> tuple[Sequence[Home], bytes]:
        """The task as it is sent to another process: to unpickle it may need the modules."""
        return self.modules, pickle.dumps(self)

    def make(
        self, progress: Progress, trainers: Trainers | None = None, apart: bool = False
    ) -> list[RunResult]:
        """Makes it; the results of a stack's runs, in its order.

        With ``apart``, or where this process was not started with the lab's instruction set,
        another one makes it. A user's function has a process of its own in any case.
        """
        if not self.what.traced and (apart or not is_pinned()):
            process = (trainers or of_this_node()).of(None, self.context.device)
            results: list[RunResult] = process.ask("a trainer", self.sent, progress)
            return results
        sharing = self.context.sharers or sharers(self.context.device)
        return self.what.make(
            replace(self.context, progress=progress, sharers=sharing, trainers=trainers)
        )

    def make_apart(self, progress: Progress) -> list[RunResult]:
        """Makes it in a process that knows nothing of its session, from the same data alone."""
        for define in self.definitions:
            define()
        try:
            if [key_of(run, self.context.data_dir) for run in self.what.runs] != [*self.keys]:
                raise InputError(
                    "it has other data, vectors or versions of packages than the session; have "
                    "the same at the same paths"
                )
        except InputError as error:
            raise InputError(f"{platform.node()}: {error} on every machine") from error
        return self.make(progress)


Trainer = Callable[[TrainerTask, Progress], list[RunResult]]
"""Makes a task: the results of a stack's runs, in its order; TrainerEnded where it ended."""


class Processes:
    """An engine of processes on this machine, a trainer for each of ``devices``.

    A trainer makes stacks in one process; users' functions have processes of their own, which the
    thread that asks calls.
    """

    def __init__(self, devices: Sequence[str], surroundings: Surroundings) -> None:
        self._devices, self._trainers = devices, [Trainers(surroundings) for _ in devices]

    @property
    def slots(self) -> int:
        """How many tasks are made at once, at the most."""
        return len(self._devices)

    def make(self, number: int, task: TrainerTask, progress: Progress) -> list[RunResult]:
        """What trainer ``number`` makes; its processes are started when they are first needed."""
        device, trainers = self._devices[number], self._trainers[number]
        context = replace(task.context, device=device, sharers=self._devices.count(device))
        return replace(task, context=context).make(progress, trainers, apart=True)

    def close(self) -> None:
        """Ends all trainers at once, whatever they make."""
        for trainers in self._trainers:
            trainers.end()


def answer(sent: tuple[Sequence[Home], bytes], progress: Progress = unheard) -> tuple[Any, ...]:
    """What comes of a task that was sent: done or failed."""
    try:
        load_modules(sent[0])
        task: TrainerTask = pickle.loads(sent[1])
        return "done", task.make_apart(progress)
    except Exception as error:
        return "failed", failure_reason(error), traceback.format_exc()
