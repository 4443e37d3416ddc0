"""Positional encodings that are added to embeddings, and the embeddings' multiplier.

The sinusoidal encoding is that of Vaswani et al. (2017, section 3.5), as is the multiplier sqrt(D).
Kim et al. print another formula as their equation 2 (base 1000, exponent j/D), of another mean and
sigma, so both are here.

A kind of positions makes PE, (L, D) float32, for positions 0 to L - 1. Angles are taken in float64:
float32 holds an angle near 5000 only to 0.0005.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.specs import LEARNED
from embinit.registry import Named, Registry

PositionKind = Callable[..., Tensor]
"""Makes PE (L, D) from length L, width D, a generator and the table's ordinary rows (N, D)."""

OF_PROBES = "sigma_p/sigma_x"
"""The position scale of evaluations that scales positions as the table was scaled."""

ORTHOGONAL_DIRECTIONS = 16
"""The number of directions that orthogonal positions take, whose kind is named ``apart``."""


def sinusoidal(length: int, dim: int, *_: object) -> Float[Tensor, "{length} {dim}"]:
    """Vaswani's PE: sin and cos of p / 10000^(2 floor(j/2) / D) at even and odd columns j."""
    column = torch.arange(dim)
    return _waves(length, 10_000.0, 2 * (column // 2).double() / dim)


def equation_2(length: int, dim: int, *_: object) -> Float[Tensor, "{length} {dim}"]:
    """PE as the paper's equation 2 prints it: base 1000, exponent j / D, a frequency a column."""
    return _waves(length, 1_000.0, torch.arange(dim).double() / dim)


def none(length: int, dim: int, *_: object) -> Float[Tensor, "{length} {dim}"]:
    """PE of zeros: the model has no positional information."""
    return torch.zeros(length, dim)


LEARNED_SIGMA = 0.02
"""The sigma of BERT's (Devlin et al. 2019) positions before they are trained."""


def learned(
    length: int, dim: int, generator: torch.Generator, *_: object
) -> Float[Tensor, "{length} {dim}"]:
    """Initial values of learned positions: a normal of sigma 0.02."""
    return torch.randn(length, dim, generator=generator) * LEARNED_SIGMA


def shuffled(
    length: int, dim: int, generator: torch.Generator, *_: object
) -> Float[Tensor, "{length} {dim}"]:
    """Vaswani's PE in another order: each position still has a row of its own."""
    return sinusoidal(length, dim)[torch.randperm(length, generator=generator)]


def orthogonal(
    length: int, dim: int, _: torch.Generator, rows: Float[Tensor, "N {dim}"] | None
) -> Float[Tensor, "{length} {dim}"]:
    """Vaswani's PE of few columns, rotated to where a table's ordinary rows vary least.

    InputError without rows, or with no more columns than these ``ORTHOGONAL_DIRECTIONS``.
    """
    if rows is None:
        raise InputError("positions 'apart' depend on the table: give them its rows")
    directions = ORTHOGONAL_DIRECTIONS
    if dim <= directions:
        raise InputError(
            f"orthogonal positions take {directions} directions; the table has only {dim}"
        )
    centred = rows.double() - rows.double().mean(dim=0)
    # In ascending order of variance.
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    waves: Tensor = sinusoidal(length, directions).double() @ vectors[:, :directions].T
    return waves.float()


def faint(length: int, dim: int, *_: object) -> Float[Tensor, "{length} {dim}"]:
    """The control for ``orthogonal``: Vaswani's PE at the same norm, in all directions."""
    return sinusoidal(length, dim) * math.sqrt(ORTHOGONAL_DIRECTIONS / dim)


def table(
    kind: str,
    length: int,
    dim: int,
    generator: torch.Generator | None = None,
    rows: Float[Tensor, "N {dim}"] | None = None,
) -> Float[Tensor, "{length} {dim}"]:
    """Makes the PE of a kind in ``KINDS``. ``rows`` are the table's, without special ones.

    Without a generator it is that of torch's default seed. InputError if the kind is unknown, a
    size is below 1, or the kind lacks its rows.
    """
    make = KINDS[kind]
    if length < 1 or dim < 1:
        raise InputError(
            f"positions {kind!r} of length {length} and width {dim}; both must be at least 1"
        )
    return make(length, dim, generator or torch.Generator(), rows)


def multiplier(kind: str, dim: int) -> float:
    """The factor that a name in ``MULTIPLIERS``, or a number above 0 as text, gives for width D."""
    try:
        number = float(kind)
    except ValueError:
        return MULTIPLIERS[kind](dim)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"can't multiply by {kind}: name a finite number above 0")
    return number


def _waves(length: int, base: float, exponent: Float[Tensor, "D"]) -> Float[Tensor, "{length} D"]:
    """Sine at even and cosine at odd columns of p / base^exponent."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    angle = position / base**exponent
    odd = torch.arange(len(exponent)) % 2 == 1
    return torch.where(odd, angle.cos(), angle.sin()).float()


KINDS: Registry[PositionKind] = Registry("kind of positions", "embinit.positions")
_SHIPPED: dict[str, PositionKind] = {
    "sinusoidal": sinusoidal,
    "equation-2": equation_2,
    "none": none,
    "shuffled": shuffled,
    LEARNED: learned,
    "apart": orthogonal,
    "faint": faint,
}
for _kind, _make in _SHIPPED.items():
    KINDS.register(_kind, _make)

MULTIPLIERS: Named[Callable[[int], float]] = Named(
    "multiplier", {"sqrt(D)": math.sqrt, "one": lambda dim: 1.0}
)
