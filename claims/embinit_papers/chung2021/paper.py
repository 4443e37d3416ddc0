"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from functools import partial

from embinit.claims.noise_floor import floors_of
from embinit.papers import NoiseWanted, Paper, Tier
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
from embinit_papers.chung2021.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: one experiment, whose runs have all scores."""
    return [NoiseWanted(experiments(tier)[0], DECOUPLING, tuple(metrics(tier)[1:]))]


PAPER = Paper(
    key="chung2021",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers={name: Tier(name, setting.says) for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(DECOUPLING, REINVESTMENT, OUTPUT_WIDTH, GENERALITY, INITS),
    printed=printed,
    beside=beside,
    methods=methods,
    noise=noise,
    floors=partial(floors_of, "embinit_papers.chung2021"),
)
