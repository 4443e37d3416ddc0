"""Processes that train: one for a function's module, or one for stacks of the lab's runs."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import Pipe
from typing import Any

from embinit.errors import InputError
from embinit.runs.instructions import variables
from embinit.runs.modules import Home

CODE = """
import ast, sys
sys.path[:], *told = ast.literal_eval(sys.argv[1])
from embinit.runs.trainers.serving import serve
serve(*told)
"""
POLL_SECONDS = 0.5
LAST_BYTES = 4000
"""How much of what a failed run has printed is kept with its failure."""
MOST_TRAINERS = 4
"""How many trainers a process keeps: each may have loaded torch."""


class RunFailed(InputError):
    """A run that gave no numbers. The text says why, in one line; notes have more."""

    def __init__(self, text: str, *notes: str) -> None:
        super().__init__(text)
        for note in filter(None, notes):
            self.add_note(note)


class TrainerEnded(RunFailed):
    """The process that trained a run ended, of itself or killed."""


@dataclass(frozen=True)
class Surroundings:
    """Where trainers start: as this process was before fixtures and tests changed it."""

    path: list[str] = field(default_factory=lambda: list(map(os.fspath, sys.path)))
    directory: str = field(default_factory=os.getcwd)
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))


class Trainer:
    """A process that trains, and ends with the process that started it.

    It calls the functions of the module ``home``, run after run (``serving.Calls``); without one it
    makes tasks (``engines.answer``).
    """

    def __init__(
        self, home: Home | None, surroundings: Surroundings, device: str, hash_seed: str = "0"
    ) -> None:
        """Starts the process; TrainerEnded where it can't be."""
        self.made: list[Any] = []  # the runs of functions, in their order
        self._connection, theirs = Pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, ``end`` closes it
        given = (surroundings.path, theirs.fileno(), os.getpid(), home)
        flags = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
        flags += ["-B"] if sys.dont_write_bytecode else []
        threads = {"OMP_NUM_THREADS": "1"} if device == "cpu" else {}  # each core has a process
        hashes = {} if home is None else {"PYTHONHASHSEED": hash_seed}  # unless the user sets one
        fixed = {**threads, **variables(pinned=home is None)}
        try:
            with theirs:
                self.process = subprocess.Popen(
                    [sys.executable, *flags, "-c", CODE, repr(given)],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=subprocess.STDOUT,
                    env={**hashes, **surroundings.environ, **fixed},
                    cwd=surroundings.directory,
                    pass_fds=(theirs.fileno(),),
                    start_new_session=True,
                )
        except OSError as error:
            self._connection.close()
            self._output.close()
            raise TrainerEnded(f"no process can be started that trains: {error}") from error

    def ask(
        self,
        name: str,
        request: Any,
        progress: Callable[[float], None],
        timeout: float | None = None,
    ) -> Any:
        """The answer to a request; RunFailed without one, with what was printed as a note.

        The ``timeout``, in seconds, counts from when the process first tells its progress.
        """
        with contextlib.suppress(OSError):
            os.ftruncate(self._output.fileno(), 0)
            os.lseek(self._output.fileno(), 0, os.SEEK_SET)
        with contextlib.suppress(OSError):  # it has ended, which receiving says
            self._connection.send(request)
        ends = math.inf
        while time.monotonic() <= ends:
            try:
                heard: Any = self._connection.recv() if self._connection.poll(POLL_SECONDS) else ()
            except (EOFError, OSError):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(10)
                reason = f"{name}'s process ended with {self.process.returncode or 0}"
                raise self._failed(reason, ended=True) from None
            match heard:
                case "done", answer:
                    return answer
                case "failed", reason, details:
                    raise self._failed(reason, details)
                case "share", share:
                    ends = min(ends, time.monotonic() + (timeout or math.inf))
                    progress(share)
        self.process.kill()
        raise self._failed(f"{name} took longer than its {timeout:g} s and was ended")

    def _failed(self, reason: str, details: str = "", ended: bool = False) -> RunFailed:
        size = os.fstat(self._output.fileno()).st_size
        last = os.pread(self._output.fileno(), LAST_BYTES, max(size - LAST_BYTES, 0))
        printed = last.decode(errors="replace").strip()
        if ended and printed:
            reason += f": {printed.splitlines()[-1][:300]}"
        kind = TrainerEnded if ended else RunFailed
        return kind(reason, details, printed and f"its last output:\n{printed}")

    def end(self) -> None:
        """Ends the process with all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._connection.close()
        self._output.close()


class Trainers:
    """The processes of one trainer, each started when it is first needed."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        self.surroundings = surroundings or Surroundings()
        self._running: dict[object, Trainer] = {}
        self._lock, self._ended = threading.Lock(), False
        weakref.finalize(self, _end, self._running)

    def of(
        self,
        home: Home | None,
        device: str = "cpu",
        alone: bool = False,
        hash_seed: str = "0",
    ) -> Trainer:
        """The one for a module, or for tasks: that is there, or with ``alone`` a new one."""
        with self._lock:
            if self._ended:
                raise TrainerEnded("the session has ended")
            if alone and device != "cpu":
                _end(self._running)  # a GPU may have no room for two
            key = object() if alone else (home, device)
            known = self._running.pop(key, None)
            if known is not None and known.process.poll() is not None:
                known.end()
                known = None
            if known is None:
                while len(self._running) >= MOST_TRAINERS:
                    self._running.pop(next(iter(self._running))).end()
                known = Trainer(home, self.surroundings, device, hash_seed)
            self._running[key] = known
            return known

    def drop(self, trainer: Trainer) -> None:
        """Ends a process, which another one will replace."""
        for key in [key for key, running in self._running.items() if running is trainer]:
            self._running.pop(key, None)
        trainer.end()

    def end(self) -> None:
        """Ends all of them, and starts no others."""
        with self._lock:
            self._ended = True
            _end(self._running)


@functools.cache
def of_this_node() -> Trainers:
    """The processes of one without a session, such as a node of a cluster."""
    return Trainers()


def _end(running: dict[object, Trainer]) -> None:
    while running:
        running.popitem()[1].end()
