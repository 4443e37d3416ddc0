"""The measures of a table, taken in one pass over its rows.

A pass keeps a handful of numbers a row (its norm, its share along the common direction, and its
projections on a few random directions, by which rows that are alike are found) and one block of
rows. The spectrum is that of a sample of rows, since the whole one takes N times D squared steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from embinit.randomness import stream

QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
"""The quantiles of the rows' norms that are kept."""

SAMPLE_ROWS = 2048
"""The most rows in the sample whose spectrum is computed."""

PROJECTIONS = 32
KEYED = 8
"""The number of projections in the key that groups rows that are alike."""

ALIKE = 2e-3
"""The largest squared distance of two unit rows that are alike: a cosine of 0.999."""

MOST_SQUARED = 1e15
"""The largest value of a block whose squares are summed in float32."""

FLOAT_MAX = torch.finfo(torch.float32).max

_HASH = np.random.default_rng(0).integers(1, 2**62, KEYED) * 2 + 1

Floats = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RowMeasures:
    """Measures of each of N rows.

    Attributes:
        norms: Euclidean norms; NaN where a row is not finite.
        along: Each row's share along the table's common direction, as a length.
        projections: (N, 32): the unit rows on random directions of unit variance.
    """

    norms: Floats
    along: Floats
    projections: Floats


@dataclass(frozen=True)
class TableMeasures:
    """The measures of a table without its padding and its rows that are not finite.

    Attributes:
        rows: N, all rows counted.
        dim: D, the width.
        dtype: The type of the stored values.
        measured: The rows that were measured.
        mean: The mean over all values.
        sigma: The sigma (divided by n) over all values.
        largest: The largest magnitude of a value.
        norm_quantiles: Quantiles of the rows' norms, at ``QUANTILES``.
        mean_norm: The norm of the mean row.
        mean_cosine: The mean cosine of two different rows.
        energy: The mean squared distance of a row to the mean row.
        top_shares: The share of the sample's variance in its first 1, 3 and 10 components.
        effective_rank: The exponential of the entropy of the sample's variances.
        sample: The rows of the sample.
    """

    rows: int
    dim: int
    dtype: str
    measured: int
    mean: float
    sigma: float
    largest: float
    norm_quantiles: tuple[float, ...]
    mean_norm: float
    mean_cosine: float
    energy: float
    top_shares: tuple[float, float, float]
    effective_rank: float
    sample: int

    @property
    def of_sample(self) -> str:
        """A note behind a figure of the sample; empty where the sample has all rows."""
        return f" (about: of {self.sample:,} sampled rows)" if self.sample < self.measured else ""

    @property
    def median_norm(self) -> float:
        """The median of the rows' norms."""
        return self.norm_quantiles[QUANTILES.index(0.5)]


def measure(
    blocks: Iterable[tuple[int, Tensor]],
    dim: int,
    dtype: str,
    skip: frozenset[int],
    stop: int | None,
    sample: Tensor | None,
    rows: int = 0,
) -> tuple[TableMeasures, RowMeasures]:
    """Measures a table.

    Args:
        blocks: The rows in blocks (n, D), each with the number of its first row.
        dim: D.
        dtype: The type of the stored values.
        skip: Rows that are left out, such as the padding row.
        stop: The rows from this one on are left out; None for none.
        sample: Rows that stand for all, (n, D); None to take them from the pass.
        rows: N, where it is known.
    """
    seen = _Pass(dim, skip, stop, sample, rows)
    for start, block in blocks:
        seen.add(start, block.float())
    return seen.measures(dtype), seen.each


class _Pass:
    """A pass over a table's rows; the arguments are those of ``measure``."""

    def __init__(
        self, dim: int, skip: frozenset[int], stop: int | None, sample: Tensor | None, rows: int
    ) -> None:
        self._dim, self._skip, self._stop = dim, skip, stop
        self._sample = None if sample is None else _finite(sample.float())
        self._thinned = _Thinned()
        directions = torch.randn(dim, PROJECTIONS, generator=stream(0, "inspection/directions"))
        self._directions = directions
        self._common = None if self._sample is None else _unit(self._sample.double().mean(dim=0))
        self._sums = torch.zeros(2, dim, dtype=torch.float64)
        self._squares, self._largest = 0.0, 0.0
        self._measured, self._units = 0, 0
        self._values = _Grown(rows, PROJECTIONS + 2)

    @property
    def each(self) -> RowMeasures:
        """The measures of each row."""
        values = self._values.rows
        return RowMeasures(values[:, -1], values[:, -2], values[:, :PROJECTIONS])

    def add(self, start: int, block: Tensor) -> None:
        """Adds a block of rows, (n, D) float32."""
        broken = ~block.isfinite().all(dim=1)
        if bool(broken.any()):
            block = torch.where(broken[:, None], 0.0, block)
        if self._common is None:
            self._common = _unit(block[~broken].double().mean(dim=0))
        low, high = torch.aminmax(block)
        largest = max(abs(low.item()), abs(high.item()))
        self._largest = max(self._largest, largest)
        # Squares and sums of the largest float32 have no number in float32.
        wide = block.double() if largest > MOST_SQUARED else block
        length = torch.linalg.vector_norm(wide, dim=1)
        length[broken] = torch.nan
        weight = length.isfinite().to(wide.dtype)
        for row in self._skip:
            if start <= row < start + len(block):
                weight[row - start] = 0.0
        if self._stop is not None and start + len(block) > self._stop:
            weight[max(0, self._stop - start) :] = 0.0
        inverse = torch.where(length > 0, 1 / length, 0.0).nan_to_num(0.0, 0.0, 0.0)
        self._sums += (torch.stack([weight, weight * inverse]) @ wide).double()
        self._squares += float((length.nan_to_num().double() ** 2 * weight).sum())
        self._measured += int(weight.sum())
        self._units += int((weight * (inverse > 0)).sum())
        if self._sample is None:
            self._thinned.add(start, block, weight > 0)
        onto = torch.cat([self._directions, self._common[:, None]], dim=1)
        shares = wide @ onto.to(wide.dtype)
        shares[:, :PROJECTIONS] *= inverse[:, None]
        kept = torch.cat([shares, length[:, None]], dim=1).clamp(-FLOAT_MAX, FLOAT_MAX)
        self._values.add(kept.float().numpy())

    def measures(self, dtype: str) -> TableMeasures:
        """The table's measures."""
        each = self.each
        sample = self._thinned.rows(self._dim) if self._sample is None else self._sample
        mean_row = self._sums[0] / max(1, self._measured)
        second = self._squares / max(1, self._measured)
        mean = float(mean_row.mean())
        kept = _kept(len(each.norms), self._skip, self._stop) & np.isfinite(each.norms)
        shares, rank = _spectrum(sample)
        return TableMeasures(
            rows=len(each.norms),
            dim=self._dim,
            dtype=dtype,
            measured=self._measured,
            mean=mean,
            sigma=math.sqrt(max(0.0, second / self._dim - mean**2)),
            largest=self._largest,
            norm_quantiles=_quantiles(each.norms[kept]),
            mean_norm=float(mean_row.norm()),
            mean_cosine=_mean_cosine(self._sums[1], self._units),
            energy=max(0.0, second - float(mean_row @ mean_row)),
            top_shares=shares,
            effective_rank=rank,
            sample=len(sample),
        )


def padding(pad: int | None, rows: int) -> frozenset[int]:
    """The padding row, where there is one inside of the table."""
    return frozenset() if pad is None or not 0 <= pad < rows else frozenset({pad})


def ordinary(each: RowMeasures, skip: frozenset[int], stop: int | None) -> Mask:
    """A mask of the rows that are finite, not zero, and not left out."""
    kept: Mask = _kept(len(each.norms), skip, stop) & (np.nan_to_num(each.norms) > 0)
    return kept


def alike(each: RowMeasures, rows: Mask, mean_cosine: float) -> list[npt.NDArray[np.int64]]:
    """Groups of rows that are nearly one direction, the largest group first.

    Rows are brought together by the rounded values of a few projections, four times with the grid
    shifted, and compared by all projections with the first row of their cell. Two rows at the
    limit itself are found three times in four, copies always.

    Args:
        each: The rows' measures.
        rows: True in the rows to compare.
        mean_cosine: The mean cosine of two rows. Where all rows are close, only those much closer
            than the others are alike.
    """
    ids = np.flatnonzero(rows)
    if len(ids) < 2:
        return []
    points = each.projections[ids]
    limit = min(ALIKE, 0.01 * 2 * max(1e-9, 1 - mean_cosine))
    width = 6 * math.sqrt(limit)
    near, first_ids = [], []
    for shift in (0.0, 0.25, 0.5, 0.75):
        cells = np.floor(points[:, :KEYED] / width + shift).astype(np.int64)
        # One number for a cell. Where two cells share it, the distance tells them apart.
        key = (cells * _HASH).sum(axis=1)
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


def _kept(rows: int, skip: frozenset[int], stop: int | None) -> Mask:
    kept = np.ones(rows, dtype=np.bool_)
    kept[[row for row in skip if row < rows]] = False
    if stop is not None:
        kept[stop:] = False
    return kept


def _quantiles(norms: Floats) -> tuple[float, ...]:
    if not len(norms):
        return (math.nan,) * len(QUANTILES)
    return tuple(float(value) for value in np.quantile(norms, QUANTILES))


def _mean_cosine(units: Tensor, rows: int) -> float:
    """The mean cosine of different rows, from the sum of the unit rows."""
    if rows < 2:
        return 0.0
    return (float(units @ units) - rows) / (rows * (rows - 1))


def _spectrum(sample: Tensor) -> tuple[tuple[float, float, float], float]:
    """The variance's share in the first 1, 3 and 10 components, and the effective rank.

    Rows that are much longer than the median would be components of their own and are left out.
    """
    if len(sample):
        largest = sample.abs().max()
        sample = sample / torch.where(largest > 0, largest, 1.0)
        length = sample.norm(dim=1)
        sample = sample[length <= 3 * length.median()]
    if len(sample) < 2:
        return (1.0, 1.0, 1.0), 1.0
    centred = sample - sample.mean(dim=0)
    scale = centred.abs().max()
    if not bool(scale > 0):
        return (1.0, 1.0, 1.0), 1.0
    centred = centred / scale
    wide = centred.shape[0] <= centred.shape[1]
    values = torch.linalg.eigvalsh(centred @ centred.T if wide else centred.T @ centred)
    values = values.double().clamp(min=0).flip(0)
    share = values / values.sum()
    entropy = -(share * share.clamp(min=1e-300).log()).sum()
    first, third, tenth = (float(share[:count].sum()) for count in (1, 3, 10))
    return (first, third, tenth), float(entropy.exp())


def _finite(rows: Tensor) -> Tensor:
    return rows[rows.isfinite().all(dim=1)]


def _unit(row: Tensor) -> Tensor:
    length = row.norm()
    return (row / length).float() if bool(length > 0) else torch.zeros(len(row))


class _Grown:
    """A growing matrix of rows, added in blocks.

    One array that doubles, and not a list of blocks, since small arrays that stay between large
    ones that go leave holes that no further block fits into.
    """

    def __init__(self, rows: int, width: int) -> None:
        self._held = np.empty((max(1, rows), width), dtype=np.float32)
        self._count = 0

    def add(self, block: Floats) -> None:
        """Adds a block of rows."""
        end = self._count + len(block)
        if end > len(self._held):
            grown = np.empty((max(end, 2 * len(self._held)), block.shape[1]), dtype=np.float32)
            grown[: self._count] = self._held[: self._count]
            self._held = grown
        self._held[self._count : end] = block
        self._count = end

    @property
    def rows(self) -> Floats:
        """All rows so far."""
        return self._held[: self._count]


class _Thinned:
    """Every k-th row of a stream of unknown length; k doubles as the stream goes on."""

    def __init__(self) -> None:
        self._step = 1
        self._held: list[tuple[int, Tensor]] = []

    def add(self, start: int, block: Tensor, wanted: Tensor) -> None:
        """Adds a block's rows that are due."""
        for row in range(-start % self._step, len(block), self._step):
            if wanted[row]:
                self._held.append((start + row, block[row].clone()))
        while len(self._held) > 2 * SAMPLE_ROWS:
            self._step *= 2
            self._held = [(row, value) for row, value in self._held if row % self._step == 0]

    def rows(self, dim: int) -> Tensor:
        """The rows that are held, at most ``SAMPLE_ROWS``."""
        values = [value for _, value in self._held]
        values = values[:: 1 + (len(values) - 1) // SAMPLE_ROWS] if values else values
        return torch.stack(values) if values else torch.zeros(0, dim)


def sample_ids(rows: int) -> list[int]:
    """Rows at even distances over a table, at most ``SAMPLE_ROWS``."""
    count = min(rows, SAMPLE_ROWS)
    return sorted({rows * number // count for number in range(count)}) if count else []


def word_blocks(
    rows: Iterator[tuple[bytes, Tensor | None]], words: list[str]
) -> Iterator[tuple[int, Tensor]]:
    """Vectors of a file in blocks; their words are added to ``words`` on the way."""
    held: list[Tensor] = []
    start = 0
    for word, values in rows:
        if values is None:
            continue
        words.append(word.decode())
        held.append(values)
        if len(held) == 4096:
            yield start, torch.stack(held)
            start, held = start + len(held), []
    if held:
        yield start, torch.stack(held)
