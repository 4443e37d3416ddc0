"""Getting wanted runs trained: what the store lacks becomes cohorts, which workers share.

Every worker knows the whole plan, so that none waits while there is a cohort that nobody trains.
A cohort is trained by whoever holds its lock, and only as many train at once as there are cores
(or one on each GPU): locks belong to the operating system and end with the process.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from embinit.data.files import write_atomically
from embinit.data.sources import use_source
from embinit.errors import InputError
from embinit.runs import analogies as probing
from embinit.runs import transfer
from embinit.runs.machine import cores, end_with, training_devices
from embinit.runs.plan import MOST_RUNS, Cohort, plan
from embinit.runs.results import RunResult
from embinit.runs.store import Store, run_key
from embinit.runs.table_pretraining import runs as pretrained_tables
from embinit.runs.training import Progress, train
from embinit.specs import RunSpec, TablePretrainingSpec, TrainingSpec, TransferSpec
from embinit.tables import start

WAIT_SECONDS = 0.2

NARROW, FEW_RUNS = 128, 5
"""Up to this width a core gains by stacking many runs, beyond it by these few (docs/speed.md)."""


class Session:
    """One worker's view of the plan, the store and the machine."""

    def __init__(
        self,
        store: Store,
        data_dir: Path | None,
        device: str,
        sources: Sequence[tuple[str, Path]] = (),
        may_train: bool = True,
    ) -> None:
        self.store, self.data_dir, self.device, self.sources = store, data_dir, device, sources
        self.may_train = may_train
        for name, path in sources:
            use_source(name, path)
        self.wanted: list[RunSpec] = []
        self.trained = 0
        self._keys: dict[RunSpec, str] = {}
        self._records: dict[str, Mapping[str, Any]] = {}
        self._cohorts: list[Cohort] = []
        self._checked: dict[object, str | None] = {}

    def want(self, runs: Iterable[RunSpec]) -> None:
        """Fix the plan: the cohorts of every run that this session may need."""
        self.wanted = list(dict.fromkeys(runs))
        possible = [run for run in self.wanted if self.problem(run) is None]
        missing = [run for run in possible if self.key(run) not in self.store]
        self._cohorts = plan(missing, self.most)

    def most(self, run: RunSpec) -> int:
        """How many runs of this kind a cohort should have at most on this device.

        On a CPU wide models fill a core with a few runs; more only hold their results back. What
        is made one after the other, as tables are pre-trained, gains nothing by it.
        """
        if isinstance(run.training, TablePretrainingSpec):
            return 1
        wide = run.model is not None and run.model.dim > NARROW
        return FEW_RUNS if wide and self.device == "cpu" else MOST_RUNS

    def problem(self, run: RunSpec) -> str | None:
        """Why the run can't be made here (its data is missing or bad), or None.

        Text and vectors are read here, before anything trains.
        """
        try:
            if self.key(run) in self.store:
                return None
        except InputError as error:
            return str(error)
        if not self.may_train:
            return f"the store {self.store.root} lacks runs; without --no-train they are trained"
        recipe = None if isinstance(run.training, TrainingSpec) else run.training
        width = run.model and (run.model.table_width, run.model.coupled, run.model.output_width)
        what = (run.data, run.table.source, recipe, width)
        if what not in self._checked:
            try:
                _reads(run).check(run, self.data_dir)
                self._checked[what] = None
            except InputError as error:
                self._checked[what] = str(error)
        return self._checked[what]

    def key(self, run: RunSpec) -> str:
        """The run's name in the store."""
        if run not in self._keys:
            self._keys[run] = key_of(run, self.data_dir)
        return self._keys[run]

    def record(self, run: RunSpec) -> Mapping[str, Any] | None:
        """The run's record, read once."""
        if self.problem(run) is not None:
            return None
        key = self.key(run)
        if key not in self._records:
            found = self.store.get(key)
            if found is None:
                return None
            self._records[key] = found
        return self._records[key]

    def ensure(self, runs: Iterable[RunSpec]) -> None:
        """Return when all ``runs`` are stored: train them, or others while somebody else does."""
        needed = list(dict.fromkeys(runs))
        while missing := [run for run in needed if self.record(run) is None]:
            if not self._train_one(missing):
                time.sleep(WAIT_SECONDS)

    @contextlib.contextmanager
    def helped(self) -> Iterator[None]:
        """Meanwhile the machine's other cores train the plan too, each in a process of its own.

        For a session without workers. So do the machine's other GPUs, if it trains on GPUs.
        """
        context = multiprocessing.get_context("spawn")
        spare = min(len(training_devices(self.device)), len(self._cohorts)) - 1
        where = (self.store.root, self.data_dir, self.device, self.sources)
        arguments = (*where, self.wanted, os.getpid())
        helpers: list[multiprocessing.context.SpawnProcess] = []
        try:
            for _ in range(spare):
                helper = context.Process(target=_help, args=arguments, daemon=True)
                helper.start()
                helpers.append(helper)
            yield
        finally:
            for helper in helpers:
                helper.terminate()
                helper.join()

    def _train_one(self, missing: list[RunSpec]) -> bool:
        """Train one cohort that nobody trains; False if there is none, or no place to train in."""
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

    def _order(self, missing: Sequence[RunSpec]) -> list[Cohort]:
        """The cohorts that are left to train, those that hold a missing run first.

        InputError where this session may not train.
        """
        if not self.may_train:
            raise InputError(
                f"the store {self.store.root} lost runs meanwhile, or had damaged ones; without "
                "--no-train they are trained again"
            )
        urgent = set(missing)
        known = {run for cohort in self._cohorts for run in cohort.runs}
        if not urgent <= known:
            # A record was damaged after planning: its run joins the plan again.
            self._cohorts += plan(urgent - known, self.most)
        self._cohorts = [cohort for cohort in self._cohorts if self._left(cohort)]
        return sorted(self._cohorts, key=lambda cohort: urgent.isdisjoint(cohort.runs))

    @contextlib.contextmanager
    def _held(self, cohort: Cohort) -> Iterator[list[RunSpec]]:
        """The cohort's runs that are neither stored nor in training elsewhere, locked one by one.

        Workers that look again at different claims plan different cohorts of the same runs.
        """
        with contextlib.ExitStack() as locks:
            held = [
                run
                for run in self._left(cohort)
                if locks.enter_context(self.store.claim(self.key(run)[:40]))
            ]
            # Another may have stored one between the look and the lock.
            yield [run for run in held if self.key(run) not in self.store]

    def _left(self, cohort: Cohort) -> list[RunSpec]:
        return [run for run in cohort.runs if self.key(run) not in self.store]

    def _train(self, cohort: Cohort, device: str) -> None:
        torch.set_num_threads(1)
        mark = self.store.root / "sessions" / f"{os.getpid()}.json"
        keys = [self.key(run) for run in cohort.runs]

        def progress(share: float) -> None:
            with contextlib.suppress(OSError):
                write_atomically(mark, json.dumps({"share": share, "runs": keys}))

        progress(0.0)
        try:
            results = results_of(cohort, self.data_dir, device, progress)
            for key, result in zip(keys, results, strict=True):
                self.store.put(key, result.as_record())
            self.trained += len(cohort.runs)
        finally:
            mark.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[str | None]:
        """The device of a place to train in that nobody holds, held meanwhile; None for none."""
        for number, device in enumerate(training_devices(self.device)):
            name = f"cpu-{number}" if device == "cpu" else device.replace(":", "-")
            with self.store.claim(f"slot-{name}") as held:
                if held:
                    yield device
                    return
        yield None


def key_of(run: RunSpec, data_dir: Path | None) -> str:
    """The run's name in the store, by what it reads here; InputError if a file is missing."""
    return run_key(run.digest(), _reads(run).fingerprint(run, data_dir))


def results_of(
    cohort: Cohort,
    data_dir: Path | None,
    device: str,
    progress: Progress = lambda share: None,
) -> list[RunResult]:
    """Make the cohort's runs in this process, whatever their kind; in the cohort's order."""
    training = cohort.runs[0].training
    if training is None:
        return [probing.evaluate(run, data_dir) for run in cohort.runs]
    if isinstance(training, TablePretrainingSpec):
        return [pretrained_tables.pretrain(run) for run in cohort.runs]
    made = transfer.train if isinstance(training, TransferSpec) else train
    return made(cohort, data_dir, device, progress, sharers=cores() if device == "cpu" else 1)


def _help(
    root: Path,
    data_dir: Path | None,
    device: str,
    sources: Sequence[tuple[str, Path]],
    wanted: list[RunSpec],
    parent: int,
) -> None:
    """Train what is planned beside the parent, which meets again any error that ends this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    end_with(parent)
    session = Session(Store(root), data_dir, device, sources)
    session.want(wanted)
    with contextlib.suppress(Exception):
        session.ensure(run for run in wanted if session.problem(run) is None)


def _reads(run: RunSpec) -> ModuleType:
    """The module that knows what a run reads: probes, pre-training and training differ."""
    if run.training is None:
        return probing
    if isinstance(run.training, TransferSpec):
        return transfer
    return pretrained_tables if isinstance(run.training, TablePretrainingSpec) else start
