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
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embinit.claims.comparisons import Comparison, Lookup
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.judging import Case, read
from embinit.claims.lock import Entry, Lock, difference_key, noise_floor_key
from embinit.claims.registration_status import named, registered
from embinit.claims.roles import Role
from embinit.errors import InputError, counted
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.specs import RunSpec
from embinit.stats.power import rounded_up

LOCK_WORDS = {"noise_floors": "baseline", "differences": "standard deviation", "claims": "claim"}
"""What an entry of a lock's sections is called for people."""

NoiseFloors = Sequence[tuple[Experiment, Measure]]
"""Experiments whose baselines are measured, and by what."""


@dataclass(frozen=True)
class Measurement:
    """An entry of a lock's section that runs are made for; None where they leave none."""

    section: str
    key: str
    runs: Sequence[RunSpec]
    of: Callable[[Lookup], Entry | None]


class Registration:
    """The entries of locks, measured on so many ``seeds`` (0 for none).

    ``locks`` has what is to be written, by file, section and key.
    """

    def __init__(self, seeds: int) -> None:
        self.locks: dict[str, dict[str, dict[str, Entry]]] = {}
        self._seeds = seeds

    def runs(self, case: Case, papers: NoiseFloors) -> list[RunSpec]:
        """The runs that are measured for a claim, with the noise floors that its paper asks for."""
        runs = (measurement.runs for measurement in self._lacking(case, papers))
        return list(dict.fromkeys(itertools.chain(*runs)))

    def register(
        self, test: Callable[..., None], case: Case, papers: NoiseFloors, session: Session
    ) -> str | None:
        """Measures and freezes a claim whose runs are stored; why it isn't frozen, or None.

        InputError where a noise floor has no noise.
        """
        lock = case.lock
        entries: dict[str, dict[str, Entry]] = defaultdict(dict)
        for one in self._lacking(case, papers):
            if (entry := one.of(session.result)) is not None:
                entries[one.section][one.key] = entry
        now = read(test, case.experiment, case.claim.family, lock.with_entries(entries))
        if math.isnan(now.experiment.margin):
            name = now.experiment.name
            return now.unmeasured or f"the baseline noise of {name} isn't measured"
        seen = not now.obstacle and any(_is_seen(pair, session) for pair in now.comparisons)
        entries["claims"][case.key] = registered(case, now, seen)
        sections = self.locks.setdefault(str(lock.path), defaultdict(dict))
        for section, measured in entries.items():
            sections[section] |= measured
        return None

    def _lacking(self, case: Case, papers: NoiseFloors) -> Iterator[Measurement]:
        """What a claim's lock lacks. An sd that is there is measured anew on more seeds alone."""
        experiment, lock = case.experiment, case.lock
        floors = [(one, metric) for one, metric in papers if one.name == experiment.name]
        if isinstance(experiment, FunctionExperiment):
            floors = [(experiment, experiment.metric)] if experiment.wants_noise_floor else []
        for one, metric in floors if self._seeds else ():
            known_floor = lock.noise_floor(one, metric)
            if known_floor is None or known_floor.get("code") != code_of(experiment):
                yield noise_floor(one, metric, self._seeds)
        for comparison in case.comparisons if self._seeds else ():
            known_sd = lock.registered_sd(comparison)
            if known_sd is None or known_sd.seeds < self._seeds:
                yield sd_of_difference(comparison, experiment, self._seeds)

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


def _is_seen(comparison: Comparison, session: Session) -> bool:
    """Whether its outcome could be known: each side has a stored run.

    A baseline that is stored tells nothing of an arm that was never trained.
    """
    sides = [runs for side in (comparison.left, comparison.right) if (runs := side.runs())]
    return bool(sides) and all(
        any(session.problem(run) is None and session.is_stored(run) for run in runs)
        for runs in sides
    )


def sd_of_difference(comparison: Comparison, experiment: Experiment, seeds: int) -> Measurement:
    """A difference's sd, on seeds that no claim uses; there is none where nothing varies."""
    left, right = (
        side.in_role(Role.REGISTRATION).with_seeds(seeds)
        for side in (comparison.left, comparison.right)
    )

    def measure(lookup: Lookup) -> Entry | None:
        pairs = zip(left.values(lookup), right.values(lookup), strict=True)
        differences = [one - other for one, other in pairs if one is not None and other is not None]
        is_random = comparison.left.random or comparison.right.random
        if not is_random or len(differences) < seeds or not np.isfinite(differences).all():
            return None
        return {
            "tier": experiment.tier,
            "experiment": experiment.name,
            "difference": f"{comparison.left.label} − {comparison.right.label}",
            "measure": comparison.left.measure.name,
            "sd": float(f"{np.std(differences, ddof=1):.6g}"),
            "seeds": seeds,
        }

    runs = [*left.runs(), *right.runs()]
    return Measurement("differences", difference_key(comparison), runs, measure)


def noise_floor(experiment: Experiment, metric: Measure, seeds: int) -> Measurement:
    """An experiment's noise floor, with the margin of its sd, on seeds that no claim uses."""
    arm = experiment.baseline
    runs = [experiment.run(arm, index, Role.REGISTRATION) for index in range(seeds)]

    def measure(lookup: Lookup) -> Entry:
        results = [result for result in map(lookup, runs) if result is not None]
        found = [value for result in results if (value := metric.of(result)) is not None]
        values = [value for value in found if math.isfinite(value)]
        if len(values) < seeds or len(set(values)) < 2:
            raise InputError(
                f"{experiment.name}: {len(values)} of {seeds} seeds of {arm!r} gave {metric.name}, "
                f"{len(set(values))} of them different; there is no noise to measure, so give the "
                "margin as a number"
            )
        sd = float(f"{_deviation_of_one(values, metric, results):.6g}")
        code = code_of(experiment)
        return {
            "metric": metric.name,
            "unit": metric.unit,
            "baseline": arm,
            "mean": float(f"{np.mean(values):.6g}"),
            "sd": sd,
            "seeds": seeds,
            "margin": rounded_up(2 * sd),
            **({} if code is None else {"code": code}),
            "measured": time.strftime("%Y-%m-%d"),
        }

    return Measurement("noise_floors", noise_floor_key(experiment, metric), runs, measure)


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
