"""Tables beside the claims: what each start scores, trained and frozen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embinit.papers import Beside, by_arm, table_of_arms
from embinit.papers.starts import (
    FROZEN_RATIO,
    STARTS,
    TIERS,
    TRAINED_RATIO,
    StartExperiment,
    experiments,
)
from embinit.runs.results import RunResult
from embinit.specs import RunSpec


def beside(tier: str, results: Sequence[RunResult]) -> list[Beside]:
    """What each start scores on each task, with trained tables and with frozen ones."""
    every = experiments(tier)
    of_arms = by_arm(results)
    tables = [
        _table("Starts, tables trained", every, of_arms),
        _table("Starts, tables frozen", [each.still() for each in every], of_arms),
    ]
    return [table for table in tables if table.rows]


def _table(
    title: str,
    every: Sequence[StartExperiment],
    results: Mapping[RunSpec, Sequence[RunResult]],
) -> Beside:
    runs = {
        start.label: [each.start(name).runs_of(0)[0] for each in every]
        for name, start in STARTS.items()
    }
    head = ("start", *(f"{each.name}, here" for each in every))
    return table_of_arms(title, head, runs, results, [each.metric for each in every])


def methods(tier: str) -> list[str]:
    """How the models are made on a tier, paragraph by paragraph."""
    assert tier == "micro"
    return [
        "The models are those of Kim et al. (2024) on the made language: encoder-decoder or "
        "encoder-classifier, post-LayerNorm, 64 wide, one layer, the table multiplied by √D, "
        "sinusoids added to it.",
        f"Every start has the same energy, R = 2 D σ² = {TRAINED_RATIO:g} where the table is "
        f"trained and {FROZEN_RATIO:g} where it is frozen, but for the table as it is. "
        "Positions apart have 16 directions of their own and as much energy as sinusoids of all "
        "64; positions in attention are rotary, and none are added.",
        *(
            f"{setting.task}: {setting.epochs} epochs at {setting.lr:g} in batches of "
            f"{setting.batch_size}, Adam, a constant rate."
            for setting in TIERS[tier]
        ),
    ]
