"""The progress of a session: its runs done and wanted, and the time that is left."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from embinit.errors import counted
from embinit.runs.kinds import SECOND, Making
from embinit.runs.session import Session, cost_of
from embinit.specs import FunctionRecipe, RunSpec


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a plan: how many of the runs in it are stored."""

    done: int
    wanted: int
    seconds: float | None  # the estimated time that is left; None before anything was trained
    later: int = 0  # runs that are not planned, and that are expected to be
    tables: int = 0  # what runs read and is made first, and isn't yet

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
    ``later`` gives the runs that are expected to join it.
    """

    def __init__(
        self,
        session: Session,
        later: Callable[[], Iterable[RunSpec]] = tuple,
        ends: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Looks at the plan of ``session``."""
        self._session, self._later, self._ends, self._clock = session, later, ends, clock

    def look(self) -> ProgressSnapshot | None:
        """The state of the plan now; None while there is no plan."""
        session, now = self._session, self._clock()
        with session.news:
            joined, over = dict(session.joined), set(session.over)
            works, paces = [*session.at_work], dict(session.paces)
        if not joined:
            return None
        left = [each for each in joined if each not in over]
        tables = sum(isinstance(each, Making) for each in left)
        done = sum(
            not isinstance(each, Making) and session.failure(each) is None
            for each in joined
            if each in over
        )
        planned = _costs(map(cost_of, left))
        for work in works:
            group, cost = work.bill
            planned[group] -= work.share * cost
            took, part = work.measured
            before, costs = paces.get(group, (0.0, 0.0))
            paces[group] = before + took, costs + part * cost
        later = [run for run in dict.fromkeys(self._later()) if run not in joined]
        seconds = self._seconds(planned, paces)
        more = self._seconds(_costs([*planned.items(), *map(cost_of, later)]), paces)
        fits = 1.0
        if seconds is not None and more is not None and more > seconds:
            # Later runs begin only while there is time.
            fits = min(1.0, max(0.0, (self._ends - now - seconds) / (more - seconds)))
            seconds += fits * (more - seconds)
        wanted = done + len(left) - tables
        return ProgressSnapshot(done, wanted, seconds, round(fits * len(later)), tables)

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


def _costs(bills: Iterable[tuple[str, float]]) -> defaultdict[str, float]:
    """The costs of groups, summed."""
    costs: defaultdict[str, float] = defaultdict(float)
    for group, cost in bills:
        costs[group] += cost
    return costs
