"""Helpers of a session: processes that train its plan on the machine's other cores or GPUs.

A helper gets its job in a file: ``multiprocessing`` would wait without end for a process that died
before it had read all of a long plan, and would run the script that called pytest once more.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from embinit.runs.machine import end_with
from embinit.runs.modules import Home, load_modules
from embinit.runs.trainers.processes import Surroundings, Trainers
from embinit.specs import RunSpec

CODE = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to answer
import pickle
sys.path[:] = pickle.load(sys.stdin.buffer)
from embinit.runs.helpers import main
main(sys.stdin.buffer, int(sys.argv[1]))
"""
ENDS_WITHIN = 10.0
"""The seconds that a helper is given to end, before it is killed."""


@dataclass(frozen=True)
class Job:
    """A helper's job: what it takes from its session."""

    root: Path
    data_dir: Path | None
    device: str
    definitions: Sequence[Callable[[], None]]
    wanted: Sequence[RunSpec]
    session: str
    modules: Sequence[Home]
    parent: int
    surroundings: Surroundings


class Helper:
    """A process that trains a session's plan beside it."""

    def __init__(self, job: Job) -> None:
        """Starts the process; OSError where it can't."""
        self._told: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115, ``end`` closes it
        told = self._told.fileno()
        flags = ["-" + "O" * sys.flags.optimize] if sys.flags.optimize else []
        flags += ["-B"] if sys.dont_write_bytecode else []
        try:
            with tempfile.TemporaryFile() as given:
                pickle.dump(job.surroundings.path, given)
                pickle.dump(job, given)
                given.seek(0)
                self.process = subprocess.Popen(
                    [sys.executable, *flags, "-c", CODE, str(told)],
                    stdin=given,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env=job.surroundings.environ,
                    cwd=job.surroundings.directory,
                    pass_fds=(told,),
                )
        except BaseException:
            self._told.close()
            raise

    def end(self) -> None:
        """Returns when the process has ended; one that goes on is killed."""
        try:
            self.process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._told.close()

    def trouble(self) -> str | None:
        """Why the process ended before its work was done; None where it did not."""
        status = self.process.poll()
        if not status:
            return None
        self._told.seek(0)
        reason = self._told.read().decode(errors="replace").strip()
        how = f"signal {-status}" if status < 0 else f"status {status}"
        return f"a process that with_helpers to train ended with {how}" + (reason and f": {reason}")


def main(given: BinaryIO, told: int) -> None:
    """Trains the plan of a job; a failure's reason goes to the file descriptor ``told``."""
    from embinit.runs.session import Session, failure_reason
    from embinit.runs.store import Store

    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        job: Job = pickle.load(given)
        end_with(job.parent)
        load_modules(job.modules)
        store = Store(job.root)
        session = Session(store, job.data_dir, job.device, job.definitions)
        session.name, session.trainers = job.session, Trainers(job.surroundings)
        session.set_plan(job.wanted)
        session.ensure(run for run in job.wanted if session.problem(run) is None)
        session.trainers.end()
    except Exception as error:
        os.write(told, failure_reason(error).encode(errors="replace"))
        sys.exit(1)
