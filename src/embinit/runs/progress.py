"""The progress of a session: its runs done, running and left, and the time that is left."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from embinit.errors import counted
from embinit.runs.kinds import SECOND, Making
from embinit.runs.session import Session, cost_of
from embinit.specs import FunctionRecipe, RunSpec

LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a plan: how many of its runs are stored, in training, and left."""

    done: int
    running: int
    left: int
    share: float  # the trained share of the plan's cost, 0 to 1
    seconds: float | None  # the estimated time that is left; None before anything was trained
    later: int = 0  # runs that are not planned, and that are expected to be
    tables: int = 0  # what runs read and is made first, and isn't yet

    @property
    def wanted(self) -> int:
        """The number of runs in the plan."""
        return self.done + self.running + self.left

    @property
    def ended(self) -> bool:
        """Whether all runs are stored, and no others are expected."""
        return self.done == self.wanted and not self.later

    @property
    def stored(self) -> str:
        """The number of stored runs, in words."""
        every = counted(self.wanted + self.later, "run")
        first = f"{counted(self.tables, 'table')} to make, " if self.tables else ""
        return f"{first}{self.done} of {'about ' if self.later else ''}{every}"

    @property
    def estimate(self) -> str:
        """The time that is left, in words."""
        if self.seconds is None:
            return "estimating"
        minutes = math.ceil(self.seconds / 60)
        if minutes <= 1:
            return "under a minute left"
        if minutes < 120:
            return f"about {minutes} min left"
        return f"about {minutes // 60} h {minutes % 60:02d} min left"


class Progress:
    """How far a session came.

    The time left is a sum over groups of runs (kind, task and model): the cost that is left times
    the seconds that a unit of the group's cost took in this session, over the number of trainers. A
    group of which nothing was trained yet is expected to take what the others took, and before
    anything was, a second for ``SECOND``. From ``ends`` on, by the clock, no run joins the plan.
    """

    def __init__(
        self,
        session: Session,
        clock: Callable[[], float] = time.monotonic,
        ends: float | None = None,
    ) -> None:
        """Looks at the plan of ``session``."""
        self._session, self._clock = session, clock
        self._ends = math.inf if ends is None else ends
        self._left: dict[RunSpec | Making, tuple[str, float]] = {}
        self._done: set[RunSpec] = set()
        self._seen = 0
        self._whole = 0.0
        self._later: dict[RunSpec, None] = {}

    def expect(self, runs: Iterable[RunSpec]) -> None:
        """Takes over which runs are expected to join the plan, in place of those of before."""
        self._later = dict.fromkeys(runs)

    def look(self) -> ProgressSnapshot | None:
        """The state of the plan now; None while there is no plan."""
        session, now = self._session, self._clock()
        with session.news:
            self._take_in()
            works = [*session.at_work]
            paces = dict(session.paces)
        if not (self._left or self._done):
            return None
        undone: defaultdict[str, float] = defaultdict(float)
        for group, cost in self._left.values():
            undone[group] += cost
        running = 0
        for work in works:
            group, cost = work.bill
            undone[group] -= work.share * cost
            running += len(work.runs)
            took, part = work.measured
            before, costs = paces.get(group, (0.0, 0.0))
            paces[group] = before + took, costs + part * cost
        later = [run for run in self._later if run not in session.wanted]
        every = defaultdict(float, undone)
        for group, cost in map(cost_of, later):
            every[group] += cost
        seconds, fits = self._seconds(undone, paces), 1.0 if now < self._ends else 0.0
        with_later = self._seconds(every, paces)
        if fits and seconds is not None and with_later is not None and with_later > seconds:
            # Later runs begin only while there is time.
            more = with_later - seconds
            fits = min(1.0, max(0.0, self._ends - now - seconds) / more)
            seconds += fits * more
        whole_later = fits * math.fsum(cost for _, cost in map(cost_of, later))
        whole, left = self._whole + whole_later, math.fsum(undone.values()) + whole_later
        tables = sum(isinstance(each, Making) for each in self._left)
        return ProgressSnapshot(
            done=len(self._done),
            running=running,
            left=len(self._left) - tables - running,
            share=1 - left / whole if whole else 1.0,
            seconds=seconds,
            later=round(fits * len(later)),
            tables=tables,
        )

    def _take_in(self) -> None:
        """Takes in what joined the plan since, and what ended."""
        session = self._session
        for each in session.joined[self._seen :]:
            self._left[each] = cost_of(each)
            self._whole += self._left[each][1]
        self._seen = len(session.joined)
        for each in [each for each in self._left if each in session.over]:
            _, cost = self._left.pop(each)
            if not isinstance(each, Making):
                if session.failure(each) is None:
                    self._done.add(each)
                else:
                    self._whole -= cost

    def _seconds(
        self, left: dict[str, float], paces: dict[str, tuple[float, float]]
    ) -> float | None:
        """The seconds that the costs ``left`` of each group will take."""
        trained = math.fsum(cost for _, cost in paces.values())
        if trained > 0:
            usual = math.fsum(seconds for seconds, _ in paces.values()) / trained
        elif any(group.startswith(f"{FunctionRecipe.kind}/") for group in left):
            return None  # nobody knows what a user's function takes
        else:
            usual = 1 / SECOND
        total = 0.0
        for group, cost in left.items():
            seconds, costs = paces.get(group, (0.0, 0.0))
            total += cost * (seconds / costs if costs else usual)
        return max(0.0, total) / self._session.slots


@contextlib.contextmanager
def watched(
    progress: Progress, show: Callable[[ProgressSnapshot], None], every: float
) -> Iterator[None]:
    """Shows how far a session came every so many seconds; with ``every`` 0 each second."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every or LOOK_SECONDS):
            if (state := progress.look()) is not None:
                show(state)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
