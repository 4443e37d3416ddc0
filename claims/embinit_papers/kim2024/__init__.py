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
from embinit_papers.settings import claim_in

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


def _family(
    name: str, sizes: tuple[int, int, int, int], says: str, origin: str = "paper"
) -> Family:
    """A family with its numbers of claims on micro, sample, paper and full."""
    by_tier = dict(zip(("micro", "sample", "paper", "full"), sizes, strict=True))
    return Family(f"kim2024/{name}", by_tier, says, origin=origin)


FAMILIES = (
    _family("finding-1", (18, 33, 33, 10),
            "Finding 1: large-sigma embeddings train worse, and standardizing repairs them"),
    _family("finding-2", (3, 11, 11, 4),
            "Finding 2: large-sigma embeddings absorb the position encodings"),
    _family("finding-3", (11, 16, 16, 5), "Finding 3: meaning helps, and shuffling hurts"),
    _family("table-1", (18, 32, 32, 10), "Table 1: its other directions, and its exceptions"),
    _family("table-2", (0, 24, 56, 0), "Table 2: the tables' standard deviations"),
    _family("table-3", (4, 5, 5, 6), "Table 3: trained or frozen, with positions or without"),
    _family("table-4", (4, 4, 4, 0), "Table 4: word relations under scaling and positions"),
    _family("figure-1", (6, 0, 9, 3), "Figure 1: the curves over epochs"),
    _family("levels", (0, 0, 13, 7), "Levels: Xavier scores here what it scores in print", "ours"),
    _family("readings", (2, 2, 2, 3), "Readings of the paper's tables that its text does not state",
            "ours"),
    _family("shuffled-positions", (9, 12, 12, 0),
            "Shuffled positions: meaning still helps, as a summary of the paper has it", "summary"),
    _family("next-checks", (9, 10, 13, 4), "Next checks of a summary: deeper, longer, every family",
            "summary"),
    _family("other-tables", (18, 16, 0, 0), "Next checks of a summary: tables of other methods",
            "summary"),
    _family("precision", (0, 0, 0, 2), "Precision: products in TF32 train as well as in float32",
            "ours"),
    _family("beyond", (1, 0, 0, 0), "Section 3.1: a sigma that does not depend on the vocabulary",
            "ours"),
    _family("extent", (7, 9, 9, 2), "Extent: what the paper's adverbs say of a size"),
)  # fmt: skip
claim = claim_in(FAMILIES)


def _row(says: str, *claims: str, published: bool = False) -> Finding:
    return Finding(says, tuple(f"kim2024/{claim}" for claim in claims), published)


FINDINGS = (
    _row("Embeddings with a standard deviation (sd) far above Xavier's train worse",
         "finding-1/wide-below-xavier", "finding-1/stretched-xavier-below-xavier"),
    _row("Costs grow from BERT to GloVe to T5", "figure-1/gap-ordered-by-sigma"),
    _row("Standardizing them helps", "finding-1/standardising-repairs"),
    _row("BERT embeddings, near Xavier's sd, beat Xavier's", "finding-1/bert-above-xavier",
         published=True),
    _row("Standardizing BERT embeddings does not help", "table-1/standardising-bert-gains-nothing",
         published=True),
    _row("Standardizing BERT embeddings hurts", "table-1/bert-above-bert-xavier", published=True),
    _row("On SST-2, T5 embeddings beat Xavier's and standardized T5",
         "table-1/t5-above-xavier-on-sst2", "table-1/t5-above-t5-xavier-on-sst2", published=True),
    _row("On SST-2 and IWSLT2017, Xavier at BERT's sd beats Xavier",
         "table-7/stretched-to-bert-above-xavier", published=True),
    _row("On MNLI, Xavier at BERT's sd equals Xavier", "table-7/stretched-to-bert-alike-on-mnli",
         published=True),
    _row("Xavier at T5's sd equals shuffled T5", "extent/stretched-xavier-like-shuffled-t5",
         published=True),
    _row("Standardized embeddings beat Xavier's", "finding-3/standardised-above-xavier",
         "finding-3/standardised-sub-words-above-xavier"),
    _row("Standardized GloVe beats Xavier's by under two margins",
         "extent/standardised-gains-little", published=True),
    _row("Shuffling pretrained embeddings hurts", "finding-3/shuffled-below-original",
         "figure-1/shuffled-below-original-at-each-epoch"),
    _row("Position encodings help GloVe less than Xavier's and standardized GloVe",
         "finding-2/positions-gain-less"),
    _row("Position encodings help frozen GloVe less",
         "table-3/positions-gain-less-for-frozen-glove"),
    _row("Position encodings help more than training the embeddings",
         "table-3/positions-gain-more-than-training",
         "table-3/positions-gain-xavier-more-than-training"),
    _row("Without positions, training does not help standardized GloVe",
         "table-3/training-alone-gains-standardised-nothing"),
    _row("Frozen without positions, GloVe equals standardized GloVe", "finding-2/frozen-alike"),
    _row("Frozen without positions, GloVe and standardized GloVe beat Xavier's",
         "finding-2/frozen-above-xavier"),
    _row("With position encodings, GloVe × √D keeps word relations",
         "table-4/scaled-with-positions"),
    _row("Position encodings cost standardized GloVe most word relations, not all",
         "extent/most-relations-lost", "table-4/standardised-keeps-some-relations", published=True),
)  # fmt: skip
"""The report's rows: each title states what its claims test, and no claim is counted twice."""


def table1(
    *sources: str, tasks: Sequence[str] = TASKS, full: Sequence[str] = (), seeds: int | None = None
) -> Query:
    """A query for Table 1's experiments on a tier.

    A task of the synthetic language is included if all of the tasks that it stands for are in
    ``tasks``: its translation stands for both Multi30k and IWSLT2017. The tier ``full`` has the
    tasks ``full`` instead, with ``seeds`` seeds if given. No ``sources`` are all.
    """

    def query(tier: str) -> list[ModelExperiment]:
        asked = set(full if tier == FULL.name else tasks)
        return [
            replace(experiment, seeds=seeds) if seeds and tier == FULL.name else experiment
            for experiment in experiments(tier, sources or SOURCES)
            if stands_for(experiment) <= asked
        ]

    return query


def other_tables(*sources: str) -> Query:
    """A query for a tier's experiments with the sources that Table 1 lacks."""
    return table1(*(sources or OTHER_SOURCES))


def on_the_encoder(query: Query) -> Query:
    """A query for the same experiments with embeddings on the encoder alone."""
    return lambda tier: [encoder_alone(experiment) for experiment in query(tier)]


def table3(tier: str) -> list[ModelExperiment]:
    """GloVe on Multi30k (Table 3); the synthetic translation, and on ``full`` from English."""
    tasks = TRANSLATION if tier == MICRO.name else ("multi30k",)
    return list(table1("glove", tasks=tasks, full=("multi30k",), seeds=6)(tier))


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
