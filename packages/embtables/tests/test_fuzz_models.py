"""A spoilt model is inspected and extended rightly, or refused by one InputError."""

from __future__ import annotations

import pytest

import malformed
from malformed_models import READERS


@pytest.mark.parametrize("name", READERS)
def test_a_spoilt_model_is_read_right_or_refused(name):
    """A few cases each; `python benchmarks/fuzz.py --cases 10000` tries as many as asked for."""
    malformed.spoilt(READERS[name], 6 if name.startswith("extend") else 25)


@pytest.mark.parametrize("name", READERS)
def test_a_whole_model_is_read(name, tmp_path):
    """As safetensors reads it, where it does."""
    assert malformed.outcome(READERS[name], tmp_path, 0, []) == "right"
