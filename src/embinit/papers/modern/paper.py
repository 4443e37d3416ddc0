"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources

from embinit.claims.noise_floor import Floor, floors_in
from embinit.papers import NoiseWanted, Paper, Tier
from embinit.papers.modern import (
    MEANING,
    REAL_TEXT,
    SETTINGS,
    STEP,
    STREAM,
    WIDTH,
    experiments,
)
from embinit.papers.modern.beside import beside, methods


def noise(tier: str) -> list[NoiseWanted]:
    """The basis of a tier's margins: Xavier's arm in every architecture."""
    family = WIDTH if tier == "micro" else REAL_TEXT
    return [NoiseWanted(experiment, family) for experiment in experiments(tier)]


def floors() -> Sequence[Floor]:
    """The noise floors that were measured for the registered margins."""
    text = resources.files("embinit.papers.modern").joinpath("noise_floor.json").read_text("utf-8")
    return floors_in(text)


PAPER = Paper(
    key="modern",
    citation="Modern: what holds in today's models (exploratory, of embinit)",
    short="Modern (exploratory)",
    tiers={name: Tier(name, setting.says) for name, setting in SETTINGS.items()},
    experiments=experiments,
    families=(WIDTH, STREAM, STEP, MEANING, REAL_TEXT),
    beside=beside,
    methods=methods,
    noise=noise,
    floors=floors,
)
