"""Repairs of a large-sigma table, one for each cause of its cost.

- ``scale``: a LayerNorm after table + positions;
- ``ratio``: positions that are scaled as the table's sigma is;
- ``step``: the table's learning rate, scaled alike, for Adam moves a table by the learning rate,
  whatever its sigma.

With all three a table of k times the sigma is trained as the original is, but for the epsilons of
norm and Adam (``tests/test_table_rates.py``).
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from embinit.claims.comparisons import Quantity
from embinit.lab.experiments import ModelExperiment
from embinit.lab.tables.recipes import INITS, Init, Shape
from embinit.registry import require
from embinit_papers.kim2024 import Query
from embinit_papers.settings import (
    MICRO_INFERENCE,
    MICRO_SENTIMENT,
    MICRO_TRANSLATION,
    TaskSetting,
    micro_source,
    replicates,
    sigma_at,
)

if TYPE_CHECKING:
    from torch import Generator, Tensor

TIMES = 8
"""The large sigma over the usual one. A power of two, whose products are exact."""

RATIO = 0.3125
"""The table's R = 2 D σ², near Xavier's; at ``TIMES`` its sigma R is 20."""

CAUSES = ("scale", "ratio", "step")

TASKS: tuple[TaskSetting, ...] = (MICRO_TRANSLATION, MICRO_SENTIMENT, MICRO_INFERENCE)


def _experiments(prefix: str, roles: tuple[str, ...], **more: Any) -> Query:
    source = micro_source("glove", "GloVe", one_sided=True)

    def query(tier: str) -> list[ModelExperiment]:
        return [
            replace(task, validation_bleu=False).experiment(
                tier,
                source,
                name=f"{prefix}{task.task}",
                sigma=sigma_at(RATIO, source.dim),
                baseline="xavier",
                **replicates(tier),
                **more,
            )
            for task in TASKS
            if tier == "micro" and (task.role in roles or not roles)
        ]

    return query


def tables(*roles: str) -> Query:
    """A query for the experiments on Xavier's table; no role means all three tasks."""
    return _experiments("xavier-", roles, source_role="xavier")


def inputs(*roles: str) -> Query:
    """A query for the experiments on GloVe's table and positions; no role means all tasks."""
    return _experiments("", roles)


def large_sigma(experiment: ModelExperiment, *repairs: str) -> Quantity:
    """The metric with the table at ``TIMES`` its sigma, and with some of the repairs."""
    for name in repairs:
        require("repair", name, CAUSES)
    assert experiment.sigma is not None
    arms = experiment.changed(f"{TIMES} × as wide", sigma=TIMES * experiment.sigma)
    if "scale" in repairs:
        arms = arms.with_model("+ scale", norm_after_sum=True)
    if "ratio" in repairs:
        arms = arms.changed("+ ratio", positions=replace(arms.positions, pe_scale=f"{TIMES}"))
    if "step" in repairs:
        arms = arms.changed("+ step", table_rate=float(TIMES))
    return arms["xavier"]


def effect_of(experiment: ModelExperiment, cause: str) -> Quantity:
    """What a repair adds, on the mean over the four combinations of the others."""
    terms = []
    for number in range(len(CAUSES) + 1):
        for repairs in itertools.combinations(CAUSES, number):
            weight = (1 if cause in repairs else -1) / 4
            terms += [
                replace(term, weight=weight * term.weight)
                for term in large_sigma(experiment, *repairs).terms
            ]
    repaired = large_sigma(experiment, cause)
    return replace(repaired, terms=tuple(terms), label=f"effect of {cause}")


def shifted(shape: Shape, special: Tensor, generator: Generator) -> Tensor:
    """Xavier's table, (N, D), all of whose values are moved by ``TIMES`` standard deviations."""
    table = INITS["xavier"](shape, special, generator)
    table[~special] += TIMES * table[~special].std()
    return table


SHIFTED = Init("xavier_shifted", f"Xavier + {TIMES} σ", False, shifted)
INITS.register(SHIFTED.name, SHIFTED)
