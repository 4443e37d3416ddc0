"""Parameter budgets: arms that are said to be of one size must be, or their claim is not run.

Counted from the specs alone, before anything is read or trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from embinit.claims.comparisons import Comparison
from embinit.runs.transfer import parameters_of

Budget = Literal["pretraining", "finetuning"]

TOLERANCE = 0.01
"""How far apart, as a share of the smallest, arms of one budget may be: a width's rounding."""


def unequal(comparisons: Sequence[Comparison], budget: Budget) -> str | None:
    """How the arms' budgets differ, comparison by comparison; None where they are equal."""
    problems = []
    for comparison in comparisons:
        counts = [getattr(parameters_of(run), budget) for run in comparison.arms()]
        apart = max(counts) / min(counts) - 1
        if apart > TOLERANCE:
            problems.append(
                f"unequal budgets: {comparison.left.label} and {comparison.right.label} have "
                f"{min(counts):,} to {max(counts):,} parameters at {budget}, {apart:.1%} apart, "
                f"more than {TOLERANCE:.0%}"
            )
    return "; ".join(problems) or None
