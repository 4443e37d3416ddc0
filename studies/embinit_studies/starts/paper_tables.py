"""The study's tables in the report: each start's scores, with trained and frozen tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embinit.papers import PaperTable, by_arm, table_of_arms
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit_studies.starts import (
    FROZEN_RATIO,
    TIERS,
    TRAINED_RATIO,
    StartExperiment,
    experiments,
)


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """The scores of each start on each task, with trained and with frozen tables."""
    every = experiments(tier)
    of_arms = by_arm(results)
    tables = [
        _table("Starts, tables trained", every, of_arms),
        _table("Starts, tables frozen", [each.frozen() for each in every], of_arms),
    ]
    return [table for table in tables if table.rows]


def _table(
    title: str,
    every: Sequence[StartExperiment],
    results: Mapping[RunSpec, Sequence[RunResult]],
) -> PaperTable:
    sources = {each.source_label for each in every}
    source = sources.pop() if len(sources) == 1 else "vectors"
    runs = {
        start.told(source): [each.start(name).runs_of(0)[0] for each in every]
        for name, start in every[0].starts.items()
    }
    head = ("start", *(f"{each.name}, here" for each in every))
    return table_of_arms(title, head, runs, results, [each.metric for each in every])


def methods(tier: str) -> list[str]:
    """The methods on a tier, paragraph by paragraph."""
    models = (
        "The models are those of Kim et al. (2024): encoder-decoder or encoder-classifier, "
        "post-LayerNorm, one layer, as wide as the vectors, the table multiplied by √D, sinusoids "
        "added to it. Positions in attention are rotary. Those that are scored apart have queries "
        "and keys of their own (TUPE). A learned multiplier starts at 1."
    )
    energy = (
        f"Every start has the same energy, R = 2 D σ² = {TRAINED_RATIO:g} where the table is "
        f"trained and {FROZEN_RATIO:g} where it is frozen, but for the table as it is. "
        "Positions apart have 16 directions of their own and as much energy as sinusoids of all "
        "64; where positions are said to be in attention alone, none are added."
        if tier == "micro"
        else "Every table has the standard deviation of Xavier's."
    )
    return [
        models,
        energy,
        *(
            f"{setting.task}: {setting.epochs} epochs at {setting.lr:g} in batches of "
            f"{setting.batch_size}, Adam, a constant rate."
            for setting in TIERS[tier]
        ),
    ]
