"""The paper as an object: what embinit asks of it."""

from __future__ import annotations

from embinit.papers import Paper, Tier
from embinit.papers.starts import GEOMETRY, MEANING, POSITIONS, experiments
from embinit.papers.starts.beside import beside, methods

PAPER = Paper(
    key="starts",
    citation="Starts: which start keeps both meaning and position? (exploratory, of embinit)",
    short="Starts (exploratory)",
    tiers={"micro": Tier("micro", "a miniature: text of a language that code makes from a seed.")},
    experiments=experiments,
    families=(MEANING, GEOMETRY, POSITIONS),
    beside=beside,
    methods=methods,
)
