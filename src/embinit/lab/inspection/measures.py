"""The measures of a table, taken in one pass over its rows.

A pass keeps a handful of numbers a row (its norm, its share along the common direction, and its
projections on a few random directions) and one block of rows. The spectrum is that of a sample of
rows, since the whole one takes N times D squared steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from embinit.randomness import stream

BLOCK_VALUES = 2**20
"""The most values of a block of rows."""

PERCENTS = (0, 1, 5, 25, 50, 75, 95, 99, 100)
"""The percentiles of the rows' norms that are kept."""

COMPONENTS = (1, 3, 10)
"""The numbers of first components whose share of the variance is kept."""

SAMPLE_ROWS = 2048
"""The most rows in the sample whose spectrum is computed."""

PROJECTIONS = 32
KEYED = 8
"""The number of projections in the key that groups rows that are alike."""

COPIES = 0.999
"""The cosine above which two rows are copies, unless another is given."""

_HASH = np.random.default_rng(0).integers(1, 2**62, 2 * KEYED) * 2 + 1

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RowMeasures:
    """Measures of each of N rows."""

    norms: Floats  # NaN where a row, or its norm, is not finite
    along: Floats  # the share along the table's common direction, as a length
    projections: Floats  # (N, 32): the unit rows on random directions of unit variance
    measured: Mask  # rows that are no padding and have a token


@dataclass(frozen=True)
class TableMeasures:
    """The measures of a table without its padding and its rows that are not finite."""

    name: str
    rows: int
    dim: int
    dtype: str
    measured_rows: int
    mean: float
    sigma: float  # divided by n, over all values
    norm_quantiles: dict[str, float]  # by their percent
    mean_cosine: float  # of two different rows
    energy: float  # the mean squared distance of a row to the mean row
    top_shares: dict[str, float]  # of the sample's variance in its first 1, 3 and 10 components
    effective_rank: float  # the exponential of the entropy of the sample's variances
    sample_rows: int

    @property
    def of_sample(self) -> str:
        """A note behind a figure of the sample; empty where the sample has all rows."""
        sampled = self.sample_rows < self.measured_rows
        return f" (about: of {self.sample_rows:,} sampled rows)" * sampled


def blocks(table: Tensor) -> Sequence[Tensor]:
    """A table's rows in blocks."""
    rows: Sequence[Tensor] = table.split(max(1, BLOCK_VALUES // table.shape[1]))
    return rows


def equal(table: Tensor, head: Tensor) -> bool:
    """Whether two tables hold the same values; it stops at the first block that differs."""
    both = zip(blocks(table), blocks(head), strict=True)
    return table.shape == head.shape and all(torch.equal(a.float(), b.float()) for a, b in both)


def measure(name: str, table: Tensor, measured: Mask) -> tuple[TableMeasures, RowMeasures]:
    """Measures a table (N, D), where ``measured`` rows are no padding and have a token."""
    rows, dim = table.shape
    sample = _sample(table, measured)
    directions = torch.randn(dim, PROJECTIONS, generator=stream(0, "inspection/directions"))
    onto, common = directions.double(), torch.nn.functional.normalize(sample.mean(dim=0), dim=0)
    by_row = np.empty((rows, PROJECTIONS + 2))
    sums, squares, units, end = torch.zeros(2, dim, dtype=torch.float64), 0.0, 0, 0
    for block in map(Tensor.double, blocks(table)):
        part = slice(end, end := end + len(block))
        finite = torch.linalg.vector_norm(block, dim=1).isfinite()
        values = torch.where(finite[:, None], block, 0.0)
        length = torch.linalg.vector_norm(values, dim=1)
        unit = values / length.where(length > 0, 1.0)[:, None]
        weight = torch.from_numpy(measured[part]).double() * finite
        sums += torch.stack([weight @ values, weight @ unit])
        squares += float((weight * length**2).sum())
        units += int((weight * (length > 0)).sum())
        shown = length.where(finite, torch.nan)
        by_row[part] = torch.column_stack([unit @ onto, values @ common, shown]).numpy()
    norms = by_row[:, -1]
    sound = measured & np.isfinite(norms)
    count = max(1, int(sound.sum()))
    mean_row, second = sums[0] / count, squares / count
    mean = float(mean_row.mean())
    shares_of, rank = _spectrum(sample)
    return TableMeasures(
        name=name,
        rows=rows,
        dim=dim,
        dtype=str(table.dtype).removeprefix("torch."),
        measured_rows=int(sound.sum()),
        mean=mean,
        sigma=math.sqrt(max(0.0, second / dim - mean**2)),
        norm_quantiles=_quantiles(norms[sound]),
        # Of different rows, from the sum of the unit rows.
        mean_cosine=(float(sums[1] @ sums[1]) - units) / (units * (units - 1)) if units > 1 else 0,
        energy=max(0.0, second - float(mean_row @ mean_row)),
        top_shares=shares_of,
        effective_rank=rank,
        sample_rows=len(sample),
    ), RowMeasures(norms, by_row[:, -2], by_row[:, :PROJECTIONS], measured)


def _sample(table: Tensor, measured: Mask) -> Tensor:
    """Rows at even distances over the measured part of a table, those that are finite."""
    end = int(np.flatnonzero(measured)[-1]) + 1 if measured.any() else 0
    count = min(end, SAMPLE_ROWS)
    ids = sorted({end * number // count for number in range(count)})
    ids = [row for row in ids if measured[row]]
    rows = table[ids].double()
    return rows[torch.linalg.vector_norm(rows, dim=1).isfinite()]


def _quantiles(norms: Floats) -> dict[str, float]:
    shares = [percent / 100 for percent in PERCENTS]
    values = np.quantile(norms, shares) if len(norms) else [math.nan] * len(shares)
    return {f"{percent}": float(value) for percent, value in zip(PERCENTS, values, strict=True)}


def _spectrum(sample: Tensor) -> tuple[dict[str, float], float]:
    """The variance's share in the first components, and the effective rank."""
    if len(sample):
        sample = sample / sample.abs().max().clamp(min=torch.finfo(sample.dtype).tiny)
        # Rows that are much longer than the median would be components of their own.
        length = sample.norm(dim=1)
        sample = sample[length <= 3 * length.median()]
    centred = sample - sample.mean(dim=0)
    if len(sample) < 2 or not centred.any():
        return dict.fromkeys(map(str, COMPONENTS), 1.0), 1.0
    centred = centred / centred.abs().max()
    flat = centred.shape[0] <= centred.shape[1]
    values = torch.linalg.eigvalsh(centred @ centred.T if flat else centred.T @ centred)
    share = values.clamp(min=0).flip(0) / values.clamp(min=0).sum()
    entropy = -(share * share.clamp(min=1e-300).log()).sum()
    return {str(count): float(share[:count].sum()) for count in COMPONENTS}, float(entropy.exp())


def alike(by_row: RowMeasures, rows: Mask, mean_cosine: float, cosine: float) -> list[Rows]:
    """Groups of rows that are nearly one direction, by their cosine, the largest group first.

    Rows are brought together by the rounded values of a few projections, four times with the grid
    shifted, and compared by all projections with the first row of their cell. Two rows at the limit
    itself are found three times in four, copies always. Where all rows are close (``mean_cosine``),
    only those much closer than the others are alike. Below ``COPIES`` cells are larger, so that
    their key has more values: strangers in a cell would hide its rows from each other.
    """
    ids = np.flatnonzero(rows)
    if len(ids) < 2:
        return []
    points = by_row.projections[ids]
    keyed, share = (KEYED, 0.01) if cosine >= COPIES else (2 * KEYED, 0.1)
    limit = 2 * min(1 - cosine, share * max(1e-9, 1 - mean_cosine))
    width = 6 * math.sqrt(limit)
    near, first_ids = [], []
    for shift in (0.0, 0.25, 0.5, 0.75):
        cells = np.floor(points[:, :keyed] / width + shift).astype(np.int64)
        # One number for a cell. Where two cells share it, the distance parts them.
        key = (cells * _HASH[:keyed]).sum(axis=1)
        _, first, cell = np.unique(key, return_index=True, return_inverse=True)
        other = first[cell]
        distance = ((points - points[other]) ** 2).mean(axis=1)
        close = np.flatnonzero((distance <= limit) & (other != np.arange(len(ids))))
        near.append(close)
        first_ids.append(other[close])
    left, right = np.concatenate(near), np.concatenate(first_ids)
    if not len(left):
        return []
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(len(ids), len(ids)))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    groups = np.split(ids[order], np.cumsum(np.bincount(label))[:-1])
    return sorted((group for group in groups if len(group) > 1), key=len, reverse=True)
