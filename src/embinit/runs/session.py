"""The runs of a session: one process plans, hands out, stores and reads them.

Trainers take stacks from its plan, one after the other (``trained_by``). Without any, the process
that waits for runs trains them itself. Sessions that share a store leave each other's runs alone.
"""

from __future__ import annotations

import contextlib
import functools
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from embinit.errors import InputError
from embinit.runs.engines import Processes, Trainer, TrainerTask
from embinit.runs.kinds import Making, Progress, RunContext, Stack, kind_of
from embinit.runs.modules import Home
from embinit.runs.plan import TrainingPlan
from embinit.runs.results import RunResult, failure_reason
from embinit.runs.store import Store
from embinit.runs.store_view import StoreView
from embinit.runs.trainers.processes import TrainerEnded
from embinit.specs import RunSpec

Definition = Callable[[], None]
"""Registers something in the process that calls it; it can be pickled."""

WAIT_SECONDS = 0.2

ENOUGH_SHARE = 0.05
"""The part of a stack from which on its pace says something."""

ENDS_WITHIN = 10.0
"""The seconds that a thread is waited for, whose trainer has ended: a cluster may not answer."""


@dataclass(eq=False)
class Work:
    """A stack in training, or something that is made first, with the locks that are held on it."""

    what: Stack | Making
    locks: contextlib.ExitStack
    share: float = 0.0
    began: float = field(default_factory=time.monotonic)
    reported: float = 0.0  # when the share was reported
    is_second: bool = False  # a trainer ended while it trained this

    def progress(self, share: float) -> None:
        """Takes over the share that is done. A share of 0 says that training begins only now."""
        self.share, self.reported = share, time.monotonic()
        if not share:  # what is loaded before, often once a process, tells nothing of the pace
            self.began = self.reported

    @property
    def measured(self) -> tuple[float, float]:
        """The seconds that a part of it took, and the part."""
        return (self.reported - self.began, self.share) if self.share > ENOUGH_SHARE else (0.0, 0.0)

    @property
    def bill(self) -> tuple[str, float]:
        """The group whose pace it has, and its cost."""
        parts = [self.what] if isinstance(self.what, Making) else self.what.runs
        costs = [*map(cost_of, parts)]
        return costs[0][0], math.fsum(cost for _, cost in costs)


def cost_of(part: RunSpec | Making) -> tuple[str, float]:
    """The group of what takes about equally long a unit of cost, and the cost."""
    if isinstance(part, Making):
        return "made first", part.cost
    return part.recipe.pace, kind_of(part).cost(part)


class Session(StoreView):
    """The plan of one process, its view of the store, and who trains for it.

    ``definitions`` are called first, here and in every process that trains; ``modules`` are those
    of its claims, which trainers load. ``joined`` has what joined the plan, ``over`` what left it,
    stored, made or failed, in its order; ``done`` is the work that ended. ``troubles`` says how
    trainers ended. ``news`` is locked while the plan changes.
    """

    def __init__(
        self,
        store: Store,
        data_dir: Path | None,
        device: str,
        definitions: Sequence[Definition] = (),
        may_train: bool = True,
    ) -> None:
        super().__init__(store, data_dir, may_train)
        self.device, self.definitions = device, definitions
        for define in definitions:
            define()
        self.modules: Sequence[Home] = ()
        self.places = 1  # how many will train, before they are there
        self.joined: dict[RunSpec | Making, None] = {}
        self.over: dict[RunSpec | Making, None] = {}
        self.done: list[Work] = []
        self.at_work: dict[Work, None] = {}
        self.troubles: list[str] = []
        self.news = threading.Condition()
        self._plan = TrainingPlan(lambda run: kind_of(run).stacked(run, self.device))
        self._blocked: dict[Making, dict[RunSpec, None]] = {}
        self._elsewhere: dict[RunSpec, None] = {}
        self._retried = 0.0
        self._twice: dict[RunSpec, RunSpec] = {}  # by arm
        self._made_again: set[object] = set()
        self._engine: Processes | None = None
        self._threads: list[threading.Thread] = []
        self._closing = False

    def want(self, runs: Iterable[RunSpec], first: bool = False) -> None:
        """Lets runs join the plan, behind others or with ``first`` before those that wait."""
        with self.news:
            runs = list(dict.fromkeys(runs))
            self._choose_twice(run for run in runs if run not in self.joined)
            begun = {part for work in self.at_work for part in (work.what, *work.what.runs)}
            waiting: dict[RunSpec | Making, None] = {}
            for run in runs:
                if run in begun or run in self._elsewhere or self.problem(run) is not None:
                    continue
                self.joined[run] = None
                if self.is_stored(run):
                    self.over[run] = None
                    continue
                if not (lacking := self.lacks(run)):
                    waiting[run] = None
                for making in lacking:
                    self.joined[making] = None
                    self._blocked.setdefault(making, {})[run] = None
                    waiting[making] = None
            self._plan.add([part for part in waiting if part not in begun], first)
            self.news.notify_all()

    def _choose_twice(self, runs: Iterable[RunSpec]) -> None:
        """Chooses the run of each function's arm that is made twice: the last, after others."""
        traced = (run for run in runs if kind_of(run).traced)
        for run in sorted(traced, key=lambda run: -run.seed):
            self._twice.setdefault(run.without_seed(), run)

    def made_twice(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """The runs that are made twice to check the arms of the given runs."""
        arms = dict.fromkeys(run.without_seed() for run in runs if kind_of(run).traced)
        return [self._twice[arm] for arm in arms if arm in self._twice]

    def ensure(self, runs: Iterable[RunSpec]) -> None:
        """Returns when all ``runs`` are stored, or have failed; what is missing joins the plan.

        A missing run that may not be trained is an InputError.
        """
        runs = list(dict.fromkeys(runs))
        self._choose_twice(runs)
        missing = [*filter(self.is_missing, runs)]
        if missing and not self.may_train:
            raise InputError(
                f"the store {self.store.root} lost runs meanwhile, or had damaged ones; without "
                "--embinit-no-train they are trained again"
            )
        while missing:
            seen = len(self.over)
            for run in missing:
                if (problem := self.problem(run)) is not None:
                    self._failures[run] = problem
            missing = [*filter(self.is_missing, missing)]
            self.want(missing, first=True)
            while missing and self.is_busy and len(self.over) == seen:
                self.step(seen)

    def step(self, seen: int) -> None:
        """Trains a stack where nobody else does; else waits a moment for ``over`` to grow."""
        if not self._staff() and (work := self.take()) is not None:
            self.train(work, self.here)
            return
        with self.news:
            if len(self.over) == seen:
                self.news.wait(WAIT_SECONDS)

    def here(self, task: TrainerTask, progress: Progress) -> list[RunResult]:
        """The trainer that is this process; users' functions have processes of their own."""
        return task.make(progress, self.trainers)

    @property
    def is_busy(self) -> bool:
        """Whether something is in training, here or elsewhere, or waits for it."""
        return bool(self.at_work or self._elsewhere or self._plan)

    def take(self) -> Work | None:
        """The next work for a trainer, which holds the locks of its runs; None without any."""
        with self.news:
            self._retry_elsewhere()
            while (what := self._plan.take()) is not None:
                locks = contextlib.ExitStack()
                if isinstance(what, Stack):
                    held = tuple(run for run in what.runs if self._hold(run, locks))
                    if not held:
                        continue
                    what = Stack(held)
                work = Work(what, locks)
                self.at_work[work] = None
                return work
        return None

    def _hold(self, run: RunSpec, locks: contextlib.ExitStack) -> bool:
        """Whether the run is left, and its lock is held now."""
        try:
            self._leave_out(run)
            if self.is_missing(run):
                if not locks.enter_context(self.store.try_lock(self.key(run)[:40])):
                    self._elsewhere[run] = None
                    return False
                if self.is_missing(run):  # another process may have stored it meanwhile
                    return True
        except InputError as error:  # it can't be locked, or what it reads is gone
            self._fail(run, error)
        self.over[run] = None
        self.news.notify_all()
        return False

    def _retry_elsewhere(self) -> None:
        """Lets runs that another process held wait again; who takes them sees whether they are."""
        now = time.monotonic()
        if self._elsewhere and (not self._plan or now - self._retried > 1):
            self._retried = now
            self._plan.add(list(self._elsewhere), first=True)
            self._elsewhere.clear()

    def train(self, work: Work, trainer: Trainer) -> None:
        """Has work made by a trainer, and stores what comes out. A run that raises fails alone."""
        try:
            self._make(work.what, work, trainer)
        finally:
            work.locks.close()
            with self.news:
                del self.at_work[work]
                self.over |= {run: None for run in work.what.runs if not self.is_missing(run)}
                if not self._closing:
                    work.progress(1.0)
                    self.done.append(work)
                    if isinstance(work.what, Making):
                        self._let_go_on(work.what)
                self.news.notify_all()

    @property
    def slots(self) -> int:
        """How many stacks are trained at once, at the most."""
        return self.places if self._engine is None else self._engine.slots

    def _make(self, what: Stack | Making, work: Work, trainer: Trainer) -> None:
        """Has something made, by another trainer where one ended, and stores its runs."""
        twice = any(self._twice.get(run.without_seed()) == run for run in what.runs)
        context = RunContext(
            self.data_dir, self.device, sharers=0, twice=twice, checked=self._made_again
        )
        keys = tuple(map(self.key, what.runs))
        task = TrainerTask(what, keys, context, tuple(self.definitions), tuple(self.modules))
        try:
            results = trainer(task, work.progress)
        except Exception as error:
            if self._closing:
                return
            ended = isinstance(error, TrainerEnded)
            if ended and not work.is_second:
                self.troubles.append(f"{error}; what it trained was begun again")
                work.is_second = True
                self._make(what, work, trainer)
            elif isinstance(what, Making):
                self._unmade[what] = f"{what.name} can't be made: {failure_reason(error)}"
            elif len(what.runs) > 1 and not ended:
                for run in what.runs:  # it may be the fault of one of them
                    self._make(Stack((run,)), work, trainer)
            else:
                for run in what.runs:
                    self._fail(run, error)
            return
        for run, result in zip(what.runs, results, strict=True):
            try:
                self.keep(self.key(run), result)
            except Exception as error:
                self._fail(run, error)

    def _let_go_on(self, making: Making) -> None:
        """Lets the runs that waited for something wait for a trainer alone."""
        runs = self._blocked.pop(making, {})
        self.over[making] = None
        self.over |= {run: None for run in runs if self.problem(run) is not None}
        self.want(runs, first=True)

    @contextlib.contextmanager
    def trained_by(self, engine: Processes) -> Iterator[None]:
        """A context in which an engine's trainers train; at its end they let go of all."""
        self._engine = engine
        self._staff()
        try:
            yield
        finally:
            with self.news:
                self._closing = True
                self.news.notify_all()
            engine.close()
            for thread in self._threads:
                thread.join(ENDS_WITHIN)
            self._engine, self._threads, self._closing = None, [], False

    def _staff(self) -> bool:
        """Whether trainers are there; starts a thread for each that the engine has."""
        if self._engine is None or not self.may_train:
            return False
        while len(self._threads) < self._engine.slots:
            thread = threading.Thread(
                target=self._serve, args=(self._engine, len(self._threads)), daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return any(thread.is_alive() for thread in self._threads)

    def _serve(self, engine: Processes, number: int) -> None:
        """Has one trainer train until the engine is closed."""
        while not self._closing:
            with self.news:
                if (work := self.take()) is None and not self._closing:
                    self.news.wait(WAIT_SECONDS if self._elsewhere else None)
            if work is not None:
                self.train(work, functools.partial(engine.make, number))
