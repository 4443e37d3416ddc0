"""How far a session is: its runs done, running and left, and the time that is left.

Each process tells its plan in a file that is named after the session; trainers leave marks of what
they train. Whoever shows the progress looks at both, and at the store.
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
    """How far the plan is: counts of runs, the share of its cost that is trained, seconds left.

    ``seconds`` is None while nothing tells how fast it goes.
    """

    done: int
    running: int
    left: int
    share: float
    seconds: float | None

    @property
    def wanted(self) -> int:
        """The runs of the plan."""
        return self.done + self.running + self.left

    @property
    def time(self) -> str:
        """How long it takes from here, as exactly as that is known."""
        if self.seconds is None:
            return "estimating"
        minutes = math.ceil(self.seconds / 60)
        if minutes <= 1:
            return "under a minute"
        if minutes < 120:
            return f"about {minutes} min"
        return f"about {minutes // 60} h {minutes % 60:02d} min"


class Runs:
    """The runs that the session ``controller`` plans, in the store whose marks are in ``folder``.

    The time left goes by cost, since the costliest runs are trained first, and by what was trained
    since the first look: what the store had, or others had begun, took none of the time.
    """

    def __init__(
        self, folder: Path, controller: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._controller, self._clock = folder, controller, clock
        self._started: float | None = None
        self._first: dict[str, float] = {}

    def look(self) -> State | None:
        """How far they are now; None while there is no plan."""
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
        """The costs of the planned runs by path: workers that look again plan more than others."""
        costs: dict[str, float] = {}
        for path in self._folder.glob(f"plan-{self._controller}-*.json"):
            with contextlib.suppress(OSError, ValueError):
                costs |= json.loads(path.read_bytes())
        return costs


def _left(costs: dict[str, float], shares: dict[str, float]) -> float:
    return math.fsum(cost * (1 - shares[path]) for path, cost in costs.items())


def in_training(folder: Path) -> dict[str, float]:
    """The keys of the runs that live processes train, and which share of each is behind them."""
    found: dict[str, float] = {}
    for path in folder.glob("[0-9]*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            mark = json.loads(path.read_bytes())
            if alive(_owner(path)):
                found |= dict.fromkeys(mark["runs"], float(mark["share"]))
    return found


def alive(process: int) -> bool:
    """Whether there is such a process; one that ended and waits to be reaped is none."""
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
    """The session or the process that a plan (``plan-7-8.json``) or a mark (``7.json``) is of."""
    return int(path.stem.removeprefix("plan-").partition("-")[0])


def sweep(folder: Path) -> None:
    """Take away what killed sessions left; in a container the next one may have their number."""
    for path in (*folder.glob("[0-9]*.json"), *folder.glob("plan-[0-9]*.json")):
        with contextlib.suppress(OSError, ValueError):
            if _owner(path) == os.getpid() or not alive(_owner(path)):
                path.unlink()


def tell_plan(session: Session, controller: int) -> None:
    """Say what this process plans, for the progress that ``controller`` shows."""
    costs = {
        str(session.store.path(session.key(run))): Cohort((run,)).cost
        for run in session.wanted
        if session.problem(run) is None
    }
    name = f"plan-{controller}-{os.getpid()}.json"
    write_atomically(session.store.root / "sessions" / name, json.dumps(costs))
