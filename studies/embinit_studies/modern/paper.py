"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from functools import partial

from embinit.claims.definitions import Family
from embinit.claims.noise_floor import floors_of
from embinit.papers import NoiseWanted, Paper, Tier
from embinit_studies.modern import (
    FURTHER,
    MEANING,
    REAL_TEXT,
    REAL_TEXT_FURTHER,
    REPAIRED,
    SETTINGS,
    STEP,
    STREAM,
    WIDTH,
    experiments,
)
from embinit_studies.modern.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: Xavier's arm in every architecture."""

    def family_of(name: str) -> Family:
        if tier == "micro":
            return WIDTH
        return REAL_TEXT_FURTHER if name in FURTHER else REAL_TEXT

    return [NoiseWanted(each, family_of(each.name)) for each in experiments(tier)]


PAPER = Paper(
    key="modern",
    citation="Modern: what holds in today's models (exploratory, of embinit)",
    short="Modern (exploratory)",
    tiers={name: Tier(name, setting.says) for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(WIDTH, STREAM, STEP, MEANING, REPAIRED, REAL_TEXT, REAL_TEXT_FURTHER),
    beside=beside,
    methods=methods,
    noise=noise,
    floors=partial(floors_of, "embinit_studies.modern"),
)
