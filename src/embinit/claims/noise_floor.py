"""The noise floor: how far apart two trainings of the same arm come out by the seed alone.

A margin is twice the standard deviation of the baseline arm over seeds that no claim uses, rounded
up to half a unit. Two trainings of the very same model differ by that much in one case of six, so
no finding should rest on a smaller difference. Where a paper prints standard deviations of that arm
for the task, the margin is no less than twice the largest, rounded up likewise.

A paper's ``noise_floor.json`` holds what was measured; a test holds every registered margin against
it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import resources

import numpy as np

from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import seeds_for
from embinit.errors import InputError
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.runs.session import Session
from embinit.specs import RunSpec

FIRST_SEED = 5000
"""Seeds from here on are reserved: claims use 0 to 999, A/A controls 1000 to 1999."""


@dataclass(frozen=True)
class Floor:
    """The noise floor of a task's metric: its spread over seeds.

    Attributes:
        tier: The tier.
        task: The task.
        width: The model's width.
        metric: The metric's name.
        unit: The metric's unit, which ``mean`` and ``sd`` are in.
        mean: The mean over the seeds.
        sd: The standard deviation over the seeds, with n - 1 in the denominator; that of a single
            value where a run's score is a mean of several.
        seeds: How many seeds were trained.
        seconds_a_run: How long one run took, on average.
        measured: The date on which the last of the runs was finished (ISO 8601).
    """

    tier: str
    task: str
    width: int
    metric: str
    unit: str
    mean: float
    sd: float
    seeds: int
    seconds_a_run: float | None
    measured: str

    def margin(self, printed: Iterable[float] = ()) -> float:
        """The task's margin, given the standard deviations that the paper prints for it."""
        return margin_for([self.sd, *printed])

    def seeds_for(self, effect: float, alpha: float) -> int | None:
        """How many seeds show a difference of ``effect`` with 90 % power.

        Two arms are taken to vary independently, so the standard deviation of their difference is
        √2 times that of one arm. Common random numbers can only make it less.

        Args:
            effect: The difference, in the metric's unit.
            alpha: The level of the one-sided test.

        Returns:
            The number of seeds, or None where it is over 1000.

        Raises:
            InputError: The effect is not above 0.
        """
        if not effect > 0:
            raise InputError(f"an effect of {effect:g} can't be found; name one above 0")
        return seeds_for(effect / (math.sqrt(2) * self.sd), alpha)


def margin_for(deviations: Sequence[float]) -> float:
    """Twice the largest standard deviation, rounded up to half a unit."""
    # A hair off, so that 2 x 0.75 in floating point is no more than 1.5.
    return math.ceil(4 * max(deviations) - 1e-9) / 2


def rounded_up(number: float) -> float:
    """A number above 0, rounded up to two significant digits: a margin in whatever unit."""
    digits = 1 - math.floor(math.log10(number))
    return round(math.ceil(number * 10.0**digits - 1e-9) / 10.0**digits, max(digits, 0))


def baseline_runs(experiment: Experiment, seeds: int) -> list[RunSpec]:
    """The runs that an experiment's noise floors are measured on.

    Args:
        experiment: The experiment.
        seeds: How many seeds are trained.

    Raises:
        InputError: There are fewer than two seeds.
    """
    if seeds < 2:
        raise InputError(f"a standard deviation needs at least 2 seeds, not {seeds}; 10 are usual")
    return [experiment.run(experiment.baseline, FIRST_SEED + seed) for seed in range(seeds)]


def measure(
    experiment: Experiment, seeds: int, session: Session, metrics: Sequence[Measure] = ()
) -> list[Floor]:
    """Measures the noise floors of an experiment's metrics on its baseline arm.

    Args:
        experiment: The experiment.
        seeds: How many seeds are trained.
        session: Trains the runs that its store lacks.
        metrics: Further measures of the same runs.

    Returns:
        The floors of the experiment's metric and of ``metrics``, in that order.

    Raises:
        InputError: There are fewer than two seeds, the data is not there, a run failed or ended
            without a score, or all runs have the same score.
    """
    runs = baseline_runs(experiment, seeds)
    session.ensure_planned([run for run in runs if session.problem(run) is None])
    results = [_result(session, run) for run in runs]
    took = [result.seconds for result in results]
    finished = max(result.finished for result in results)
    floors = []
    for metric in (experiment.metric, *metrics):
        values = [value for result in results if (value := metric.of(result)) is not None]
        if len(values) < seeds or len(set(values)) < 2:
            raise InputError(
                f"{experiment.task}: {len(values)} of {seeds} seeds gave a score, "
                f"{len(set(values))} of them different; there is no noise to measure"
            )
        floors.append(
            Floor(
                tier=experiment.tier,
                task=experiment.task,
                width=experiment.width,
                metric=metric.name,
                unit=metric.unit,
                mean=round(float(np.mean(values)), 3),
                sd=float(f"{_sd_of_one(values, metric, results):.4g}"),
                seeds=seeds,
                seconds_a_run=round(float(np.mean(took)), 1),
                measured=finished[: len("2026-11-21")],
            )
        )
    return floors


def _sd_of_one(values: Sequence[float], metric: Measure, results: Sequence[RunResult]) -> float:
    """The standard deviation over seeds; where a score is a mean of several values, of one of them.

    That is the root of the variance between seeds and the one within them.
    """
    variance = np.var(values, ddof=1)
    repeats = [result.curves.get(metric.repeated or "", ()) for result in results]
    if min(map(len, repeats)) > 1:
        within = [np.var(of_seed, ddof=1) for of_seed in repeats]
        shares = [1 - 1 / len(of_seed) for of_seed in repeats]
        variance += np.mean(np.multiply(within, shares))
    return math.sqrt(variance)


def _result(session: Session, run: RunSpec) -> RunResult:
    if (result := session.result(run)) is None:
        raise InputError(f"{run.recipe.task}, seed {run.seed}: {session.problem(run)}")
    return result


def floors_in(text: str) -> list[Floor]:
    """Reads the floors that ``as_json`` wrote."""
    return [Floor(**entry) for entry in json.loads(text)]


def floors_of(package: str) -> list[Floor]:
    """Reads the floors that a paper's package keeps in its ``noise_floor.json``."""
    return floors_in(resources.files(package).joinpath("noise_floor.json").read_text("utf-8"))


def as_json(floors: Iterable[Floor]) -> str:
    """Writes floors as JSON, which ``floors_in`` reads."""
    return json.dumps([asdict(floor) for floor in floors], indent=1, ensure_ascii=False) + "\n"
