"""Every reader gives the right content of a spoilt file, or one InputError."""

from __future__ import annotations

import pytest

import malformed


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_spoilt_file_is_read_right_or_refused(name):
    """A few cases each; `python benchmarks/fuzz.py --cases 10000` tries as many as asked for."""
    malformed.spoilt(malformed.READERS[name], 6 if name.startswith("model") else 25)


@pytest.mark.parametrize("name", malformed.READERS)
def test_a_whole_file_is_read(name, tmp_path):
    """As its oracle reads it, where it has one."""
    assert malformed.outcome(malformed.READERS[name], tmp_path, 0, []) == "right"
