"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_papers.settings import margin_for
from embinit_studies.confirmed import (
    DECODERS,
    POSITIONS,
    ROWS,
    WIDTH,
    all_experiments,
    inputs,
)


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of the margin on sentiment with its negations, which no paper here shares."""
    return [NoiseFloor(each, margin=margin_for) for each in inputs("sentiment")(tier)]


PAPER = Paper(
    key="confirmed",
    citation="Confirmed: what of embinit's studies holds in other made languages (of embinit)",
    short="Confirmed",
    tiers={
        "micro": Tier("micro", "a miniature: each seed draws its own language and tables.", True)
    },
    experiments=all_experiments,
    families=(WIDTH, POSITIONS, ROWS, DECODERS),
    noise=noise,
)
