"""A user's training function on a cluster: the runs, failures and curves of one machine."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from embinit.runs.store import Store

pytestmark = pytest.mark.nightly

HELPER = "SCALE = 2\n"
CLAIMS = """
import os
import random

from helper import SCALE

from embinit import Family, claim, experiment, training

MINE = Family("mine/f", size=3)


@training(measures={"score": "points"})
def fit(seed, arm, tell, top=9):
    for step in range(4):
        tell((step + 1) / 4, score=random.random())
    return SCALE * {"low": 1, "high": top}[arm] + random.random()


@training(measures=["score"], timeout=120)
def apart(seed, arm):
    return SCALE * {"low": 1, "high": 9}[arm] + random.random()


@training(measures=["score"])
def breaks(seed, arm):
    if arm == "low":
        raise RuntimeError("boom")
    return random.random()


on = [
    experiment(fn.name, training=fn, arms=["low", "high"], margin=1.0, seeds=4, most_seeds=None)
    for fn in (fit, apart, breaks)
]


@claim("mine/f/above", says="High is above low", family=MINE, on=on)
def test_above(arms):
    assert arms["high"] > arms["low"]
"""


def judged(root, *arguments):
    """The claims' verdicts and reasons, and every run by its key."""
    (root / "claims").mkdir()
    (root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (root / "claims/helper.py").write_text(HELPER)
    (root / "claims/test_mine.py").write_text(CLAIMS)
    options = ("-p", "no:cacheprovider", "-p", "no:playwright", "-p", "no:randomly")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "claims", *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 3, done.stdout + done.stderr  # a run broke
    document = json.loads((root / "reports/latest/verdicts.json").read_text())
    store = Store(root / ".embinit/store")
    return (
        {entry["id"]: (entry["verdict"], entry["reason"]) for entry in document["claims"]},
        {key: (store.get(key).measures, store.get(key).curves) for key in store},
        document["session"]["device"],
    )


def test_a_cluster_comes_to_the_runs_of_one_machine(tmp_path):
    """To the last bit and under the same names, since a run depends on its spec alone."""
    (tmp_path / "near").mkdir()
    (tmp_path / "far").mkdir()
    near, runs, _ = judged(tmp_path / "near")
    far, far_runs, device = judged(tmp_path / "far", "--embinit-engine", "ray")
    assert device == "cpu (Ray cluster)"
    assert far == near
    assert far_runs == runs
    assert len(runs) == 2 * 2 * 4 + 4
    assert near["mine/f/above[breaks]"][0] == "NOT RUN"
    assert "RuntimeError: boom (test_mine.py:" in near["mine/f/above[breaks]"][1]
