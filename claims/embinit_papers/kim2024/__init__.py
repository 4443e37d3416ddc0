"""Kim, Balasubramanian and Kang (2024), *On Initializing Transformers with Pre-trained Embeddings*.

arXiv 2407.12514. Which experiments its tables make on a tier, and the families its claims belong
to, with their sizes: a claim's share of alpha stands here before anything is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from embinit.claims.definitions import Family
from embinit.lab.experiments import ModelExperiment
from embinit.papers import Finding
from embinit_papers.kim2024.changes import (
    blind,
    everywhere,
    of_source,
    on_task,
    scaled,
    trained_for_times,
    twice_as_deep,
    with_missing_at_xavier,
    with_shuffled_positions,
    with_sinusoidal_positions,
)
from embinit_papers.kim2024.experiments import (
    FULL,
    KNOWN_DRAWS,
    MICRO,
    OTHER_SOURCES,
    SOURCES,
    encoder_alone,
    experiments,
    probes,
    without_vectors,
)
from embinit_papers.kim2024.numbers import TASKS, TRANSLATION, stands_for

__all__ = [
    "TASKS",
    "TRANSLATION",
    "blind",
    "everywhere",
    "of_source",
    "on_task",
    "scaled",
    "stands_for",
    "trained_for_times",
    "twice_as_deep",
    "with_missing_at_xavier",
    "with_shuffled_positions",
    "with_sinusoidal_positions",
]

Query = Callable[[str], Sequence[ModelExperiment]]

FINDING_1 = Family(
    "kim2024/finding-1",
    {"micro": 18, "sample": 33, "paper": 33, "full": 10},
    says="Finding 1: large-sigma embeddings train worse, and standardizing repairs them",
    origin="paper",
)
FINDING_2 = Family(
    "kim2024/finding-2",
    {"micro": 3, "sample": 11, "paper": 11, "full": 4},
    says="Finding 2: large-sigma embeddings absorb the position encodings",
    origin="paper",
)
FINDING_3 = Family(
    "kim2024/finding-3",
    {"micro": 11, "sample": 16, "paper": 16, "full": 5},
    says="Finding 3: meaning helps, and shuffling hurts",
    origin="paper",
)
TABLE_1 = Family(
    "kim2024/table-1",
    {"micro": 18, "sample": 32, "paper": 32, "full": 10},
    says="Table 1: its other directions, and its exceptions",
    origin="paper",
)
TABLE_2 = Family(
    "kim2024/table-2",
    {"micro": 0, "sample": 24, "paper": 56, "full": 0},
    says="Table 2: the tables' standard deviations",
    origin="paper",
)
TABLE_3 = Family(
    "kim2024/table-3",
    {"micro": 4, "sample": 5, "paper": 5, "full": 6},
    says="Table 3: trained or frozen, with positions or without",
    origin="paper",
)
TABLE_4 = Family(
    "kim2024/table-4",
    {"micro": 4, "sample": 4, "paper": 4, "full": 0},
    says="Table 4: word relations under scaling and positions",
    origin="paper",
)
FIGURE_1 = Family(
    "kim2024/figure-1",
    {"micro": 6, "sample": 0, "paper": 9, "full": 3},
    says="Figure 1: the curves over epochs",
    origin="paper",
)
LEVELS = Family(
    "kim2024/levels",
    {"micro": 0, "sample": 0, "paper": 13, "full": 7},
    says="Levels: Xavier scores here what it scores in print",
    origin="ours",
)
SHUFFLED_POSITIONS = Family(
    "kim2024/shuffled-positions",
    {"micro": 9, "sample": 12, "paper": 12, "full": 0},
    says="Shuffled positions: meaning still helps, as a summary of the paper has it",
    origin="summary",
)
NEXT_CHECKS = Family(
    "kim2024/next-checks",
    {"micro": 9, "sample": 10, "paper": 13, "full": 4},
    says="Next checks of a summary: deeper, longer, every family",
    origin="summary",
)
OTHER_TABLES = Family(
    "kim2024/other-tables",
    {"micro": 18, "sample": 16, "paper": 0, "full": 0},
    says="Next checks of a summary: tables of other methods",
    origin="summary",
)
READINGS = Family(
    "kim2024/readings",
    {"micro": 2, "sample": 2, "paper": 2, "full": 3},
    says="Readings of the paper's tables that its text does not state",
    origin="ours",
)
PRECISION = Family(
    "kim2024/precision",
    {"micro": 0, "sample": 0, "paper": 0, "full": 2},
    says="Precision: products in TF32 train as well as in float32",
    origin="ours",
)
BEYOND = Family(
    "kim2024/beyond",
    {"micro": 1, "sample": 0, "paper": 0, "full": 0},
    says="Section 3.1: a sigma that does not depend on the vocabulary",
    origin="ours",
)
EXTENT = Family(
    "kim2024/extent",
    {"micro": 7, "sample": 9, "paper": 9, "full": 2},
    says="Extent: what the paper's adverbs say of a size",
    origin="paper",
)
FINDINGS = (
    Finding(
        "Embeddings with a standard deviation (sd) far above Xavier's train worse",
        (
            "kim2024/finding-1/wide-below-xavier",
            "kim2024/finding-1/stretched-xavier-below-xavier",
        ),
    ),
    Finding(
        "Costs grow from BERT to GloVe to T5",
        ("kim2024/figure-1/gap-ordered-by-sigma",),
    ),
    Finding(
        "Standardizing them helps",
        ("kim2024/finding-1/standardising-repairs",),
    ),
    Finding(
        "BERT embeddings, near Xavier's sd, beat Xavier's",
        ("kim2024/finding-1/bert-above-xavier",),
        published=True,
    ),
    Finding(
        "Standardizing BERT embeddings does not help",
        ("kim2024/table-1/standardising-bert-gains-nothing",),
        published=True,
    ),
    Finding(
        "Standardizing BERT embeddings hurts",
        ("kim2024/table-1/bert-above-bert-xavier",),
        published=True,
    ),
    Finding(
        "On SST-2, T5 embeddings beat Xavier's and standardized T5",
        ("kim2024/table-1/t5-above-xavier-on-sst2", "kim2024/table-1/t5-above-t5-xavier-on-sst2"),
        published=True,
    ),
    Finding(
        "On SST-2 and IWSLT2017, Xavier at BERT's sd beats Xavier",
        ("kim2024/table-7/stretched-to-bert-above-xavier",),
        published=True,
    ),
    Finding(
        "On MNLI, Xavier at BERT's sd equals Xavier",
        ("kim2024/table-7/stretched-to-bert-alike-on-mnli",),
        published=True,
    ),
    Finding(
        "Xavier at T5's sd equals shuffled T5",
        ("kim2024/extent/stretched-xavier-like-shuffled-t5",),
        published=True,
    ),
    Finding(
        "Standardized embeddings beat Xavier's",
        (
            "kim2024/finding-3/standardised-above-xavier",
            "kim2024/finding-3/standardised-sub-words-above-xavier",
        ),
    ),
    Finding(
        "Standardized GloVe beats Xavier's by under two margins",
        ("kim2024/extent/standardised-gains-little",),
        published=True,
    ),
    Finding(
        "Shuffling pretrained embeddings hurts",
        (
            "kim2024/finding-3/shuffled-below-original",
            "kim2024/figure-1/shuffled-below-original-at-each-epoch",
        ),
    ),
    Finding(
        "Position encodings help GloVe less than Xavier's and standardized GloVe",
        ("kim2024/finding-2/positions-gain-less",),
    ),
    Finding(
        "Position encodings help frozen GloVe less",
        ("kim2024/table-3/positions-gain-less-for-frozen-glove",),
    ),
    Finding(
        "Position encodings help more than training the embeddings",
        (
            "kim2024/table-3/positions-gain-more-than-training",
            "kim2024/table-3/positions-gain-xavier-more-than-training",
        ),
    ),
    Finding(
        "Without positions, training does not help standardized GloVe",
        ("kim2024/table-3/training-alone-gains-standardised-nothing",),
    ),
    Finding(
        "Frozen without positions, GloVe equals standardized GloVe",
        ("kim2024/finding-2/frozen-alike",),
    ),
    Finding(
        "Frozen without positions, GloVe and standardized GloVe beat Xavier's",
        ("kim2024/finding-2/frozen-above-xavier",),
    ),
    Finding(
        "With position encodings, GloVe × √D keeps word relations",
        ("kim2024/table-4/scaled-with-positions",),
    ),
    Finding(
        "Position encodings cost standardized GloVe most word relations, not all",
        (
            "kim2024/extent/most-relations-lost",
            "kim2024/table-4/standardised-keeps-some-relations",
        ),
        published=True,
    ),
)
"""The report's rows: each title states what its claims test, and no claim is counted twice."""

FAMILIES = (
    FINDING_1,
    FINDING_2,
    FINDING_3,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    FIGURE_1,
    LEVELS,
    READINGS,
    SHUFFLED_POSITIONS,
    NEXT_CHECKS,
    OTHER_TABLES,
    PRECISION,
    BEYOND,
    EXTENT,
)


def table1(
    *sources: str, tasks: Sequence[str] = TASKS, full: Sequence[str] = (), seeds: int | None = None
) -> Query:
    """A query for Table 1's experiments on a tier.

    A task of the synthetic language is included if all of the tasks that it stands for are in
    ``tasks``: its translation stands for both Multi30k and IWSLT2017. The tier ``full`` has the
    tasks ``full`` instead, with ``seeds`` seeds if given. No ``sources`` are all.
    """
    return _with_sources(sources or SOURCES, tasks, full, seeds)


def other_tables(*sources: str, tasks: Sequence[str] = TASKS) -> Query:
    """A query for a tier's experiments with the sources that Table 1 lacks."""
    return _with_sources(sources or OTHER_SOURCES, tasks)


def on_the_encoder(query: Query) -> Query:
    """A query for the same experiments with embeddings on the encoder alone."""
    return lambda tier: [encoder_alone(experiment) for experiment in query(tier)]


def table3(tier: str) -> list[ModelExperiment]:
    """GloVe on Multi30k (Table 3); the synthetic translation, and on ``full`` from English."""
    tasks = TRANSLATION if tier == MICRO.name else ("multi30k",)
    return list(table1("glove", tasks=tasks, full=("multi30k",), seeds=6)(tier))


def _with_sources(
    sources: Sequence[str],
    tasks: Sequence[str],
    full: Sequence[str] = (),
    seeds: int | None = None,
) -> Query:
    def query(tier: str) -> list[ModelExperiment]:
        asked = set(full if tier == FULL.name else tasks)
        return [
            replace(experiment, seeds=seeds) if seeds and tier == FULL.name else experiment
            for experiment in experiments(tier, sources)
            if stands_for(experiment) <= asked
        ]

    return query


def no_vectors(*roles: str, task: str) -> Query:
    """A query for experiments on ``full`` that need no vectors."""
    return lambda tier: [
        experiment
        for experiment in without_vectors(tier)
        if experiment.source_role in roles and task in stands_for(experiment)
    ]


def only_on(query: Query, *tiers: str) -> Query:
    """A query for the same experiments on ``tiers``, and for none on other tiers."""
    return lambda tier: query(tier) if tier in tiers else []


def first_experiment(tier: str) -> list[ModelExperiment]:
    """The tier's first experiment, for a claim that goes through all of them; none on ``full``.

    On ``micro`` it has eight seeds: only their draws have each source's tables of one language and
    of both.
    """
    first = [] if tier == FULL.name else experiments(tier)[:1]
    if tier == MICRO.name:
        return [replace(one, seeds=KNOWN_DRAWS, most_seeds=None) for one in first]
    return first


def table4(tier: str) -> list[ModelExperiment]:
    """Table 4's experiments on a tier: GloVe's own table, not multiplied, without positions.

    ``full`` has none: the vectors are those of ``sample``, and nothing is trained.
    """
    return [] if tier == FULL.name else probes(tier)


def of_paper(source: str, task: str) -> ModelExperiment:
    """The experiment of tier ``paper`` with one of the paper's sources on one of its tasks."""
    [experiment] = [
        one for one in experiments("paper", (source,)) if one.data.task.split("-", 1)[0] == task
    ]
    return experiment
