"""Registering: a session that judges nothing, and writes down what must be fixed beforehand.

``embinit register`` measures standard deviations, and writes ``claims.lock`` once, at the end.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embinit.claims.comparisons import Comparison
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case, read
from embinit.claims.lock import Lock
from embinit.claims.pilot import (
    code_of,
    difference_key,
    difference_runs,
    measure_noise_floor,
    measure_sd,
    noise_floor_key,
    noise_floor_runs,
)
from embinit.claims.registration_status import named, registered
from embinit.errors import InputError, counted, printable
from embinit.papers import NoiseFloor, paper
from embinit.pytest_plugin.items import ITEM_RESULT
from embinit.runs.measures import Measure
from embinit.runs.session import Session
from embinit.specs import RunSpec
from embinit.stats.statements import RegisteredSd

LOCK_WORDS = {"noise_floors": "baseline", "differences": "standard deviation", "claims": "claim"}
"""What an entry of a lock's sections is called for people."""


class Registering:
    """The registering part of a session.

    It measures on so many ``seeds``, 0 for none; None in a session that judges. ``locks`` is what
    is to be written, by file, section and key.
    """

    def __init__(self, seeds: int | None) -> None:
        self.locks: dict[str, dict[str, dict[str, Any]]] = {}
        self._seeds, self.is_asked_for = seeds, seeds is not None

    def runs(self, case: Case) -> list[RunSpec]:
        """The runs that are measured for a claim."""
        if not self._seeds:
            return []
        runs = [
            run
            for _, floor in self._noise_floors(case)
            for run in noise_floor_runs(floor.experiment, self._seeds)
        ]
        runs += [
            run
            for comparison in case.comparisons
            if self._kept(case, comparison) is None
            for run in difference_runs(comparison, self._seeds)
        ]
        return list(dict.fromkeys(runs))

    def _kept(self, case: Case, comparison: Comparison) -> RegisteredSd | None:
        """The registered spread that stays: it is measured anew on more seeds alone; or None."""
        known = _lock(case).registered_sd(comparison)
        return known if known is not None and known.seeds >= (self._seeds or 0) else None

    def _noise_floors(self, case: Case) -> list[tuple[Measure, NoiseFloor]]:
        """The noise floors of a claim's experiment that the lock lacks, by what is measured."""
        experiment, lock = case.experiment, _lock(case)
        floors: list[NoiseFloor] = []
        if isinstance(experiment, FunctionExperiment):
            floors = [NoiseFloor(experiment)] if experiment.wants_noise_floor else []
        elif (known := paper(case.claim.paper)) is not None and experiment.tier in known.tiers:
            floors = [
                each
                for each in known.noise(experiment.tier)
                if each.experiment.name == experiment.name
            ]
        return [
            (metric, floor)
            for floor in floors
            for metric in floor.metrics
            if (entry := lock.noise_floor(floor.experiment, metric)) is None
            or entry.get("code") != code_of(experiment)
        ]

    def register(self, item: pytest.Function, case: Case, session: Session) -> None:
        """Measures and writes down what stands beforehand; the verdict is for another session."""
        runs = self.runs(case)
        if problems := sorted({problem for run in runs if (problem := session.problem(run))}):
            pytest.skip("; ".join(problems))
        session.ensure(runs)
        if failures := session.failures(runs):
            pytest.fail(f"a run failed: {'; '.join(failures)}", pytrace=False)
        if self._seeds:
            case = self._measure_noise_floors(item, case, session, self._seeds)
            case = self._measure_spreads(case, session, self._seeds)
        self._freeze_claim(case, session)
        item.stash[ITEM_RESULT].registered = True

    def _measure_spreads(self, case: Case, session: Session, seeds: int) -> Case:
        """Measures the spreads of a claim's differences."""
        comparisons = []
        for comparison in case.comparisons:
            spread = self._kept(case, comparison)
            if spread is None:
                spread = measure_sd(comparison, seeds, session.result)
                if spread is not None:
                    entry = {
                        "tier": case.experiment.tier,
                        "experiment": case.experiment.name,
                        "difference": f"{comparison.left.label} − {comparison.right.label}",
                        "measure": comparison.left.measure.name,
                        "sd": spread.sd,
                        "seeds": spread.seeds,
                    }
                    self._note(case, "differences", difference_key(comparison), entry)
            comparisons.append(replace(comparison, known_sd=spread))
        return replace(case, comparisons=tuple(comparisons))

    def _measure_noise_floors(
        self, item: pytest.Function, case: Case, session: Session, seeds: int
    ) -> Case:
        """Measures the noise floors that margins come from."""
        experiment = case.experiment
        for metric, floor in self._noise_floors(case):
            key = noise_floor_key(floor.experiment, metric)
            try:
                entry = measure_noise_floor(floor.experiment, metric, seeds, session.result)
            except InputError as error:
                pytest.fail(str(error), pytrace=False)
            self._note(case, "noise_floors", key, entry)
            if isinstance(experiment, FunctionExperiment):
                settled = replace(experiment, margin=entry["margin"], wants_noise_floor=False)
                case = read(item.obj, settled, case.claim.family, case.lock)
        return case

    def _freeze_claim(self, case: Case, session: Session) -> None:
        """Freezes what a claim states, unless its margin isn't known yet."""
        experiment = case.experiment
        if isinstance(experiment, FunctionExperiment) and math.isnan(experiment.margin):
            pytest.skip(
                case.unmeasured or f"the baseline noise of {experiment.name} isn't measured"
            )
        runs = [run for run in case.runs() if session.problem(run) is None]
        seen = any(map(session.is_stored, runs))
        entry = registered(case, case.looks(), seen)
        self._note(case, "claims", case.key, dict(entry))

    def _note(self, case: Case, section: str, key: str, entry: dict[str, Any]) -> None:
        """Has an entry written to a claim's lock at the session's end."""
        sections = self.locks.setdefault(str(_lock(case).path), {})
        sections.setdefault(section, {})[key] = entry

    def write(self, terminalreporter: Any) -> None:
        """Writes what was measured and frozen to its locks, and tells what is marked there."""
        terminalreporter.section("registered")
        if not self.locks:
            terminalreporter.write_line("nothing was registered")
        for file, sections in sorted(self.locks.items()):
            lock = Lock(Path(file))
            lock.write(sections)
            for key, entry in sorted(sections.get("noise_floors", {}).items()):
                told = (
                    f"baseline noise of {key.rpartition(' ')[0]}: {entry['metric']}, sd "
                    f"{entry['sd']:.3g} {entry['unit']} over {entry['seeds']} seeds, margin "
                    f"{entry['margin']:g}"
                )
                terminalreporter.write_line(printable(told))
            afterwards: dict[str, list[str]] = {}
            for key, entry in sorted(sections.get("claims", {}).items()):
                if entry.get("afterwards"):
                    afterwards.setdefault(entry["afterwards"], []).append(key)
            for reason, keys in afterwards.items():
                told = f"post hoc: {named(keys)}: {reason}"
                terminalreporter.write_line(printable(told))
            counts = ", ".join(
                counted(len(lock.document[section]), word)
                for section, word in LOCK_WORDS.items()
                if lock.document[section]
            )
            terminalreporter.write_line(printable(f"{file} {lock.digest}: {counts}"))


def _lock(case: Case) -> Lock:
    """The lock of a claim that pytest collected from a file."""
    assert case.lock is not None
    return case.lock
