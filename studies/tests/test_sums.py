"""What is left of words and positions in their sum, against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from embinit.errors import InputError
from embinit.lab.tables.positions import sinusoidal
from embinit_studies.starts.sums import read_off, relations_kept


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed))


def test_relations_are_spearmans_correlation_of_cosines():
    """One draw by hand: scipy on the cosines of numpy."""
    words, positions = normal(12, 8), sinusoidal(6, 8)
    drawn = torch.randint(6, (12,), generator=generator(3))
    pairs = np.triu_indices(12, 1)

    def cosines(rows):
        rows = rows.double().numpy()
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows @ rows.T)[pairs]

    expected = stats.spearmanr(cosines(words), cosines(words + positions[drawn])).statistic
    assert relations_kept(words, positions, generator(3), draws=1) == pytest.approx(expected)


def test_relations_survive_where_nothing_is_added_and_drown_in_strong_positions():
    words = normal(60, 16)
    kept = [
        relations_kept(words, sinusoidal(20, 16) * strength, generator())
        for strength in (0.0, 0.5, 2.0, 50.0)
    ]
    assert kept[0] == pytest.approx(1)
    assert kept == sorted(kept, reverse=True)
    assert abs(kept[-1]) < 0.1


def test_words_and_positions_in_orthogonal_subspaces_are_read_off_fully():
    words, positions = torch.zeros(12, 24), torch.zeros(12, 24)
    words[:, :12], positions[:, 12:] = torch.eye(12), torch.eye(12)
    told = read_off(words, positions, torch.arange(12) % 3, generator())
    assert (told.word, told.position) == (100, 100)
    # The kind of a word whose row is nobody else's can't be told.
    assert told.kind < 70


def test_a_kind_that_rows_tell_is_read_off_words_that_were_not_seen():
    kinds = torch.arange(40) % 4
    words = torch.nn.functional.one_hot(kinds, 8).float() + 0.01 * normal(40, 8)
    kinds[:4] = -1
    told = read_off(words, torch.zeros(3, 8) + 0.5, kinds, generator())
    assert told.kind == 100
    assert told.position < 60  # all positions are alike


def test_too_little_is_told():
    with pytest.raises(InputError, match="2 words have no relations"):
        relations_kept(normal(2, 4), normal(3, 4), generator())
    with pytest.raises(InputError, match="1 words of a kind at 3 positions"):
        read_off(normal(9, 4), normal(3, 4), torch.tensor([0, *[-1] * 8]), generator())
