"""The registered ``Paper``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from embinit.lab.experiments import ModelExperiment
from embinit.papers import Paper
from embinit.runs.measures import Measure
from embinit_papers.kim2024.experiments import TIERS, encoder_alone, experiments, probes
from embinit_studies import FAMILIES
from embinit_studies import TIERS as STUDIED
from embinit_studies.repairs import inputs, tables
from embinit_studies.table_pretraining import pretrainings
from embinit_studies.two_languages import from_vectors

QUERIES: tuple[Callable[[str], Sequence[ModelExperiment]], ...] = (
    lambda tier: [encoder_alone(one) for one in experiments(tier, ("glove",))],
    probes,
    pretrainings,
    from_vectors,
    tables(),
    inputs(),
)


def all_experiments(tier: str) -> list[ModelExperiment]:
    """All experiments that the claims are tested in on a tier."""
    return [experiment for query in QUERIES for experiment in query(tier)]


def noise(tier: str) -> list[tuple[ModelExperiment, Measure]]:
    """What GloVe's table learns of sentiment with its negations, which no paper shares."""
    return [(one, one.metric) for one in inputs("sentiment")(tier)]


PAPER = Paper(
    key="studies",
    citation="Studies: statements of embinit's own, which neither paper makes",
    short="Studies",
    tiers={name: TIERS[name] for name in STUDIED},
    experiments=all_experiments,
    families=FAMILIES,
    noise=noise,
)
