"""Inits: recipes that make an embedding table, with and without pre-trained vectors.

After the paper's sections 3.1 and 3.4: Xavier (Glorot and Bengio 2010), the vectors as they are,
standardised to Xavier's sigma (equation 1), shuffled, and Xavier given the vectors' mean and sigma
(equation 4).

A table is (N, D) float32 and ``special`` is (N,) bool: rows (the pad row) that stay zero and are
left out of all statistics. What an init draws depends on its generator and on the table's shape
alone. The sigma of a table is the sample sigma (n - 1) over all values of its ordinary rows, taken
in float64. Names, labels and needs are in ``tables.recipes``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Shaped
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.tables.recipes import INITS as INITS
from embinit.lab.tables.recipes import Init as Init
from embinit.lab.tables.recipes import Shape

Table = Float[Tensor, "N D"]
Mask = Bool[Tensor, "N"]


class Moments(NamedTuple):
    """Mean and sample sigma (n - 1) over all values."""

    mean: float
    sigma: float


def ordinary_rows(
    table: Shaped[Tensor, "N *width"], special: Tensor | None
) -> Shaped[Tensor, "ordinary *width"]:
    """A table's rows, or values (N,), without special ones; InputError if the mask misfits."""
    if special is None:
        return table
    if special.dtype != torch.bool or special.shape != table.shape[:1]:
        raise InputError(
            f"the mask of special rows is {special.dtype} of shape {tuple(special.shape)}; "
            f"give one bool for each of the table's {len(table)} rows"
        )
    return table[~special.to(table.device)]


def moments(table: Table, special: Tensor | None = None) -> Moments:
    """Mean and sigma of a table's ordinary rows; InputError if they have fewer than two values."""
    values = ordinary_rows(table, special).double()
    if values.numel() < 2:
        raise InputError(
            f"a table of shape {tuple(table.shape)} has {values.numel()} values outside its "
            "special rows; a sigma takes at least two"
        )
    return Moments(values.mean().item(), values.std().item())


def xavier_bound(n: int, d: int) -> float:
    """Half the range of Xavier's uniform distribution for n rows, special ones included, d wide."""
    return math.sqrt(6 / (n + d))


def xavier_sigma(n: int, d: int) -> float:
    """Sigma of Xavier's uniform distribution, which is its bound over sqrt(3)."""
    return xavier_bound(n, d) / math.sqrt(3)


def standardise(table: Table, special: Mask, mean: float, sigma: float) -> Table:
    """Shifts and scales a table to a mean and a sigma (equations 1 and 4).

    InputError if the table is constant or not finite, or ``sigma`` is not positive.
    """
    if not (math.isfinite(mean) and math.isfinite(sigma) and sigma > 0):
        raise InputError(
            f"can't standardise to mean {mean} and sigma {sigma}; sigma must be above zero and "
            "both must be finite"
        )
    values = ordinary_rows(table, special)
    own = moments(table, special)
    # Rounding can leave a constant table a sigma just above zero, so look at the values.
    if not math.isfinite(own.sigma) or bool(values.min() == values.max()):
        raise InputError(
            f"can't standardise a table of shape {tuple(table.shape)} that is constant or not "
            "finite: its sigma says nothing; check the vectors"
        )
    shifted = (values.double() - own.mean) * (sigma / own.sigma) + mean
    return with_special_rows(shifted.float(), special)


def xavier(shape: Shape, special: Mask, generator: torch.Generator) -> Table:
    """Draws from the uniform distribution within Xavier's bound (section 3.1)."""
    table = torch.rand(shape, generator=generator).mul_(2).sub_(1).mul_(xavier_bound(*shape))
    return pretrained(table, special, generator)


NORMAL_SIGMA = 0.02
"""The sigma of BERT's (Devlin et al. 2019) and RemBERT's tables before pre-training."""


def normal(shape: Shape, special: Mask, generator: torch.Generator) -> Table:
    """Draws from a normal of mean zero and sigma 0.02, whatever the table's shape."""
    table = torch.randn(shape, generator=generator).mul_(NORMAL_SIGMA)
    return pretrained(table, special, generator)


def pretrained(vectors: Table, special: Mask, generator: torch.Generator) -> Table:
    """Takes the pre-trained vectors unchanged. Nothing is drawn."""
    return with_special_rows(ordinary_rows(vectors, special).float(), special)


def pretrained_xavier(vectors: Table, special: Mask, generator: torch.Generator) -> Table:
    """Standardises the vectors to mean zero and Xavier's sigma (equation 1). Nothing is drawn.

    Sigma is that of Xavier's distribution, not of one drawn table, so that the arm differs from
    ``pretrained`` by a fixed factor.
    """
    return standardise(vectors, special, 0.0, xavier_sigma(*vectors.shape))


def pretrained_shuffled(vectors: Table, special: Mask, generator: torch.Generator) -> Table:
    """Shuffles the rows, which takes the words' meaning away, then the columns, alike for all."""
    # All rows are permuted and the special ones left out, so that the draws depend on the shape
    # alone.
    order = torch.randperm(len(vectors), generator=generator)
    columns = torch.randperm(vectors.shape[1], generator=generator)
    return with_special_rows(vectors[order[~special[order]]].float()[:, columns], special)


def xavier_pretrained(vectors: Table, special: Mask, generator: torch.Generator) -> Table:
    """Draws a Xavier table and gives it the vectors' mean and sigma (equation 4)."""
    rows, columns = vectors.shape
    return standardise(
        xavier((rows, columns), special, generator), special, *moments(vectors, special)
    )


def complete(vectors: Table, found: Mask, special: Mask, generator: torch.Generator) -> Table:
    """Draws ordinary rows that were not ``found`` from a normal with the found values' moments.

    InputError if no ordinary word has a vector.
    """
    known = found & ~special
    if not bool(known.any()):
        raise InputError(
            f"none of the vocabulary's {int((~special).sum())} words has a vector; "
            "check that the source fits the text's language, case and tokenizer"
        )
    mean, sigma = moments(vectors, ~known)
    drawn = torch.randn(vectors.shape, generator=generator).mul_(sigma).add_(mean)
    drawn[known] = vectors[known].float()
    return pretrained(drawn, special, generator)


def with_special_rows(values: Float[Tensor, "ordinary D"], special: Mask) -> Table:
    """A new table of the ordinary rows' ``values``, zero in the special rows."""
    table = torch.zeros(len(special), values.shape[1])
    table[~special] = values
    return table


def make_table(
    init: Init, shape: Shape, special: Tensor, generator: torch.Generator, vectors: Tensor | None
) -> Tensor:
    """Makes an init's table (``Init.__call__``); InputError if input or result does not fit."""
    if special.dtype != torch.bool or tuple(special.shape) != (shape[0],):
        raise InputError(
            f"init {init.name!r} got a {special.dtype} mask of special rows of shape "
            f"{tuple(special.shape)}; give one bool for each of {shape[0]} rows"
        )
    start: Shape | Tensor = shape
    if init.needs_source:
        if vectors is None or tuple(vectors.shape) != tuple(shape):
            had = "none" if vectors is None else f"vectors of shape {tuple(vectors.shape)}"
            raise InputError(
                f"init {init.name!r} needs vectors of shape {tuple(shape)} and got {had}; "
                "give it a source of that width, completed for the whole vocabulary"
            )
        start = vectors
    table = init.make(start, special, generator)
    if tuple(table.shape) != tuple(shape) or table.dtype != torch.float32:
        raise InputError(
            f"init {init.name!r} made {table.dtype} of shape {tuple(table.shape)} instead of "
            f"float32 of shape {tuple(shape)}; mend the init"
        )
    if odd := int((~table.isfinite()).sum()):
        raise InputError(
            f"init {init.name!r} made {odd} of {table.numel()} values NaN or infinite; mend it"
        )
    return table
