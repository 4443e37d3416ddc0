"""A helper that fails says so, holds nobody up, and costs its session nothing but time."""

from __future__ import annotations

from pathlib import Path

import pytest

from embinit.claims import experiment
from embinit.runs import helpers, machine
from embinit.runs.functions import training
from embinit.runs.session import Session
from embinit.runs.store import Store

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


@training(measures={"score": "points"})
def scores(seed, arm):
    return seed + {"low": 1, "high": 9}[arm]


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    """One whose plan is two cohorts, on a machine with two cores."""
    monkeypatch.setattr(machine, "cores", lambda: 2)
    [on] = experiment("scores", training=scores, arms=["low", "high"], seeds=5)("micro")
    made = Session(Store(tmp_path / "store"), None, "cpu")
    made.set_plan(on.run(arm, seed) for arm in ("low", "high") for seed in range(5))
    return made


def ended(session: Session) -> list[str]:
    """What a session says of helpers that end by themselves."""
    with session.with_helpers():
        [helper] = session.helpers
        helper.process.wait(120)
    return session.troubles


def test_a_helper_that_fails_says_why(session):
    """Its reason would be lost with its process."""
    (session.store.root / "format").write_text("99\n")
    [trouble] = ended(session)
    assert trouble.startswith(
        "a process that with_helpers to train ended with status 1: the store "
    )
    assert "update embinit" in trouble


def test_a_helper_that_is_killed_is_told(session, monkeypatch):
    monkeypatch.setattr(helpers, "CODE", "import os; os.kill(os.getpid(), 9)")
    assert ended(session) == ["a process that with_helpers to train ended with signal 9"]


def test_a_session_has_no_more_helpers_than_cores(session, monkeypatch):
    """A later look begins another one only where the first has ended."""
    monkeypatch.setattr(helpers, "CODE", "import time; time.sleep(300)")
    with session.with_helpers():
        [helper] = session.helpers
        with session.with_helpers():
            assert session.helpers == (helper,)
        helper.process.kill()
        helper.process.wait()
        with session.with_helpers():
            assert len(session.helpers) == 2
        assert session.helpers == (helper,)
    assert session.helpers == ()


def test_a_session_tells_of_its_helpers_and_decides_without_them(pytester):
    pytester.makeini("[pytest]\nfilterwarnings = error")
    pytester.makeconftest(
        "import embinit.runs.helpers, embinit.runs.machine\n"
        "embinit.runs.machine.cores = lambda: 2\n"
        "embinit.runs.helpers.CODE = 'raise SystemExit(3)'\n"
    )
    (pytester.mkdir("claims") / "test_mine.py").write_text(CLAIMS)
    done = pytester.runpytest_subprocess("claims", "-p", "no:randomly")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["a process that with_helpers to train ended with status 3"])
    done.assert_outcomes(passed=1)
