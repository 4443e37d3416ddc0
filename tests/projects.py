"""A project of tests: what its claims are, and sessions of them in this process."""

from pathlib import Path

import pytest

from builders import set_apart
from documents import latest
from embinit.runs.trainings import TRAININGS

GOOD = """
import random
from contextlib import suppress

import pytest

from embinit import Family, Verdict, claim, experiment, positive_control, training


@training(measures={"score": "points", "loss": "nats"})
def fit(seed, arm):
    more = random.random() * (0.5 if arm == "low" else 1)
    return {"score": {"low": 1, "high": 9}[arm] + more, "loss": 1.0 + random.random()}


on = experiment("scores", training=fit, arms=["low", "high"], baseline="high", margin=1.0, seeds=6)
MINE = Family("mine/f", size=9)
"""
HOLDS = "assert arms['high'] > arms['low']"


def stated(name: str, asserts: str = HOLDS) -> str:
    """The text of a claim of the project."""
    head = f'@claim("mine/f/{name}", says="It is {name}", family=MINE, on=on)'
    return f"\n\n{head}\ndef test_{name}(arms):\n    {asserts}\n"


GOOD += stated("good")
OTHER, LAST = stated("other"), stated("last")
CLAIMS = GOOD + OTHER + LAST


@pytest.fixture
def session(pytester, monkeypatch):
    """Runs claims in this process: what pytest did, and the document if there is one."""
    set_apart(monkeypatch, TRAININGS, empty=True)
    pytester.mkdir("claims")

    def run(text=CLAIMS, *arguments):
        Path("claims/test_mine.py").write_text(text)
        given = ("claims", "-p", "no:cacheprovider", *arguments)
        done = pytester.runpytest_inprocess(*given, no_reraise_ctrlc=True)
        return done, latest() if Path("reports/latest/verdicts.json").exists() else None

    return run
