"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from functools import partial

from embinit.claims.noise_floor import floors_of
from embinit.papers import NoiseWanted, Paper, Tier
from embinit_studies.extending import (
    LANGUAGE,
    ROWS,
    SETTINGS,
    START,
    ZERO,
    experiments,
)
from embinit_studies.extending.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: every experiment's usual arm."""
    families = (START, ZERO, LANGUAGE)
    return [
        NoiseWanted(experiment, family)
        for experiment, family in zip(experiments(tier), families, strict=True)
    ]


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
    floors=partial(floors_of, "embinit_studies.extending"),
)
