"""Every reader gives the right content of a spoilt file, or one InputError."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import malformed


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_spoilt_file_is_read_right_or_refused(name):
    """A few cases each; `python benchmarks/fuzz.py --cases 10000` tries as many as asked for."""
    reader = malformed.READERS[name]

    @settings(
        max_examples=6 if name.startswith(("model", "extend")) else 25,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(which=st.integers(0, 5), changes=malformed.mutations)
    def tried(which, changes):
        with tempfile.TemporaryDirectory() as folder:
            malformed.outcome(reader, Path(folder), which, changes)

    tried()


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_whole_file_is_read(name, tmp_path):
    """As its oracle reads it, where it has one."""
    assert malformed.outcome(malformed.READERS[name], tmp_path, 0, []) == "right"
