"""Pilot estimates on seeds that no claim uses: sds of differences, and noise floors.

The sd of a difference over seeds is kept under a digest of its arms' specs, weights and
measures: a setting that changes has none until it is measured again. An experiment's noise floor is
how far apart two trainings of its baseline come out; a margin is twice that arm's standard
deviation, which two trainings of one model exceed in one case of six. Means are not kept: nothing
here says how a claim would come out.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from embinit.claims.comparisons import Comparison, Lookup, Quantity
from embinit.claims.experiments import Experiment
from embinit.claims.functions import FunctionExperiment
from embinit.claims.roles import Role
from embinit.errors import InputError
from embinit.runs.kinds import kind_of
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec, canonical
from embinit.stats.power import rounded_up
from embinit.stats.statements import KnownSd

_HEX = 16


def digest_of_content(content: object) -> str:
    """A digest of plain data, as a lock has it."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:_HEX]


def without_code(run: RunSpec) -> str:
    """A run's spec as canonical text, without its seed."""
    return canonical(replace(run, seed=0).without_seed())


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


def difference_key(comparison: Comparison) -> str:
    """A digest of a comparison's difference, whatever its seeds, its sign and its relation."""
    left, right = comparison.left, comparison.right
    if groups := [*left.parts, *right.parts]:
        return digest_of_content([[_arms(part) for part in group] for group in groups])
    weights: dict[str, float] = defaultdict(float)
    for side, sign in ((left, 1), (right, -1)):
        for arm, weight in _arms(side).items():
            weights[arm] += sign * weight
    kept = sorted((arm, weight) for arm, weight in weights.items() if abs(weight) > 1e-12)
    sign = 1 if not kept or kept[0][1] > 0 else -1
    return digest_of_content([[arm, round(sign * weight, 9)] for arm, weight in kept])


def _arms(quantity: Quantity) -> dict[str, float]:
    """The weight of each arm of a quantity. An arm is named by its spec, seeds and measure."""
    weights: dict[str, float] = defaultdict(float)
    for term in quantity.terms:
        run = term.run(0)
        spec = canonical(replace(run.without_seed(), seed=term.role.seed(0)))
        weights[f"{spec} {kind_of(run).source(run)}{term.measure.name}"] += term.weight
    return weights


def noise_floor_key(experiment: Experiment, metric: Measure) -> str:
    """The key of a noise floor: the experiment's name, its tier, and a digest of the baseline."""
    spec = without_code(experiment.run(experiment.baseline, 0))
    digest = digest_of_content([spec, metric.name])
    return f"{experiment.name} on {experiment.tier} {digest}"


def noise_floor_runs(experiment: Experiment, seeds: int) -> list[RunSpec]:
    """The runs of the baseline that its noise floor is measured on; no claim uses their seeds."""
    return [experiment.run(experiment.baseline, index, Role.REGISTRATION) for index in range(seeds)]


def margin_of(sd: float) -> float:
    """The margin of a noise floor: twice the deviation, rounded up to two significant digits."""
    return rounded_up(2 * sd)


def measure_noise_floor(
    experiment: Experiment,
    metric: Measure,
    seeds: int,
    lookup: Lookup,
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
        "margin": margin_of(sd),
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
