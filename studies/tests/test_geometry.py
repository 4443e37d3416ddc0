"""Starts that change the rows' geometry, against plain numpy, and what must hold of each."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.tables.inits import INITS, moments, pretrained_xavier, scale, xavier_sigma
from embinit.lab.tables.positions import ORTHOGONAL_DIRECTIONS, orthogonal
from embinit_studies.starts import geometry

modest = settings(max_examples=30)
CHANGES = (
    geometry.centred,
    geometry.equal_rows,
    geometry.all_but_the_top,
    geometry.whitened,
    geometry.spared,
)
STARTS = tuple(f"pretrained_{change.__name__}" for change in CHANGES)


@st.composite
def weighted(draw):
    """More rows than columns, of unequal spread by column, around a mean, with Zipf's weights."""
    d = draw(st.integers(2, 20))
    n, seed = draw(st.integers(2 * d + 2, 60)), draw(st.integers(0, 2**31))
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(n, d)) * generator.uniform(0.3, 3, d) + generator.normal(size=d)
    weights = generator.permutation(1000 // np.arange(1, n + 1))
    return torch.tensor(rows), torch.tensor(weights, dtype=torch.float64)


def weighted_mean(rows, weights):
    return np.average(rows.numpy(), axis=0, weights=weights.numpy())


@modest
@given(weighted())
def test_centred_rows_have_no_mean_where_words_count_as_often_as_they_occur(made):
    rows, weights = made
    result = geometry.centred(rows, weights)
    assert np.allclose(weighted_mean(result, weights), 0, atol=1e-9)
    assert np.allclose(result, rows.numpy() - weighted_mean(rows, weights))


@modest
@given(weighted())
def test_equal_rows_are_as_long_as_each_other_and_keep_their_directions(made):
    rows, weights = made
    result = geometry.equal_rows(rows, weights).numpy()
    assert np.allclose(np.linalg.norm(result, axis=1), np.sqrt(rows.shape[1]))
    around = rows.numpy() - weighted_mean(rows, weights)
    assert np.allclose(
        result * np.linalg.norm(around, axis=1, keepdims=True) / rows.shape[1] ** 0.5, around
    )


def test_a_row_that_is_the_mean_stays_zero():
    rows = torch.tensor([[1.0, 1.0], [0.0, 1.0], [2.0, 1.0]])
    result = geometry.equal_rows(rows, torch.ones(3))
    assert torch.equal(result[0], torch.zeros(2, dtype=torch.float64))
    assert result[1:].norm(dim=1).tolist() == pytest.approx([2**0.5] * 2)


@modest
@given(weighted())
def test_all_but_the_top_is_what_singular_vectors_leave(made):
    """Mu and Viswanath's algorithm 1 by numpy's singular value decomposition; types, not tokens."""
    rows, weights = made
    around = rows.numpy() - rows.numpy().mean(axis=0)
    _, sizes, directions = np.linalg.svd(around, full_matrices=False)
    assume(sizes[0] > 1.01 * sizes[1])
    expected = around - around @ directions[:1].T @ directions[:1]
    assert np.allclose(geometry.all_but_the_top(rows, weights), expected, atol=1e-8)


@modest
@given(weighted())
def test_whitened_rows_are_isotropic_as_text_meets_them(made):
    """Yokoi et al.: mean zero and covariance one by frequency; by types they are neither."""
    rows, weights = made
    result = geometry.whitened(rows, weights).numpy()
    assert np.allclose(weighted_mean(torch.tensor(result), weights), 0, atol=1e-8)
    covariance = np.cov(result.T, aweights=weights.numpy(), ddof=0)
    assert np.allclose(covariance, np.eye(rows.shape[1]), atol=1e-8)
    # Of all whitened tables the nearest one: it and the rows have a symmetric product.
    product = result.T @ (weights.numpy()[:, None] * geometry.centred(rows, weights).numpy())
    assert np.allclose(product, product.T, atol=1e-6)


def test_whitening_leaves_directions_empty_that_do_not_vary():
    rows = torch.tensor([[1.0, 0.0, 5.0], [0.0, 1.0, 5.0], [0.5, 0.0, 5.0], [1.0, 1.0, 5.0]])
    result = geometry.whitened(rows, torch.ones(4))
    assert result.isfinite().all()
    assert result[:, 2].abs().max() < 1e-9


@modest
@given(weighted())
def test_spared_rows_leave_a_quarter_of_the_directions_to_the_positions(made):
    """Its rank falls by a quarter of D, and it loses the least that any such table can."""
    rows, weights = made
    result = geometry.spared(rows, weights).numpy()
    kept = rows.shape[1] - rows.shape[1] // geometry.SPARED
    assert np.linalg.matrix_rank(result, tol=1e-8) == kept
    sizes = np.linalg.svd(rows.numpy() - rows.numpy().mean(axis=0), compute_uv=False)
    assert np.linalg.norm(result) ** 2 == pytest.approx((sizes[:kept] ** 2).sum())


def test_positions_apart_have_spared_directions_to_themselves():
    """So word and position can be told apart exactly: their rows are orthogonal."""
    rows = (
        torch.randn(300, 4 * ORTHOGONAL_DIRECTIONS, generator=torch.Generator().manual_seed(0))
        + 0.5
    )
    special = torch.zeros(300, dtype=torch.bool)
    table = INITS["pretrained_spared"](tuple(rows.shape), special, torch.Generator(), rows)
    waves = orthogonal(20, table)
    assert (table @ waves.T).abs().max() < 1e-5 * table.norm(dim=1).max() * waves.norm(dim=1).max()
    # Positions as strong as sinusoids of the whole width are twice these.
    assert 2 * waves.norm(dim=1) == pytest.approx((table.shape[1] / 2) ** 0.5, rel=1e-5)


@modest
@given(weighted(), st.sampled_from(CHANGES), st.integers(0, 2**31))
def test_the_order_of_rows_does_not_matter(made, change, seed):
    rows, weights = made
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    result = change(rows, weights)
    scale_of = result.abs().max()
    assert torch.allclose(
        change(rows[order], weights[order]), result[order], rtol=0, atol=1e-6 * scale_of.item()
    )


@modest
@given(weighted(), st.sampled_from(CHANGES), st.integers(0, 2**31))
def test_turned_rows_give_a_turned_table(made, change, seed):
    """No column is special: a rotation of the vectors rotates the start."""
    rows, weights = made
    square = np.random.default_rng(seed).normal(size=(rows.shape[1],) * 2)
    turn = torch.tensor(np.linalg.qr(square)[0])
    result = change(rows, weights)
    assert torch.allclose(
        change(rows @ turn, weights), result @ turn, rtol=0, atol=1e-5 * result.abs().max().item()
    )


@modest
@given(weighted(), st.sampled_from(CHANGES), st.floats(0.01, 100), st.floats(-3, 3))
def test_a_wider_or_shifted_table_gives_the_same_start(made, change, factor, shift):
    """The starts are of one scale, so that what they differ in is their geometry alone."""
    rows, weights = made
    name, special = f"pretrained_{change.__name__}", torch.zeros(len(rows), dtype=torch.bool)
    shape, counts = tuple(rows.shape), [int(weight) for weight in weights]
    made_of = [
        INITS[name](shape, special, torch.Generator(), table, counts)
        for table in (rows, rows * factor + shift)
    ]
    assert torch.allclose(*made_of, rtol=0, atol=1e-3 * xavier_sigma(*shape))


@modest
@given(weighted(), st.sampled_from(STARTS), st.floats(0.01, 10))
def test_starts_have_the_energy_that_is_asked_for(made, name, sigma):
    """Xavier's by themselves, and that of another sigma by a factor: directions stay."""
    rows, weights = made
    special = torch.zeros(len(rows), dtype=torch.bool)
    special[1] = True
    counts = [int(weight) for weight in weights]
    table = INITS[name](tuple(rows.shape), special, torch.Generator(), rows, counts)
    energy = table[~special].double().square().mean().sqrt()
    assert energy.item() == pytest.approx(xavier_sigma(*rows.shape), rel=1e-5)
    other = INITS[name].at_sigma(table, special, sigma)
    assert other[~special].double().square().mean().sqrt().item() == pytest.approx(sigma, rel=1e-5)
    ratio = sigma / xavier_sigma(*rows.shape)
    assert torch.allclose(other, table * ratio, rtol=1e-4, atol=1e-5 * sigma)


def test_other_inits_are_shifted_to_mean_zero_as_before():
    rows = torch.randn(30, 8, generator=torch.Generator().manual_seed(0)) + 3
    special = torch.zeros(30, dtype=torch.bool)
    table = INITS["pretrained"].at_sigma(rows, special, 0.5)
    assert moments(table) == pytest.approx((0, 0.5), abs=1e-6)


@modest
@given(weighted(), st.integers(0, 2**31))
def test_xavier_norms_are_drawn_rows_as_long_as_the_vectors(made, seed):
    rows = made[0].float()
    special = torch.zeros(len(rows), dtype=torch.bool)
    special[0] = True
    table, other = (
        INITS["xavier_norms"](tuple(rows.shape), special, torch.Generator().manual_seed(each), rows)
        for each in (seed, seed + 1)
    )
    wanted = pretrained_xavier(rows, special, torch.Generator()).norm(dim=1)
    ratio = table.norm(dim=1)[1:] / wanted[1:]
    values = table[1:].numel()  # of which standardising takes one less
    expected = torch.tensor((values / (values - 1)) ** 0.5)
    assert torch.allclose(ratio, expected.expand_as(ratio), rtol=1e-4)
    assert not torch.equal(table, other)


def test_counts_decide_and_without_them_all_words_count_alike():
    rows = torch.randn(20, 5, generator=torch.Generator().manual_seed(1)) + 1
    special, shape = torch.zeros(20, dtype=torch.bool), (20, 5)

    def table(counts):
        return INITS["pretrained_whitened"](shape, special, torch.Generator(), rows, counts)

    assert torch.equal(table(None), table([7] * 20))
    assert not torch.allclose(table(None), table(list(range(1, 21))), atol=1e-3)
    with pytest.raises(InputError, match="3 counts for 20 words"):
        table([1, 2, 3])


@pytest.mark.parametrize("weights", [[0, 0], [1, -1], [1, float("nan")]])
def test_bad_weights_are_told(weights):
    with pytest.raises(InputError, match="2 rows; give each row a finite weight"):
        geometry.mean_row(torch.ones(2, 3), torch.tensor(weights, dtype=torch.float64))


@pytest.mark.parametrize(("rows", "sigma"), [(torch.zeros(3, 2), 1.0), (torch.ones(3, 2), 0.0)])
def test_a_table_without_width_is_told(rows, sigma):
    with pytest.raises(InputError, match="can't scale a table"):
        scale(rows, torch.zeros(3, dtype=torch.bool), sigma)


def test_a_table_of_special_rows_alone_cannot_be_scaled():
    """There is nothing to scale, whatever it would be divided by."""
    with pytest.raises(InputError, match=r"of shape \(3, 2\) and mean square 0² to 1²"):
        scale(torch.ones(3, 2), torch.ones(3, dtype=torch.bool), 1.0)
