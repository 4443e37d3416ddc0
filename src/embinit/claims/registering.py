"""Registering: what is measured and frozen beforehand, as entries of locks.

Nothing is judged. Standard deviations are measured on seeds that no claim uses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Comparison
from embinit.claims.experiments import Experiment
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
from embinit.errors import counted
from embinit.runs.measures import Measure
from embinit.runs.session import Session
from embinit.specs import RunSpec

LOCK_WORDS = {"noise_floors": "baseline", "differences": "standard deviation", "claims": "claim"}
"""What an entry of a lock's sections is called for people."""

NoiseFloors = Sequence[tuple[Experiment, Measure]]
"""Experiments whose baselines are measured, and by what."""


class Registration:
    """The entries of locks, measured on so many ``seeds`` (0 for none).

    ``locks`` has what is to be written, by file, section and key.
    """

    def __init__(self, seeds: int) -> None:
        self.locks: dict[str, dict[str, dict[str, Any]]] = {}
        self._seeds = seeds

    def runs(self, case: Case, papers: NoiseFloors) -> list[RunSpec]:
        """The runs that are measured for a claim, with the noise floors that its paper asks for."""
        if not self._seeds:
            return []
        floors = (
            noise_floor_runs(experiment, self._seeds)
            for experiment, _ in self._noise_floors(case, papers)
        )
        differences = (
            difference_runs(comparison, self._seeds)
            for comparison in case.comparisons
            if self._stays(case, comparison) is None
        )
        return list(dict.fromkeys(itertools.chain(*floors, *differences)))

    def register(
        self, test: Callable[..., None], case: Case, papers: NoiseFloors, session: Session
    ) -> str | None:
        """Measures and freezes a claim whose runs are stored; why it isn't frozen, or None.

        InputError where a noise floor has no noise.
        """
        if self._seeds:
            case = self._measure_noise_floors(test, case, papers, session)
            case = self._measure_sds(case, session)
        experiment = case.experiment
        if isinstance(experiment, FunctionExperiment) and math.isnan(experiment.margin):
            return case.unmeasured or f"the baseline noise of {experiment.name} isn't measured"
        seen = not case.obstacle and any(
            _is_seen(comparison, session) for comparison in case.comparisons
        )
        entry = registered(case, case.looks(), seen)
        self._note(case, "claims", case.key, dict(entry))
        return None

    def _stays(self, case: Case, comparison: Comparison) -> Any:
        """The registered sd that stays: it is measured anew on more seeds alone; or None."""
        known = _lock(case).registered_sd(comparison)
        return known if known is not None and known.seeds >= self._seeds else None

    def _noise_floors(self, case: Case, papers: NoiseFloors) -> NoiseFloors:
        """The noise floors of a claim's experiment that its lock lacks."""
        experiment, lock = case.experiment, _lock(case)
        floors = [(one, metric) for one, metric in papers if one.name == experiment.name]
        if isinstance(experiment, FunctionExperiment):
            floors = [(experiment, experiment.metric)] if experiment.wants_noise_floor else []
        return [
            (one, metric)
            for one, metric in floors
            if (entry := lock.noise_floor(one, metric)) is None
            or entry.get("code") != code_of(experiment)
        ]

    def _measure_noise_floors(
        self, test: Callable[..., None], case: Case, papers: NoiseFloors, session: Session
    ) -> Case:
        """Measures the noise floors that margins come from."""
        experiment = case.experiment
        for one, metric in self._noise_floors(case, papers):
            entry = measure_noise_floor(one, metric, self._seeds, session.result)
            self._note(case, "noise_floors", noise_floor_key(one, metric), entry)
            if isinstance(experiment, FunctionExperiment):
                settled = replace(experiment, margin=entry["margin"], wants_noise_floor=False)
                case = read(test, settled, case.claim.family, case.lock)
        return case

    def _measure_sds(self, case: Case, session: Session) -> Case:
        """Measures the standard deviations of a claim's differences."""
        comparisons = []
        for comparison in case.comparisons:
            sd = self._stays(case, comparison)
            if sd is None:
                sd = measure_sd(comparison, self._seeds, session.result)
                if sd is not None:
                    entry = {
                        "tier": case.experiment.tier,
                        "experiment": case.experiment.name,
                        "difference": f"{comparison.left.label} − {comparison.right.label}",
                        "measure": comparison.left.measure.name,
                        "sd": sd.sd,
                        "seeds": sd.seeds,
                    }
                    self._note(case, "differences", difference_key(comparison), entry)
            comparisons.append(replace(comparison, known_sd=sd))
        return replace(case, comparisons=tuple(comparisons))

    def write(self) -> Iterator[str]:
        """Writes the entries to their locks, and gives lines on what is written there."""
        for file, sections in sorted(self.locks.items()):
            lock = Lock(Path(file))
            lock.write(sections)
            for key, entry in sorted(sections.get("noise_floors", {}).items()):
                yield (
                    f"baseline noise of {key.rpartition(' ')[0]}: {entry['metric']}, sd "
                    f"{entry['sd']:.3g} {entry['unit']} over {entry['seeds']} seeds, margin "
                    f"{entry['margin']:g}"
                )
            afterwards: dict[str, list[str]] = {}
            for key, entry in sorted(sections.get("claims", {}).items()):
                if entry.get("afterwards"):
                    afterwards.setdefault(entry["afterwards"], []).append(key)
            yield from (f"post hoc: {named(keys)}: {why}" for why, keys in afterwards.items())
            counts = ", ".join(
                counted(len(lock.document[section]), word)
                for section, word in LOCK_WORDS.items()
                if lock.document[section]
            )
            yield f"{file} {lock.digest}: {counts}"

    def _note(self, case: Case, section: str, key: str, entry: dict[str, Any]) -> None:
        """Has an entry written to a claim's lock."""
        sections = self.locks.setdefault(str(_lock(case).path), {})
        sections.setdefault(section, {})[key] = entry


def _is_seen(comparison: Comparison, session: Session) -> bool:
    """Whether its outcome could be known: each side has a stored run.

    A baseline that is stored tells nothing of an arm that was never trained.
    """
    sides = [runs for side in (comparison.left, comparison.right) if (runs := side.runs())]
    return bool(sides) and all(
        any(session.problem(run) is None and session.is_stored(run) for run in runs)
        for runs in sides
    )


def _lock(case: Case) -> Lock:
    """The lock of a claim that pytest collected from a file."""
    assert case.lock is not None
    return case.lock
