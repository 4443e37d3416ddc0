"""The progress of a session: its runs done and wanted, and the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
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


def progress_of(
    session: Session, later: Iterable[RunSpec] = (), ends: float = math.inf
) -> ProgressSnapshot | None:
    """How far a session came; None while it has no plan.

    The time left is a sum over groups of runs (kind, task and model): the cost that is left times
    the seconds that a unit of the group's cost took in this session, over the number of trainers. A
    group of which nothing was trained yet is expected to take what the others took, and before
    anything was, a second for ``SECOND``. From ``ends`` on, by the clock, no run joins the plan.
    The runs that are expected to join it ``later`` begin only while there is time.
    """
    with session.news:
        joined, over = dict(session.joined), dict(session.over)
        works, finished = [*session.at_work], [*session.done]
    if not joined:
        return None
    left = [part for part in joined if part not in over]
    tables = sum(isinstance(part, Making) for part in left)
    done = sum(not isinstance(part, Making) and session.is_stored(part) for part in over)
    bills = [*map(cost_of, left)]
    paces: dict[str, tuple[float, float]] = {}
    for work in (*finished, *works):
        (group, cost), (took, part) = work.bill, work.measured
        if work in works:
            bills.append((group, -work.share * cost))
        if part:
            before, costs = paces.get(group, (0.0, 0.0))
            paces[group] = before + took, costs + part * cost
    more = [run for run in dict.fromkeys(later) if run not in joined]
    fits, seconds = 1.0, None
    # Nobody knows what a user's function takes, until one was called.
    if paces or not any(group.startswith(f"{FunctionRecipe.kind}/") for group, _ in bills):
        seconds = _seconds(bills, paces) / session.slots
        if (longer := _seconds(map(cost_of, more), paces) / session.slots) > 0:
            fits = min(1.0, max(0.0, (ends - time.monotonic() - seconds) / longer))
            seconds += fits * longer
    wanted = done + len(left) - tables
    return ProgressSnapshot(done, wanted, seconds, round(fits * len(more)), tables)


def _seconds(bills: Iterable[tuple[str, float]], paces: Mapping[str, tuple[float, float]]) -> float:
    """What bills take on one core at the paces of their groups."""
    took, trained = (math.fsum(sums) for sums in zip((0.0, 0.0), *paces.values(), strict=True))
    usual = (took, trained) if trained else (1.0, SECOND)
    paced = ((cost, *paces.get(group, usual)) for group, cost in bills)
    return max(0.0, math.fsum(cost * seconds / (costs or 1.0) for cost, seconds, costs in paced))
