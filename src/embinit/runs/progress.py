"""The progress of a session: its runs done, running and left, and the time that is left.

Each process writes its plan to a file that is named after the session. Trainers write marks: files
that name the runs in training. Progress is read from plans, marks and the store.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from embinit.data.files import write_atomically
from embinit.runs.plan import Cohort
from embinit.runs.session import Session


@dataclass(frozen=True)
class State:
    """The state of a plan.

    Attributes:
        done: Runs that are stored.
        running: Runs in training.
        left: Runs that wait.
        share: The trained share of the plan's cost, 0 to 1.
        seconds: The estimated time that is left; None before anything was trained.
    """

    done: int
    running: int
    left: int
    share: float
    seconds: float | None

    @property
    def wanted(self) -> int:
        """The number of runs in the plan."""
        return self.done + self.running + self.left

    @property
    def time(self) -> str:
        """The time that is left, in words."""
        if self.seconds is None:
            return "estimating"
        minutes = math.ceil(self.seconds / 60)
        if minutes <= 1:
            return "under a minute"
        if minutes < 120:
            return f"about {minutes} min"
        return f"about {minutes // 60} h {minutes % 60:02d} min"


class Runs:
    """The runs that a session plans.

    The time left is estimated by cost, since the costliest runs are trained first, and from what
    was trained since the first look. Runs that were stored or begun earlier took none of that time.

    Args:
        folder: The store's folder of plans and marks.
        controller: The process id of the session's controller, which plans are named after.
        clock: Gives the time in seconds.
    """

    def __init__(
        self, folder: Path, controller: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._controller, self._clock = folder, controller, clock
        self._started: float | None = None
        self._first: dict[str, float] = {}

    def look(self) -> State | None:
        """The state of the plan now; None while there is no plan."""
        costs = self._costs()
        if not costs:
            return None
        stored = {path for path in costs if os.path.exists(path)}
        marked, now = in_training(self._folder), self._clock()
        begun = {path: marked[key] for path in costs if (key := Path(path).stem) in marked}
        shares = {path: 1.0 if path in stored else begun.get(path, 0.0) for path in costs}
        self._started = now if self._started is None else self._started
        for path, share in shares.items():
            self._first.setdefault(path, share)
        trained = sum(cost * (shares[path] - self._first[path]) for path, cost in costs.items())
        whole, left = sum(costs.values()), _left(costs, shares)
        running = len(begun.keys() - stored)
        return State(
            done=len(stored),
            running=running,
            left=len(costs) - len(stored) - running,
            share=1 - left / whole,
            seconds=left * (now - self._started) / trained if trained > 0 else None,
        )

    def _costs(self) -> dict[str, float]:
        """The costs of the planned runs by path. Workers at a later look plan more than others."""
        costs: dict[str, float] = {}
        for path in self._folder.glob(f"plan-{self._controller}-*.json"):
            with contextlib.suppress(OSError, ValueError):
                costs |= json.loads(path.read_bytes())
        return costs


def _left(costs: dict[str, float], shares: dict[str, float]) -> float:
    return math.fsum(cost * (1 - shares[path]) for path, cost in costs.items())


def in_training(folder: Path) -> dict[str, float]:
    """The runs that live processes train.

    Args:
        folder: The store's folder of plans and marks.

    Returns:
        The trained share of each run, 0 to 1, by the run's key.
    """
    shares: dict[str, float] = {}
    for path in folder.glob("[0-9]*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            mark = json.loads(path.read_bytes())
            if alive(_owner(path)):
                shares |= dict.fromkeys(mark["runs"], float(mark["share"]))
    return shares


def alive(process: int) -> bool:
    """Whether the process ``process`` runs. One that ended and waits to be reaped does not."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True  # macOS has no /proc
    return state != "Z"


def _owner(path: Path) -> int:
    """The controller of a plan (``plan-7-8.json``), or the process of a mark (``7.json``)."""
    return int(path.stem.removeprefix("plan-").partition("-")[0])


def sweep(folder: Path, started: float = math.inf) -> None:
    """Removes plans and marks of processes that no longer run.

    Those of this process's own id are removed too where they are older than its session: in a
    container, a later session may have the id of one that was killed.

    Args:
        folder: Where plans and marks lie.
        started: When this process's session began, in seconds since the epoch; its workers may have
            told their plans since then.
    """
    for path in (*folder.glob("[0-9]*.json"), *folder.glob("plan-[0-9]*.json")):
        with contextlib.suppress(OSError, ValueError):
            owner = _owner(path)
            old = owner == os.getpid() and path.stat().st_mtime < started
            if old or not alive(owner):
                path.unlink()


def tell_plan(session: Session, controller: int) -> None:
    """Writes this process's plan, for the progress that ``controller`` shows.

    Args:
        session: The session with its wanted runs.
        controller: The process id of the session's controller.
    """
    costs = {
        str(session.store.path(session.key(run))): Cohort((run,)).cost
        for run in session.wanted
        if session.problem(run) is None
    }
    name = f"plan-{controller}-{os.getpid()}.json"
    write_atomically(session.store.root / "sessions" / name, json.dumps(costs))
