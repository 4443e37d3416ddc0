"""Check that arms which must have equally many parameters do, before anything runs.

Counted from the specs alone, before anything is read or trained.
"""

from __future__ import annotations

from collections.abc import Sequence

from embinit.claims.comparisons import Comparison
from embinit.errors import InputError
from embinit.runs.kinds import kind_of
from embinit.specs import RunSpec

TOLERANCE = 0.01
"""Largest allowed relative difference of parameter counts. Integer widths cannot match exactly."""


def unequal(comparisons: Sequence[Comparison], phase: str) -> str | None:
    """Says how the arms' budgets differ at a phase, such as ``finetuning``; None where equal."""
    problems = []
    for comparison in comparisons:
        counts = [_count(run, phase) for run in comparison.arms()]
        apart = max(counts) / min(counts) - 1
        if apart > TOLERANCE:
            problems.append(
                f"unequal budgets: {comparison.left.label} and {comparison.right.label} have "
                f"{min(counts):,} to {max(counts):,} parameters at {phase}, {apart:.1%} apart, "
                f"more than {TOLERANCE:.0%}"
            )
    return "; ".join(problems) or None


def _count(run: RunSpec, phase: str) -> int:
    counts = kind_of(run).parameters(run)
    if phase not in counts:
        raise InputError(
            f"a run of the kind {run.kind!r} counts no parameters at {phase!r}; "
            f"it does at: {', '.join(counts) or 'no phase'}"
        )
    return counts[phase]
