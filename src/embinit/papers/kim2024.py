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

TRANSLATION = ("multi30k", "iwslt2017")
TASKS = ("sst2", "mnli", *TRANSLATION)
MADE = {
    "micro-sentiment": {"sst2"},
    "micro-inference": {"mnli"},
    "micro-translation": set(TRANSLATION),
}
"""What the made language's tasks stand for."""

CLASSES = {"sst2": 2, "mnli": 3}
DIM = {
    (source, task): 300 if source == "glove" else 512 if source == "t5" and task in CLASSES else 768
    for source in SOURCES
    for task in TASKS
}
"""A.2's widths by source and task: translation has mBERT and mT5 (base) for BERT and T5 (small)."""

Query = Callable[[str], Sequence[Experiment]]

FINDING_1 = Family("kim2024/finding-1", {"micro": 26, "sample": 21, "paper": 35})
FINDING_2 = Family("kim2024/finding-2", {"micro": 11, "sample": 12, "paper": 16})
FINDING_3 = Family("kim2024/finding-3", {"micro": 21, "sample": 20, "paper": 28})
TABLE_1 = Family("kim2024/table-1", {"micro": 14, "sample": 14, "paper": 24})
TABLE_2 = Family("kim2024/table-2", {"micro": 5, "sample": 6, "paper": 42})
TABLE_3 = Family("kim2024/table-3", {"micro": 4, "sample": 4, "paper": 4})
TABLE_4 = Family("kim2024/table-4", {"micro": 6, "sample": 6, "paper": 6})
FIGURE_1 = Family("kim2024/figure-1", {"micro": 5, "sample": 0, "paper": 10})
NEXT_CHECKS = Family("kim2024/next-checks", {"micro": 5, "sample": 4, "paper": 8})
BEYOND = Family("kim2024/beyond", {"micro": 8, "sample": 1, "paper": 1})


@cache
def numbers() -> dict[str, Any]:
    """The numbers of Tables 1 to 8 as printed (strings, so that their rounding is known)."""
    text = resources.files("embinit.papers").joinpath("kim2024.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def heads(source: str) -> int:
    """Attention heads with a source (A.2): 10 with GloVe, else 8."""
    return HEADS.get(source, 8)


def table1(*sources: str, tasks: Sequence[str] = TASKS) -> Query:
    """Table 1's experiments on a tier: ``sources`` (all, if none is named) on ``tasks``.

    A task of the made language takes part where every task that it stands for does: its one
    translation stands for Multi30k and IWSLT2017.
    """
    return lambda tier: [
        one for one in experiments(tier, sources or SOURCES) if stands_for(one) <= set(tasks)
    ]


def stands_for(one: Experiment) -> set[str]:
    """The paper's tasks that an experiment's task is or stands for."""
    return MADE.get(one.data.task, {one.data.task.split("-", 1)[0]})


def only_on(query: Query, *tiers: str) -> Query:
    """The query's experiments on ``tiers``, and none on the others."""
    return lambda tier: query(tier) if tier in tiers else []


def once(tier: str) -> list[Experiment]:
    """One experiment of the tier, for a claim that goes through all of them."""
    return experiments(tier)[:1]


def table4(tier: str) -> list[Experiment]:
    """Table 4 on a tier: GloVe as it is, nothing multiplied and nothing added yet."""
    return probes(tier)
