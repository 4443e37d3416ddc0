"""Statistics of a run's tables; without torch, so that any record can be read."""

from __future__ import annotations

from dataclasses import dataclass

PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rows' norms that ``TableStatistics`` holds."""

HISTOGRAM = (-5, 3, 8)
"""First and last power of ten of ``TableStatistics.histogram``, and its bins per decade."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table's values, without its special rows. Sigma is the sample's (n - 1).

    Percentiles are of the rows' norms, at ``PERCENTILES``. The histogram counts values by magnitude
    in the bins of ``HISTOGRAM``; the first and the last also count what lies beyond them.
    """

    minimum: float
    maximum: float
    mean: float
    sigma: float
    row_norm_percentiles: tuple[float, ...]
    rows: int
    dim: int
    histogram: tuple[int, ...] = ()
