"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_papers.chung2021 import (
    FINDINGS,
    GENERALITY,
    OUTPUT_WIDTH,
    REINVESTMENT,
    SETTINGS,
    experiments,
    metrics,
    numbers,
    printed,
)
from embinit_papers.settings import DATA_DRAWS


def noise(tier: str) -> list[NoiseFloor]:
    """What the usual arm learns, and how evenly: one experiment, whose runs have all scores."""
    return [NoiseFloor(experiments(tier)[0], tuple(metrics(tier)[1:]))]


PAPER = Paper(
    key="chung2021",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers={name: Tier(name, of.says, name in DATA_DRAWS) for name, of in SETTINGS.items()},
    experiments=experiments,
    families=(REINVESTMENT, OUTPUT_WIDTH, GENERALITY),
    findings=FINDINGS,
    printed=printed,
    noise=noise,
)
