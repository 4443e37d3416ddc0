"""Geometry: what can be done to the rows of a table before its scale is set.

Each function here takes rows (n, D) and weights (n,), how often each row's word occurs, and returns
new rows of the same shape in float64. Their scale says nothing: who makes a table sets it.

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

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError

PER_TOP_DIRECTION = 100
"""All-but-the-top drops one direction for so many columns, and one at least."""

SPARED = 4
"""One in so many directions is spared for the positions."""

NEGLIGIBLE = 1e-10
"""A variance so many times as small as the largest one is rounding."""


def mean_row(rows: Float[Tensor, "n D"], weights: Float[Tensor, "n"]) -> Float[Tensor, "D"]:
    """The mean row, as often as each word occurs.

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
    """Subtracts the mean row, which all words share as often as they occur."""
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
