"""Statements of embinit's own, which neither paper makes: experiments, claims and their lock.

The families were registered under other names, those of the papers' and of an earlier study; the
README has the map.
"""

from __future__ import annotations

from embinit.claims.definitions import Family
from embinit_papers.settings import claim_in

TIERS = ("micro", "sample", "paper")
"""The tiers that the claims are registered on."""

FAMILIES = (
    Family(
        "studies/readings",
        {"micro": 8, "sample": 10, "paper": 10},
        says="Readings of Kim et al. (2024): what their tables suggest and don't print",
        origin="ours",
    ),
    Family(
        "studies/beyond",
        {"micro": 9, "sample": 2, "paper": 2},
        says="Mechanism, beyond the paper: what positions and width do (exploratory)",
        origin="ours",
    ),
    Family(
        "studies/pretrained-sigma",
        {"micro": 6, "sample": 0, "paper": 0},
        says="Width, beyond the paper: why T5's tables are wide (exploratory)",
        origin="ours",
    ),
    Family(
        "studies/decoupling",
        {"micro": 3, "paper": 5},
        says="Decoupling: two tables are no worse than one, and better in a wider model",
        origin="ours",
    ),
    Family(
        "studies/output-width",
        {"micro": 4, "paper": 4},
        says="Readings: what the abstract's sentences would lead one to expect besides",
        origin="ours",
    ),
    Family(
        "studies/inits",
        {"micro": 6, "paper": 8},
        says="Inits under pre-training: does the first paper's finding 1 hold for the input table?",
        origin="ours",
    ),
    Family(
        "studies/repairs",
        {"micro": 7},
        says="A large sigma costs; no single repair restores the table, and all three do",
        origin="ours",
    ),
    Family(
        "studies/positions",
        {"micro": 9},
        says="Positions: told twice, in attention alone, or scored apart",
        origin="ours",
    ),
    Family(
        "studies/sides",
        {"micro": 4},
        says="Sides: what an experiment on the encoder alone says of one on both sides",
        origin="ours",
    ),
    Family(
        "studies/mean",
        {"micro": 3},
        says="Mean: a mean far from zero costs, without a large standard deviation",
        origin="ours",
    ),
)
claim = claim_in(FAMILIES)
