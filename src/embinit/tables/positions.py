"""Positions: what is added to the embeddings, and what the table is multiplied by before.

The sinusoidal encoding is that of Vaswani et al. (2017, section 3.5), whose section 3.4 also has
the multiplier sqrt(D). *On Initializing Transformers with Pre-trained Embeddings* prints another
formula as its equation 2 (base 1000, exponent j/D); it has another mean and sigma, so both are
here. The paper's Finding 2 is about how wide the table is beside these.

A kind of positions gives PE, (L, D) float32, for positions 0 to L - 1. Angles are taken in
float64: float32 holds an angle near 5000 only to 0.0005.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.registry import Registry
from embinit.specs import LEARNED

Kind = Callable[[int, int, torch.Generator | None, Tensor | None], Tensor]
"""Makes PE from length L, width D, a generator and the table's rows (None: none was given)."""

APART = 16
"""How many of a table's directions the kind ``apart`` gives to the positions."""


def sinusoidal(length: int, dim: int) -> Tensor:
    """Vaswani's PE: sin and cos of p / 10000^(2 floor(j/2) / D) at even and odd columns j.

    An odd D ends with a sine that has no cosine.
    """
    column = torch.arange(dim)
    return _waves(length, 10_000.0, 2 * (column // 2).double() / dim)


def equation_2(length: int, dim: int) -> Tensor:
    """PE as the paper's equation 2 prints it: base 1000, exponent j / D, so no pair turns alike."""
    return _waves(length, 1_000.0, torch.arange(dim).double() / dim)


def none(length: int, dim: int) -> Tensor:
    """No positions: zeros."""
    return torch.zeros(length, dim)


LEARNED_SIGMA = 0.02
"""BERT's (Devlin et al. 2019) width of its positions before they are trained."""


def learned(length: int, dim: int, generator: torch.Generator) -> Tensor:
    """Where rows that are trained like a table start: a normal of sigma 0.02."""
    return torch.randn(length, dim, generator=generator) * LEARNED_SIGMA


def shuffled(pe: Tensor, generator: torch.Generator) -> Tensor:
    """The rows of ``pe`` (L, D) permuted: each place still has its own row, but order is gone."""
    return pe[torch.randperm(len(pe), generator=generator)]


def apart(length: int, rows: Tensor, directions: int = APART) -> Tensor:
    """PE in the ``directions`` of least variance of a table's ``rows`` (N, D), out of words' way.

    Vaswani's PE of that width, turned into the table's last principal directions. Where the table
    hardly varies there, sums keep both the position and what tells the words apart. InputError for
    a table that is no wider than that.
    """
    dim = rows.shape[1]
    if dim <= directions:
        raise InputError(f"positions apart take {directions} directions; the table has only {dim}")
    centred = rows.double() - rows.double().mean(dim=0)
    # In ascending order of variance.
    _, vectors = torch.linalg.eigh(centred.T @ centred)
    waves: Tensor = sinusoidal(length, directions).double() @ vectors[:, :directions].T
    return waves.float()


def faint(length: int, dim: int, directions: int = APART) -> Tensor:
    """Vaswani's PE made as faint as ``apart`` is: its rows are as long, in all directions alike.

    What ``apart`` does to words and this does not, its directions do; the rest is strength.
    """
    return sinusoidal(length, dim) * math.sqrt(directions / dim)


def table(
    kind: str,
    length: int,
    dim: int,
    generator: torch.Generator | None = None,
    rows: Tensor | None = None,
) -> Tensor:
    """PE (``length``, ``dim``) of the named kind; ``rows`` (N, D) are the table's, less special.

    InputError for an unknown kind, sizes below 1, or a kind that lacks its generator or rows.
    """
    make = KINDS[kind]
    if length < 1 or dim < 1:
        raise InputError(
            f"positions {kind!r} of length {length} and width {dim}; both must be at least 1"
        )
    return make(length, dim, generator, rows)


def multiplier(kind: str, dim: int) -> float:
    """What a table of width ``dim`` is multiplied by; InputError for an unknown kind."""
    return MULTIPLIERS[kind](dim)


def _waves(length: int, base: float, exponent: Tensor) -> Tensor:
    """Sine at even and cosine at odd columns of p / base^exponent; (L, D) for exponents (D,)."""
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    angle = position / base**exponent
    odd = torch.arange(len(exponent)) % 2 == 1
    return torch.where(odd, angle.cos(), angle.sin()).float()


def _shuffled_sinusoidal(
    length: int, dim: int, generator: torch.Generator | None, _: Tensor | None
) -> Tensor:
    if generator is None:
        raise InputError("positions 'shuffled' are drawn: give them a generator")
    return shuffled(sinusoidal(length, dim), generator)


def _learned(length: int, dim: int, generator: torch.Generator | None, _: Tensor | None) -> Tensor:
    if generator is None:
        raise InputError("positions 'learned' start from random rows: give them a generator")
    return learned(length, dim, generator)


def _apart(length: int, _: int, __: torch.Generator | None, rows: Tensor | None) -> Tensor:
    if rows is None:
        raise InputError("positions 'apart' keep out of a table's way: give them its rows")
    return apart(length, rows)


KINDS: Registry[Kind] = Registry("kind of positions", "embinit.positions")
KINDS.register("sinusoidal", lambda length, dim, *_: sinusoidal(length, dim))
KINDS.register("equation-2", lambda length, dim, *_: equation_2(length, dim))
KINDS.register("none", lambda length, dim, *_: none(length, dim))
KINDS.register("shuffled", _shuffled_sinusoidal)
KINDS.register(LEARNED, _learned)
KINDS.register("apart", _apart)
KINDS.register("faint", lambda length, dim, *_: faint(length, dim))

MULTIPLIERS: Registry[Callable[[int], float]] = Registry("multiplier", "embinit.multipliers")
MULTIPLIERS.register("sqrt(D)", lambda dim: math.sqrt(dim))
MULTIPLIERS.register("one", lambda dim: 1.0)
