"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from embinit.papers import Paper, Tier
from embinit.papers.causes import EFFECTS, OPTIMIZERS, RATIO, REPAIR, every
from embinit.papers.causes.beside import beside, methods

PAPER = Paper(
    key="causes",
    citation="Causes: why wide tables cost, three causes taken apart (exploratory, of embinit)",
    short="Causes (exploratory)",
    tiers={"micro": Tier("micro", "a miniature: text of a language that code makes from a seed.")},
    experiments=every,
    families=(REPAIR, EFFECTS, RATIO, OPTIMIZERS),
    beside=beside,
    methods=methods,
)
