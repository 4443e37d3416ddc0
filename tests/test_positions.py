"""Positional encodings: their algebra, and the statistics of the two formulas."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embinit.errors import InputError
from embinit.lab.tables.positions import (
    ORTHOGONAL_DIRECTIONS,
    equation_2,
    multiplier,
    sinusoidal,
    table,
)
from test_init import generator

modest = settings(max_examples=40)
STRENGTH = math.sqrt(ORTHOGONAL_DIRECTIONS / 2)
"""The norm of each row of positions that are apart or faint."""

lengths = st.integers(1, 200)
dims = st.integers(1, 70)


@modest
@given(lengths, dims)
def test_both_encodings_are_their_formulas(length: int, dim: int) -> None:
    """Each entry by Python's own sine and cosine: Vaswani's, and equation 2 as it is printed."""
    for made, base, exponent in (
        (sinusoidal(length, dim), 10_000, lambda j: 2 * (j // 2) / dim),
        (equation_2(length, dim), 1_000, lambda j: j / dim),
    ):
        wanted = [
            [(math.cos if j % 2 else math.sin)(p / base ** exponent(j)) for j in range(dim)]
            for p in range(length)
        ]
        torch.testing.assert_close(made, torch.tensor(wanted), rtol=0, atol=1e-6)


@modest
@given(lengths, dims, st.integers(0, 2**31))
def test_shuffling_permutes_rows(length: int, dim: int, seed: int) -> None:
    """The same rows each once, by the generator alone; of 100 about one stays in place."""
    moved = table("shuffled", length, dim, generator(seed))
    assert sorted(moved.tolist()) == sorted(sinusoidal(length, dim).tolist())
    assert torch.equal(moved, table("shuffled", length, dim, generator(seed)))
    stay = (table("shuffled", 100, 16, generator(seed)) == sinusoidal(100, 16)).all(dim=1)
    assert int(stay.sum()) < 9


def test_bad_input_is_named() -> None:
    """Unknown names list the known ones."""
    with pytest.raises(InputError, match=r"unknown kind of positions 'sinus'.*sinusoidal"):
        table("sinus", 4, 4)
    with pytest.raises(InputError, match="at least 1"):
        table("sinusoidal", 0, 4)
    with pytest.raises(InputError, match=r"unknown multiplier 'two'.*one, sqrt\(D\)"):
        multiplier("two", 4)
    for kind in ("0", "-1", "nan", "inf"):
        with pytest.raises(InputError, match=f"^can't multiply by {kind}: name a finite number"):
            multiplier(kind, 4)
    with pytest.raises(InputError, match="take 16 directions; the table has only 16"):
        table("apart", 3, 16, rows=torch.randn(9, ORTHOGONAL_DIRECTIONS))
    with pytest.raises(InputError, match=r"^positions .* on the table: give them its rows$"):
        table("apart", 4, 20)


@modest
@given(st.integers(1, 40), st.integers(ORTHOGONAL_DIRECTIONS + 1, 40), st.integers(0, 99))
def test_positions_apart_keep_to_the_least_used_directions(length, dim, seed):
    """Outside of the last principal directions they are nothing; inside they are Vaswani's."""
    scale = torch.linspace(3, 0.1, dim)
    turn = torch.linalg.qr(torch.randn(dim, dim, generator=generator(seed))).Q
    rows = torch.randn(300, dim, generator=generator(seed)) * scale @ turn
    pe = table("apart", length, dim, rows=rows)
    assert pe.shape == (length, dim)
    centred = (rows - rows.mean(dim=0)).double()
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    used, least = directions.tensor_split([dim - ORTHOGONAL_DIRECTIONS])
    assert (pe.double() @ used.T).abs().max().item() < 1e-5
    torch.testing.assert_close(pe.norm(dim=1), torch.full((length,), STRENGTH), rtol=1e-5, atol=0)
    vaswani = sinusoidal(length, ORTHOGONAL_DIRECTIONS)
    torch.testing.assert_close(pe @ pe.T, vaswani @ vaswani.T, rtol=1e-4, atol=1e-4)
    assert (pe.double() @ least.T).norm().item() == pytest.approx(pe.norm().item(), rel=1e-5)


@given(st.integers(1, 40), st.integers(ORTHOGONAL_DIRECTIONS + 1, 40).map(lambda half: 2 * half))
def test_faint_positions_are_as_strong_as_those_apart(length, dim):
    """Every row as long, pointing where Vaswani's points."""
    pe, whole = table("faint", length, dim), sinusoidal(length, dim)
    torch.testing.assert_close(pe.norm(dim=1), torch.full((length,), STRENGTH), rtol=1e-5, atol=0)
    torch.testing.assert_close(torch.nn.functional.cosine_similarity(pe, whole), torch.ones(length))


def test_learned_positions_start_from_a_normal_of_a_fiftieth():
    """As torch draws it from the generator."""
    found, drawn = table("learned", 5, 3, generator(7)), torch.randn(5, 3, generator=generator(7))
    torch.testing.assert_close(found, 0.02 * drawn, atol=0, rtol=1e-6)


def test_kinds_and_multipliers_by_name() -> None:
    """Each name gives its own function, no positions are zeros; sqrt(D) is Vaswani et al.'s."""
    assert torch.equal(table("sinusoidal", 9, 6), sinusoidal(9, 6))
    assert torch.equal(table("equation-2", 9, 6), equation_2(9, 6))
    assert torch.equal(table("none", 9, 6), torch.zeros(9, 6))
    assert multiplier("sqrt(D)", 300) == math.sqrt(300)
    assert [multiplier(kind, 4) for kind in ("one", "8", "0.5", "1e-3")] == [1, 8, 0.5, 1e-3]
