"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_studies.modern import (
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
from embinit_studies.modern.paper_tables import methods, paper_tables


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of a tier's margins: Xavier's arm in every architecture."""
    return [NoiseFloor(each) for each in experiments(tier)]


PAPER = Paper(
    key="modern",
    citation="Modern: what holds in today's models (exploratory, of embinit)",
    short="Modern (exploratory)",
    tiers={name: Tier(name, setting.says, name == "micro") for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(WIDTH, STREAM, STEP, MEANING, REPAIRED, REAL_TEXT, REAL_TEXT_FURTHER),
    tables=paper_tables,
    methods=methods,
    noise=noise,
)
