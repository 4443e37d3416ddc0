"""Settings of the second paper's experiments that its own claims don't compare."""

from __future__ import annotations

from embinit.claims.comparisons import Quantity, trend
from embinit.lab.experiments import ModelExperiment
from embinit_papers.kim2024 import Query, only_on
from embinit_studies import two_languages
from embinit_studies.two_languages import SETTINGS, accuracy, own_or

experiments = only_on(two_languages.experiments, *SETTINGS)
first_experiment = only_on(two_languages.first_experiment, *SETTINGS)
transferring = only_on(two_languages.transferring, *SETTINGS)


def resolved(query: Query) -> Query:
    """A query without ``micro``'s inference, where 20 draws resolve 2.1 points at best."""
    return lambda tier: [
        setting for setting in query(tier) if (tier, setting.role) != ("micro", "inference")
    ]


def wider(arms: ModelExperiment) -> ModelExperiment:
    """The same arms in a model twice as wide, in tables, heads and feed-forward layers."""
    model = arms.model
    assert model is not None
    return arms.with_model(
        "twice as wide",
        dim=2 * model.dim,
        heads=2 * model.heads,
        feed_forward=2 * model.feed_forward,
    )


def over_input_widths(arms: ModelExperiment) -> Quantity:
    """The trend of the accuracy over E_in, the width of the input table."""
    return trend(
        [
            (width, accuracy(arms.with_model(f"E_in {width}", input_width=own_or(arms, width))))
            for width in SETTINGS[arms.tier].widths
        ],
        "E_in",
    )


def from_vectors(tier: str) -> list[ModelExperiment]:
    """The experiments with an input table as wide as the source's vectors."""
    return [
        setting.with_model(input_width=own_or(setting, SETTINGS[tier].source_width))
        for setting in experiments(tier)
    ]
