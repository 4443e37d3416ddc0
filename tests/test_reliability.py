"""Killed sessions, damaged files and little memory: few cases here, many on demand.

``benchmarks/reliability.py`` is the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CLAIMS = """
from embinit import Family, claim, experiment, training

@training(measures=["score"])
def fit(seed, arm):
    return seed + {"low": 1, "high": 9}[arm]

ON = experiment("scores", training=fit, arms=["low", "high"], margin=1.0, seeds=5)

@claim("mine/f/a", says="High is above low", family=Family("mine/f", size=1), on=ON)
def test_a(arms):
    assert arms["high"] > arms["low"]
"""
PROGRAM = Path(__file__).parents[1] / "benchmarks/reliability.py"

in_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes in /proc, and limits of address space"
)


@in_linux
def test_nothing_is_lost_or_wrong_when_sessions_are_killed_and_files_damaged(tmp_path):
    """The same kill, damage and spoilt files in every run of the tests."""
    counted = tmp_path / "counted.json"
    few = ("--kills", "1", "--damage", "2", "--spoil", "20", "--json", str(counted))
    done = subprocess.run(
        [sys.executable, PROGRAM, *few], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(counted.read_text())
    assert [sum(counts[name].values()) for name in ("kills", "damages", "spoils")] == [1, 2, 20]


LITTLE = """
import resource, sys
from pathlib import Path
import pytest
import embinit.pytest_plugin.session

taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = taken + 50 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
sys.exit(pytest.main(["claims", "-q", "-p", "no:cacheprovider"]))
"""
"""A session that may have 50 MiB more than Python and embinit, which is too little for scipy."""


@in_linux
def test_a_session_with_too_little_memory_says_so(tmp_path):
    """OpenBLAS would ask for memory for ever, and nothing but SIGKILL would end the session."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims/test_mine.py").write_text(CLAIMS)
    done = subprocess.run(
        [sys.executable, "-c", LITTLE],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 4, done.stdout + done.stderr
    assert "can't have 512 MiB of memory more" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr
