"""The inits: statistics they promise, what they keep, and what their draws depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from embinit.errors import InputError
from embinit.lab.tables.inits import (
    INITS,
    Init,
    complete,
    moments,
    pretrained_xavier,
    standardise,
    xavier,
    xavier_bound,
    xavier_pretrained,
    xavier_sigma,
)

modest = settings(max_examples=40)
scales = st.floats(0.01, 20)
means = st.floats(-2, 2)
seeds = st.integers(0, 2**31)
Table = tuple[Tensor, Tensor]


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@st.composite
def tables(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """A table with a shape, mean and sigma of its own, and a mask with up to two special rows."""
    n, d, seed = draw(st.integers(4, 40)), draw(st.integers(2, 24)), draw(seeds)
    table = torch.randn(n, d, generator=generator(seed)) * draw(scales) + draw(means)
    special = torch.zeros(n, dtype=torch.bool)
    special[draw(st.lists(st.integers(0, n - 1), max_size=2))] = True
    return table, special


def numpys(table: Tensor, special: Tensor, mean: float, sigma: float) -> np.ndarray:
    """The ordinary rows with another mean and sigma, as numpy computes them."""
    values = table[~special].double().numpy()
    return (values - values.mean()) / values.std(ddof=1) * sigma + mean


@modest
@given(tables(), means, scales, seeds)
def test_equations_1_and_4_are_numpys_affine_maps(
    made: Table, mean: float, sigma: float, seed: int
) -> None:
    """Xavier's sigma is the distribution's, with N counting special rows."""
    table, special = made
    vectors = table[~special].double().numpy()
    plain = xavier(table.shape, special, generator(seed))
    xaviers = math.sqrt(2 / sum(table.shape))
    assert plain.abs().max().item() <= math.sqrt(3) * xaviers * (1 + 1e-6)
    for found, wanted in (
        (standardise(table, special, mean, sigma), numpys(table, special, mean, sigma)),
        (pretrained_xavier(table, special, generator(0)), numpys(table, special, 0.0, xaviers)),
        (
            xavier_pretrained(table, special, generator(seed)),
            numpys(plain, special, vectors.mean(), vectors.std(ddof=1)),
        ),
    ):
        close = 1e-6 * np.abs(wanted).max()
        np.testing.assert_allclose(found[~special].numpy(), wanted, rtol=0, atol=close)


@modest
@given(tables(), seeds, st.sampled_from(sorted(INITS)))
def test_special_rows_stay_zero_and_out_of_statistics(made: Table, seed: int, name: str) -> None:
    """What stands in a special row can't matter if it is neither kept nor counted."""
    table, special = made
    loud = table.clone()
    loud[special] = 1e6
    result = INITS[name](table.shape, special, generator(seed), table)
    assert bool((result[special] == 0).all())
    assert torch.equal(result, INITS[name](table.shape, special, generator(seed), loud))


def test_xavier_is_uniform() -> None:
    """120,000 values against scipy's uniform distribution, by Kolmogorov and Smirnov."""
    table = xavier((1200, 100), torch.zeros(1200, dtype=torch.bool), generator(1))
    bound = math.sqrt(6 / 1300)
    uniform = stats.uniform(-bound, 2 * bound)
    assert stats.kstest(table.double().flatten().numpy(), uniform.cdf).pvalue > 0.001
    assert moments(table).sigma == pytest.approx(xavier_sigma(1200, 100), rel=0.01)


def test_xavier_at_the_papers_german_vocabulary() -> None:
    """Table 6 has range 0.027 and sigma 0.016; with D = 300 that is N = 7,930 (Table 5)."""
    assert round(xavier_bound(7930, 300), 3) == 0.027
    assert round(xavier_sigma(7930, 300), 3) == 0.016


@modest
@given(tables(), seeds)
def test_shuffling_keeps_rows_whole_and_the_geometry(made: Table, seed: int) -> None:
    """Each new row is one old row with its values in another order, used once. The order is one
    for all rows, which is orthogonal: inner products of rows stay."""
    table, special = made
    result = INITS["pretrained_shuffled"](table.shape, special, generator(seed), table)
    rows, kept = (values[~special] for values in (table, result))
    old, new = (sorted(map(tuple, values.sort(dim=1).values.tolist())) for values in (rows, kept))
    assert new == old
    old, new = ((x @ x.T).flatten().sort().values for x in (rows.double(), kept.double()))
    torch.testing.assert_close(new, old)


def test_shuffles_do_shuffle() -> None:
    """Of 200 rows and 50 columns a random permutation leaves hardly any value in place."""
    table = torch.arange(10_000.0).reshape(200, 50)
    special = torch.zeros(200, dtype=torch.bool)
    shuffle = INITS["pretrained_shuffled"]
    result = shuffle((200, 50), special, generator(3), table)
    assert (result == table).double().mean().item() < 0.15
    assert not torch.equal(result, shuffle((200, 50), special, generator(4), table))


@modest
@given(tables(), seeds, st.sampled_from(sorted(INITS)))
def test_draws_depend_on_generator_and_shape_alone(made: Table, seed: int, name: str) -> None:
    """The same state gives the same table, whatever torch's global stream has been through; and
    neither vectors nor special rows change how far the generator moves."""
    table, special = made
    first, second, third = generator(seed), generator(seed), generator(seed)
    before = torch.get_rng_state()
    result = INITS[name](table.shape, special, first, table)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(result, INITS[name](table.shape, special, second, table))
    INITS[name](table.shape, torch.zeros_like(special), third, table * 2 + 1)
    assert torch.equal(first.get_state(), second.get_state())
    assert torch.equal(first.get_state(), third.get_state())


@modest
@given(tables(), seeds, st.data())
def test_completing_leaves_found_rows_alone(made: Table, seed: int, data: st.DataObject) -> None:
    """Found rows are copied bit by bit; only ordinary rows without a vector are drawn."""
    table, special = made
    flags = data.draw(st.lists(st.booleans(), min_size=len(table), max_size=len(table)))
    found = torch.tensor(flags)
    assume(bool((found & ~special).any()))
    result = complete(table, found, special, generator(seed))
    assert torch.equal(result, complete(table, found, special, generator(seed)))
    assert torch.equal(result[found & ~special], table[found & ~special])
    assert bool((result[special] == 0).all())
    drawn = result[~found & ~special]
    assert bool((drawn != table[~found & ~special]).all())
    assert bool(drawn.isfinite().all())


def test_completed_rows_have_the_found_rows_moments() -> None:
    """300,000 normal values with the found rows' mean and sigma; scipy judges the shape."""
    special = torch.zeros(4000, dtype=torch.bool)
    found = torch.arange(4000) < 1000
    vectors = torch.rand(4000, 100, generator=generator(5)) * 3 + 1
    vectors[~found] = 0
    drawn = complete(vectors, found, special, generator(6))[~found].double().flatten()
    mean, sigma = moments(vectors, ~found)
    assert moments(drawn.reshape(-1, 100)) == pytest.approx((mean, sigma), rel=0.01)
    assert stats.kstest(drawn.numpy(), stats.norm(mean, sigma).cdf).pvalue > 0.001


@pytest.mark.parametrize("constant", [0.1, 0.0, float("nan"), float("inf")])
def test_a_table_without_a_sigma_is_refused(constant: float) -> None:
    """A constant of float64 is the hard case: its mean is rounded, so its sigma is not quite 0."""
    special = torch.zeros(50, dtype=torch.bool)
    for dtype in (torch.float32, torch.float64):
        with pytest.raises(InputError, match="constant or not finite"):
            standardise(torch.full((50, 3), constant, dtype=dtype), special, 0.0, 1.0)


def test_bad_input_is_named() -> None:
    special, found = torch.zeros(4, dtype=torch.bool), torch.zeros(4, dtype=torch.bool)
    with pytest.raises(InputError, match=r"'pretrained' needs vectors of shape \(4, 3\).* none"):
        INITS["pretrained"]((4, 3), special, generator(0))
    with pytest.raises(InputError, match=r"vectors of shape \(4, 2\).* for the whole vocabulary$"):
        INITS["pretrained_xavier"]((4, 3), special, generator(0), torch.ones(4, 2))
    with pytest.raises(InputError, match="one bool for each of 5 rows"):
        INITS["xavier"]((5, 3), special, generator(0))
    with pytest.raises(InputError, match="did you mean 'xavier'"):
        INITS["xavierr"]
    with pytest.raises(InputError, match=r"4 words has a vector; check .* case and tokenizer$"):
        complete(torch.ones(4, 3), found, special, generator(0))
    with pytest.raises(InputError, match=r"0 values outside its special rows; .* at least two$"):
        moments(torch.ones(4, 3), ~special)
    for sigma in (0.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="sigma must be above zero and both must be finite"):
            standardise(torch.eye(3), torch.zeros(3, dtype=torch.bool), 0.0, sigma)
    # Ids of rows would pick rows as well as a mask does, and others.
    for mask in (special.long(), special[:3]):
        with pytest.raises(InputError, match=r"give one bool for each of the table's 4 rows$"):
            moments(torch.ones(4, 3), mask)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (torch.zeros(4, 3).double(), r"made torch\.float64 of shape \(4, 3\) instead of float32"),
        (torch.zeros(4, 2), r"made torch\.float32 of shape \(4, 2\) instead of float32"),
        (torch.full((4, 3), math.nan), "made 12 of 12 values NaN or infinite; mend it"),
    ],
)
def test_an_init_that_makes_something_else_is_named(made: Tensor, said: str) -> None:
    odd = Init("odd", "Odd", False, lambda shape, special, generator: made)
    with pytest.raises(InputError, match=f"'odd' {said}"):
        odd((4, 3), torch.zeros(4, dtype=torch.bool), generator(0))


def test_labels_are_the_papers() -> None:
    names = ("xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled")
    labels = [INITS[name].label.format(source="GloVe") for name in (*names, "xavier_pretrained")]
    assert labels == ["Xavier", "GloVe", "GloVe_Xavier", "GloVe_Shuffled", "Xavier_GloVe"]
