"""The registered ``Paper``."""

from __future__ import annotations

from embinit.lab.experiments import ModelExperiment
from embinit.papers import Paper
from embinit.runs.measures import Measure
from embinit_papers.kim2024 import FAMILIES, FINDINGS
from embinit_papers.kim2024.experiments import (
    OTHER_SOURCES,
    SOURCES,
    TIERS,
    experiments,
    probes,
    without_vectors,
)
from embinit_papers.kim2024.numbers import numbers
from embinit_papers.kim2024.printed import printed


def every_experiment(tier: str) -> list[ModelExperiment]:
    """All experiments that the paper's claims are tested in on a tier."""
    every = experiments(tier, (*SOURCES, *OTHER_SOURCES))
    return [*every, *without_vectors(tier), *probes(tier)]


def noise(tier: str) -> list[tuple[ModelExperiment, Measure]]:
    """What Xavier learns of each task, and how evenly, in GloVe's experiments."""
    return [(one, one.metric) for one in experiments(tier, sources=("glove",))]


PAPER = Paper(
    key="kim2024",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers=TIERS,
    experiments=every_experiment,
    families=FAMILIES,
    findings=FINDINGS,
    printed=printed,
    noise=noise,
)
