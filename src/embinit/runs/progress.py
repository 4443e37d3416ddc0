"""The progress of a session: its runs done, running and left, and the time that is left.

Each process writes its plan to a file that is named after the session, and to another one which
runs it expects to plan later. Trainers write marks: files that name the runs in training. Progress
is read from these files and the store.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from embinit.errors import InputError, counted
from embinit.files.reading import parse_json
from embinit.files.writing import write_atomically
from embinit.runs import machine
from embinit.runs.kinds import kind_of
from embinit.runs.session import Session
from embinit.specs import RunSpec

LOOK_SECONDS, TELL_SECONDS = 1.0, 15.0

BETWEEN_SECONDS = 60.0
"""How long a process may make a world's texts between two cohorts and count as one that trains."""

Tell = Callable[[str], None]
"""Is told each step and the progress, in words."""


@dataclass(frozen=True)
class ProgressSnapshot:
    """The state of a plan.

    Attributes:
        done: Runs that are stored.
        running: Runs in training.
        left: Runs that wait.
        share: The trained share of the plan's cost, 0 to 1.
        seconds: The estimated time that is left; None before anything was trained.
        later: Runs that are not planned, and that are expected to be.
        waits: Whether it waits for a core: nothing of the plan is in training, and as many
            processes as there are cores train other sessions' runs in the same store.
    """

    done: int
    running: int
    left: int
    share: float
    seconds: float | None
    waits: bool = False
    later: int = 0

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
    def time(self) -> str:
        """The time that is left, in words."""
        if self.waits:
            return "waiting for a core, since other sessions train on all of them"
        if self.seconds is None:
            return "estimating"
        minutes = math.ceil(self.seconds / 60)
        if minutes <= 1:
            return "under a minute"
        if minutes < 120:
            return f"about {minutes} min"
        return f"about {minutes // 60} h {minutes % 60:02d} min"

    @property
    def estimate(self) -> str:
        """The time that is left, in words that need no others."""
        return self.time if self.seconds is None or self.waits else f"{self.time} left"


class Planned(NamedTuple):
    """A planned run's cost, and the group of runs that take alike many seconds for a unit of it."""

    cost: float
    group: str


class Heartbeat(NamedTuple):
    """A training process's sign of life: the trained share, and the runs' keys."""

    share: float
    runs: tuple[str, ...]


@dataclass
class _Watched:
    """A cohort in training: its newest mark, and when that was new; None if that wasn't seen."""

    mark: Heartbeat
    since: float | None


class ProgressMonitor:
    """The runs that a session plans.

    The time left is that of the plan and of the runs that are expected to join it. It is a sum over
    groups of runs (kind, task and model): the cost that is left times the seconds that a unit of
    the group's cost took in this session, over the number of processes that train: the most at once
    of the last minute, since one that is between two cohorts trains too. What a group has
    taken is counted from mark to mark, so that neither start-up nor what a cohort has trained since
    its newest mark counts as slowness. A group of which nothing was trained yet is expected to take
    what the others took.

    Args:
        folder: The store's folder of plans and marks.
        controller: The process id of the session's controller, which plans are named after.
        clock: Gives the time in seconds.
        cores: How many processes can train at once here; None counts the machine's cores.
        ends: The clock's time from which on no run joins the plan; None where there is none.
    """

    def __init__(
        self,
        folder: Path,
        controller: int,
        clock: Callable[[], float] = time.monotonic,
        cores: int | None = None,
        ends: float | None = None,
    ) -> None:
        self._folder, self._controller, self._clock = folder, controller, clock
        self._ends = math.inf if ends is None else ends
        self._cores = machine.cores() if cores is None else cores
        self._looked, self._began = False, math.inf
        self._watched: dict[int, _Watched] = {}
        self._seconds: dict[str, float] = {}
        self._costs: dict[str, float] = {}
        self._workers = 1
        self._at_work: list[tuple[float, int]] = []

    def look(self) -> ProgressSnapshot | None:
        """The state of the plan now; None while there is no plan."""
        plan = self._plan()
        if not plan:
            return None
        stored = {path for path in plan if self._is_stored(path)}
        now, live = self._clock(), heartbeats(self._folder)
        by_key = {_key(path): path for path in plan}
        self._watch(live, set(map(_key, stored)), by_key, plan, now)
        self._looked = True
        begun = {
            by_key[key]: mark.share for mark in live.values() for key in mark.runs if key in by_key
        }
        shares = {path: 1.0 if path in stored else begun.get(path, 0.0) for path in plan}
        left: dict[str, float] = {}
        for path, (cost, group) in plan.items():
            left[group] = left.get(group, 0.0) + cost * (1 - shares[path])
        running = len(begun.keys() - stored)
        waiting = len(plan) - len(stored) - running
        later = self._later(plan)
        seconds, fits = self._seconds_of(left, later, now)
        whole_later = fits * math.fsum(cost for cost, _ in later.values())
        whole = math.fsum(cost for cost, _ in plan.values()) + whole_later
        undone = math.fsum(left.values()) + whole_later
        return ProgressSnapshot(
            done=len(stored),
            running=running,
            left=waiting,
            share=1 - undone / whole if whole else 1.0,
            seconds=seconds,
            waits=waiting > 0 and not begun and len(live) >= self._cores,
            later=round(fits * len(later)),
        )

    def _seconds_of(
        self, left: dict[str, float], later: Mapping[str, Planned], now: float
    ) -> tuple[float | None, float]:
        """The seconds that are left, and the share of the later runs that has time to begin."""
        planned = self._estimate(left, now)
        if not later or now >= self._ends:
            return planned, 0.0
        every = dict(left)
        for cost, group in later.values():
            every[group] = every.get(group, 0.0) + cost
        whole = self._estimate(every, now)
        if planned is None or whole is None or whole <= planned:
            return whole, 1.0
        seconds = max(planned, min(whole, self._ends - now))
        return seconds, (seconds - planned) / (whole - planned)

    def _plan(self) -> dict[str, Planned]:
        """The planned runs by path. Workers at a later look plan more than others."""
        plan: dict[str, Planned] = {}
        for path in self._folder.glob(f"plan-{self._controller}-*.json"):
            self._began = min(self._began, _modified(path) or math.inf)
            plan |= _planned(path)
        return plan

    def _is_stored(self, path: str) -> bool:
        """Whether a run is stored, as its plan names it or under a name that was made since."""
        if os.path.exists(path):
            return True
        with contextlib.suppress(FileNotFoundError):
            folder, begins = os.path.dirname(path), f"{_key(path)}."
            return any(
                each.name.startswith(begins) and each.stat().st_mtime >= self._began
                for each in os.scandir(folder)
            )
        return False

    def _later(self, plan: Mapping[str, Planned]) -> dict[str, Planned]:
        """The runs that are expected to join the plan; whoever told them last knows best."""
        told = sorted(self._folder.glob(f"later-{self._controller}-*.json"), key=_modified)
        expected = _planned(told[-1]) if told else {}
        return {
            path: run
            for path, run in expected.items()
            if path not in plan and not self._is_stored(path)
        }

    def _watch(
        self,
        live: dict[int, Heartbeat],
        stored: set[str],
        by_key: dict[str, str],
        plan: dict[str, Planned],
        now: float,
    ) -> None:
        """Counts the seconds and costs between the marks of the last look and those of this one."""
        ours = {
            process: mark
            for process, mark in live.items()
            if any(key in by_key for key in mark.runs)
        }

        def count(watched: _Watched, share: float) -> None:
            runs = [plan[by_key[key]] for key in watched.mark.runs if key in by_key]
            if watched.since is None or not runs:
                return
            group, trained = runs[0].group, share - watched.mark.share
            cost = trained * math.fsum(run.cost for run in runs)
            self._seconds[group] = self._seconds.get(group, 0.0) + now - watched.since
            self._costs[group] = self._costs.get(group, 0.0) + cost

        for process, watched in list(self._watched.items()):
            mark = ours.get(process)
            if mark is not None and mark.runs == watched.mark.runs:
                if mark.share > watched.mark.share:
                    count(watched, mark.share)
                    self._watched[process] = _Watched(mark, now)
                continue
            if stored.issuperset(watched.mark.runs):
                count(watched, 1.0)
            del self._watched[process]
        for process, mark in ours.items():
            if process not in self._watched:
                # A mark of share 0 is new, unless it was there before the first look.
                new = self._looked and mark.share == 0
                self._watched[process] = _Watched(mark, now if new else None)
        recent = [(when, count) for when, count in self._at_work if now - when <= BETWEEN_SECONDS]
        self._at_work = [*recent, (now, len(ours))] if ours else recent
        self._workers = max((count for _, count in self._at_work), default=self._workers)

    def _estimate(self, left: dict[str, float], now: float) -> float | None:
        """The seconds that the costs ``left`` of each group will take."""
        trained = math.fsum(self._costs.values())
        if trained <= 0:
            return None
        usual = math.fsum(self._seconds.values()) / trained
        seconds = math.fsum(
            cost * (self._seconds[group] / self._costs[group] if self._costs.get(group) else usual)
            for group, cost in left.items()
        )
        # What was trained since the newest marks is not among the shares yet.
        for watched in self._watched.values():
            seconds -= now - watched.since if watched.since is not None else 0.0
        return max(0.0, seconds) / self._workers


UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What a file raises that holds neither a plan nor a mark."""


def _planned(path: Path) -> dict[str, Planned]:
    """The runs of a file that ``_tell`` wrote; none where it can't be read."""
    with contextlib.suppress(*UNREADABLE):
        told = parse_json(path.read_bytes())
        return {run: Planned(float(cost), str(group)) for run, (cost, group) in told.items()}
    return {}


def _key(path: str) -> str:
    return os.path.basename(path).partition(".")[0]


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def heartbeats(folder: Path) -> dict[int, Heartbeat]:
    """The marks of live processes, by process id.

    Args:
        folder: The store's folder of plans and marks.
    """
    live: dict[int, Heartbeat] = {}
    for path in folder.glob("[0-9]*.json"):
        with contextlib.suppress(*UNREADABLE):
            told = parse_json(path.read_bytes())
            if alive(_owner(path)):
                live[_owner(path)] = Heartbeat(float(told["share"]), tuple(told["runs"]))
    return live


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
    return int(path.stem.removeprefix("plan-").removeprefix("later-").partition("-")[0])


def sweep(folder: Path, started: float = math.inf) -> None:
    """Removes plans and marks of processes that no longer run.

    Those of this process's own id are removed too where they are older than its session: in a
    container, a later session may have the id of one that was killed.

    Args:
        folder: Where plans and marks lie.
        started: When this process's session began, in seconds since the epoch; its workers may have
            told their plans since then.
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
    """Writes this process's plan, for the progress that ``controller`` shows.

    A plan that can't be written, as on a full disk, costs the progress and nothing else.

    Args:
        session: The session with its wanted runs.
        controller: The process id of the session's controller.
        runs: Those that have joined the plan since it was told; None for all.
    """
    later = "" if runs is None else f"-{len(session.wanted)}"
    name = f"plan-{controller}-{os.getpid()}{later}.json"
    wanted = session.wanted if runs is None else runs
    _tell(session, name, [run for run in wanted if session.problem(run) is None])


def publish_expected_runs(session: Session, controller: int, runs: Iterable[RunSpec]) -> None:
    """Writes which runs this process expects to plan, in place of those that it told before.

    Args:
        session: The session.
        controller: The process id of the session's controller.
        runs: The runs. Planned ones may be among them, and stored ones. Their texts aren't read:
            the runs of earlier looks have told what those lack.
    """
    name = f"later-{controller}-{os.getpid()}.json"
    _tell(session, name, [run for run in runs if _may_be_made(session, run)])


def _may_be_made(session: Session, run: RunSpec) -> bool:
    try:
        return session.failure(run) is None
    except InputError:  # a file that it reads is missing
        return False


def _tell(session: Session, name: str, runs: Iterable[RunSpec]) -> None:
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
    """A context in which the state of this process's plan is shown; then the plan is removed.

    It is looked at often, so that the estimate is good.

    Args:
        folder: Where sessions keep their plans and marks.
        show: Is given the state.
        every: The seconds between two states that are shown; 0 shows each look's.
        ends: When no run joins the plan any more, by ``time.monotonic``; None where there is none.
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


@contextlib.contextmanager
def told(session: Session, tell: Tell) -> Iterator[None]:
    """A context in which the progress of the session's plan is told now and then.

    Args:
        session: The session with its wanted runs.
        tell: Is told how many runs are stored, and the time that is left.
    """
    last = ""

    def show(state: ProgressSnapshot) -> None:
        nonlocal last
        before, last = last, f"{state.stored}, {state.estimate}"
        if last != before:
            tell(last)

    publish_plan(session, os.getpid())
    with watched(session.store.root / "sessions", show, TELL_SECONDS):
        yield
