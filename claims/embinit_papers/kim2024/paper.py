"""The registered ``Paper``."""

from __future__ import annotations

from functools import partial

from embinit.lab.experiments import ModelExperiment
from embinit.papers import NoiseFloor, Paper
from embinit_papers.kim2024 import FAMILIES, FINDINGS
from embinit_papers.kim2024.effects import numbers
from embinit_papers.kim2024.experiments import (
    OTHER_SOURCES,
    SOURCES,
    TIERS,
    experiments,
    probes,
    without_vectors,
)
from embinit_papers.kim2024.paper_tables import paper_tables
from embinit_papers.kim2024.printed import printed, printed_deviations
from embinit_papers.settings import margin_for


def every_experiment(tier: str) -> list[ModelExperiment]:
    """All experiments that the paper's claims are tested in on a tier."""
    every = experiments(tier, (*SOURCES, *OTHER_SOURCES))
    return [*every, *without_vectors(tier), *probes(tier)]


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of a tier's margins: Xavier's noise in GloVe's experiment on each task.

    For the real tasks the paper prints standard deviations too.
    """
    return [
        NoiseFloor(experiment, margin=partial(margin_for, *_deviations(tier, experiment)))
        for experiment in experiments(tier, sources=("glove",))
    ]


def _deviations(tier: str, experiment: ModelExperiment) -> tuple[float, ...]:
    return () if tier == "micro" else tuple(printed_deviations(experiment))


PAPER = Paper(
    key="kim2024",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers=TIERS,
    experiments=every_experiment,
    families=FAMILIES,
    findings=FINDINGS,
    printed=printed,
    tables=paper_tables,
    noise=noise,
)
