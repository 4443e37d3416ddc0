"""Methods that make rows for new tokens, in one registry.

A method gets a ``MethodInput`` for one table (the input table, or an output table of its own) and
returns a row for each new token. Most methods say how the row is combined of old ones: then a bias
is combined alike, and the report names what a row was made of. Where a method knows nothing of a
token, the row is drawn by column from normals (what WECHSEL, FOCUS and OFA do) and reported so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.tables.inits import standardise, xavier_sigma
from embinit.registry import Registry
from embtables.extension import mathematics
from embtables.extension.mathematics import rows

Need = Literal["pieces", "vectors", "donor", "head"]

NEIGHBOURS = 10
TEMPERATURE = 0.1
"""The number of nearest old tokens, and the softmax's temperature, of WECHSEL and OFA."""

OFA_RANK = 400
"""The width of OFA's coordinates, at most D."""

ATOMS = 64
"""The largest number of shared rows in orthogonal matching pursuit."""


@dataclass(frozen=True)
class AlignedVectors:
    """Vectors of old and new tokens in one space, such as fastText's.

    Attributes:
        old: A vector for each of the V old rows; zero where there is none.
        new: A vector for each of the m new tokens; zero where there is none.
        shared: True in the old rows whose token the other side has too.
    """

    old: Tensor
    new: Tensor
    shared: Tensor

    @property
    def known(self) -> Tensor:
        """A mask of the new tokens that have a vector."""
        known: Tensor = self.new.norm(dim=1) > 0
        return known


@dataclass(frozen=True)
class MethodInput:
    """The input of a method, for one table.

    Attributes:
        side: ``input`` or ``output``.
        table: The V old rows, float32.
        count: m, the number of new rows.
        pieces: For each new token the old rows of the pieces that the old tokenizer cuts it into.
        generator: Where rows are drawn.
        sigma: The configured sigma of new weights.
        vectors: Word vectors of the tokens, where they are given.
        donor: Another model's rows of the tokens, where it is given.
        head: The output table's rows of the tokens, for repair; zero where there is none.
    """

    side: Literal["input", "output"]
    table: Tensor
    count: int
    pieces: tuple[tuple[int, ...], ...]
    generator: torch.Generator
    sigma: float = 0.02
    vectors: AlignedVectors | None = None
    donor: AlignedVectors | None = None
    head: Tensor | None = None


@dataclass(frozen=True)
class NewRows:
    """The output of a method: new rows.

    Attributes:
        values: (m, D) float32.
        weights: (m, V) where the rows are combinations of old ones; (1, V) where all are the same.
        known: True where the method knew something of the token; None for all.
    """

    values: Tensor
    weights: Tensor | None = None
    known: Tensor | None = None


@dataclass(frozen=True)
class Method:
    """A way to make rows for new tokens.

    Attributes:
        name: Its name on the command line.
        says: What a new row is, in words.
        source: Where it comes from.
        make: Makes the rows.
        needs: What it needs besides the table.
        hull: Whether rows lie in the convex hull of the old ones, so that no greedy answer changes.
    """

    name: str
    says: str
    source: str
    make: Callable[[MethodInput], NewRows]
    needs: frozenset[Need] = field(default_factory=frozenset)
    hull: bool = False

    def __call__(self, given: MethodInput) -> NewRows:
        """Makes the rows; those of tokens that the method can't place are random.

        Raises:
            InputError: The method made rows that are not finite or of another shape.
        """
        made = self.make(given)
        shape = (given.count, given.table.shape[1])
        if tuple(made.values.shape) != shape or not bool(made.values.isfinite().all()):
            raise InputError(
                f"method {self.name!r} made rows of shape {tuple(made.values.shape)} that are "
                f"due to be finite and of shape {shape}; look at the old table with embtables "
                "inspect"
            )
        if made.known is None or bool(made.known.all()):
            return made
        drawn = mathematics.columns(given.table, given.count, given.generator)
        values = torch.where(made.known[:, None], made.values, drawn)
        return NewRows(values, made.weights, made.known)


METHODS: Registry[Method] = Registry("extension method", "embinit.extensions")


def noise(given: MethodInput) -> NewRows:
    """Draws from N(0, sigma^2), sigma being the configuration's."""
    shape = (given.count, given.table.shape[1])
    return NewRows(torch.randn(shape, generator=given.generator) * given.sigma)


def mean(given: MethodInput) -> NewRows:
    """The mean of the old rows, for each new token."""
    old = len(given.table)
    weights = torch.full((1, old), 1 / old)
    row = given.table.double().mean(dim=0).float()
    return NewRows(row.expand(given.count, -1).clone(), weights)


def drawn(factor: float) -> Callable[[MethodInput], NewRows]:
    """A method that draws from a normal with the old mean and ``factor`` times the covariance."""

    def make(given: MethodInput) -> NewRows:
        return NewRows(mathematics.gaussian(given.table, given.count, factor, given.generator))

    return make


def by_column(given: MethodInput) -> NewRows:
    """Draws each column from its own normal."""
    return NewRows(mathematics.columns(given.table, given.count, given.generator))


def subtokens(given: MethodInput) -> NewRows:
    """The mean of the pieces' rows."""
    return _of_pieces(given, lambda count: [1 / count] * count)


def weighted(given: MethodInput) -> NewRows:
    """The pieces' mean with weights that rise to the last on the input side, else fall."""

    def weights(count: int) -> list[float]:
        ranks = [2 * rank / (count * (count + 1)) for rank in range(1, count + 1)]
        return ranks if given.side == "input" else ranks[::-1]

    return _of_pieces(given, weights)


def edge_piece(given: MethodInput) -> NewRows:
    """A copy of the last piece's row on the input side, of the first on the output side."""

    def weights(count: int) -> list[float]:
        edge = count - 1 if given.side == "input" else 0
        return [float(rank == edge) for rank in range(count)]

    return _of_pieces(given, weights)


def normed(given: MethodInput) -> NewRows:
    """The pieces' mean, stretched to the median norm of the old rows."""
    made = subtokens(given)
    lengths = made.values.norm(dim=1, keepdim=True)
    median = given.table.norm(dim=1).median()
    factor = torch.where(lengths > 0, median / lengths.clamp(min=1e-30), 1.0)
    assert made.weights is not None
    scaled = _scaled(made.weights, factor[:, 0])
    return NewRows(rows(given.table, scaled), scaled, made.known)


def wechsel(given: MethodInput) -> NewRows:
    """The softmax of the cosines over the nearest old tokens, at a low temperature."""
    weights, known = _nearest_by_softmax(_vectors(given))
    return NewRows(rows(given.table, weights), weights, known)


def focus(given: MethodInput) -> NewRows:
    """The sparsemax of the cosines over the tokens that both tokenizers have."""
    space = _vectors(given)
    usable = space.shared & (space.old.norm(dim=1) > 0)
    if not bool(usable.any()):
        usable = space.old.norm(dim=1) > 0
    candidates = usable.nonzero()[:, 0]
    ids: list[list[int]] = []
    values: list[list[float]] = []
    for low in range(0, given.count, mathematics.BLOCK):
        near = mathematics.cosines(space.new[low : low + mathematics.BLOCK], space.old[candidates])
        for share in mathematics.sparsemax(near):
            taken = share.nonzero()[:, 0]
            ids.append(candidates[taken].tolist())
            values.append(share[taken].tolist())
    weights = mathematics.sparse(ids, values, len(given.table))
    return NewRows(rows(given.table, weights), weights, space.known)


def ofa(given: MethodInput, rank: int = OFA_RANK) -> NewRows:
    """WECHSEL's weights on the coordinates of the table's first singular directions."""
    weights, known = _nearest_by_softmax(_vectors(given))
    width = given.table.shape[1]
    combined = rows(given.table, weights)
    if rank >= width:
        return NewRows(combined, weights, known)
    gram = (given.table.T @ given.table).double()
    _, directions = torch.linalg.eigh(gram)  # in ascending order
    kept = directions[:, -rank:].float()
    return NewRows(combined @ kept @ kept.T, None, known)


def hull(given: MethodInput) -> NewRows:
    """The nearest point, in the vectors' space, of the hull of the nearest old tokens."""
    space = _vectors(given)
    ids, values = [], []
    for vector, near in zip(space.new, _nearest(space), strict=True):
        taken = near.tolist()
        ids.append(taken)
        values.append(mathematics.simplex_fit(vector, space.old[near]).tolist())
    weights = mathematics.sparse(ids, values, len(given.table))
    return NewRows(rows(given.table, weights), weights, space.known)


def matching_pursuit(given: MethodInput) -> NewRows:
    """The coefficients of the donor's row in the donor's shared rows, on the old ones."""
    space = _donor(given)
    shared = space.shared.nonzero()[:, 0]
    ids, values = mathematics.matching_pursuit(space.new, space.old[shared], ATOMS)
    weights = mathematics.sparse(shared[ids].tolist(), values.tolist(), len(given.table))
    return NewRows(rows(given.table, weights), weights, space.known)


def nearest(given: MethodInput) -> NewRows:
    """The nearest shared rows of the donor, weighted by the inverse of their distance."""
    space = _donor(given)
    shared = space.shared.nonzero()[:, 0]
    count = min(NEIGHBOURS, len(shared))
    ids, values = [], []
    for low in range(0, given.count, mathematics.BLOCK):
        block = space.new[low : low + mathematics.BLOCK].double()
        distances = torch.cdist(block, space.old[shared].double())
        least, which = distances.topk(count, dim=1, largest=False)
        for far, near in zip(least, shared[which], strict=True):
            # A row that is the donor's own has the whole weight.
            same = far <= 1e-9 * (1 + block.norm(dim=1).max())
            share = same.double() if bool(same.any()) else 1 / far
            ids.append(near.tolist())
            values.append((share / share.sum()).tolist())
    weights = mathematics.sparse(ids, values, len(given.table))
    return NewRows(rows(given.table, weights), weights, space.known)


def procrustes(given: MethodInput) -> NewRows:
    """The donor's row, centred, rotated so that the shared rows fit, and moved to the mean."""
    space = _donor(given)
    theirs, ours = space.old[space.shared], given.table[space.shared]
    rotation = mathematics.procrustes(theirs - theirs.mean(dim=0), ours - ours.mean(dim=0))
    moved = (space.new - theirs.mean(dim=0)) @ rotation + ours.mean(dim=0)
    return NewRows(moved, None, space.known)


def standardised(sigma: Callable[[int, int], float]) -> Callable[[MethodInput], NewRows]:
    """The tokens' vectors, centred and scaled to a sigma of the extended table's shape."""

    def make(given: MethodInput) -> NewRows:
        space = _vectors(given)
        width = given.table.shape[1]
        if space.new.shape[1] != width:
            raise InputError(
                f"the vectors are {space.new.shape[1]} wide and the model's rows {width}; give "
                "vectors of that width, or take a method that only compares them (wechsel, focus)"
            )
        every = torch.cat([space.old[space.old.norm(dim=1) > 0], space.new[space.known]])
        if len(every) < 2:
            return NewRows(torch.zeros_like(space.new), None, space.known)
        wanted = sigma(len(given.table) + given.count, width)
        none = torch.zeros(len(every), dtype=torch.bool)
        scaled = standardise(every, none, 0.0, wanted)
        values = torch.zeros_like(space.new)
        values[space.known] = scaled[len(every) - int(space.known.sum()) :]
        return NewRows(values, None, space.known)

    return make


def repair(given: MethodInput) -> NewRows:
    """The direction of the token's output row, at the root mean square norm of the old rows."""
    if given.head is None:
        raise InputError("the model has no output table of its own to repair rows from")
    length = given.table.double().norm(dim=1).pow(2).mean().sqrt().float()
    own = given.head.norm(dim=1, keepdim=True)
    values = given.head / own.clamp(min=1e-30) * length
    return NewRows(values, None, own[:, 0] > 0)


def _of_pieces(given: MethodInput, weigh: Callable[[int], list[float]]) -> NewRows:
    ids = [list(each) for each in given.pieces]
    values = [weigh(len(each)) if each else [] for each in ids]
    weights = mathematics.sparse(ids, values, len(given.table))
    known = torch.tensor([bool(each) for each in ids], dtype=torch.bool)
    return NewRows(rows(given.table, weights), weights, known)


def _scaled(weights: Tensor, factor: Tensor) -> Tensor:
    weights = weights.coalesce()
    indices = weights.indices()
    values = weights.values() * factor[indices[0]]
    return torch.sparse_coo_tensor(indices, values, weights.shape, check_invariants=True).coalesce()


def _nearest(space: AlignedVectors) -> Tensor:
    """The ids of the old tokens nearest to each new one, nearest first."""
    usable = (space.old.norm(dim=1) > 0).nonzero()[:, 0]
    count = min(NEIGHBOURS, len(usable))
    blocks = [
        usable[mathematics.cosines(block, space.old[usable]).topk(count, dim=1).indices]
        for block in space.new.split(mathematics.BLOCK)
    ]
    return torch.cat(blocks) if blocks else torch.zeros(0, count, dtype=torch.long)


def _nearest_by_softmax(
    space: AlignedVectors, temperature: float = TEMPERATURE
) -> tuple[Tensor, Tensor]:
    near = _nearest(space)
    unit = torch.nn.functional.normalize
    cosine = (unit(space.old[near], dim=2) * unit(space.new, dim=1)[:, None]).sum(dim=2)
    share = (cosine / temperature).softmax(dim=1)
    return mathematics.sparse(near.tolist(), share.tolist(), len(space.old)), space.known


def _vectors(given: MethodInput) -> AlignedVectors:
    if given.vectors is None:
        raise InputError("this method compares tokens by word vectors; name them with --vectors")
    if not bool((given.vectors.old.norm(dim=1) > 0).any()):
        raise InputError(
            "the vectors have no word of the model's tokens; give vectors of its language"
        )
    return given.vectors


def _donor(given: MethodInput) -> AlignedVectors:
    if given.donor is None:
        raise InputError("this method takes rows from another model; name it with --donor")
    if int(given.donor.shared.sum()) < 2:
        raise InputError("the donor shares no tokens with the model; name one of its language")
    return given.donor


def _balanced(_: int, dim: int) -> float:
    """Sigma at which rows times sqrt(D) have the energy of sinusoids."""
    return 1 / math.sqrt(2 * dim)


_VECTORS: frozenset[Need] = frozenset({"vectors"})
_DONOR: frozenset[Need] = frozenset({"donor"})
_PIECES: frozenset[Need] = frozenset({"pieces"})

for _method in (
    Method("noise", "drawn from N(0, sigma^2) with the configuration's sigma", "BERT", noise),
    Method("mean", "the mean row", "Hewitt 2021", mean, hull=True),
    Method(
        "mean_resizing",
        "drawn from N(mean, 1e-9 covariance), so nearly the mean row",
        "transformers' default",
        drawn(1e-9),
    ),
    Method("covariance", "drawn from N(mean, covariance)", "Hewitt 2021", drawn(1.0)),
    Method("columns", "drawn by column from N(mean, sigma^2)", "WECHSEL's fallback", by_column),
    Method("subtokens", "the mean of its pieces", "FVT, Gee et al. 2022", subtokens, _PIECES, True),
    Method(
        "subtokens_weighted",
        "the mean of its pieces, the last (output: the first) weighing most",
        "after AdaptiVocab, 2503.19693",
        weighted,
        _PIECES,
        True,
    ),
    Method(
        "subtokens_normed",
        "the mean of its pieces, stretched to the median norm",
        "ours",
        normed,
        _PIECES,
    ),
    Method(
        "edge_piece",
        "a copy of its last piece (output: of its first)",
        "tokensurgeon's subword methods",
        edge_piece,
        _PIECES,
        True,
    ),
    Method(
        "wechsel",
        "the nearest old tokens by word vectors, by softmax",
        "WECHSEL, 2112.06598",
        wechsel,
        _VECTORS,
        True,
    ),
    Method(
        "focus",
        "the shared tokens by word vectors, by sparsemax",
        "FOCUS, 2305.14481",
        focus,
        _VECTORS,
        True,
    ),
    Method(
        "ofa",
        "the nearest old tokens by word vectors, in the table's first directions",
        "OFA, 2311.08849",
        ofa,
        _VECTORS,
    ),
    Method(
        "hull",
        "the point of the nearest old tokens' hull that is nearest by word vectors",
        "after CW2V, 2407.05841",
        hull,
        _VECTORS,
        True,
    ),
    Method(
        "omp",
        "the donor's row by matching pursuit in the shared rows",
        "2506.06607",
        matching_pursuit,
        _DONOR,
    ),
    Method(
        "nearest",
        "the shared rows nearest in the donor, by inverse distance",
        "tokensurgeon",
        nearest,
        _DONOR,
        True,
    ),
    Method(
        "procrustes",
        "the donor's row, rotated so that shared rows fit",
        "Schönemann 1966",
        procrustes,
        _DONOR,
    ),
    Method(
        "vectors_xavier",
        "its word vector at Xavier's sigma",
        "Kim et al. 2024",
        standardised(xavier_sigma),
        _VECTORS,
    ),
    Method(
        "vectors_balanced",
        "its word vector at the sigma that balances sinusoids",
        "ours",
        standardised(_balanced),
        _VECTORS,
    ),
    Method(
        "repair",
        "the direction of its output row, at the old rows' norm",
        "NeMo Automodel",
        repair,
        frozenset({"head"}),
    ),
):
    METHODS.register(_method.name, _method)
