"""Confirmed: what of the other studies holds in made languages that nobody had looked at.

The other studies explored one made language. Here twelve of their statements, those that somebody
would act on, are tested in the papers' worlds: each seed draws its own language, texts and tables.
They were registered on the worlds 1000 to 1009 and are claimed on those from 2001 on.

The experiments are the studies' own, with a margin for each that was measured in worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from embinit.claims.definitions import Family
from embinit.errors import InputError
from embinit.lab.data.microcosm.worlds import CLAIMING
from embinit.lab.experiments import ModelExperiment
from embinit_studies import causes, extending, modern, starts

WIDTH = Family(
    "confirmed/width",
    {"micro": 8},
    says="Width: it costs, no single repair restores a wide table, and all three do",
    origin="ours",
)
POSITIONS = Family(
    "confirmed/positions",
    {"micro": 9},
    says="Positions: told twice, in attention alone, or scored apart",
    origin="ours",
)
ROWS = Family(
    "confirmed/rows",
    {"micro": 1},
    says="Rows of new tokens: near-copies",
    origin="ours",
)
DECODERS = Family(
    "confirmed/decoders",
    {"micro": 4},
    says="Decoders: width costs there too, and a rate that grows with it helps",
    origin="ours",
)


@dataclass(frozen=True)
class Measured:
    """What the registering worlds say of an experiment.

    Attributes:
        margin: The margin, in the metric's unit.
        effect: An effect that the family is about, which a control plants. A margin is at most
            half of it; told twice, positions gained less than that on inference (1.6 points).
    """

    margin: float
    effect: float


MEASURED: Mapping[str, Measured] = {
    "xavier-micro-translation": Measured(6.5, 73.9),
    "xavier-micro-sentiment": Measured(5.0, 14.8),
    "xavier-micro-inference": Measured(7.0, 22.4),
    "micro-translation": Measured(2.7, 5.5),
    "micro-sentiment": Measured(5.0, 17.1),
    "micro-inference": Measured(7.0, 14.6),
    "words": Measured(0.14, 0.28),
    "post-norm": Measured(0.044, 0.24),
    "llama": Measured(0.048, 0.097),
}
"""Each experiment's margin and effect, in points, BLEU or nats a word."""

MOST_SEEDS = 20
"""The worlds at the last look, as the papers' claims have them."""


def in_worlds(experiment: ModelExperiment) -> ModelExperiment:
    """A study's experiment on the worlds of claims, one a seed.

    Raises:
        InputError: Nothing was measured of the experiment in worlds.
    """
    if experiment.name not in MEASURED:
        raise InputError(f"{experiment.name} was not measured in worlds: add it to MEASURED")
    measured = MEASURED[experiment.name]
    return replace(
        experiment,
        worlds=CLAIMING,
        most_seeds=MOST_SEEDS,
        margin=measured.margin,
        planted=measured.effect,
    )


def confirmed(
    query: Callable[[str], list[ModelExperiment]],
) -> Callable[[str], list[ModelExperiment]]:
    """A query for the same experiments in worlds."""
    return lambda tier: [in_worlds(each) for each in query(tier)]


def tables(*roles: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for the experiments on Xavier's table; no role means all three tasks."""
    return confirmed(
        lambda tier: [
            each for each in causes.on_tasks(*roles)(tier) if each.source_role == "xavier"
        ]
    )


def inputs(*roles: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for the experiments on starts; no role means all three tasks."""
    return confirmed(starts.on_tasks(*roles))


words = confirmed(lambda tier: extending.words(tier) if tier == "micro" else [])
"""A query for the experiment on words that become tokens."""


def decoders(*names: str) -> Callable[[str], list[ModelExperiment]]:
    """A query for the experiments on some architectures."""
    return confirmed(modern.in_architectures(*(names or ("post-norm", "llama"))))


def all_experiments(tier: str) -> list[ModelExperiment]:
    """All of the study's experiments."""
    return [each for query in (tables(), inputs(), words, decoders()) for each in query(tier)]
