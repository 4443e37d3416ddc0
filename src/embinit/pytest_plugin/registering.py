"""Registering: a session that judges nothing, and writes down what must stand beforehand.

``--embinit-register`` measures how far each difference varies, ``--embinit-freeze`` writes a
folder's ``claims.lock``. Workers measure, and tell what they measured with the reports of their
tests. The process that collects the reports writes it, once, at the session's end.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.comparisons import Comparison
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case, read
from embinit.claims.lock import (
    Lock,
    code_of,
    measured_noise_floor,
    noise_floor_key,
    noise_floor_runs,
)
from embinit.claims.paired_tests import Spread
from embinit.claims.registration import Registration, digest_of, measure_spread, registered_runs
from embinit.claims.standing import claim_key, registered
from embinit.errors import InputError, counted, printable
from embinit.report.verdicts import named
from embinit.runs.session import Session
from embinit.specs import RunSpec

SPREAD_PROPERTY = "embinit.spread"
LOCK_PROPERTY = "embinit.lock"
REGISTERED = "embinit.registered"
LOCK_WORDS = {"noise_floors": "noise floor", "differences": "spread", "claims": "claim"}
"""What an entry of a lock's sections is called for people."""


class Registering:
    """What a session registers.

    Args:
        seeds: On how many seeds spreads and noise floors are measured; None where none are.
        freeze: What is written to locks: ``claims``, ``noise-floors``, or None for nothing.
        most_seeds: The most seeds of a look, in place of the experiments'.
        in_part: Whether it registers some claims of a folder. Other claims may rest on a spread
            that is registered already, so one of as many seeds or more is kept.

    Attributes:
        spreads: The registered differences that were measured, by the file that they belong to.
        locks: What is to be written to locks: by their files, then section, then key.
    """

    def __init__(
        self,
        seeds: int | None,
        freeze: str | None,
        most_seeds: int | None,
        in_part: bool = False,
    ) -> None:
        self.spreads: dict[str, dict[str, Any]] = {}
        self.locks: dict[str, dict[str, dict[str, Any]]] = {}
        self._seeds, self._freeze, self._most_seeds = seeds, freeze, most_seeds
        self._in_part = in_part

    @property
    def is_asked_for(self) -> bool:
        """Whether this session judges nothing, and registers what stands beforehand."""
        return self._seeds is not None or self._freeze is not None

    def runs(self, case: Case) -> list[RunSpec]:
        """The runs that are measured for a claim."""
        seeds = self._seeds or 0
        floor = self._wanted_noise_floor(case)
        runs = [] if floor is None else noise_floor_runs(floor, seeds)
        if self._freeze == "noise-floors":
            return runs
        return runs + [
            run
            for comparison in case.comparisons
            if self._kept(case, comparison) is None
            for run in registered_runs(comparison, seeds)
        ]

    def _kept(self, case: Case, comparison: Comparison) -> Spread | None:
        """The registered spread that stays as it is; None where it is measured."""
        registered = case.claim.family.registration or case.lock
        known = None if registered is None else registered.spread(comparison)
        enough = known is not None and known.seeds >= (self._seeds or 0)
        return known if self._in_part and enough else None

    def _wanted_noise_floor(self, case: Case) -> FunctionExperiment | None:
        """The claim's experiment, if its noise floor is to be measured now; else None."""
        experiment = case.experiment
        if not isinstance(experiment, FunctionExperiment) or not experiment.wants_noise_floor:
            return None
        if not self._freeze or not self._seeds or case.lock is None:
            return None
        known = case.lock.noise_floor(experiment)
        measured = known is not None and known.get("code") == code_of(experiment)
        return None if measured else experiment

    def register(
        self,
        item: pytest.Function,
        case: Case,
        session: Session,
        ensure: Callable[[list[RunSpec]], None],
    ) -> None:
        """Measures and freezes what stands beforehand; the verdict is for another session.

        Args:
            item: The claim's test, whose report takes along what was measured.
            case: The claim in its experiment.
            session: Where runs are found.
            ensure: Returns when runs are stored.
        """
        registration = case.claim.family.registration
        if registration is None and not self._freeze:
            pytest.skip(
                f"family {case.claim.family.name!r} has no registration; embinit register writes "
                "a lock for it"
            )
        runs = self.runs(case)
        if problems := sorted({problem for run in runs if (problem := session.problem(run))}):
            pytest.skip("; ".join(problems))
        ensure(runs)
        if failures := session.failures(runs):
            pytest.fail(f"a run failed: {'; '.join(failures)}", pytrace=False)
        if self._freeze:
            case = self._freeze_noise_floor(item, case, session)
        if self._freeze != "noise-floors" and self._seeds:
            case = self._measure_spreads(item, case, session)
        if self._freeze == "claims":
            self._freeze_claim(item, case, session)
        item.user_properties.append((REGISTERED, ""))

    def _measure_spreads(self, item: pytest.Function, case: Case, session: Session) -> Case:
        """Measures the spreads of a claim's differences.

        Returns:
            The claim with these spreads, which its line in the lock is to have.
        """
        registration, lock = case.claim.family.registration, case.lock
        comparisons = []
        for comparison in case.comparisons:
            if (kept := self._kept(case, comparison)) is not None:
                comparisons.append(replace(comparison, spread=kept))
                continue
            spread = measure_spread(comparison, self._seeds or 0, session.result)
            if spread is None:
                comparisons.append(comparison)
                continue
            comparisons.append(replace(comparison, spread=spread))
            entry = {
                "tier": case.experiment.tier,
                "experiment": case.experiment.name,
                "difference": f"{comparison.left.label} − {comparison.right.label}",
                "measure": comparison.left.measure.name,
                "sd": spread.sd,
                "seeds": spread.seeds,
            }
            digest = digest_of(comparison)
            if registration is not None:
                told = {"file": str(registration.path), "digest": digest, "entry": entry}
                item.user_properties.append((SPREAD_PROPERTY, json.dumps(told)))
            elif lock is not None:
                _tell_lock(item, lock, "differences", digest, entry)
        return replace(case, comparisons=tuple(comparisons))

    def _freeze_noise_floor(self, item: pytest.Function, case: Case, session: Session) -> Case:
        """Measures the noise floor that the claim's margin comes from.

        Returns:
            The claim with that margin.
        """
        experiment, lock = self._wanted_noise_floor(case), case.lock
        if experiment is None or lock is None:
            return case
        try:
            entry = measured_noise_floor(experiment, self._seeds or 0, session.result)
        except InputError as error:
            pytest.fail(str(error), pytrace=False)
        _tell_lock(item, lock, "noise_floors", noise_floor_key(experiment), entry)
        settled = replace(experiment, margin=entry["margin"], wants_noise_floor=False)
        return read(item.obj, settled, case.claim.family, lock)

    def _freeze_claim(self, item: pytest.Function, case: Case, session: Session) -> None:
        """Freezes what a claim states, unless its margin isn't known yet."""
        lock = case.lock
        assert lock is not None
        experiment = case.experiment
        if isinstance(experiment, FunctionExperiment) and math.isnan(experiment.margin):
            pytest.skip(case.unmeasured or f"the noise floor of {experiment.name} isn't measured")
        seen = any(session.key(run) in session.store for run in case.runs())
        entry = registered(case, case.looks(self._most_seeds), seen)
        _tell_lock(item, lock, "claims", claim_key(case), dict(entry))

    def collect(self, report: pytest.TestReport) -> bool:
        """Takes what a claim's report brings along.

        Returns:
            Whether the claim was registered.
        """
        registered = False
        for name, value in report.user_properties:
            registered |= name == REGISTERED
            if report.when != "call" or name not in (SPREAD_PROPERTY, LOCK_PROPERTY):
                continue
            told = json.loads(str(value))
            if name == SPREAD_PROPERTY:
                self.spreads.setdefault(told["file"], {})[told["digest"]] = told["entry"]
            else:
                sections = self.locks.setdefault(told["file"], {})
                sections.setdefault(told["section"], {})[told["key"]] = told["entry"]
        return registered

    def write(self, terminalreporter: Any, whole: bool) -> None:
        """Writes what was measured and frozen, and tells it.

        Args:
            terminalreporter: pytest's terminal.
            whole: Whether all claims were read and none broke; only then is nothing to write a
                good sign.
        """
        self._write_spreads(terminalreporter)
        self._write_locks(terminalreporter, whole)

    def _write_spreads(self, terminalreporter: Any) -> None:
        """Writes the spreads that were measured to their registrations."""
        if self._freeze and not self.spreads:
            return
        terminalreporter.section("registered spreads")
        for file, entries in sorted(self.spreads.items()):
            count = Registration(Path(file)).write(entries)
            told = f"{file}: {len(entries)} measured, {count} in all"
            terminalreporter.write_line(printable(told))

    def _write_locks(self, terminalreporter: Any, whole: bool) -> None:
        """Writes what was frozen to its locks, and tells what is marked there."""
        if not self._freeze or not (self.locks or whole):
            return
        terminalreporter.section("registered")
        if not self.locks:
            terminalreporter.write_line("nothing to write: every noise floor is measured already")
        for file, sections in sorted(self.locks.items()):
            lock = Lock(Path(file))
            lock.write(sections)
            for key, entry in sorted(sections.get("noise_floors", {}).items()):
                told = (
                    f"noise floor of {key.rpartition(' ')[0]}: sd {entry['sd']:.3g} {entry['unit']}"
                    f" over {entry['seeds']} seeds, margin {entry['margin']:g}"
                )
                terminalreporter.write_line(printable(told))
            afterwards: dict[str, list[str]] = {}
            for key, entry in sorted(sections.get("claims", {}).items()):
                if entry.get("afterwards"):
                    afterwards.setdefault(entry["afterwards"], []).append(key)
            for reason, keys in afterwards.items():
                told = f"registered afterwards: {named(keys)}: {reason}"
                terminalreporter.write_line(printable(told))
            counts = ", ".join(
                counted(len(lock.document[section]), word)
                for section, word in LOCK_WORDS.items()
                if lock.document[section]
            )
            terminalreporter.write_line(printable(f"{file} {lock.digest}: {counts}"))


def _tell_lock(
    item: pytest.Function, lock: Lock, section: str, key: str, entry: dict[str, Any]
) -> None:
    """Has an entry written to a lock at the session's end, by whoever collects the reports."""
    told = {"file": str(lock.path), "section": section, "key": key, "entry": entry}
    item.user_properties.append((LOCK_PROPERTY, json.dumps(told)))
