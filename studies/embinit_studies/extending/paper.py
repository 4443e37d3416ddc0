"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_studies.extending import (
    LANGUAGE,
    ROWS,
    SETTINGS,
    START,
    ZERO,
    experiments,
)
from embinit_studies.extending.paper_tables import methods, paper_tables


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of a tier's margins: every experiment's usual arm."""
    return [NoiseFloor(each) for each in experiments(tier)]


PAPER = Paper(
    key="extending",
    citation="Extending: what the rows of added tokens should start from (exploratory, of embinit)",
    short="Extending (exploratory)",
    tiers={name: Tier(name, setting.says, name == "micro") for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(START, ROWS, ZERO, LANGUAGE),
    tables=paper_tables,
    methods=methods,
    noise=noise,
)
