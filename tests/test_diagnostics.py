"""Diagnostics: statistics, variance shares, analogies and neighbours, each against a second way."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.tables import diagnostics
from embinit.lab.tables.diagnostics import (
    HISTOGRAM,
    analogy_accuracy,
    neighbour_purity,
    pe_share,
    random_positions,
    read_questions,
    table_statistics,
)
from embinit.lab.tables.inits import standardise, xavier_sigma
from embinit.lab.tables.positions import sinusoidal
from test_init import generator

modest = settings(max_examples=30)
seeds = st.integers(0, 2**31)


def normal(n: int, d: int, seed: int, sigma: float = 1.0) -> Tensor:
    return torch.randn(n, d, generator=generator(seed)) * sigma


def named(rows: Iterable[int]) -> tuple[str, ...]:
    return tuple(f"w{row}" for row in rows)


def some_rows(n: int, count: int, seed: int) -> list[list[int]]:
    """Rows of questions, four of each."""
    return [torch.randperm(n, generator=generator(seed + i))[:4].tolist() for i in range(count)]


@modest
@given(st.integers(6, 40), st.integers(2, 30), seeds, st.floats(0.01, 20), st.floats(-2, 2))
def test_scaling_and_equation_1_keep_the_relations_of_words(
    n: int, d: int, seed: int, sigma: float, mean: float
) -> None:
    """Section 3.4: a factor keeps each answer, and equation 1 the directions from word to word."""
    table, rows = sigma * (normal(n, d, seed) + mean), some_rows(n, 20, seed)
    words, questions = named(range(n)), [*map(named, rows)]
    answered = analogy_accuracy(table, words, questions)
    assert analogy_accuracy(table * math.sqrt(d), words, questions) == answered
    special = torch.zeros(n, dtype=torch.bool)

    def parallel(of: Tensor) -> Tensor:
        first, second, third, fourth = of.double()[torch.tensor(rows)].unbind(dim=1)
        return torch.cosine_similarity(second - first, fourth - third)

    changed = standardise(table, special, 0.0, xavier_sigma(n, d))
    assert torch.allclose(parallel(changed), parallel(table), atol=1e-3)
    drawn = normal(n, d, seed + 1)
    assert not torch.allclose(parallel(drawn), parallel(table), atol=1e-3)


@modest
@given(st.integers(3, 40), st.integers(1, 30), seeds, st.floats(0.01, 20))
def test_statistics_are_numpys(n: int, d: int, seed: int, sigma: float) -> None:
    """numpy on the rows without the special one; the special row's values must not show."""
    table = normal(n, d, seed, sigma)
    table[0] = 1e4
    special = torch.arange(n) == 0
    found, rows = table_statistics(table, special), table[1:].double().numpy()
    assert (found.rows, found.dim) == (n - 1, d)
    assert (found.minimum, found.maximum) == (rows.min(), rows.max())
    assert found.mean == pytest.approx(rows.mean(), abs=1e-9)
    assert found.sigma == pytest.approx(rows.std(ddof=1))
    norms = np.percentile(np.linalg.norm(rows, axis=1), [5, 25, 50, 75, 95])
    assert found.row_norm_percentiles == pytest.approx(tuple(norms))


@modest
@given(st.integers(2, 30), st.integers(1, 20), seeds, st.floats(1e-7, 1e5))
def test_the_histogram_is_numpys_of_magnitudes(n: int, d: int, seed: int, sigma: float) -> None:
    """Every value is in one bin, those beyond the ends (and zero) in the outermost."""
    table = normal(n, d, seed, sigma)
    table[0, 0] = 0.0
    low, high, a_decade = HISTOGRAM
    edges = np.linspace(low, high, (high - low) * a_decade + 1)
    with np.errstate(divide="ignore"):
        places = np.log10(np.abs(table.double().numpy()))
    expected, _ = np.histogram(np.clip(places, low, high), bins=edges)
    assert table_statistics(table).histogram == tuple(expected)


def test_a_diverged_table_has_statistics() -> None:
    """A run that failed still reports its table: not-a-number in, not-a-number out."""
    assert math.isnan(table_statistics(torch.full((3, 2), float("nan"))).sigma)


def test_without_positions_nothing_is_lost() -> None:
    """Zeros have no variance."""
    table = normal(20, 8, 0)
    assert pe_share(table, torch.zeros(5, 8)) == 0
    assert pe_share(torch.zeros(20, 8), torch.zeros(5, 8)) == 0


def test_variances_add_up_in_the_encoders_input() -> None:
    """PE rows drawn independently of the words: the variance of the sum is the sum of both."""
    pe, table = sinusoidal(64, 50), normal(20_000, 50, 1, 0.3)
    rows = random_positions(pe, len(table), generator(2))
    total = 2 * table + rows
    share = pe_share(2 * table, pe)
    assert pe.var().item() / total.var().item() == pytest.approx(share, rel=0.02)


def test_random_positions_are_rows_drawn_evenly() -> None:
    """Footnote 6: every position is as likely as any other, whatever the word."""
    pe = torch.arange(10.0).unsqueeze(1).expand(10, 3)
    drawn = random_positions(pe, 20_000, generator(4))
    assert bool((drawn == drawn[:, :1]).all())
    counts = torch.bincount(drawn[:, 0].long(), minlength=10)
    assert bool(((counts - 2000).abs() < 250).all())
    assert torch.equal(drawn, random_positions(pe, 20_000, generator(4)))


def naive_answers(table: Tensor, rows: list[list[int]]) -> int:
    """3CosAdd as its definition reads, one candidate at a time, in float64."""
    units = (table.double() / table.double().norm(dim=1, keepdim=True)).numpy()
    right = 0
    for a, b, c, answer in rows:
        wanted = units[b] - units[a] + units[c]
        candidates = {*range(len(table))} - {a, b, c}
        right += max(candidates, key=lambda row: float(units[row] @ wanted)) == answer
    return right


@modest
@given(st.integers(5, 9), st.integers(2, 6), seeds, st.booleans())
def test_analogies_are_the_naive_loops(n: int, d: int, seed: int, small: bool) -> None:
    """The batched products answer as the loop does, also when cut into blocks of one question."""
    table, rows = normal(n, d, seed), some_rows(n, 12, seed)
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(diagnostics, "BLOCK_VALUES", n)
        score = analogy_accuracy(table, named(range(n)), [*map(named, rows)])
    assert score == naive_answers(table, rows) / 12


def test_only_wholly_known_questions_are_asked() -> None:
    """One unknown word is enough to leave a question out; case counts."""
    words = ["berlin", "germany", "paris", "france", "<pad>"]
    # France lies opposite to germany - berlin + paris, and is still nearer than a row of zeros.
    table = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, -4.0], [0.0, 0.0]])
    questions = [
        ("Berlin", "Germany", "Paris", "France"),
        ("berlin", "germany", "paris", "france"),
        ("berlin", "germany", "paris", "spain"),
    ]
    assert analogy_accuracy(table, words, questions) == 1.0
    with pytest.raises(InputError, match="none of 1 analogies"):
        analogy_accuracy(table, words, questions[:1])
    with pytest.raises(InputError, match=r"5 words \(5 different\) for a table of 4 rows"):
        analogy_accuracy(table[:4], words, questions)
    with pytest.raises(InputError, match="4 different"):
        analogy_accuracy(table, ["berlin", *words[:4]], questions)


def test_questions_are_read(tmp_path: Path) -> None:
    """Empty lines, a byte-order mark and Windows line ends; a bad line is named."""
    path = tmp_path / "questions.txt"
    path.write_bytes("\ufeff: one two\r\na b c d\r\n\r\n: three\r\né f g h".encode())
    assert read_questions(path) == [("a", "b", "c", "d"), ("é", "f", "g", "h")]
    for text, message in (
        (b": s\na b c d\na b c\n", "txt:3: 3 words"),
        (b": s\n\nb\xff c d e\n", "txt:3: not UTF-8"),
    ):
        path.write_bytes(text)
        with pytest.raises(InputError, match=message):
            read_questions(path)
    with pytest.raises(InputError, match="No such file"):
        read_questions(tmp_path / "other.txt")


@modest
@given(st.integers(5, 30), seeds, st.booleans())
def test_purity_is_numpys(n: int, seed: int, small: bool) -> None:
    """By a full matrix of cosines; a row without a group is neither asked nor a neighbour."""
    table, groups = normal(n, 7, seed), torch.arange(n) % 3
    groups[1] = -1
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(diagnostics, "BLOCK_VALUES", 2 * n)
        purity = neighbour_purity(table, groups)
    rows, kept = table[groups >= 0].double().numpy(), groups[groups >= 0].numpy()
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -2)
    assert purity == pytest.approx((kept[cosines.argmax(axis=1)] == kept).mean())


def test_purity_of_tight_groups_and_of_chance() -> None:
    """Rows close to their group's centre are pure; rows at random agree at one in four."""
    groups = torch.arange(400) % 4
    centres = normal(4, 30, 0)
    tight = centres[groups] + normal(400, 30, 1, 0.01)
    assert neighbour_purity(tight, groups) == 1.0
    assert neighbour_purity(normal(400, 30, 2), groups) == pytest.approx(0.25, abs=0.08)
    with pytest.raises(InputError, match="1 rows with a group have no neighbours"):
        neighbour_purity(tight, groups.where(torch.arange(400) == 0, -1))
    with pytest.raises(InputError, match="give one a row"):
        neighbour_purity(tight, groups[1:])
