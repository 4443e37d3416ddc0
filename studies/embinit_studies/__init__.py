"""Statements of embinit's own, which neither paper makes: experiments, claims and their lock.

The families were registered under other names, those of the papers' and of an earlier study; the
README has the map.
"""

from __future__ import annotations

from embinit.claims.definitions import Family

TIERS = ("micro", "sample", "paper")
"""The tiers that the claims are registered on."""

READINGS = Family(
    "studies/readings",
    {"micro": 8, "sample": 10, "paper": 10},
    says="Readings of Kim et al. (2024): what their tables suggest and don't print",
    origin="ours",
)
BEYOND = Family(
    "studies/beyond",
    {"micro": 9, "sample": 2, "paper": 2},
    says="Mechanism, beyond the paper: what positions and width do (exploratory)",
    origin="ours",
)
PRETRAINED_SIGMA = Family(
    "studies/pretrained-sigma",
    {"micro": 6, "sample": 0, "paper": 0},
    says="Width, beyond the paper: why T5's tables are wide (exploratory)",
    origin="ours",
)
DECOUPLING = Family(
    "studies/decoupling",
    {"micro": 3, "paper": 5},
    says="Decoupling: two tables are no worse than one, and better in a wider model",
    origin="ours",
)
OUTPUT_WIDTH = Family(
    "studies/output-width",
    {"micro": 4, "paper": 4},
    says="Readings: what the abstract's sentences would lead one to expect besides",
    origin="ours",
)
INITS = Family(
    "studies/inits",
    {"micro": 6, "paper": 8},
    says="Inits under pre-training: does the first paper's finding 1 hold for the input table?",
    origin="ours",
)
REPAIRS = Family(
    "studies/repairs",
    {"micro": 7},
    says="A large sigma costs; no single repair restores the table, and all three do",
    origin="ours",
)
POSITIONS = Family(
    "studies/positions",
    {"micro": 9},
    says="Positions: told twice, in attention alone, or scored apart",
    origin="ours",
)
SIDES = Family(
    "studies/sides",
    {"micro": 4},
    says="Sides: what an experiment on the encoder alone says of one on both sides",
    origin="ours",
)
MEAN = Family(
    "studies/mean",
    {"micro": 3},
    says="Mean: a mean far from zero costs, without a large standard deviation",
    origin="ours",
)
FAMILIES = (
    READINGS,
    BEYOND,
    PRETRAINED_SIGMA,
    DECOUPLING,
    OUTPUT_WIDTH,
    INITS,
    REPAIRS,
    POSITIONS,
    SIDES,
    MEAN,
)
