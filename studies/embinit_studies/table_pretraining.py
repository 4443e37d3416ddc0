"""Experiments that pre-train a language model's table for 100 steps, on ``micro`` alone."""

from __future__ import annotations

from collections.abc import Callable

from embinit.lab.experiments import ModelExperiment
from embinit.lab.specs import Cut, DataSpec, TablePretrainingSpec
from embinit.runs.measures import MEASURES
from embinit_papers.kim2024.experiments import LABELS
from embinit_papers.settings import replicates

T5_START, BERT_START = 1.0, 0.02
STEPS = 100
T5_RATE = 0.01 * (10_000 / STEPS) ** 0.5
"""The learning rate that makes up for fewer steps than the shipped T5's 10,000 at 0.01.

Steps x rate squared is the same. A table whose steps are proportional to it and orthogonal to it
widens by the exponential of half that product.
"""

_PRETRAININGS = {
    "t5": TablePretrainingSpec(
        objective="span corruption",
        steps=STEPS,
        batch_size=16,
        rate=T5_RATE,
        optimizer="adafactor",
        start=T5_START,
        relative=True,
    ),
    "bert": TablePretrainingSpec(
        objective="masked language model",
        steps=STEPS,
        batch_size=32,
        rate=2e-3,
        optimizer="adamw",
        start=BERT_START,
        relative=False,
    ),
}


def pretrainings(tier: str) -> list[ModelExperiment]:
    """The experiments that pre-train each language model's table.

    Tiers other than ``micro`` read published tables, and have none.
    """
    if tier != "micro":
        return []
    return [
        ModelExperiment(
            name=f"{role}-micro-text",
            tier=tier,
            role="pretraining",
            source=f"micro-{role}",
            source_label=LABELS[role],
            data=DataSpec("micro-text", (), Cut(train=6000)),
            model=None,
            training=training,
            metric=MEASURES["sigma"],
            seeds=5,
            most_seeds=20,
            margin=0.0,
            source_role=role,
            **replicates(tier),
        )
        for role, training in _PRETRAININGS.items()
    ]


def pretraining(role: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for one of them: ``t5`` or ``bert``."""
    return lambda tier: [table for table in pretrainings(tier) if table.source_role == role]
