"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_papers.chung2021 import (
    DECOUPLING,
    GENERALITY,
    INITS,
    OUTPUT_WIDTH,
    REINVESTMENT,
    SETTINGS,
    experiments,
    metrics,
    numbers,
    printed,
)
from embinit_papers.chung2021.paper_tables import methods, paper_tables
from embinit_papers.settings import margin_for


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of a tier's margins: one experiment, whose runs have all scores."""
    return [NoiseFloor(experiments(tier)[0], tuple(metrics(tier)[1:]), margin_for)]


PAPER = Paper(
    key="chung2021",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers={name: Tier(name, setting.says) for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(DECOUPLING, REINVESTMENT, OUTPUT_WIDTH, GENERALITY, INITS),
    printed=printed,
    tables=paper_tables,
    methods=methods,
    noise=noise,
)
