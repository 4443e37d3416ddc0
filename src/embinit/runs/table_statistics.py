"""Statistics of a run's tables; without torch, so that any record can be read."""

from __future__ import annotations

from dataclasses import dataclass

PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rows' norms that ``TableStatistics`` holds."""

HISTOGRAM = (-5, 3, 8)
"""First and last power of ten of ``TableStatistics.histogram``, and its bins per decade."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table's values, without its special rows.

    Attributes:
        minimum: The smallest value.
        maximum: The largest value.
        mean: The mean over all values.
        sigma: The sample sigma (n - 1) over all values.
        row_norm_percentiles: Percentiles of the rows' Euclidean norms, at ``PERCENTILES``.
        rows: The number of ordinary rows.
        dim: D, the width.
        histogram: Counts of the values by magnitude, in the bins of ``HISTOGRAM``, which are even
            on a log axis. The first and the last bin also count what lies beyond them.
    """

    minimum: float
    maximum: float
    mean: float
    sigma: float
    row_norm_percentiles: tuple[float, ...]
    rows: int
    dim: int
    histogram: tuple[int, ...] = ()
