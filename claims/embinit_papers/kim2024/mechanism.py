"""The mechanism: tables' sigmas, the scores that they cost, and positions' effect on words.

Tables are shown as the model reads them. It multiplies them (by the square root of their width, in
the paper) before it adds the positions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from embinit.claims.comparisons import dose_and_response
from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import recipe_of
from embinit.runs.measures import MEASURES
from embinit_papers.kim2024 import scaled, with_sinusoidal_positions
from embinit_papers.kim2024.experiments import SOURCES, experiments, probes
from embinit_papers.kim2024.paper_tables import Runs

SHOWN = ("xavier", "pretrained", "pretrained_xavier")
"""The arms of the mechanism. Shuffled ones are left out: a shuffle keeps the distribution."""


@dataclass(frozen=True)
class Width:
    """The sigmas of an arm's table and positions where the two are added.

    Attributes:
        label: The arm's name.
        sigma: The table's standard deviation, after it was multiplied.
        positions: The positions' standard deviation.
        share: The positions' share of the sum's variance, 0 to 1.
    """

    label: str
    sigma: float
    positions: float
    share: float


@dataclass(frozen=True)
class Mechanism:
    """The sigmas of one source's tables on one task.

    Attributes:
        source: The source's name.
        task: The task's name.
        histograms: For each table its label, its counts by magnitude (the bins of
            ``runs.table_statistics.HISTOGRAM``), and its multiplier.
        widths: The tables' widths where the positions are added.
    """

    source: str
    task: str
    histograms: tuple[tuple[str, tuple[int, ...], float], ...]
    widths: tuple[Width, ...]


@dataclass(frozen=True)
class DosePoint:
    """A table's sigma over its base's, and the score that it costs.

    Attributes:
        label: The arm's name.
        task: The task.
        width: The arm's sigma over the base's sigma.
        lost: How far the arm's score falls below the base's, in margins of the task.
    """

    label: str
    task: str
    width: float
    lost: float


@dataclass(frozen=True)
class Relations:
    """Word relations that are answered right before and after positions are added.

    Attributes:
        task: The task.
        source: The source's name.
        rows: For each table its label, the percentage before, and the percentage after.
    """

    task: str
    source: str
    rows: tuple[tuple[str, float, float], ...]


def mechanisms(tier: str, runs: Runs) -> list[Mechanism]:
    """The tables of each source whose arms were run on a tier."""
    known = [source for source in SOURCES if experiments(tier, (source,))]
    every = (_mechanism(source, tier, runs) for source in known)
    return [each for each in every if each is not None]


def _mechanism(source: str, tier: str, runs: Runs) -> Mechanism | None:
    """The tables of a source, on the task with the most arms that were run."""
    settings = [
        (experiment, [results[0] for init in SHOWN if (results := runs.of(experiment, init))])
        for experiment in experiments(tier, (source,))
    ]
    experiment, arms = max(settings, key=lambda setting: len(setting[1]))
    arms = [arm for arm in arms if "encoder" in arm.tables and "encoder" in arm.positions]
    if not any(recipe_of(arm.spec).table.source for arm in arms):
        return None
    series, widths = [], []
    for arm in arms:
        table, positions = arm.tables["encoder"], arm.positions["encoder"]
        from embinit.lab.tables.positions import multiplier

        times = multiplier(recipe_of(arm.spec).positions.multiplier, table.dim)
        label, share = (
            experiment.label(recipe_of(arm.spec).table.init),
            MEASURES["pe_share"].of(arm),
        )
        series.append((label, table.histogram, times))
        if share is not None:
            widths.append(Width(label, table.sigma * times, positions.sigma, share))
    series.append(("Positions", arms[0].positions["encoder"].histogram, 1.0))
    return Mechanism(experiment.source, experiment.data.task, tuple(series), tuple(widths))


def doses(tier: str, runs: Runs) -> list[DosePoint]:
    """The points of sigma and lost score that the claim on dose and response is about."""
    points = []
    for experiment in experiments(tier):
        arm, base = experiment["pretrained"], experiment["xavier"]
        seeds = (result.spec.seed for result in runs.of(experiment, "pretrained"))
        replicates = (seed - experiment.claims_from for seed in seeds)
        known = [dose for seed in replicates if (dose := dose_and_response(arm, base, seed, runs))]
        if known:
            width, lost = (math.fsum(column) / len(known) for column in zip(*known, strict=True))
            points.append(DosePoint(arm.label, experiment.data.task, width, lost))
    return points


def relations(tier: str, runs: Runs) -> list[Relations]:
    """Right word relations before and after positions were added, over seeds."""
    answered = []
    for experiment in probes(tier):
        rows: list[tuple[str, float, float]] = []
        for times in ("one", "sqrt(D)"):
            bare = scaled(experiment, times)
            for init in SHOWN[1:]:
                before = _mean_score(bare, init, runs)
                after = _mean_score(with_sinusoidal_positions(bare), init, runs)
                if before is not None and after is not None:
                    label = f"{experiment.label(init)}{' × √D' if times == 'sqrt(D)' else ''}"
                    rows.append((label, before, after))
        if rows:
            answered.append(Relations(experiment.data.task, experiment.source, tuple(sorted(rows))))
    return answered


def _mean_score(experiment: ModelExperiment, init: str, runs: Runs) -> float | None:
    scores = [
        score
        for result in runs.of(experiment, init)
        if (score := experiment.metric.of(result)) is not None
    ]
    return math.fsum(scores) / len(scores) if scores else None
