"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from embinit.claims.noise_floor import Floor, floors_in
from embinit.papers import NoiseWanted, Paper, Tier
from embinit.papers.extending import (
    LANGUAGE,
    ROWS,
    SETTINGS,
    START,
    ZERO,
    experiments,
)
from embinit.papers.extending.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: every experiment's usual arm."""
    families = (START, ZERO, LANGUAGE)
    return [
        NoiseWanted(experiment, family)
        for experiment, family in zip(experiments(tier), families, strict=True)
    ]


def floors() -> Sequence[Floor]:
    """The noise floors that were measured for the registered margins."""
    return floors_in(
        resources.files("embinit.papers.extending").joinpath("noise_floor.json").read_text("utf-8")
    )


PAPER = Paper(
    key="extending",
    citation="Extending: what the rows of added tokens should start from (exploratory, of embinit)",
    short="Extending (exploratory)",
    tiers={name: Tier(name, setting.says) for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(START, ROWS, ZERO, LANGUAGE),
    beside=beside,
    methods=methods,
    noise=noise,
    floors=floors,
)
