"""Kim, Balasubramanian and Kang (2024), *On Initializing Transformers with Pre-trained Embeddings*.

arXiv 2407.12514. Which experiments its tables make on a tier, and the families its claims belong
to, with their sizes: a claim's share of alpha stands here before anything is trained.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from embinit.claims import Family
from embinit.experiments import Experiment
from embinit.tiers import SOURCES, experiments, probes

HEADS = {"glove": 10}
LAYERS = 3
FEED_FORWARD = 512
"""Not printed: with an untied output it is the width that gives Table 5's parameter counts."""

CLASSES = {"sst2": 2, "mnli": 3}
DIM = {
    (source, task): 300 if source == "glove" else 512 if source == "t5" and task in CLASSES else 768
    for source in SOURCES
    for task in ("sst2", "mnli", "multi30k", "iwslt2017")
}
"""A.2's widths by source and task: translation has mBERT and mT5 (base) for BERT and T5 (small)."""

Query = Callable[[str], Sequence[Experiment]]

FINDING_1 = Family("kim2024/finding-1", {"micro": 32, "sample": 13, "paper": 13})
FINDING_2 = Family("kim2024/finding-2", {"micro": 15, "sample": 8, "paper": 8})
FINDING_3 = Family("kim2024/finding-3", {"micro": 21, "sample": 10, "paper": 10})
TABLE_4 = Family("kim2024/table-4", {"micro": 6, "sample": 6, "paper": 6})


@cache
def numbers() -> dict[str, Any]:
    """The numbers of Tables 1 to 8 as printed (strings, so that their rounding is known)."""
    text = resources.files("embinit.papers").joinpath("kim2024.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def heads(source: str) -> int:
    """Attention heads with a source (A.2): 10 with GloVe, else 8."""
    return HEADS.get(source, 8)


def table1(
    *sources: str, roles: Sequence[str] = ("translation", "sentiment", "inference")
) -> Query:
    """The experiments of Table 1 on a tier: its tasks with ``sources`` (all, if none is named)."""
    return lambda tier: experiments(tier, sources or SOURCES, roles)


def table4(tier: str) -> list[Experiment]:
    """Table 4 on a tier: GloVe as it is, nothing multiplied and nothing added yet."""
    return probes(tier)
