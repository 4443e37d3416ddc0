"""Inits: recipes that make an embedding table, with and without pre-trained vectors.

After *On Initializing Transformers with Pre-trained Embeddings* (Kim et al. 2024, arXiv
2407.12514), sections 3.1 and 3.4: Xavier (Glorot and Bengio 2010), the vectors as they are, the
vectors standardised to Xavier's sigma (equation 1), the vectors shuffled, and Xavier given the
vectors' mean and sigma (equation 4). The separate shuffles of rows, columns and values are ours:
they tell apart which word a vector belongs to, which dimension a value belongs to, and the bare
distribution of the values.

Throughout, a table is (N, D) float32 and ``special`` is (N,) bool: rows (the pad row) that stay
zero and are left out of all statistics. What an init draws depends on its generator and on the
table's shape alone, never on the vectors or on which rows are special. The sigma of a table is the
sample sigma (n - 1) over all values of its ordinary rows; statistics are taken in float64, so that
a standardised table's are exact to float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.registry import Registry

Shape = tuple[int, int]


class Moments(NamedTuple):
    """Mean and sample sigma over all values."""

    mean: float
    sigma: float


def ordinary_rows(table: Tensor, special: Tensor | None) -> Tensor:
    """The rows of ``table`` (N, D) that are not special; InputError if the mask doesn't fit."""
    if special is None:
        return table
    if special.dtype != torch.bool or special.shape != table.shape[:1]:
        raise InputError(
            f"the mask of special rows is {special.dtype} of shape {tuple(special.shape)}; "
            f"give one bool for each of the table's {len(table)} rows"
        )
    return table[~special.to(table.device)]


def moments(table: Tensor, special: Tensor | None = None) -> Moments:
    """Mean and sigma of the ordinary rows; InputError where they hold fewer than two values."""
    values = ordinary_rows(table, special).double()
    if values.numel() < 2:
        raise InputError(
            f"a table of shape {tuple(table.shape)} has {values.numel()} values outside its "
            "special rows; a sigma takes at least two"
        )
    return Moments(values.mean().item(), values.std().item())


def xavier_bound(n: int, d: int) -> float:
    """Half the range of Xavier's uniform distribution for a table of n words, specials included."""
    return math.sqrt(6 / (n + d))


def xavier_sigma(n: int, d: int) -> float:
    """Sigma of Xavier's uniform distribution: a uniform's sigma is its bound over sqrt(3)."""
    return xavier_bound(n, d) / math.sqrt(3)


def standardise(table: Tensor, special: Tensor, mean: float, sigma: float) -> Tensor:
    """The table shifted and scaled to ``mean`` and ``sigma`` (what equations 1 and 4 share).

    InputError for a table that is constant or not finite, and for a sigma that is not positive.
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
    return _with_special_rows(shifted.float(), special)


def xavier(shape: Shape, special: Tensor, generator: torch.Generator) -> Tensor:
    """Uniform within Xavier's bound for the whole table (section 3.1)."""
    table = torch.rand(shape, generator=generator).mul_(2).sub_(1).mul_(xavier_bound(*shape))
    return pretrained(table, special, generator)


NORMAL_SIGMA = 0.02
"""BERT's (Devlin et al. 2019) and RemBERT's width of a table before pre-training."""


def normal(shape: Shape, special: Tensor, generator: torch.Generator) -> Tensor:
    """A normal of mean zero and sigma 0.02, whatever the table's shape."""
    table = torch.randn(shape, generator=generator).mul_(NORMAL_SIGMA)
    return pretrained(table, special, generator)


def pretrained(vectors: Tensor, special: Tensor, generator: torch.Generator) -> Tensor:
    """The vectors (N, D) as they are; draws nothing."""
    return _with_special_rows(ordinary_rows(vectors, special).float(), special)


def pretrained_xavier(vectors: Tensor, special: Tensor, generator: torch.Generator) -> Tensor:
    """Equation 1: the vectors with mean zero and Xavier's sigma; draws nothing.

    Sigma is that of Xavier's distribution, not of one drawn table, so that the arm differs from
    ``pretrained`` by a fixed factor and not by a seed's luck.
    """
    return standardise(vectors, special, 0.0, xavier_sigma(*vectors.shape))


def pretrained_shuffled(vectors: Tensor, special: Tensor, generator: torch.Generator) -> Tensor:
    """Rows shuffled, then columns.

    Cosines between rows do not change when all rows' columns are permuted alike; it is the rows'
    shuffling that takes the words' meaning away.
    """
    rows = pretrained_shuffled_rows(vectors, special, generator)
    return pretrained_shuffled_columns(rows, special, generator)


def pretrained_shuffled_rows(
    vectors: Tensor, special: Tensor, generator: torch.Generator
) -> Tensor:
    """Each word gets another word's vector: the geometry stays, the words' places in it go."""
    # A permutation of all rows, the special ones struck out, is one of the ordinary rows; so what
    # is drawn stays a matter of the shape.
    order = torch.randperm(len(vectors), generator=generator)
    order = order[~special[order]]
    return _with_special_rows(vectors[order].float(), special)


def pretrained_shuffled_columns(
    vectors: Tensor, special: Tensor, generator: torch.Generator
) -> Tensor:
    """The same permutation of columns for all words: geometry and words stay.

    A control: weights are drawn alike for all columns, so without positions a transformer can't
    tell this table from the vectors as they are.
    """
    order = torch.randperm(vectors.shape[1], generator=generator)
    return pretrained(vectors[:, order], special, generator)


def pretrained_shuffled_values(
    vectors: Tensor, special: Tensor, generator: torch.Generator
) -> Tensor:
    """All values shuffled over the whole table: nothing stays but their distribution."""
    order = torch.randperm(vectors.numel(), generator=generator)
    order = order[~special[order // vectors.shape[1]]]
    values = vectors.reshape(-1)[order].float()
    return _with_special_rows(values.reshape(-1, vectors.shape[1]), special)


def xavier_pretrained(vectors: Tensor, special: Tensor, generator: torch.Generator) -> Tensor:
    """Equation 4: a fresh Xavier table with the vectors' mean and sigma."""
    rows, columns = vectors.shape
    return standardise(
        xavier((rows, columns), special, generator), special, *moments(vectors, special)
    )


def complete(vectors: Tensor, found: Tensor, special: Tensor, generator: torch.Generator) -> Tensor:
    """The vectors (N, D), with a row drawn for each ordinary word that has none.

    ``found`` (N,) bool says which have one. Missing rows come from a normal with the mean and
    sigma of all values of the found rows, so that completing leaves a table's statistics alone.
    InputError if nothing is found.
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


def _with_special_rows(values: Tensor, special: Tensor) -> Tensor:
    """A new table (N, D) of the ordinary rows' ``values``, zero in the special rows."""
    table = torch.zeros(len(special), values.shape[1])
    table[~special] = values
    return table


@dataclass(frozen=True)
class Init:
    """A named recipe for a table.

    ``make`` is called with (vectors, special, generator) where the init needs a source, else with
    (shape, special, generator). ``label`` is the arm's name as the paper writes it, with
    ``{source}`` for the source's own label.
    """

    name: str
    label: str
    needs_source: bool
    make: Callable[..., Tensor]

    def __call__(
        self,
        shape: Shape,
        special: Tensor,
        generator: torch.Generator,
        vectors: Tensor | None = None,
    ) -> Tensor:
        """A table of ``shape`` (N, D), float32; ``vectors`` plays no part unless needed.

        InputError where vectors are needed and lack or have another shape, or where the mask of
        special rows or the made table doesn't fit the shape.
        """
        if special.dtype != torch.bool or tuple(special.shape) != (shape[0],):
            raise InputError(
                f"init {self.name!r} got a {special.dtype} mask of special rows of shape "
                f"{tuple(special.shape)}; give one bool for each of {shape[0]} rows"
            )
        start: Shape | Tensor = shape
        if self.needs_source:
            if vectors is None or tuple(vectors.shape) != tuple(shape):
                had = "none" if vectors is None else f"vectors of shape {tuple(vectors.shape)}"
                raise InputError(
                    f"init {self.name!r} needs vectors of shape {tuple(shape)} and got {had}; "
                    "give it a source of that width, completed for the whole vocabulary"
                )
            start = vectors
        table = self.make(start, special, generator)
        if tuple(table.shape) != tuple(shape) or table.dtype != torch.float32:
            raise InputError(
                f"init {self.name!r} made {table.dtype} of shape {tuple(table.shape)} instead of "
                f"float32 of shape {tuple(shape)}; mend the init"
            )
        return table


INITS: Registry[Init] = Registry("init", "embinit.inits")

for _init in (
    Init("xavier", "Xavier", False, xavier),
    Init("normal", "Normal", False, normal),
    Init("pretrained", "{source}", True, pretrained),
    Init("pretrained_xavier", "{source}_Xavier", True, pretrained_xavier),
    Init("pretrained_shuffled", "{source}_Shuffled", True, pretrained_shuffled),
    Init("pretrained_shuffled_rows", "{source}_Shuffled_Rows", True, pretrained_shuffled_rows),
    Init(
        "pretrained_shuffled_columns",
        "{source}_Shuffled_Columns",
        True,
        pretrained_shuffled_columns,
    ),
    Init(
        "pretrained_shuffled_values", "{source}_Shuffled_Values", True, pretrained_shuffled_values
    ),
    Init("xavier_pretrained", "Xavier_{source}", True, xavier_pretrained),
):
    INITS.register(_init.name, _init)
