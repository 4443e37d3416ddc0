"""Kim, Balasubramanian and Kang (2024), *On Initializing Transformers with Pre-trained Embeddings*.

arXiv 2407.12514. Which experiments its tables make on a tier, and the families its claims belong
to, with their sizes: a claim's share of alpha stands here before anything is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embinit.claims import Family
from embinit.experiments import Experiment
from embinit.tiers import SOURCES, experiments, probes

Query = Callable[[str], Sequence[Experiment]]

FINDING_1 = Family("kim2024/finding-1", {"micro": 32, "sample": 13, "paper": 13})
FINDING_2 = Family("kim2024/finding-2", {"micro": 15, "sample": 8, "paper": 8})
FINDING_3 = Family("kim2024/finding-3", {"micro": 21, "sample": 10, "paper": 10})
TABLE_4 = Family("kim2024/table-4", {"micro": 6, "sample": 6, "paper": 6})


def table1(
    *sources: str, roles: Sequence[str] = ("translation", "sentiment", "inference")
) -> Query:
    """The experiments of Table 1 on a tier: its tasks with ``sources`` (all, if none is named)."""
    return lambda tier: experiments(tier, sources or SOURCES, roles)


def table4(tier: str) -> list[Experiment]:
    """Table 4 on a tier: GloVe as it is, nothing multiplied and nothing added yet."""
    return probes(tier)
