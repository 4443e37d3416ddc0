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

from embinit.claims.claim import Family
from embinit.claims.comparisons import Comparison, Constant, Quantity, Term
from embinit.claims.experiments import Experiment
from embinit.papers.kim2024.experiments import SOURCES, TIERS, experiments, pretrainings, probes
from embinit.specs import PositionSpec

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

FINDING_1 = Family(
    "kim2024/finding-1",
    {"micro": 26, "sample": 35, "paper": 35},
    says="Finding 1: wide tables fare worse, and standardising repairs them",
)
FINDING_2 = Family(
    "kim2024/finding-2",
    {"micro": 11, "sample": 16, "paper": 16},
    says="Finding 2: wide tables absorb the position encodings",
)
FINDING_3 = Family(
    "kim2024/finding-3",
    {"micro": 21, "sample": 28, "paper": 28},
    says="Finding 3: meaning helps, and shuffling hurts",
)
TABLE_1 = Family(
    "kim2024/table-1",
    {"micro": 14, "sample": 24, "paper": 24},
    says="Table 1: its other directions, and its exceptions",
)
TABLE_2 = Family(
    "kim2024/table-2",
    {"micro": 5, "sample": 10, "paper": 42},
    says="Table 2: how wide the tables are",
)
TABLE_3 = Family(
    "kim2024/table-3",
    {"micro": 4, "sample": 4, "paper": 4},
    says="Table 3: trained or frozen, with positions or without",
)
TABLE_4 = Family(
    "kim2024/table-4",
    {"micro": 6, "sample": 6, "paper": 6},
    says="Table 4: word relations under scaling and positions",
)
FIGURE_1 = Family(
    "kim2024/figure-1",
    {"micro": 5, "sample": 0, "paper": 10},
    says="Figure 1: the curves over epochs",
)
NEXT_CHECKS = Family(
    "kim2024/next-checks",
    {"micro": 5, "sample": 6, "paper": 8},
    says="Next checks: deeper, longer, every family",
)
BEYOND = Family(
    "kim2024/beyond",
    {"micro": 10, "sample": 2, "paper": 2},
    says="Mechanism, beyond the paper: what positions and width do (exploratory)",
)
WIDTH = Family(
    "kim2024/width",
    {"micro": 6, "sample": 0, "paper": 0},
    says="Width, beyond the paper: why T5's tables are wide (exploratory)",
)


@cache
def numbers() -> dict[str, Any]:
    """The numbers of Tables 1 to 8 as printed (strings, so that their rounding is known)."""
    text = resources.files("embinit.papers.kim2024").joinpath("numbers.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def printed_deviations(one: Experiment) -> list[float]:
    """Every standard deviation that Table 1 prints of Xavier for the experiment's task."""
    cells = [
        source["xavier"][task]
        for source in numbers()["tables_1_and_7"].values()
        for task in stands_for(one)
    ]
    scores = ("score", "matched", "mismatched")
    return [float(cell[name][1]) for cell in cells for name in scores if name in cell]


TITLES = {"sst2": "SST2", "mnli": "MNLI", "multi30k": "Multi30k", "iwslt2017": "IWSLT2017"}


def printed(comparison: Comparison) -> list[dict[str, str | float]]:
    """What Tables 1, 2, 3, 7 and 8 have for the two sides, task by task; empty where they don't."""
    terms = (*comparison.left.terms, *comparison.right.terms)
    tasks = set(TASKS) if terms else set()
    for term in terms:
        tasks &= stands_for(term.experiment)
    rows: list[dict[str, str | float]] = []
    for task in sorted(tasks, key=TASKS.index):
        sides = [_printed_sum(side, task) for side in (comparison.left, comparison.right)]
        if sides[0] is not None and sides[1] is not None:
            row = {"left": sides[0], "right": sides[1], "difference": sides[0] - sides[1]}
            rows.append({"task": TITLES[task]} | {name: round(row[name], 4) for name in row})
    return rows


def _printed_sum(side: Quantity, task: str) -> float | None:
    if isinstance(side, Constant):
        return side.value
    values = [_printed_value(term, task) for term in side.terms]
    if not values or None in values:
        return None
    return sum(term.weight * (value or 0.0) for term, value in zip(side.terms, values, strict=True))


def _printed_value(term: Term, task: str) -> float | None:
    """One arm's printed number: its score, its best epoch, or a statistic of its table."""
    one, paper = term.experiment, numbers()
    family = one.name.split("-", 1)[0]
    usual = _as_printed(one)
    if usual is None or term.offset:
        return None
    trained, positions = usual
    measure = "sigma" if term.measure == "table sigma" else term.measure
    if measure == "sigma":
        row = paper["tables_2_and_8"][family].get(term.init, {}).get(task)
        return None if row is None else float(row["sigma"])
    if (trained, positions) != (True, True):
        cells = (
            paper["table_3"].get(term.init, ()) if (family, task) == ("glove", "multi30k") else ()
        )
        for cell in cells:
            if (cell["trained"], cell["positions"]) == (trained, positions):
                return _cell_value(measure, cell, ("bleu",))
        return None
    cell = paper["tables_1_and_7"][family].get(term.init, {}).get(task)
    names = ("mismatched",) if measure == "test_accuracy" else ("score", "matched")
    return None if cell is None else _cell_value(measure, cell, names)


def _cell_value(measure: str, cell: dict[str, Any], names: tuple[str, ...]) -> float | None:
    if measure == "best_epoch":
        return float(cell["epoch"])
    if measure in ("bleu", "accuracy", "test_accuracy"):
        return next((float(cell[name][0]) for name in names if name in cell), None)
    return None


def _as_printed(one: Experiment) -> tuple[bool, bool] | None:
    """Whether the table is trained and positions are on; None in a setting that no table has."""
    positions = {PositionSpec(): True, PositionSpec(kind="none"): False}
    if one.sigma is not None or one.positions not in positions:
        return None
    if _setting(one) not in _every_setting():
        return None
    return one.trained, positions[one.positions]


@cache
def _every_setting() -> set[tuple[object, ...]]:
    return {_setting(one) for tier in TIERS for one in experiments(tier)}


def _setting(one: Experiment) -> tuple[object, ...]:
    return (one.name, one.model, one.changed().training)


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


def pretraining(family: str) -> Query:
    """How one family's table is made on a tier, where it is made and not given."""
    return lambda tier: [one for one in pretrainings(tier) if one.name.startswith(f"{family}-")]
