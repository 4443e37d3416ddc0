"""The registered ``Paper``."""

from __future__ import annotations

from embinit.lab.experiments import ModelExperiment
from embinit.papers import Paper, Tier
from embinit.runs.measures import Measure
from embinit_papers.chung2021 import FAMILIES, FINDINGS, MEASURES, numbers, printed
from embinit_papers.chung2021.setting import SETTINGS, experiments, shown


def noise(tier: str) -> list[tuple[ModelExperiment, Measure]]:
    """What the usual arm learns, and how evenly: one experiment, whose runs have all scores."""
    every = experiments(tier)
    known = [one for control, of in MEASURES.items() if shown(control, tier) for one in of]
    return [(every[0], measure) for measure in (*(one.metric for one in every), *known)]


PAPER = Paper(
    key="chung2021",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers={name: Tier(name, of.says, of.draws is not None) for name, of in SETTINGS.items()},
    experiments=experiments,
    families=FAMILIES,
    findings=FINDINGS,
    printed=printed,
    noise=noise,
)
