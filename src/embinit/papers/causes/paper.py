"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from embinit.papers import Paper, Tier
from embinit.papers.causes import (
    ADAMW,
    EFFECTS,
    ELSEWHERE,
    OPTIMIZERS,
    RATIO,
    REAL_SENTIMENT,
    REAL_TEXT,
    REPAIR,
    every,
)
from embinit.papers.causes.beside import beside, methods

PAPER = Paper(
    key="causes",
    citation="Causes: why wide tables cost, three causes taken apart (exploratory, of embinit)",
    short="Causes (exploratory)",
    tiers={
        "micro": Tier("micro", "a miniature: text of a language that code makes from a seed."),
        "sample": Tier(
            "sample",
            "SST-2, and Multi30k from English to German, cut to what a CPU can train on, and "
            "published GloVe vectors.",
        ),
    },
    experiments=every,
    families=(REPAIR, EFFECTS, RATIO, OPTIMIZERS, ADAMW, ELSEWHERE, REAL_TEXT, REAL_SENTIMENT),
    beside=beside,
    methods=methods,
)
