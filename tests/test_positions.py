"""Positional encodings: their algebra, and the statistics of the two formulas."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.tables.positions import (
    KINDS,
    ORTHOGONAL_DIRECTIONS,
    equation_2,
    learned,
    multiplier,
    orthogonal,
    shuffled,
    sinusoidal,
    table,
)

modest = settings(max_examples=40)
lengths = st.integers(1, 200)
dims = st.integers(1, 70)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@modest
@given(lengths, dims)
def test_sinusoidal_is_vaswanis_formula(length: int, dim: int) -> None:
    """Each entry against the formula with Python's own sine and cosine, pair by pair."""
    pe = sinusoidal(length, dim)
    assert pe.shape == (length, dim)
    assert pe.dtype == torch.float32
    for p in {0, length // 2, length - 1}:
        for i in range((dim + 1) // 2):
            angle = p / 10000 ** (2 * i / dim)
            assert pe[p, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            if 2 * i + 1 < dim:
                assert pe[p, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@modest
@given(lengths, dims)
def test_equation_2_is_as_printed(length: int, dim: int) -> None:
    """Each entry against the printed formula: base 1000, exponent j / D."""
    pe = equation_2(length, dim)
    for p in {0, length // 2, length - 1}:
        for j in range(dim):
            wave = math.cos if j % 2 else math.sin
            assert pe[p, j].item() == pytest.approx(wave(p / 1000 ** (j / dim)), abs=1e-6)


@modest
@given(lengths, st.integers(1, 35))
def test_the_norm_is_the_same_at_every_position(length: int, pairs: int) -> None:
    """Each pair of columns has sin² + cos² = 1, so an even width D has norm sqrt(D / 2)."""
    norms = sinusoidal(length, 2 * pairs).norm(dim=1)
    torch.testing.assert_close(norms, torch.full((length,), math.sqrt(pairs)))


@modest
@given(st.integers(2, 120), st.integers(1, 30), st.data())
def test_moving_by_k_is_one_rotation(length: int, pairs: int, data: st.DataObject) -> None:
    """sin and cos of a sum: PE(p + k) is PE(p) with pair i turned by k / 10000^(2i/D), for all p
    (Vaswani et al.'s reason for choosing it)."""
    k = data.draw(st.integers(1, length - 1))
    pe = sinusoidal(length, 2 * pairs).double()
    angles = k / 10000 ** (torch.arange(pairs, dtype=torch.float64) / pairs)
    blocks = [
        torch.stack([torch.stack([a.cos(), a.sin()]), torch.stack([-a.sin(), a.cos()])])
        for a in angles
    ]
    rotation = torch.block_diag(*blocks)
    torch.testing.assert_close(pe[:-k] @ rotation.T, pe[k:], rtol=0, atol=1e-6)


@modest
@given(lengths, dims, st.integers(0, 100))
def test_a_longer_encoding_starts_with_the_shorter(length: int, dim: int, more: int) -> None:
    """A position's row depends on the position alone."""
    for make in (sinusoidal, equation_2):
        assert torch.equal(make(length + more, dim)[:length], make(length, dim))


@pytest.mark.parametrize(
    ("length", "mean", "sigma"), [(512, 0.2666, 0.6549), (5000, 0.1314, 0.6948)]
)
def test_statistics_of_the_sinusoidal(length: int, mean: float, sigma: float) -> None:
    """At D = 300, computed apart; the mean in the paper's Table 6 (0.131) is this one's at 5000."""
    pe = sinusoidal(length, 300).double()
    assert (pe.mean().item(), pe.std().item()) == pytest.approx((mean, sigma), abs=6e-5)


@pytest.mark.parametrize(("length", "mean", "sigma"), [(512, 0.176, 0.685), (5000, 0.011, 0.707)])
def test_statistics_of_equation_2(length: int, mean: float, sigma: float) -> None:
    """At D = 300; far from the paper's Table 6 (mean 0.131, sigma 0.67)."""
    pe = equation_2(length, 300).double()
    assert (pe.mean().item(), pe.std().item()) == pytest.approx((mean, sigma), abs=6e-4)


@modest
@given(lengths, dims, st.integers(0, 2**31))
def test_shuffling_permutes_rows(length: int, dim: int, seed: int) -> None:
    """The same rows each once, by the generator alone."""
    pe = sinusoidal(length, dim)
    moved = shuffled(pe, generator(seed))
    assert sorted(moved.tolist()) == sorted(pe.tolist())
    assert torch.equal(moved, table("shuffled", length, dim, generator(seed)))


def test_shuffling_moves_rows() -> None:
    """Of 100 rows a random permutation leaves about one in place."""
    pe = sinusoidal(100, 16)
    assert int((shuffled(pe, generator(1)) == pe).all(dim=1).sum()) < 8


def test_bad_input_is_named() -> None:
    """Unknown names list the known ones; a drawn kind asks for its generator."""
    with pytest.raises(InputError, match=r"unknown kind of positions 'sinus'.*sinusoidal"):
        table("sinus", 4, 4)
    with pytest.raises(InputError, match=r"^positions .* drawn: give them a generator$"):
        table("shuffled", 4, 4)
    with pytest.raises(InputError, match="at least 1"):
        table("sinusoidal", 0, 4)
    with pytest.raises(InputError, match=r"unknown multiplier 'two'.*one, sqrt\(D\)"):
        multiplier("two", 4)
    for kind in ("0", "-1", "nan"):
        with pytest.raises(InputError, match=f"^can't multiply by {kind}: name a finite number"):
            multiplier(kind, 4)
    with pytest.raises(InputError, match="take 16 directions; the table has only 16"):
        orthogonal(3, torch.randn(9, ORTHOGONAL_DIRECTIONS))
    with pytest.raises(InputError, match=r"^positions .* on the table: give them its rows$"):
        table("apart", 3, 20)
    with pytest.raises(InputError, match=r"start from random rows: give them a generator$"):
        KINDS["learned"](5, 3, None, None)


@modest
@given(st.integers(1, 40), st.integers(ORTHOGONAL_DIRECTIONS + 1, 40), st.integers(0, 99))
def test_positions_apart_keep_to_the_least_used_directions(length, dim, seed):
    """Outside of the last principal directions they are nothing; inside they are Vaswani's."""
    scale = torch.linspace(3, 0.1, dim)
    turn = torch.linalg.qr(torch.randn(dim, dim, generator=generator(seed))).Q
    rows = torch.randn(300, dim, generator=generator(seed)) * scale @ turn
    pe = orthogonal(length, rows)
    assert pe.shape == (length, dim)
    centred = (rows - rows.mean(dim=0)).double()
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    used, least = (
        directions[: dim - ORTHOGONAL_DIRECTIONS],
        directions[dim - ORTHOGONAL_DIRECTIONS :],
    )
    assert (pe.double() @ used.T).abs().max().item() < 1e-5
    assert pe.norm(dim=1).tolist() == pytest.approx(
        [math.sqrt(ORTHOGONAL_DIRECTIONS / 2)] * length, rel=1e-5
    )
    ours, vaswani = (
        pe @ pe.T,
        sinusoidal(length, ORTHOGONAL_DIRECTIONS) @ sinusoidal(length, ORTHOGONAL_DIRECTIONS).T,
    )
    torch.testing.assert_close(ours, vaswani, rtol=1e-4, atol=1e-4)
    assert (pe.double() @ least.T).norm().item() == pytest.approx(pe.norm().item(), rel=1e-5)
    assert torch.equal(table("apart", length, dim, rows=rows), pe)


@given(st.integers(1, 40), st.integers(ORTHOGONAL_DIRECTIONS + 1, 40).map(lambda half: 2 * half))
def test_faint_positions_are_as_strong_as_those_apart(length, dim):
    """Every row as long, pointing where Vaswani's points."""
    pe, whole = table("faint", length, dim), sinusoidal(length, dim)
    assert pe.norm(dim=1).tolist() == pytest.approx(
        [math.sqrt(ORTHOGONAL_DIRECTIONS / 2)] * length, rel=1e-5
    )
    torch.testing.assert_close(torch.nn.functional.cosine_similarity(pe, whole), torch.ones(length))


def test_learned_positions_start_from_a_normal_of_a_fiftieth():
    """As torch draws it from the generator, which they can't do without."""
    drawn = torch.randn(5, 3, generator=torch.Generator().manual_seed(7))
    for make in (learned, lambda *given: KINDS["learned"](*given, None)):
        found = make(5, 3, torch.Generator().manual_seed(7))
        torch.testing.assert_close(found, 0.02 * drawn, atol=0, rtol=1e-6)


def test_kinds_and_multipliers_by_name() -> None:
    """Each name gives its own function, no positions are zeros; sqrt(D) is Vaswani et al.'s."""
    assert torch.equal(table("sinusoidal", 9, 6), sinusoidal(9, 6))
    assert torch.equal(table("equation-2", 9, 6), equation_2(9, 6))
    assert torch.equal(table("none", 9, 6), torch.zeros(9, 6))
    assert multiplier("sqrt(D)", 300) == math.sqrt(300)
    assert [multiplier(kind, 4) for kind in ("one", "8", "0.5", "1e-3")] == [1, 8, 0.5, 1e-3]
