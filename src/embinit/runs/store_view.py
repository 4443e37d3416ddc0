"""What a process knows of a store: its runs, what they gave, and why others gave nothing."""

from __future__ import annotations

import traceback
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from embinit.errors import InputError, OutputError, counted
from embinit.runs.kinds import Making, kind_of
from embinit.runs.results import RunResult, failure_reason
from embinit.runs.store import Store
from embinit.runs.trainers.processes import Trainers
from embinit.specs import RunSpec

TRACEBACK = "Traceback (most recent call last):\n"

SEEDS_NAMED = 3
"""How many seeds of an arm are named where more have failed for the same reason."""

ALIKE = 2
"""After so many failures of an arm for one reason, its other runs are not made."""


class StoreView:
    """A process's view of a store; ``made`` has the names of what it kept there.

    ``name`` is the session's, ``trainers`` are the processes in which this one calls functions.
    ``details`` has where runs raised, and what they printed last; ``is_unwritten`` whether a run
    can't be kept.
    """

    def __init__(self, store: Store, data_dir: Path | None, may_train: bool) -> None:
        self.store, self.data_dir, self.may_train = store, data_dir, may_train
        self.name = uuid.uuid4().hex
        self.trainers = Trainers()
        self.made: set[str] = set()
        self._keys: dict[RunSpec, str] = {}
        self._stored: dict[str, tuple[str, RunResult]] = {}  # names of records, and results
        self._stale: set[str] = set()
        self._held: set[object] = set()  # inputs, by function and digest, that are as they were
        self._checked: dict[object, str | None] = {}
        self.details: dict[RunSpec, str] = {}
        self.is_unwritten = False
        self._failures: dict[RunSpec, str] = {}
        self._tried: dict[object, list[str]] = {}  # why runs of an arm failed
        self._left_out: set[RunSpec] = set()
        self._unmade: dict[Making, str] = {}

    def problem(self, run: RunSpec) -> str | None:
        """Why the run can't be made here, such as missing data; None where it can, or is stored.

        Text and vectors are read, so that a problem shows before anything trains.
        """
        stored = self.is_stored(run)
        if stored or self.failure(run) is not None:
            return self.failure(run)
        try:
            lacking = self.lacks(run)
            if not lacking:
                self.key(run)
        except InputError as error:
            return str(error)
        if not self.may_train:
            root, here = self.store.root, Path.cwd()
            place = root.relative_to(here) if root.is_relative_to(here) else root
            return f"the store {place} lacks runs; without --embinit-no-train they are trained"
        if lacking:  # it is made first, and read then
            return next(filter(None, map(self._unmade.get, lacking)), None)
        kind = kind_of(run)
        # One data draw is like another: to read the texts of all takes minutes.
        check_key = (run.kind, kind.check_key(run.without_seed()))
        if check_key not in self._checked:
            try:
                kind.check(run, self.data_dir)
                self._checked[check_key] = None
            except InputError as error:
                self._checked[check_key] = str(error)
        return self._checked[check_key]

    def failure(self, run: RunSpec) -> str | None:
        """Why the run, or its record, failed here; None where it was not tried, or was made."""
        return self._failures.get(run)

    def failures(self, runs: Iterable[RunSpec]) -> list[str]:
        """Why runs could not be made in this session, a line a reason, with arms and seeds."""
        failed: dict[str, dict[str, list[int]]] = {}
        left_out: dict[str, int] = {}
        for run in dict.fromkeys(runs):
            if (reason := self.failure(run)) is None:
                continue
            if run in self._left_out:
                left_out[reason] = left_out.get(reason, 0) + 1
            else:
                failed.setdefault(reason, {}).setdefault(run.recipe.arm, []).append(run.seed)
        return sorted(
            f"{reason}: {_named(arms)}"
            + (f"; {counted(left_out[reason], 'other run')} not made" if reason in left_out else "")
            for reason, arms in failed.items()
        )

    def key(self, run: RunSpec) -> str:
        """The run's key in the store; InputError where a file that it reads is missing."""
        if run not in self._keys:
            self._keys[run] = self.store.key(run, self.data_dir)
        return self._keys[run]

    def name_of(self, run: RunSpec) -> str:
        """The name of the run's record: its key, with what it was made from if that was traced."""
        return self._stored[self.key(run)][0] if self.is_stored(run) else self.key(run)

    def is_stored(self, run: RunSpec) -> bool:
        """Whether the store has a record of the run, which holds."""
        return self.result(run) is not None

    def result(self, run: RunSpec) -> RunResult | None:
        """The run's result, read from the store once; None while there is none that holds."""
        if (known := self._stored.get(self._keys.get(run, ""))) is not None:
            return known[1]
        try:
            if run in self._failures or self.lacks(run):
                return None
            key = self.key(run)
        except InputError:
            return None  # ``problem`` says so
        try:
            return self._read(key, run)
        except InputError as error:
            self._failures[run] = str(error)
            return None

    def _read(self, key: str, run: RunSpec) -> RunResult | None:
        """Reads the newest record that holds; one that doesn't is looked at once a session."""
        kind = kind_of(run)
        for name in self.store.names(key) if kind.traced else [key]:
            if name not in self._stale and (stored := self.store.get(name, run)) is not None:
                inputs = kind.check_key(run), name.partition(".")[2]
                if inputs in self._held or kind.holds(stored, self):
                    self._held.add(inputs)
                    self._stored[key] = name, stored
                    return stored
                self._stale.add(name)
        return None

    def keep(self, key: str, result: RunResult) -> None:
        """Stores a result, which holds in this session."""
        digest, result = kind_of(result.spec).sealed(result, self)
        name = f"{key}.{digest}" if digest else key
        self._stored[key] = name, self.store.put(name, result)
        self.made.add(name)

    def is_missing(self, run: RunSpec) -> bool:
        """Whether the run is neither stored nor has failed."""
        return self.result(run) is None and self.failure(run) is None

    def lacks(self, run: RunSpec) -> Sequence[Making]:
        """What the run reads and is made before it, such as a data draw's embedding table."""
        return () if run in self._keys else kind_of(run).lacks(run)

    def _leave_out(self, run: RunSpec) -> None:
        """Lets a missing run fail whose arm fails for the same reason each time."""
        reasons = self._tried.get(run.without_seed(), [])
        alike = next((reason for reason in reasons if reasons.count(reason) >= ALIKE), None)
        if alike is not None and self.is_missing(run):
            self._failures[run] = alike
            self._left_out.add(run)

    def _fail(self, run: RunSpec, error: Exception) -> None:
        self.is_unwritten |= isinstance(error, OutputError)
        self._failures[run] = failure_reason(error)
        self._tried.setdefault(run.without_seed(), []).append(self._failures[run])
        details = getattr(error, "__notes__", None) or traceback.format_exception(error)
        self.details[run] = "".join(details).replace(TRACEBACK, "")


def _named(arms: Mapping[str, Sequence[int]]) -> str:
    """Runs in words, such as ``arm 'low', seeds 0, 1, 2 and 5 more, and arm 'high', seed 3``."""
    parts = []
    for arm, seeds in arms.items():
        numbers = ", ".join(map(str, seeds[:SEEDS_NAMED]))
        more = f" and {len(seeds) - SEEDS_NAMED} more" if len(seeds) > SEEDS_NAMED else ""
        named = f"arm {arm!r}, " if arm else ""  # a call without arguments has no name
        parts.append(f"{named}seed{'s' if len(seeds) > 1 else ''} {numbers}{more}")
    return ", and ".join(parts)
