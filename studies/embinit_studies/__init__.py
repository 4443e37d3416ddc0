"""Statements of embinit's own, which neither paper makes: experiments, claims and their lock.

The families were registered under other names, those of the papers' and of an earlier study; the
README has the map.
"""

from __future__ import annotations

from collections.abc import Mapping

from embinit.claims.definitions import Family
from embinit_papers.settings import claim_in

TIERS = ("micro", "sample", "paper")
"""The tiers that the claims are registered on."""


def _ours(name: str, sizes: Mapping[str, int], says: str) -> Family:
    return Family(f"studies/{name}", sizes, says, origin="ours")


FAMILIES = (
    _ours("readings", {"micro": 8, "sample": 10, "paper": 10},
          "Readings of Kim et al. (2024): what their tables suggest and don't print"),
    _ours("beyond", {"micro": 9, "sample": 2, "paper": 2},
          "Mechanism, beyond the paper: what positions and width do (exploratory)"),
    _ours("pretrained-sigma", {"micro": 6, "sample": 0, "paper": 0},
          "Width, beyond the paper: why T5's tables are wide (exploratory)"),
    _ours("decoupling", {"micro": 3, "paper": 5},
          "Decoupling: two tables are no worse than one, and better in a wider model"),
    _ours("output-width", {"micro": 4, "paper": 4},
          "Readings: what the abstract's sentences would lead one to expect besides"),
    _ours("inits", {"micro": 6, "paper": 8},
          "Inits under pre-training: does the first paper's finding 1 hold for the input table?"),
    _ours("repairs", {"micro": 7},
          "A large sigma costs; no single repair restores the table, and all three do"),
    _ours("positions", {"micro": 9}, "Positions: told twice, in attention alone, or scored apart"),
    _ours("sides", {"micro": 4},
          "Sides: what an experiment on the encoder alone says of one on both sides"),
    _ours("mean", {"micro": 3},
          "Mean: a mean far from zero costs, without a large standard deviation"),
)  # fmt: skip
claim = claim_in(FAMILIES)
