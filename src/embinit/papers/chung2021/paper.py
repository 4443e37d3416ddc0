"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from embinit.claims.noise_floor import Floor, floors_in
from embinit.papers import NoiseWanted, Paper, Tier
from embinit.papers.chung2021 import (
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
from embinit.papers.chung2021.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: one experiment, whose runs have all scores."""
    return [NoiseWanted(experiments(tier)[0], DECOUPLING, tuple(metrics(tier)[1:]))]


def floors() -> Sequence[Floor]:
    """The noise floors that were measured for the registered margins."""
    return floors_in(
        resources.files("embinit.papers.chung2021").joinpath("noise_floor.json").read_text("utf-8")
    )


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
    floors=floors,
)
