"""The mathematics of new rows, most of which are a matrix times the old table.

V is the number of old rows, D their width and m the number of new ones. A is (m, V), dense or
sparse. Where its rows are not negative and sum to 1, each new row lies in the convex hull of the
old ones, so no state gives it a larger logit than all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

BLOCK = 256
"""The number of new rows whose dense weights are held at once."""


def rows(table: Float[Tensor, "V D"], weights: Tensor) -> Float[Tensor, "m D"]:
    """New rows as combinations of old ones.

    Args:
        table: The old rows.
        weights: (m, V), dense or sparse.
    """
    if not weights.is_sparse:
        return weights @ table
    # Row by row, so that a copy of an old row is one bit for bit.
    weights = weights.coalesce()
    (to, of), values = weights.indices(), weights.values()
    made = torch.zeros(weights.shape[0], table.shape[1], dtype=table.dtype)
    for low in range(0, len(values), 4096):
        part = slice(low, low + 4096)
        made.index_add_(0, to[part], table[of[part]] * values[part, None].to(table.dtype))
    return made


def sparse(ids: Sequence[Sequence[int]], values: Sequence[Sequence[float]], old: int) -> Tensor:
    """Weights (m, V) of m new rows, from the old rows' ids and their weights.

    Args:
        ids: For each new row the old rows that it is made of; one may be named twice.
        values: Their weights.
        old: V.
    """
    to = [row for row, each in enumerate(ids) for _ in each]
    of = [number for each in ids for number in each]
    flat = [value for each in values for value in each]
    indices = torch.tensor([to, of], dtype=torch.long).reshape(2, -1)
    weights = torch.tensor(flat, dtype=torch.float32)
    return torch.sparse_coo_tensor(
        indices, weights, (len(ids), old), check_invariants=True
    ).coalesce()


def gaussian(
    table: Float[Tensor, "V D"], count: int, factor: float, generator: torch.Generator
) -> Float[Tensor, "{count} D"]:
    """Draws rows from N(mean, factor times the covariance), divided by V.

    A row is the mean plus a combination of the centred rows with normal weights of variance
    factor / V. So no covariance is formed or factored, and a singular one is no special case.

    Args:
        table: The old rows.
        count: m.
        factor: What the covariance is multiplied by.
        generator: Where the weights are drawn.
    """
    mean = table.double().mean(dim=0)
    made = []
    for low in range(0, count, BLOCK):
        size = min(BLOCK, count - low)
        weights = torch.randn(size, len(table), generator=generator, dtype=torch.float64)
        weights *= (factor / len(table)) ** 0.5
        # The sum over centred rows, without centring a copy of the table.
        noise = (weights.float() @ table).double() - weights.sum(dim=1, keepdim=True) * mean
        made.append((mean + noise).float())
    return torch.cat(made) if made else table[:0]


def columns(
    table: Float[Tensor, "V D"], count: int, generator: torch.Generator
) -> Float[Tensor, "{count} D"]:
    """Draws each column from a normal with the old column's mean and sigma."""
    drawn = torch.randn(count, table.shape[1], generator=generator)
    return drawn * table.std(dim=0, correction=0) + table.mean(dim=0)


def sparsemax(scores: Float[Tensor, "m n"]) -> Float[Tensor, "m n"]:
    """The nearest point of the simplex (Martins and Astudillo 2016): max(z - tau, 0), sum 1."""
    ranked, _ = scores.sort(dim=1, descending=True)
    count = torch.arange(1, scores.shape[1] + 1, dtype=scores.dtype)
    sums = ranked.cumsum(dim=1) - 1
    support = (ranked * count > sums).sum(dim=1, keepdim=True)
    tau = sums.gather(1, support - 1) / support
    return (scores - tau).clamp(min=0)


def cosines(left: Float[Tensor, "m d"], right: Float[Tensor, "n d"]) -> Float[Tensor, "m n"]:
    """The cosines of all pairs of rows; 0 with a row of zeros."""
    unit = torch.nn.functional.normalize
    product: Tensor = unit(left.float(), dim=1) @ unit(right.float(), dim=1).T
    return product


def procrustes(source: Float[Tensor, "n d"], target: Float[Tensor, "n D"]) -> Float[Tensor, "d D"]:
    """The matrix with orthonormal rows or columns that takes source nearest to target.

    Schönemann (1966): U V^T of the singular value decomposition of source^T target.
    """
    left, _, right = torch.linalg.svd(source.double().T @ target.double(), full_matrices=False)
    rotation: Tensor = left @ right
    return rotation.float()


def matching_pursuit(
    targets: Float[Tensor, "m d"], atoms: Float[Tensor, "n d"], most: int
) -> tuple[Int[Tensor, "m k"], Float[Tensor, "m k"]]:
    """Orthogonal matching pursuit (Pati et al. 1993) for each target.

    The atom with the largest inner product with what is left is added, and all coefficients are
    fitted anew by least squares, until ``most`` atoms are taken or nothing is left.

    Args:
        targets: What to make.
        atoms: What to make it of.
        most: k.

    Returns:
        The atoms' ids and their coefficients; 0 for atoms that were not needed.
    """
    most = min(most, len(atoms))
    ids = torch.zeros(len(targets), most, dtype=torch.long)
    coefficients = torch.zeros(len(targets), most)
    atoms = atoms.double()
    for number, target in enumerate(targets.double()):
        rest, taken, fitted = target, list[int](), torch.zeros(0, dtype=torch.float64)
        for _ in range(most):
            if bool(rest.norm() <= 1e-7 * target.norm()):
                break
            products = (atoms @ rest).abs()
            products[taken] = -1
            taken.append(int(products.argmax()))
            basis = atoms[taken].T
            fitted = torch.linalg.lstsq(basis, target[:, None], driver="gelsd").solution[:, 0]
            rest = target - basis @ fitted
        ids[number, : len(taken)] = torch.tensor(taken, dtype=torch.long)
        coefficients[number, : len(taken)] = fitted.float()
    return ids, coefficients


def simplex_fit(
    target: Float[Tensor, "d"], points: Float[Tensor, "k d"], steps: int = 500
) -> Float[Tensor, "k"]:
    """Weights on the simplex whose combination of the points is near the target.

    Projected gradient with Nesterov's momentum on the squared distance.
    """
    points, target = points.double(), target.double()
    gram, product = points @ points.T, points @ target
    rate = 1 / max(float(torch.linalg.matrix_norm(gram, 2)), 1e-12)
    weights = torch.full((len(points),), 1 / len(points), dtype=torch.float64)
    ahead, momentum = weights, 1.0
    for _ in range(steps):
        moved = sparsemax((ahead - rate * (gram @ ahead - product))[None])[0]
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + (momentum - 1) / following * (moved - weights)
        weights, momentum = moved, following
    return weights.float()
