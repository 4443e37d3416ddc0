"""Readings of a curve: the one number of a run that its curve is compared by."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def area(values: Sequence[float]) -> float:
    """The mean of all points, which is the area under the curve over its length."""
    return statistics.fmean(values)


def mean_of_last(values: Sequence[float], count: int) -> float | None:
    """The mean of the last ``count`` points; None where there are fewer."""
    return statistics.fmean(values[-count:]) if len(values) >= count else None


def largest_distance(values: Sequence[float], reference: Sequence[float]) -> float | None:
    """The largest distance from a reference, point by point; None where the lengths differ."""
    if len(values) != len(reference):
        return None
    return max(abs(value - other) for value, other in zip(values, reference, strict=True))


def first_at(values: Sequence[float], value: float, below: bool) -> int | None:
    """The place of the first point that reaches a value (from above if ``below``), or None."""
    reached = (each <= value if below else each >= value for each in values)
    return next((place for place, there in enumerate(reached) if there), None)
