"""Trainers: processes that import a function's module, and nothing of pytest's, and train there."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing import Pipe
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.runs.modules import Home

CODE = """
import ast, sys
path, argv, home, channel, parent = ast.literal_eval(sys.argv[1])
sys.path[:] = path
from embinit.runs.trainers.serving import serve
serve(channel, path, argv, home, parent)
"""
POLL_SECONDS = 0.5
LONGEST_POLL = 1.0
"""Seconds: where more have passed between two polls, the machine slept or this process stood still,
and the function most likely with it."""
LAST_BYTES = 4000
"""How much of what a failed run has printed is kept with its failure."""
MOST_TRAINERS = 4
"""How many trainers a process keeps: each may have loaded torch."""


class RunFailed(InputError):
    """A run that gave no numbers. The text says why, in one line."""


class Answer(NamedTuple):
    """What a call gave: its answer, its curves, and what its process has read."""

    answer: Any
    curves: dict[str, list[float]]
    traced: dict[str, Any]


@dataclass(frozen=True)
class Surroundings:
    """Where trainers start: as this process was before fixtures and tests changed it."""

    path: list[str] = field(default_factory=lambda: list(map(os.fspath, sys.path)))
    argv: list[str] = field(default_factory=lambda: list(sys.argv))
    directory: str = field(default_factory=os.getcwd)
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))


class Trainer:
    """A process that trains the functions of one module, run after run."""

    def __init__(self, home: Home, surroundings: Surroundings, device: str) -> None:
        """Starts the process; OSError where it can't."""
        self.home = home
        self.states: dict[str, dict[str, str]] | None = None
        self._connection, theirs = Pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115, ``end`` closes it
        told = (surroundings.path, surroundings.argv, home, theirs.fileno(), os.getpid())
        flags = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
        flags += ["-B"] if sys.dont_write_bytecode else []
        threads = {"OMP_NUM_THREADS": "1"} if device == "cpu" else {}  # each core has a process
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, *flags, "-c", CODE, repr(told)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                env={**surroundings.environ, **threads},
                cwd=surroundings.directory,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def load(self) -> dict[str, dict[str, str]]:
        """The globals of the project's modules, once loaded; RunFailed where they can't be."""
        if self.states is None:
            self.states = self._receive(self.home[0], lambda share: None, None)[1]
        return self.states

    def state(self, module: str) -> dict[str, str]:
        """The globals of one of the project's modules, as it is once it is imported."""
        if module not in self.load():
            self._connection.send(module)
            self.states = self._receive(module, lambda share: None, None)[1]
        return self.load().get(module, {})

    def call(
        self,
        name: str,
        qualname: str,
        arguments: str,
        seed: int,
        device: str,
        taken: Sequence[str],
        progress: Callable[[float], None],
        timeout: float | None,
    ) -> Answer:
        """Calls a function; RunFailed where it gives no answer, with what it printed as a note."""
        self.load()
        with contextlib.suppress(OSError):
            os.ftruncate(self._output.fileno(), 0)
            os.lseek(self._output.fileno(), 0, os.SEEK_SET)
        with contextlib.suppress(OSError):  # it has ended, which receiving says
            self._connection.send((name, qualname, arguments, seed, device, taken))
        _, *answer = self._receive(name, progress, timeout)
        return Answer(*answer)

    def _receive(
        self, name: str, progress: Callable[[float], None], timeout: float | None
    ) -> tuple[Any, ...]:
        taken, last = 0.0, time.monotonic()
        while True:
            try:
                message = self._connection.recv() if self._connection.poll(POLL_SECONDS) else None
            except (EOFError, OSError):
                reason = f"{name}'s process ended with {self._status()}"
                raise self._failed(reason, ended=True) from None
            now = time.monotonic()
            taken, last = taken + min(now - last, LONGEST_POLL), now
            if message is None or message[0] == "share":
                if message is not None:
                    progress(message[1])
                if timeout is not None and taken > timeout:
                    self.process.kill()
                    raise self._failed(f"{name} took longer than its {timeout:g} s and was ended")
            elif message[0] in ("failed", "broken"):
                raise self._failed(message[1], message[2])
            else:
                return tuple(message)

    def _status(self) -> int:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(10)
        return 0

    def _failed(self, reason: str, details: str = "", ended: bool = False) -> RunFailed:
        size = os.fstat(self._output.fileno()).st_size
        last = os.pread(self._output.fileno(), LAST_BYTES, max(size - LAST_BYTES, 0))
        printed = last.decode(errors="replace").strip()
        if ended and printed:
            reason += f": {printed.splitlines()[-1][:300]}"
        error = RunFailed(reason)
        for note in (details, printed and f"its last output:\n{printed}"):
            if note:
                error.add_note(note)
        return error

    def end(self) -> None:
        """Ends the process with all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._connection.close()
        self._output.close()


class Trainers:
    """The trainers of a process, by module, each started when it is first needed."""

    def __init__(self, surroundings: Surroundings | None = None) -> None:
        self.surroundings = surroundings or Surroundings()
        self.volatile: dict[tuple[str, str], bool] = {}  # names that each import gives anew
        self._running: dict[tuple[Home, str], Trainer] = {}
        weakref.finalize(self, _end, self._running)

    def of(self, home: Home, device: str = "cpu", alone: bool = False) -> Trainer:
        """The trainer of a module: the one that is there, or with ``alone`` a new one."""
        if alone:
            return Trainer(home, self.surroundings, device)
        known = self._running.pop((home, device), None)
        if known is None or known.process.poll() is not None:
            while len(self._running) >= MOST_TRAINERS:
                self._running.pop(next(iter(self._running))).end()
            known = Trainer(home, self.surroundings, device)
        self._running[home, device] = known
        return known

    def drop(self, trainer: Trainer) -> None:
        """Ends a trainer, which another one will replace."""
        for key in [key for key, each in self._running.items() if each is trainer]:
            del self._running[key]
        trainer.end()

    def end(self) -> None:
        """Ends all of them."""
        _end(self._running)


def _end(running: dict[tuple[Home, str], Trainer]) -> None:
    while running:
        running.popitem()[1].end()
