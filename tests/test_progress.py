"""The time that is left while models train; nothing is trained here, and nothing timed."""

import contextlib
import threading
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from embinit.runs import progress
from embinit.runs.kinds import SECOND, Making
from embinit.runs.progress import ProgressSnapshot, progress_of
from embinit.runs.session import Work


class Run(NamedTuple):
    """A run's name, its group and its cost."""

    name: str
    group: str = "usual"
    cost: float = 1.0


@pytest.fixture(autouse=True)
def costs(monkeypatch):
    monkeypatch.setattr(progress, "cost_of", lambda run: (run.group, run.cost))


class Plan(SimpleNamespace):
    """What progress sees of a session: what joined its plan, is in training, and is over."""

    def __init__(self, *runs, slots=1):
        super().__init__(joined=dict.fromkeys(runs), over={}, at_work=[], done=[], slots=slots)
        self.news, self.failures = threading.Lock(), set()

    def is_stored(self, run):
        return run in self.over and run not in self.failures

    def trained(self, run, seconds):
        self.over[run] = None
        bill = run.group, run.cost
        self.done.append(SimpleNamespace(bill=bill, measured=(seconds, 1.0)))


def snapshot(done, wanted, seconds, later=0):
    return ProgressSnapshot(done, wanted, pytest.approx(seconds), later)


def test_the_time_left_goes_by_cost():
    """And by what this session trained: what was stored before took none of its time."""
    stored, costly, cheap = Run("stored"), Run("costly", cost=3.0), Run("cheap")
    plan = Plan(stored, costly, cheap)
    plan.over[stored] = None
    assert progress_of(plan) == snapshot(1, 3, 4 / SECOND)
    plan.at_work = [SimpleNamespace(share=0.5, measured=(30.0, 0.5), bill=("usual", 3.0))]
    assert progress_of(plan) == snapshot(1, 3, 50)
    plan.at_work = []
    plan.trained(costly, 60.0)
    assert progress_of(plan) == snapshot(2, 3, 20)


def test_what_is_loaded_before_training_begins_is_no_part_of_its_pace(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    work = Work(Making("micro-glove@9003", print), contextlib.ExitStack())
    for now[0], share in ((40.0, 0.0), (50.0, 0.5)):
        work.progress(share)
    assert work.measured == (10.0, 0.5)


def test_nobody_knows_what_a_users_function_takes():
    """Until one was called."""
    first, second = Run("first", "function/mine"), Run("second", "function/mine")
    plan = Plan(first, second)
    assert progress_of(plan).estimate == "estimating"
    plan.trained(first, 30.0)
    assert progress_of(plan).seconds == pytest.approx(30)


def test_each_group_of_runs_has_its_own_speed():
    """A unit of cost may take longer in one kind of run; others are expected in between."""
    slow, quick = [Run("a", "slow"), Run("c", "slow", 2.0)], [Run("b", "quick"), Run("d", "quick")]
    plan = Plan(*slow, *quick, Run("e", "new"))
    plan.trained(slow[0], 30.0)
    plan.trained(quick[0], 10.0)
    assert progress_of(plan).seconds == pytest.approx(2 * 30 + 10 + 20)


def test_all_that_train_share_the_time_left():
    runs = [Run(name) for name in "abc"]
    plan = Plan(*runs, slots=2)
    plan.trained(runs[0], 10.0)
    assert progress_of(plan) == snapshot(1, 3, 10)


def test_the_time_left_is_that_of_later_looks_too():
    """A run is counted once, and what failed is no longer wanted."""
    a, b, failed, c = Run("a"), Run("b"), Run("failed", cost=9.0), Run("c", cost=2.0)
    plan = Plan(a, b, failed)
    later = [b, c]
    assert progress_of(plan, later).stored == "0 of about 4 runs"
    plan.failures.add(failed)
    plan.over[failed] = None
    plan.trained(a, 10.0)
    assert progress_of(plan, later) == snapshot(1, 2, 30, later=1)
    assert not progress_of(plan, later).ended
    later.clear()
    assert progress_of(plan, later) == snapshot(1, 2, 10)
    plan.trained(b, 20.0)
    assert progress_of(plan, later).ended


def test_a_budget_ends_the_time_left(monkeypatch):
    """Of what is expected only that begins for which there is time; the plan is always trained."""
    now, runs = [10.0], [Run(name) for name in "abcdef"]
    plan = Plan(*runs[:2])
    plan.trained(runs[0], 10.0)
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    assert progress_of(plan, runs[2:], 40.0) == snapshot(1, 2, 30, later=2)
    now[0] = 45.0
    assert progress_of(plan, runs[2:], 40.0) == snapshot(1, 2, 10)


def test_tables_that_are_made_first_are_told():
    first = Making("micro-glove@9003", print)
    plan = Plan(first, Run("a"))
    object.__setattr__(first, "group", "made first")
    assert progress_of(plan).stored == "1 table to make, 0 of 1 run"


def test_the_time_left_in_words():
    """No finer than it is known."""
    for seconds, said in (
        (None, "estimating"),
        (60, "under a minute left"),
        (61, "about 2 min left"),
        (7140, "about 119 min left"),
        (7141, "about 2 h 00 min left"),
    ):
        assert ProgressSnapshot(0, 1, seconds).estimate == said
