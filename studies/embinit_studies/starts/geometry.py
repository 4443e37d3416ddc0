"""Inits that change the geometry of a table's rows.

Each of the first functions takes rows (n, D) and weights (n,), how often each row's word occurs,
and returns new rows of the same shape in float64. Their scale says nothing: who makes
a table sets it.

- ``centred`` takes the mean direction away, as text meets it.
- ``equal_rows`` then gives every row the same length, after FixNorm (Nguyen and Chiang 2018, arXiv
  1710.01329; Nguyen and Salazar 2019, arXiv 1910.05895). So each word is as strong as every other
  beside its position.
- ``all_but_the_top`` takes the mean and the first directions away (Mu and Viswanath 2018, arXiv
  1702.01417).
- ``whitened`` makes all directions equally strong, as text meets them (Yokoi et al. 2024, Zipfian
  whitening, arXiv 2411.00680).
- ``spared`` leaves the last directions empty, so that positions can have them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.tables.inits import (
    Init,
    ordinary_rows,
    scale,
    standardise,
    with_special_rows,
    xavier,
    xavier_sigma,
)

PER_TOP_DIRECTION = 100
"""The number of columns for each direction that all-but-the-top drops, at least one."""

SPARED = 4
"""The divisor of D that gives the number of directions left to the positions."""

NEGLIGIBLE = 1e-10
"""The ratio to the largest variance below which a variance is rounding error."""


def mean_row(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "D"]:
    """The mean row, weighted by word frequency.

    Args:
        rows: The rows.
        weights: How often each row's word occurs.

    Raises:
        InputError: The weights do not fit, are negative or not finite, or are all zero.
    """
    whole = weights.double()
    fits = whole.shape == rows.shape[:1] and bool((whole.isfinite() & (whole >= 0)).all())
    if not (fits and bool(whole.sum() > 0)):
        raise InputError(
            f"weights of shape {tuple(weights.shape)} for {len(rows)} rows; give each row a finite "
            "weight of at least 0, and one of them more"
        )
    mean: Tensor = (whole / whole.sum()) @ rows.double()
    return mean


def centred(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "n D"]:
    """Subtracts the frequency-weighted mean row."""
    return rows.double() - mean_row(rows, weights)


def equal_rows(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "n D"]:
    """Centres the rows and gives each the length √D. A row that is the mean stays zero."""
    around = centred(rows, weights)
    lengths = around.norm(dim=1, keepdim=True)
    some = lengths > 1e-12 * lengths.max()
    return torch.where(some, around * rows.shape[1] ** 0.5 / lengths, torch.zeros_like(around))


def all_but_the_top(
    rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]
) -> Float[Tensor, "n D"]:
    """Subtracts the mean of all words and the first D / 100 principal directions, one at least.

    As published, each word counts once: the weights are left aside.
    """
    around = centred(rows, torch.ones_like(weights, dtype=torch.float64))
    top = max(1, round(rows.shape[1] / PER_TOP_DIRECTION))
    directions = _directions(around, torch.ones(len(rows)))[1][:, -top:]
    return around - around @ directions @ directions.T


def whitened(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "n D"]:
    """Gives every direction the variance 1, where each word counts as often as it occurs.

    The rows are turned back, so that of all whitened tables this is the one nearest to the rows.
    Directions in which they do not vary stay empty.
    """
    around = centred(rows, weights)
    variances, directions = _directions(around, weights)
    some = variances > NEGLIGIBLE * variances.max()
    factors = torch.where(some, variances.clamp_min(1e-300).rsqrt(), torch.zeros_like(variances))
    return around @ (directions * factors) @ directions.T


def spared(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "n D"]:
    """Subtracts the mean of all words and the last quarter of the principal directions.

    The kind of positions ``apart`` then has directions to itself. Each word counts once, as there.
    """
    alike = torch.ones(len(rows), dtype=torch.float64)
    around = centred(rows, alike)
    directions = _directions(around, alike)[1][:, : rows.shape[1] // SPARED]
    return around - around @ directions @ directions.T


def _directions(around: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Variances in ascending order and principal directions, as columns."""
    share = (weights.double() / weights.double().sum()).unsqueeze(1)
    variances, directions = torch.linalg.eigh(around.T @ (share * around))
    return variances, directions


def xavier_norms(
    vectors: Float[Tensor, "N D"], special: Bool[Tensor, "N"], generator: torch.Generator
) -> Float[Tensor, "N D"]:
    """Draws a Xavier table and gives each row the norm of its word's standardised vector.

    Frequent words of pre-trained tables have norms of their own. What this start does and Xavier
    does not, the norms do.
    """
    sigma = xavier_sigma(*vectors.shape)
    norms = standardise(vectors, special, 0.0, sigma).norm(dim=1, keepdim=True)
    drawn = xavier((vectors.shape[0], vectors.shape[1]), special, generator)
    return scale(torch.nn.functional.normalize(drawn, dim=1) * norms, special, sigma)


def _of_geometry(
    change: Callable[[Tensor, Tensor], Tensor],
    vectors: Float[Tensor, "N D"],
    special: Bool[Tensor, "N"],
    generator: torch.Generator,
    counts: Float[Tensor, "N"],
) -> Float[Tensor, "N D"]:
    """Changes the vectors' geometry, at Xavier's sigma. Nothing is drawn."""
    rows = change(ordinary_rows(vectors, special), ordinary_rows(counts, special))
    table = with_special_rows(rows.float(), special)
    return scale(table, special, xavier_sigma(*vectors.shape))


pretrained_centred = partial(_of_geometry, centred)
pretrained_equal_rows = partial(_of_geometry, equal_rows)
pretrained_all_but_the_top = partial(_of_geometry, all_but_the_top)
pretrained_whitened = partial(_of_geometry, whitened)
pretrained_spared = partial(_of_geometry, spared)

_GEOMETRY = {"needs_counts": True, "centred": True}
XAVIER_NORMS = Init("xavier_norms", "Xavier_{source}_Norms", True, xavier_norms, centred=True)
CENTRED = Init("pretrained_centred", "{source}_Centred", True, pretrained_centred, **_GEOMETRY)
EQUAL_ROWS = Init(
    "pretrained_equal_rows", "{source}_Equal_Rows", True, pretrained_equal_rows, **_GEOMETRY
)
ALL_BUT_THE_TOP = Init(
    "pretrained_all_but_the_top",
    "{source}_All_But_The_Top",
    True,
    pretrained_all_but_the_top,
    **_GEOMETRY,
)
WHITENED = Init("pretrained_whitened", "{source}_Whitened", True, pretrained_whitened, **_GEOMETRY)
SPARED_DIRECTIONS = Init(
    "pretrained_spared", "{source}_Spared", True, pretrained_spared, **_GEOMETRY
)
