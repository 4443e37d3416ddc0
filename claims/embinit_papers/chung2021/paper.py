"""The registered ``Paper``."""

from __future__ import annotations

from embinit.lab.measures import SIMILARITY_GAP, SIMILARITY_INPUT, SIMILARITY_OUTPUT
from embinit.papers import NoiseFloor, Paper, Tier
from embinit_papers.chung2021 import (
    FAMILIES,
    FINDINGS,
    MARGINS,
    numbers,
    printed,
    similar_words,
)
from embinit_papers.chung2021.setting import SETTINGS, experiments


def noise(tier: str) -> list[NoiseFloor]:
    """What the usual arm learns, and how evenly: one experiment, whose runs have all scores."""
    first, *others = experiments(tier)
    words = (SIMILARITY_INPUT, SIMILARITY_OUTPUT, SIMILARITY_GAP)
    known = [one for one in MARGINS if one not in words or similar_words(tier)]
    return [NoiseFloor(first, (*(one.metric for one in others), *known))]


PAPER = Paper(
    key="chung2021",
    citation=str(numbers()["citation"]),
    short=str(numbers()["short"]),
    tiers={name: Tier(name, of.says, of.draws is not None) for name, of in SETTINGS.items()},
    experiments=experiments,
    families=FAMILIES,
    findings=FINDINGS,
    printed=printed,
    noise=noise,
)
