"""Registering: what is measured and frozen beforehand, as entries of locks.

Nothing is judged. Standard deviations are measured on seeds that no claim uses. An experiment's
noise floor is how far apart two trainings of its baseline come out; a margin is twice that arm's
standard deviation, which two trainings of one model exceed in one case of six. No differences of
means are kept: nothing here says how a claim would come out.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from embinit.claims.comparisons import Comparison, Lookup, Quantity
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case, read
from embinit.claims.lock import Lock, difference_key, noise_floor_key
from embinit.claims.registration_status import named, registered
from embinit.claims.roles import Role
from embinit.errors import InputError, counted
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.specs import RunSpec
from embinit.stats.power import rounded_up
from embinit.stats.statements import KnownSd

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
        entry = registered(case, seen)
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
        experiment = case.experiment
        for one, metric in self._noise_floors(case, papers):
            entry = measure_noise_floor(one, metric, self._seeds, session.result)
            self._note(case, "noise_floors", noise_floor_key(one, metric), entry)
            if isinstance(experiment, FunctionExperiment):
                settled = replace(experiment, margin=entry["margin"], wants_noise_floor=False)
                case = read(test, settled, case.claim.family, case.lock)
        return case

    def _measure_sds(self, case: Case, session: Session) -> Case:
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


def difference_runs(comparison: Comparison, seeds: int) -> list[RunSpec]:
    """The runs that the sd of a comparison's difference is measured on."""
    return (
        _registering(comparison.left, seeds).runs() + _registering(comparison.right, seeds).runs()
    )


def measure_sd(comparison: Comparison, seeds: int, lookup: Lookup) -> KnownSd | None:
    """Measures a difference's sd on seeds that no claim uses; None where none varies."""
    if not (comparison.left.random or comparison.right.random):
        return None
    left, right = (
        _registering(side, seeds).values(lookup) for side in (comparison.left, comparison.right)
    )
    pairs = zip(left, right, strict=True)
    differences = [one - other for one, other in pairs if one is not None and other is not None]
    if len(differences) < seeds or not np.isfinite(differences).all():
        return None
    return KnownSd(float(f"{np.std(differences, ddof=1):.6g}"), seeds)


def _registering(quantity: Quantity, seeds: int) -> Quantity:
    return quantity.in_role(Role.REGISTRATION).with_seeds(seeds)


def noise_floor_runs(experiment: Experiment, seeds: int) -> list[RunSpec]:
    """The runs of the baseline that its noise floor is measured on; no claim uses their seeds."""
    return [experiment.run(experiment.baseline, index, Role.REGISTRATION) for index in range(seeds)]


def measure_noise_floor(
    experiment: Experiment, metric: Measure, seeds: int, lookup: Lookup
) -> dict[str, Any]:
    """Measures an experiment's noise floor, with the margin of its sd."""
    found = [lookup(run) for run in noise_floor_runs(experiment, seeds)]
    results = [result for result in found if result is not None]
    values = [
        value
        for result in results
        if (value := metric.of(result)) is not None and math.isfinite(value)
    ]
    if len(values) < seeds or len(set(values)) < 2:
        raise InputError(
            f"{experiment.name}: {len(values)} of {seeds} seeds of {experiment.baseline!r} gave "
            f"{metric.name}, {len(set(values))} of them different; there is no noise to measure, "
            "so give the margin as a number"
        )
    sd = float(f"{_deviation_of_one(values, metric, results):.6g}")
    code = code_of(experiment)
    return {
        "metric": metric.name,
        "unit": metric.unit,
        "baseline": experiment.baseline,
        "mean": float(f"{np.mean(values):.6g}"),
        "sd": sd,
        "seeds": seeds,
        "margin": rounded_up(2 * sd),
        **({} if code is None else {"code": code}),
        "measured": time.strftime("%Y-%m-%d"),
    }


def code_of(experiment: Experiment) -> str | None:
    """The digest of the user's code that an experiment's runs are made by; None without such."""
    return experiment.function.code if isinstance(experiment, FunctionExperiment) else None


def _deviation_of_one(
    values: Sequence[float], metric: Measure, results: Sequence[RunResult]
) -> float:
    """The sd over seeds, to which repeats within a seed add the variance of one of them."""
    variance = np.var(values, ddof=1)
    repeats = [result.curves.get(metric.repeated or "", ()) for result in results]
    if min(map(len, repeats)) > 1:
        within = [np.var(of_seed, ddof=1) for of_seed in repeats]
        shares = [1 - 1 / len(of_seed) for of_seed in repeats]
        variance += np.mean(np.multiply(within, shares))
    return math.sqrt(variance)
