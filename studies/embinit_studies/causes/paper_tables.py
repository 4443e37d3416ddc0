"""The study's tables in the report: the score of each combination of repairs, and over R."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from embinit.claims.comparisons import Quantity
from embinit.papers import PaperTable, by_arm, table_of_arms
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit_studies.causes import (
    COMBINATIONS,
    FOLLOWED,
    GLOVE,
    RATES,
    RATIOS,
    TIERS,
    TIMES,
    TRAINED_BY,
    TableExperiment,
    experiments,
    language_model_experiments,
    setting_experiments,
)
from embinit_studies.repairs import REPAIRS

Arm = Callable[[TableExperiment], Quantity]


def _wide(repairs: Sequence[str]) -> Arm:
    return lambda experiment: experiment.large_sigma(*repairs)


def _at(ratio: float) -> Arm:
    return lambda experiment: experiment.at_ratio(ratio)


COMBINED: dict[str, Arm] = {
    "registered width": TableExperiment.small_sigma,
    **{" + ".join(chosen) or f"{TIMES} × as wide": _wide(chosen) for chosen in COMBINATIONS},
}
"""The arms of the factorial: registered sigma, then each combination of repairs at large sigma."""

WIDTHS: dict[str, Arm] = {f"R = {ratio:.2g}": _at(ratio) for ratio in RATIOS}
"""The sigmas over which scores are measured."""


UNDER: dict[str, Arm] = {
    "registered width": TableExperiment.small_sigma,
    "as it is": TableExperiment.unscaled,
    **{
        " + ".join(chosen) or f"{TIMES} × as wide": _wide(chosen)
        for chosen in ((), ("step",), ("scale", "ratio"), REPAIRS)
    },
}
"""The arms that are compared under other optimizers."""


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """Tables of the factorial, and of the score over R with trained and frozen tables."""
    every = experiments(tier)
    followed = [each for each in every if each.role == FOLLOWED]
    frozen = [each.frozen() for each in followed]
    every_table = [
        *followed,
        *(each for each in language_model_experiments(tier) if each.role == FOLLOWED),
    ]
    of_arms = by_arm(results)
    tables = [
        _table("The repairs of a wide table", every, COMBINED, of_arms),
        _table("The score over R", followed, WIDTHS, of_arms),
        _table("The score over R, tables frozen", frozen, WIDTHS, of_arms),
        *(
            _table(
                f"Under {TRAINED_BY[optimizer]}",
                [each.with_optimizer(optimizer) for each in every_table],
                UNDER,
                of_arms,
            )
            for optimizer in ("adafactor", "adamw")
        ),
        _table(
            "Other tables under Adam", language_model_experiments(tier), COMBINED | UNDER, of_arms
        ),
        _table("In other settings", setting_experiments(tier), COMBINED, of_arms),
    ]
    return [table for table in tables if table.rows]


def _table(
    title: str,
    every: Sequence[TableExperiment],
    arms: Mapping[str, Arm],
    results: Mapping[RunSpec, Sequence[RunResult]],
) -> PaperTable:
    runs = {
        label: [arm(experiment).runs_of(0)[0] for experiment in every]
        for label, arm in arms.items()
    }
    head = ("table", *(f"{each.name}, here" for each in every))
    return table_of_arms(title, head, runs, results, [each.metric for each in every])


def methods(tier: str) -> list[str]:
    """The methods on a tier, paragraph by paragraph."""
    text = "the synthetic language" if tier == "micro" else "real text"
    other = [
        f"Under Adafactor translation's rate is {RATES['adafactor']:g}, times each parameter's "
        "root mean square; under AdamW it is Adam's, and the decay 0.01.",
        "In other settings one thing of translation is changed: the model's width (the table keeps "
        "its R) or depth, the epochs, or the most frequent words that the vocabulary has.",
    ]
    return [
        f"The models are those of Kim et al. (2024) on {text}: encoder-decoder or "
        f"encoder-classifier, post-LayerNorm, {GLOVE[tier].dim} wide, one layer, the table "
        "multiplied by √D, sinusoids added to it.",
        f"Every table, the decoder's too, is standardised: to R = 2 D σ² = 0.31, or {TIMES} times "
        "as wide. The repairs are a LayerNorm after the sum (scale), positions as many times "
        "wider (ratio), and the table's learning rate as many times higher (step).",
        *(
            f"{setting.task}: {setting.epochs} epochs at {setting.lr:g} in batches of "
            f"{setting.batch_size}, Adam, a constant rate."
            for setting in TIERS[tier]
        ),
        *(other if tier == "micro" else ()),
    ]
