"""Training the runs that a session wants: those that the store lacks become cohorts.

Every worker knows the whole plan. The one that holds the locks of a cohort's runs trains them.
Slots, which are locks too, limit how many train at once: one on each core, or some on each GPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import traceback
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from embinit.code import is_own_file
from embinit.errors import InputError, lacking_models
from embinit.files.writing import write_atomically
from embinit.runs.helpers import Helper, Job
from embinit.runs.kinds import Cohort, RunContext, kind_of, own_code
from embinit.runs.machine import (
    keep_freed_memory,
    limit_threads,
    require_room,
    sharers,
    training_devices,
)
from embinit.runs.modules import Home
from embinit.runs.plan import plan
from embinit.runs.results import RunName, RunResult
from embinit.runs.store import Store, run_key
from embinit.runs.trainers.processes import Trainers
from embinit.specs import RunSpec

Definition = Callable[[], None]
"""Registers something in the process that calls it; it can be pickled."""

WAIT_SECONDS = 0.2


class Session:
    """One worker's view of the plan, the store and the machine.

    ``definitions`` are called first, here and in every process that helps; ``modules`` are those of
    its claims, which helpers load. ``name`` is shared with its workers and helpers. ``troubles``
    says why helpers ended before their work was done.
    """

    def __init__(
        self,
        store: Store,
        data_dir: Path | None,
        device: str,
        definitions: Sequence[Definition] = (),
        may_train: bool = True,
    ) -> None:
        self.store, self.data_dir, self.device = store, data_dir, device
        self.definitions, self.may_train = definitions, may_train
        for define in definitions:
            define()
        self.name = uuid.uuid4().hex
        self.modules: Sequence[Home] = ()
        self.wanted: list[RunSpec] = []
        self._planned: set[RunSpec] = set()
        self._twice: dict[object, RunSpec] = {}
        self.trained = 0
        self.helpers: tuple[Helper, ...] = ()
        self.troubles: list[str] = []
        self.trainers = Trainers()
        self._keys: dict[RunSpec, str] = {}
        self._names: dict[str, str] = {}
        self._stale: set[str] = set()
        self._results: dict[str, RunResult] = {}
        self._cohorts: list[Cohort] = []
        self._checked: dict[object, str | None] = {}
        self._failures: dict[str, str] = {}
        self._gpu: str | None = None
        self._gpu_lock = contextlib.ExitStack()

    def set_plan(self, runs: Iterable[RunSpec]) -> None:
        """Makes the plan, in place of an earlier one: groups what the store lacks into cohorts."""
        self.wanted = list(dict.fromkeys(runs))
        self._planned = set(self.wanted)
        self._twice = {}
        self._choose_twice(self.wanted)
        self._cohorts = plan(self._possible(self.wanted), self.largest_cohort)

    def _choose_twice(self, runs: Iterable[RunSpec]) -> None:
        """Chooses the run of each function that is made twice: of the first seed, anywhere."""
        for run in sorted(filter(_checks_seeds, runs), key=lambda run: (run.seed, run.digest())):
            self._twice.setdefault((run.kind, kind_of(run).check_key(run)), run)

    def made_twice(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """The runs that are made twice to check the functions which the given runs call."""
        keys = {(run.kind, kind_of(run).check_key(run)) for run in runs}
        return [run for key, run in self._twice.items() if key in keys]

    def _is_made_twice(self, runs: Iterable[RunSpec]) -> bool:
        return not set(runs).isdisjoint(self._twice.values())

    def _possible(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """The runs that the store lacks, and that can be made here."""
        possible = [run for run in runs if self.problem(run) is None]
        return [run for run in possible if not self.is_stored(run)]

    @property
    def slots(self) -> int:
        """How many cohorts are trained at once, at the most."""
        return max(1, len(training_devices(self.device)))

    def largest_cohort(self, run: RunSpec) -> int:
        """The most runs that a cohort of the run's kind has on this device."""
        return kind_of(run).stacked(run, self.device)

    def problem(self, run: RunSpec) -> str | None:
        """Why the run can't be made here, such as missing data; None where it can, or is stored.

        Text and vectors are read, so that a problem shows before anything trains.
        """
        try:
            if (failure := self.failure(run)) is not None:
                return failure
            if self.is_stored(run):
                return None
        except InputError as error:
            return str(error)
        if not self.may_train:
            return (
                f"the store {self.store.root} lacks runs; without --embinit-no-train they are "
                "trained"
            )
        kind = kind_of(run)
        check_key = (run.kind, kind.check_key(run))
        if check_key not in self._checked:
            try:
                kind.check(run, self.data_dir)
                self._checked[check_key] = None
            except InputError as error:
                self._checked[check_key] = str(error)
        return self._checked[check_key]

    def failure(self, run: RunSpec) -> str | None:
        """Why the run, or its record, failed here; None where it was not tried, or was made."""
        return self._failures.get(self.key(run))

    def failures(self, runs: Iterable[RunSpec]) -> list[str]:
        """Why runs could not be made in this session, a line a reason, with arms and seeds."""
        failed: dict[str, dict[str, list[int]]] = {}
        for run in dict.fromkeys(runs):
            with contextlib.suppress(InputError):  # a file that it reads is missing
                if (reason := self.failure(run)) is not None:
                    failed.setdefault(reason, {}).setdefault(RunName.of(run).arm, []).append(
                        run.seed
                    )
        return sorted(f"{reason}: {_named(arms)}" for reason, arms in failed.items())

    def key(self, run: RunSpec) -> str:
        """The run's key in the store; InputError where a file that it reads is missing."""
        if run not in self._keys:
            self._keys[run] = key_of(run, self.data_dir)
        return self._keys[run]

    def name_of(self, run: RunSpec) -> str:
        """The name of the run's record: its key, with what it was made from if that was traced."""
        key = self.key(run)
        if not kind_of(run).traced:
            return key
        if key not in self._names:
            for name in self.store.names(key):
                if name not in self._stale and self._holds(name, run):
                    self._names[key] = name
                    break
        return self._names.get(key, key)

    def _holds(self, name: str, run: RunSpec) -> bool:
        """Whether a record is still the run's; it is looked at once a session."""
        try:
            stored = self.store.get(name, run)
        except InputError as error:
            self._failures[self.key(run)] = str(error)
            return False
        holds = stored is not None and kind_of(run).holds(stored, self)
        if not holds:
            self._stale.add(name)
        return holds

    def is_stored(self, run: RunSpec) -> bool:
        """Whether the store has a record of the run, which holds."""
        return self.name_of(run) in self.store

    def keep(self, key: str, result: RunResult) -> None:
        """Stores a result, which holds in this session."""
        kind, name = kind_of(result.spec), key
        if kind.traced:
            digest, result = kind.sealed(result, self)
            name = f"{key}.{digest}"
        self.store.put(name, result)
        self._names[key] = name
        self.trained += 1

    def result(self, run: RunSpec) -> RunResult | None:
        """The run's result, read from the store once; None while it is not stored."""
        if (known := self._results.get(self._keys.get(run, ""))) is not None:
            return known
        if self.problem(run) is not None:
            return None
        key = self.key(run)
        if key not in self._results:
            try:
                stored = self.store.get(self.name_of(run), run)
            except InputError as error:
                self._failures[key] = str(error)
                return None
            if stored is None:
                self._names.pop(key, None)
                return None
            self._results[key] = stored
        return self._results[key]

    def extend_plan(self, runs: Iterable[RunSpec]) -> list[RunSpec]:
        """Lets runs join the plan, before those that wait; returns those that are new to it."""
        more = [run for run in dict.fromkeys(runs) if run not in self._planned]
        if more:
            left = [run for cohort in self._cohorts for run in self._left(cohort)]
            self.wanted = [*more, *self.wanted]
            self._planned.update(more)
            self._choose_twice(more)
            self._cohorts = plan([*self._possible(more), *left], self.largest_cohort)
        return more

    def plan_and_make(self, runs: list[RunSpec]) -> None:
        """Lets runs join the plan, and returns when all are stored."""
        self.extend_plan(runs)
        self.ensure(runs)

    def ensure(self, runs: Iterable[RunSpec]) -> None:
        """Returns when all ``runs`` are stored, or have failed.

        They are trained here unless another worker trains them; meanwhile this one trains other
        runs of the plan. A missing run that may not be trained, or can't be kept, is an InputError.
        """
        needed = list(dict.fromkeys(runs))
        while missing := [run for run in needed if self.is_missing(run)]:
            if not self._train_one(missing):
                time.sleep(WAIT_SECONDS)

    def is_missing(self, run: RunSpec) -> bool:
        """Whether the run is neither stored nor has failed."""
        return self.result(run) is None and self.failure(run) is None

    @contextlib.contextmanager
    def with_helpers(self) -> Iterator[None]:
        """A context in which processes on other cores, or that feed GPUs, train the plan too."""
        before = self.helpers
        at_work = 1 + sum(helper.process.poll() is None for helper in before)
        spare = min(self.slots, len(self._cohorts)) - at_work
        job = Job(
            root=self.store.root,
            data_dir=self.data_dir,
            device=self.device,
            definitions=self.definitions,
            wanted=self.wanted,
            session=self.name,
            modules=self.modules,
            parent=os.getpid(),
            surroundings=self.trainers.surroundings,
        )
        helpers: list[Helper] = []
        try:
            for _ in range(spare):
                try:
                    helpers.append(Helper(job))
                except OSError as error:
                    self.troubles.append(f"no process could be started to help: {error}")
                    break
            self.helpers = (*before, *helpers)
            yield
        finally:
            self.helpers = before
            self.troubles += filter(None, [helper.trouble() for helper in helpers])
            for helper in helpers:
                helper.process.terminate()
            for helper in helpers:
                helper.end()

    def _train_one(self, missing: list[RunSpec]) -> bool:
        """Trains one cohort that nobody trains; False without such a cohort or a free slot."""
        order = self._order(missing)
        with self._slot() as device:
            if device is None:
                return False
            for cohort in order:
                with self._held(cohort) as left:
                    if left:
                        self._train(Cohort(tuple(left)), device)
                        return True
        return False

    def _order(self, missing: Sequence[RunSpec]) -> Iterator[Cohort]:
        """The cohorts that are left to train, those that hold a missing run first."""
        if not self.may_train:
            raise InputError(
                f"the store {self.store.root} lost runs meanwhile, or had damaged ones; without "
                "--embinit-no-train they are trained again"
            )
        urgent = set(missing)
        known = {run for cohort in self._cohorts for run in cohort.runs}
        if not urgent <= known:
            # A record was damaged after planning: its run joins the plan again.
            lost = [run for run in missing if run not in known]
            self._cohorts += plan(lost, self.largest_cohort)
        order = sorted(self._cohorts, key=lambda cohort: urgent.isdisjoint(cohort.runs))
        return self._unfinished(order)

    def _unfinished(self, cohorts: Sequence[Cohort]) -> Iterator[Cohort]:
        """Those that have a run left; the others leave the plan as they are met."""
        for cohort in cohorts:
            if self._left(cohort):
                yield cohort
            else:
                self._cohorts.remove(cohort)

    @contextlib.contextmanager
    def _held(self, cohort: Cohort) -> Iterator[list[RunSpec]]:
        """The cohort's runs that are neither stored nor in training elsewhere, locked singly."""
        with contextlib.ExitStack() as locks:
            held = [
                run
                for run in self._left(cohort)
                if locks.enter_context(self.store.try_lock(self.key(run)[:40]))
            ]
            for run in held:  # another worker may have tried it meanwhile
                self._learn_failure(run)
            # Another worker may have stored a run after the check and before the lock.
            yield [run for run in held if self._is_left(run)]

    def _left(self, cohort: Cohort) -> list[RunSpec]:
        return [run for run in cohort.runs if self._is_left(run)]

    def _is_left(self, run: RunSpec) -> bool:
        return self.key(run) not in self._failures and not self.is_stored(run)

    def _learn_failure(self, run: RunSpec) -> None:
        key = self.key(run)
        if (reason := self.store.failure(key, self.name)) is not None:
            self._failures[key] = reason

    def _train(self, cohort: Cohort, device: str) -> None:
        limit_threads(load=kind_of(cohort.runs[0]).needs_models)
        keep_freed_memory()
        mark = self.store.root / "sessions" / f"{os.getpid()}.json"
        keys = [self.key(run) for run in cohort.runs]

        def progress(share: float) -> None:
            with contextlib.suppress(OSError):
                content = json.dumps({"share": share, "runs": keys})
                write_atomically(mark, content, durable=False)

        progress(0.0)
        try:
            self._make(cohort, device, progress)
        finally:
            mark.unlink(missing_ok=True)

    def _make(self, cohort: Cohort, device: str, progress: Callable[[float], None]) -> None:
        """Makes and stores a cohort's runs. One that raises fails alone."""
        try:
            require_room()
            twice = self._is_made_twice(cohort.runs)
            results = results_of(
                cohort, self.data_dir, device, progress, twice, trainers=self.trainers
            )
        except Exception as error:
            if len(cohort.runs) == 1:
                return self._fail(cohort.runs[0], error)
            for run in cohort.runs:  # it may be the fault of one of them
                self._make(Cohort((run,)), device, progress)
            return None
        for run, result in zip(cohort.runs, results, strict=True):
            try:
                self.keep(self.key(run), result)
            except InputError:
                raise
            except ValueError as error:
                self._fail(run, error)
        return None

    def _fail(self, run: RunSpec, error: Exception) -> None:
        key, reason = self.key(run), failure_reason(error)
        self._failures[key] = reason
        details = "".join(traceback.format_exception(error))
        self.store.tell_failure(key, self.name, reason, details, run)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[str | None]:
        """The device of a free training slot, held meanwhile; a GPU's slot is kept for good."""
        if self._gpu is not None:
            yield self._gpu
            return
        numbers: Counter[str] = Counter()
        for device in training_devices(self.device):
            name = f"slot-{device.replace(':', '-')}-{numbers[device]}"
            numbers[device] += 1
            with contextlib.ExitStack() as lock:
                if lock.enter_context(self.store.try_lock(name)):
                    if device != "cpu":
                        self._gpu, self._gpu_lock = device, lock.pop_all()
                    yield device
                    return
        yield None


def _checks_seeds(run: RunSpec) -> bool:
    """Whether a run's kind has one of its runs made twice; a kind that can't be loaded has not."""
    try:
        return kind_of(run).checks_seeds
    except (InputError, ModuleNotFoundError):
        return False


REASON = "embinit: the run failed by "
"""How the note begins that an error of another machine has, where its traceback stayed."""


SEEDS_NAMED = 3
"""How many seeds of an arm are named where more have failed for the same reason."""


def _named(arms: Mapping[str, Sequence[int]]) -> str:
    """Runs in words, such as ``arm 'low', seeds 0, 1, 2 and 5 more, and arm 'high', seed 3``."""
    told = []
    for arm, seeds in arms.items():
        numbers = ", ".join(map(str, seeds[:SEEDS_NAMED]))
        more = f" and {len(seeds) - SEEDS_NAMED} more" if len(seeds) > SEEDS_NAMED else ""
        named = f"arm {arm!r}, " if arm else ""  # a call without arguments has no name
        told.append(f"{named}seed{'s' if len(seeds) > 1 else ''} {numbers}{more}")
    return ", and ".join(told)


def failure_reason(error: Exception) -> str:
    """Why a run failed, in one line: the error, and the line of the user's code that raised it."""
    if isinstance(error, InputError):
        return str(error)
    for note in getattr(error, "__notes__", ()):
        if str(note).startswith(REASON):
            return str(note).removeprefix(REASON)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own_file(frame.filename)] or frames
    text = str(error).strip().splitlines() or [""]
    told = f"{type(error).__name__}: {text[0]}".removesuffix(": ")
    return f"{told} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else told


def key_of(run: RunSpec, data_dir: Path | None) -> str:
    """The run's key in the store, given the data that it reads and the code that makes it here."""
    try:
        read, code = kind_of(run).fingerprint(run, data_dir), own_code(run)
    except ModuleNotFoundError as error:
        raise (lacking_models(error) or error) from None
    return run_key(run, f"{read}/code {code}" if code else read)


def results_of(
    cohort: Cohort,
    data_dir: Path | None,
    device: str,
    progress: Callable[[float], None] = lambda share: None,
    twice: bool = False,
    sharing: int | None = None,
    trainers: Trainers | None = None,
) -> list[RunResult]:
    """Makes a cohort's runs in this process, in its order; see ``kinds.RunContext``."""
    context = RunContext(data_dir, device, progress, sharing or sharers(device), twice, trainers)
    return kind_of(cohort.runs[0]).make(cohort, context)
