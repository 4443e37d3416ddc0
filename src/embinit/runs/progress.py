"""The progress of a session: its runs done, running and left, and the time that is left.

Each process writes the runs that it plans to a file named after the session, and those that it
expects to plan later to another. Trainers write marks: files that name the runs in training.
Progress is read from these files and the store.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from embinit.errors import InputError, counted
from embinit.files.reading import parse_json
from embinit.files.writing import write_atomically
from embinit.runs.kinds import kind_of
from embinit.runs.session import Session
from embinit.specs import RunSpec

LOOK_SECONDS = 1.0

BETWEEN_SECONDS = 60.0
"""How long a process may make texts between two cohorts and count as one that trains."""


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a plan: how many of its runs are stored, in training, and left."""

    done: int
    running: int
    left: int
    share: float  # the trained share of the plan's cost, 0 to 1
    seconds: float | None  # the estimated time that is left; None before anything was trained
    later: int = 0  # runs that are not planned, and that are expected to be

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
        return f"{self.done} of {'about ' if self.later else ''}{every}"

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


class Planned(NamedTuple):
    """A planned run: its path, its cost, the group of its pace, the time of its plan."""

    path: str
    cost: float
    group: str
    since: float

    @property
    def is_stored(self) -> bool:
        """Whether it is, under that path or the name of a traced run's record made since."""
        if os.path.exists(self.path):
            return True
        with contextlib.suppress(FileNotFoundError):
            folder, name = os.path.split(self.path.removesuffix("json"))
            made = [each for each in os.listdir(folder) if each.startswith(name)]
            return any(os.stat(f"{folder}/{each}").st_mtime >= self.since for each in made)
        return False


class Heartbeat(NamedTuple):
    """A training process's sign of life: the trained share, and the runs' keys."""

    share: float
    runs: tuple[str, ...]


class ProgressMonitor:
    """The runs that a session plans, as files in ``folder`` have them.

    The time left is a sum over groups of runs (kind, task and model): the cost that is left times
    the seconds that a unit of the group's cost took in this session, over the number of processes
    that train. Seconds are counted from mark to mark, so that neither start-up nor what a cohort
    has trained since its newest mark counts as slowness. A group of which nothing was trained yet
    is expected to take what the others took. From ``ends`` on, by the clock, no run joins the plan.
    """

    def __init__(
        self,
        folder: Path,
        controller: int,
        clock: Callable[[], float] = time.monotonic,
        ends: float | None = None,
    ) -> None:
        """Watches the plans that are named after the process ``controller``."""
        self._folder, self._controller, self._clock = folder, controller, clock
        self._ends = math.inf if ends is None else ends
        self._looked = False
        # Each process's newest mark, and when that was new; None if that wasn't seen.
        self._newest: dict[int, tuple[Heartbeat, float | None]] = {}
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._costs: defaultdict[str, float] = defaultdict(float)
        self._at_work: list[tuple[float, int]] = []

    def look(self) -> ProgressSnapshot | None:
        """The state of the plan now; None while there is no plan."""
        plan = _planned(self._folder.glob(f"plan-{self._controller}-*.json"))
        if not plan:
            return None
        now = self._clock()
        stored = {key for key, run in plan.items() if run.is_stored}
        live = {
            process: mark
            for process, mark in heartbeats(self._folder).items()
            if not plan.keys().isdisjoint(mark.runs)
        }
        self._count(live, stored, plan, now)
        shares = {key: mark.share for mark in live.values() for key in mark.runs if key in plan}
        running = len(shares.keys() - stored)
        shares |= dict.fromkeys(stored, 1.0)
        undone, every = defaultdict[str, float](float), defaultdict[str, float](float)
        for key, run in plan.items():
            undone[run.group] += run.cost * (1 - shares.get(key, 0.0))
        later = self._later(plan)
        for group, cost in [*undone.items(), *((run.group, run.cost) for run in later)]:
            every[group] += cost
        seconds, fits = self._estimate(undone, now), 1.0 if now < self._ends else 0.0
        with_later = self._estimate(every, now)
        if fits and seconds is not None and with_later is not None and with_later > seconds:
            # Later runs begin only while there is time.
            more = with_later - seconds
            fits = min(1.0, max(0.0, self._ends - now - seconds) / more)
            seconds += fits * more
        whole_later = fits * math.fsum(run.cost for run in later)
        whole = math.fsum(run.cost for run in plan.values()) + whole_later
        left = math.fsum(undone.values()) + whole_later
        return ProgressSnapshot(
            done=len(stored),
            running=running,
            left=len(plan) - len(stored) - running,
            share=1 - left / whole if whole else 1.0,
            seconds=seconds,
            later=round(fits * len(later)),
        )

    def _later(self, plan: Mapping[str, Planned]) -> list[Planned]:
        """The runs that are expected to join the plan; whoever wrote them last knows best."""
        files = self._folder.glob(f"later-{self._controller}-*.json")
        expected = _planned(sorted(files, key=lambda path: path.stat().st_mtime)[-1:])
        return [run for key, run in expected.items() if key not in plan and not run.is_stored]

    def _count(
        self,
        live: Mapping[int, Heartbeat],
        stored: set[str],
        plan: Mapping[str, Planned],
        now: float,
    ) -> None:
        """Counts the seconds and costs between the newest marks and those of ``live``."""
        for process, (mark, since) in list(self._newest.items()):
            new = live.get(process)
            goes_on = new is not None and new.runs == mark.runs
            share = new.share if new is not None and goes_on else 1.0
            if goes_on and share <= mark.share:
                continue
            runs = [plan[key] for key in mark.runs if key in plan]
            if since is not None and (goes_on or stored.issuperset(mark.runs)):
                self._seconds[runs[0].group] += now - since
                trained = share - mark.share
                self._costs[runs[0].group] += trained * math.fsum(run.cost for run in runs)
            del self._newest[process]
            if new is not None and goes_on:
                self._newest[process] = new, now
        for process, mark in live.items():
            # A mark of share 0 is new, unless it was there before the first look.
            begins = self._looked and mark.share == 0
            self._newest.setdefault(process, (mark, now if begins else None))
        self._looked = True
        recent = [each for each in self._at_work if now - each[0] <= BETWEEN_SECONDS]
        self._at_work = [*recent, (now, len(live))] if live else recent or self._at_work[-1:]

    def _estimate(self, left: Mapping[str, float], now: float) -> float | None:
        """The seconds that the costs ``left`` of each group will take."""
        trained = math.fsum(self._costs.values())
        if trained <= 0:
            return None
        usual = math.fsum(self._seconds.values()) / trained
        seconds = math.fsum(
            cost * (self._seconds[group] / self._costs[group] if self._costs[group] else usual)
            for group, cost in left.items()
        )
        # What was trained since the newest marks is not among the shares yet.
        seconds -= math.fsum(now - new for _, new in self._newest.values() if new is not None)
        return max(0.0, seconds) / max((count for _, count in self._at_work), default=1)


def _planned(paths: Iterable[Path]) -> dict[str, Planned]:
    """The runs by key of files that ``_write`` wrote; one that can't be read has none."""
    plan: dict[str, Planned] = {}
    for path in paths:
        with contextlib.suppress(Exception):
            since = path.stat().st_mtime
            for run, (cost, group) in parse_json(path.read_bytes()).items():
                key = Path(run).name.partition(".")[0]
                plan[key] = Planned(run, float(cost), str(group), since)
    return plan


def heartbeats(folder: Path) -> dict[int, Heartbeat]:
    """The marks of live processes, by process id; ``folder`` is the store's for plans and marks."""
    live: dict[int, Heartbeat] = {}
    for path in folder.glob("[0-9]*.json"):
        with contextlib.suppress(Exception):
            mark = parse_json(path.read_bytes())
            if alive(_owner(path)):
                live[_owner(path)] = Heartbeat(float(mark["share"]), tuple(mark["runs"]))
    return live


def alive(process: int) -> bool:
    """Whether the process ``process`` runs. One that ended and waits to be reaped does not."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # another user's, or macOS, which has no /proc
    return state != "Z"


def _owner(path: Path) -> int:
    """The controller of a plan (``plan-7-8.json``), or the process of a mark (``7.json``)."""
    return int(path.stem.removeprefix("plan-").removeprefix("later-").partition("-")[0])


def sweep(folder: Path, started: float = math.inf) -> None:
    """Removes plans and marks of processes that no longer run.

    Those of this process's own id are removed too where they are older than its session, which
    ``started`` at these seconds since the epoch: in a container, a later session may have the id of
    one that was killed.
    """
    if folder.is_symlink():
        return  # what lies elsewhere is not the store's
    kinds = ("[0-9]*.json", "plan-[0-9]*.json", "later-[0-9]*.json")
    for path in (path for kind in kinds for path in folder.glob(kind)):
        with contextlib.suppress(OSError, ValueError):
            owner = _owner(path)
            old = owner == os.getpid() and path.stat().st_mtime < started
            if old or not alive(owner):
                path.unlink()


def publish_plan(session: Session, controller: int, runs: Sequence[RunSpec] | None = None) -> None:
    """Writes this process's plan, or the ``runs`` that join it, for ``controller`` to show.

    A plan that can't be written, as on a full disk, costs the progress and nothing else.
    """
    later = "" if runs is None else f"-{len(session.wanted)}"
    name = f"plan-{controller}-{os.getpid()}{later}.json"
    wanted = session.wanted if runs is None else runs
    _write(session, name, [run for run in wanted if session.problem(run) is None])


def publish_expected_runs(session: Session, controller: int, runs: Iterable[RunSpec]) -> None:
    """Writes which runs this process expects to plan, in place of those that it wrote before.

    Planned ones may be among them, and stored ones. Their texts aren't read: the runs of earlier
    looks have shown what those lack.
    """
    name = f"later-{controller}-{os.getpid()}.json"
    _write(session, name, [run for run in runs if _may_be_made(session, run)])


def _may_be_made(session: Session, run: RunSpec) -> bool:
    try:
        return session.failure(run) is None
    except InputError:  # a file that it reads is missing
        return False


def _write(session: Session, name: str, runs: Iterable[RunSpec]) -> None:
    if not session.may_train:
        return  # the store may lie where nothing can be written
    costs = {
        str(session.store.path(session.name_of(run))): (kind_of(run).cost(run), run.recipe.pace)
        for run in runs
    }
    with contextlib.suppress(OSError):
        write_atomically(session.store.root / "sessions" / name, json.dumps(costs))


@contextlib.contextmanager
def watched(
    folder: Path, show: Callable[[ProgressSnapshot], None], every: float, ends: float | None = None
) -> Iterator[None]:
    """Shows the state of this process's plan every so many seconds, then removes the plan.

    It is looked at more often, so that the estimate is good; with ``every`` 0 each look is shown.
    """
    runs, done = ProgressMonitor(folder, os.getpid(), ends=ends), threading.Event()

    def watch() -> None:
        shown = time.monotonic()
        while not done.wait(min(LOOK_SECONDS, every or LOOK_SECONDS)):
            state = runs.look()
            if state is not None and time.monotonic() - shown >= every:
                shown = time.monotonic()
                show(state)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        for kind in ("plan", "later"):
            for path in folder.glob(f"{kind}-{os.getpid()}-*.json"):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
