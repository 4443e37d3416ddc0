"""Killed sessions and damaged files: few cases here, many on demand.

``benchmarks/reliability.py`` is the command.
"""

import json
import sys

import pytest

from builders import python

in_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes in /proc")


@in_linux
def test_nothing_is_lost_or_wrong_when_sessions_are_killed_and_files_damaged(tmp_path):
    """The same kill, damage and spoilt files in every run of the tests."""
    counted = tmp_path / "counted.json"
    few = ("--kills", "1", "--damage", "2", "--spoil", "20", "--json", counted)
    done = python("benchmarks/reliability.py", *few)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(counted.read_text())
    assert [sum(counts[name].values()) for name in ("kills", "damages", "spoils")] == [1, 2, 20]
