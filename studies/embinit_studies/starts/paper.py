"""The registered ``Paper``."""

from __future__ import annotations

from embinit.papers import Paper, Tier
from embinit_studies.starts import GEOMETRY, MEANING, POSITIONS, REAL_TEXT, UNTIED, experiments
from embinit_studies.starts.paper_tables import methods, paper_tables

PAPER = Paper(
    key="starts",
    citation="Starts: which start keeps both meaning and position? (exploratory, of embinit)",
    short="Starts (exploratory)",
    tiers={
        "micro": Tier(
            "micro", "a miniature: text of a language that code makes from a seed.", True
        ),
        "sample": Tier("sample", "parts of SST-2 and Multi30k; GloVe's vectors and MiniLM's."),
    },
    experiments=experiments,
    families=(MEANING, GEOMETRY, POSITIONS, UNTIED, REAL_TEXT),
    tables=paper_tables,
    methods=methods,
)
