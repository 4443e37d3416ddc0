"""The side of a process that makes the lab's cohorts, and what is made before them."""

from __future__ import annotations

import pickle
import signal
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from embinit.runs.machine import end_with
from embinit.runs.modules import Home, load_modules
from embinit.runs.reasons import REASON, failure_reason

if TYPE_CHECKING:
    from embinit.runs.engines import Task


def serve(path: list[str], channel: int, parent: int) -> None:
    """Makes the tasks that are sent, until nobody sends any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the session's to answer
    end_with(parent, group=True)
    connection = Connection(channel)
    while True:
        try:
            modules, task = connection.recv()
        except EOFError:
            return
        try:
            results = task_of(modules, task).make_apart(
                lambda share: connection.send(("share", share))
            )
            connection.send(("done", results))
        except Exception as error:
            connection.send(("raised", _portable(error)))


def task_of(modules: Sequence[Home], task: bytes) -> Task:
    """The task that was sent, whose recipes may be of the modules."""
    load_modules(modules)
    made: Task = pickle.loads(task)
    return made


def _portable(error: Exception) -> Exception:
    """The error as another process can have it, with its reason and its traceback as notes."""
    error.add_note(REASON + failure_reason(error))
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        plain = RuntimeError(str(error))
        plain.__notes__ = error.__notes__
        return plain
    return error.with_traceback(None)
