"""Kim, Balasubramanian and Kang (2024), *On Initializing Transformers with Pre-trained Embeddings*.

arXiv 2407.12514. Which experiments its tables make on a tier, and the families its claims belong
to, with their sizes: a claim's share of alpha stands here before anything is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embinit.claims.definitions import Family
from embinit.lab.experiments import ModelExperiment
from embinit_papers.kim2024.changes import (
    everywhere,
    of_source,
    scaled,
    trained_for_times,
    twice_as_deep,
    with_faint_positions,
    with_norm_after_sum,
    with_orthogonal_positions,
    with_positions_in_attention,
    with_shuffled_positions,
    with_sinusoidal_positions,
)
from embinit_papers.kim2024.experiments import (
    OTHER_SOURCES,
    SOURCES,
    experiments,
    pretrainings,
    probes,
)

__all__ = [
    "everywhere",
    "of_source",
    "scaled",
    "trained_for_times",
    "twice_as_deep",
    "with_faint_positions",
    "with_norm_after_sum",
    "with_orthogonal_positions",
    "with_positions_in_attention",
    "with_shuffled_positions",
    "with_sinusoidal_positions",
]

TRANSLATION = ("multi30k", "iwslt2017")
TASKS = ("sst2", "mnli", *TRANSLATION)
MADE = {
    "micro-sentiment": {"sst2"},
    "micro-sentiment-plain": {"sst2"},
    "micro-inference": {"mnli"},
    "micro-translation": set(TRANSLATION),
}
"""The paper's tasks that each task of the synthetic language stands for."""

Query = Callable[[str], Sequence[ModelExperiment]]

FINDING_1 = Family(
    "kim2024/finding-1",
    {"micro": 20, "sample": 35, "paper": 35},
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
    {"micro": 3, "sample": 4, "paper": 4},
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
OTHER_TABLES = Family(
    "kim2024/other-tables",
    {"micro": 18, "sample": 16, "paper": 0},
    says="Next checks: tables of other methods",
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
FAMILIES = (
    FINDING_1,
    FINDING_2,
    FINDING_3,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    FIGURE_1,
    NEXT_CHECKS,
    OTHER_TABLES,
    BEYOND,
    WIDTH,
)


def table1(*sources: str, tasks: Sequence[str] = TASKS) -> Query:
    """A query for Table 1's experiments on a tier.

    A task of the synthetic language is included if all of the tasks that it stands for are in
    ``tasks``: its translation stands for both Multi30k and IWSLT2017.

    Args:
        sources: The roles of the sources; none means all.
        tasks: The paper's tasks.
    """
    return _with_sources(sources or SOURCES, tasks)


def other_tables(*sources: str, tasks: Sequence[str] = TASKS) -> Query:
    """A query for a tier's experiments with the sources that Table 1 lacks.

    Args:
        sources: The roles of the sources; none means all of ``OTHER_SOURCES``.
        tasks: The paper's tasks, as for ``table1``.
    """
    return _with_sources(sources or OTHER_SOURCES, tasks)


def _with_sources(sources: Sequence[str], tasks: Sequence[str]) -> Query:
    return lambda tier: [
        experiment
        for experiment in experiments(tier, sources)
        if stands_for(experiment) <= set(tasks)
    ]


def stands_for(experiment: ModelExperiment) -> set[str]:
    """The paper's tasks that an experiment's task stands for; a real task stands for itself."""
    return MADE.get(experiment.data.task, {experiment.data.task.split("-", 1)[0]})


def only_on(query: Query, *tiers: str) -> Query:
    """A query for the same experiments on ``tiers``, and for none on other tiers."""
    return lambda tier: query(tier) if tier in tiers else []


def with_planted_effect(query: Query) -> Query:
    """A query for those of the experiments that plant an effect."""
    return lambda tier: [each for each in query(tier) if each.planted is not None]


def first_experiment(tier: str) -> list[ModelExperiment]:
    """The tier's first experiment, for a claim that goes through all of them."""
    return experiments(tier)[:1]


def table4(tier: str) -> list[ModelExperiment]:
    """Table 4's experiments on a tier: GloVe's own table, not multiplied, without positions."""
    return probes(tier)


def pretraining(source: str) -> Query:
    """A query for the experiment that pre-trains a source's table on a tier.

    Only made tables are pre-trained here; for a published one there is no such experiment.

    Args:
        source: The role of the source.
    """
    return lambda tier: [
        experiment for experiment in pretrainings(tier) if experiment.source_role == source
    ]


def of_paper(source: str, task: str) -> ModelExperiment:
    """The experiment of tier ``paper`` with one of the paper's sources on one of its tasks.

    Args:
        source: The role of the source.
        task: The task without its languages, such as ``multi30k``.
    """
    [experiment] = [
        each for each in experiments("paper", (source,)) if each.data.task.split("-", 1)[0] == task
    ]
    return experiment
