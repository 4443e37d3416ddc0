"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import NoiseFloor, Paper, Tier
from embinit_papers.settings import margin_for
from embinit_studies.arms import PLANTED
from embinit_studies.causes import (
    ADAMW,
    EFFECTS,
    ELSEWHERE,
    GLOVE,
    OPTIMIZERS,
    RATIO,
    REAL_SENTIMENT,
    REAL_TEXT,
    REPAIR,
    TIERS,
    TableExperiment,
    all_experiments,
)
from embinit_studies.causes.paper_tables import methods, paper_tables


def noise(tier: str) -> list[NoiseFloor]:
    """The basis of the margin on sentiment, a task that the first paper does not share: Xavier's.

    The other tasks' margins are the first paper's.
    """
    return [
        NoiseFloor(
            setting.experiment(TableExperiment, tier, GLOVE[tier], planted=PLANTED[setting.task]),
            margin=margin_for,
        )
        for setting in TIERS[tier]
        if setting.role == "sentiment"
    ]


PAPER = Paper(
    key="causes",
    citation="Causes: why wide tables cost, three causes taken apart (exploratory, of embinit)",
    short="Causes (exploratory)",
    tiers={
        "micro": Tier(
            "micro", "a miniature: text of a language that code makes from a seed.", True
        ),
        "sample": Tier(
            "sample",
            "SST-2, and Multi30k from English to German, cut to what a CPU can train on, and "
            "published GloVe vectors.",
        ),
    },
    experiments=all_experiments,
    families=(REPAIR, EFFECTS, RATIO, OPTIMIZERS, ADAMW, ELSEWHERE, REAL_TEXT, REAL_SENTIMENT),
    tables=paper_tables,
    methods=methods,
    noise=noise,
)
