"""What is told while models train, and to whom; nothing is trained here, and nothing timed."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from types import SimpleNamespace

import pytest
from _pytest._io import TerminalWriter

from embinit.pytest_plugin import progress_line
from embinit.pytest_plugin.progress_line import ERASE, Line
from embinit.runs.progress import (
    Heartbeat,
    ProgressMonitor,
    ProgressSnapshot,
    alive,
    heartbeats,
    sweep,
)

NOBODY = 2**22 + 1
"""More than the largest number of a process."""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "runs").mkdir()
    return tmp_path


def tell(folder, name, document):
    (folder / name).write_text(json.dumps(document))


def planned(folder, name="plan-1-2", after=0.0, **costs):
    """A plan of session 1, written so many seconds after the epoch: its runs' costs and groups."""
    runs = {run: cost if isinstance(cost, tuple) else (cost, "") for run, cost in costs.items()}
    tell(folder, f"{name}.json", {str(path(folder, run)): each for run, each in runs.items()})
    os.utime(folder / f"{name}.json", (after, after))


def path(folder, run):
    return folder / "runs" / f"{run}.json"


def mark(folder, share, *runs, process=None):
    tell(folder, f"{process or os.getpid()}.json", {"share": share, "runs": runs})


def ends(folder, run, process=None):
    """The run is stored, and its process trains nothing."""
    path(folder, run).touch()
    (folder / f"{process or os.getpid()}.json").unlink(missing_ok=True)


def snapshot(done, running, left, share, seconds, later=0):
    close = pytest.approx(seconds) if seconds is not None else None
    return ProgressSnapshot(done, running, left, pytest.approx(share), close, later=later)


def test_the_time_left_goes_by_cost(folder):
    """And by what this session trained: what was stored or begun before took none of its time."""
    now = [0.0]
    planned(folder, stored=1.0, begun=1.0, costly=3.0, cheap=1.0)
    ends(folder, "stored")
    mark(folder, 0.5, "begun", "of another plan")
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    assert runs.look() == snapshot(1, 1, 2, 0.25, None)
    now[0] = 5.0
    ends(folder, "begun")
    mark(folder, 0.0, "costly")
    assert runs.look().seconds is None
    now[0] = 35.0
    mark(folder, 0.5, "costly")
    assert runs.look() == snapshot(2, 1, 1, 3.5 / 6, 50)
    now[0] = 45.0
    assert runs.look().seconds == pytest.approx(40)  # no mark, but no slowness either
    now[0] = 65.0
    ends(folder, "costly")
    assert runs.look() == snapshot(3, 0, 1, 5 / 6, 20)


def test_each_group_of_runs_has_its_own_speed(folder):
    """A unit of cost may take longer in one kind of run; others are expected in between."""
    now, slow, quick = [0.0], "slow", "quick"
    planned(folder, a=(1.0, slow), b=(1.0, quick), c=(2.0, slow), d=(1.0, quick), e=(1.0, "new"))
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    for run, seconds in {"a": 30.0, "b": 10.0}.items():
        runs.look()
        mark(folder, 0.0, run)
        runs.look()
        now[0] += seconds
        ends(folder, run)
    assert runs.look().seconds == pytest.approx(2 * 30 + 10 + 20)


def test_all_that_train_share_the_time_left(folder):
    """Two processes at work halve it, and for a minute one that is between two cohorts."""
    now, other = [0.0], os.getppid()
    planned(folder, a=1.0, b=1.0, c=1.0)
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    runs.look()
    mark(folder, 0.0, "a")
    mark(folder, 0.0, "b", process=other)
    runs.look()
    now[0] = 10.0
    mark(folder, 0.5, "a")
    mark(folder, 0.5, "b", process=other)
    assert runs.look() == snapshot(0, 2, 1, 1 / 3, 20)
    ends(folder, "b", other)
    assert runs.look() == snapshot(1, 1, 1, 1 / 2, 10)
    now[0] = 21.0
    assert runs.look().seconds == pytest.approx((20 - 11) / 2)
    now[0] = 71.0
    mark(folder, 0.75, "a")
    assert runs.look().seconds == pytest.approx((10 + 10 + 61) / 1.75 * 1.25)


def test_the_time_left_is_that_of_later_looks_too(folder):
    """A run is counted once; whoever wrote last knows best, and what is stored takes no time."""
    now = [0.0]
    planned(folder, a=1.0, b=1.0)
    planned(folder, "later-1-2", b=1.0, c=2.0, d=1.0, e=4.0)
    ends(folder, "d")
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    assert runs.look().stored == "0 of about 4 runs"
    mark(folder, 0.0, "a")
    assert runs.look().seconds is None
    now[0] = 10.0
    ends(folder, "a")
    state = runs.look()
    assert state == snapshot(1, 0, 1, 1 / 8, 70, later=2)
    assert not state.ended
    planned(folder, "later-1-3", after=1.0, c=2.0)
    assert runs.look().seconds == pytest.approx(30)
    planned(folder, "later-1-2", after=2.0)
    assert runs.look() == snapshot(1, 0, 1, 1 / 2, 10)
    (folder / "later-1-4.json").write_text("{")
    assert runs.look().stored == "1 of 2 runs"
    ends(folder, "b")
    assert runs.look().ended
    planned(folder, "later-1-4", after=3.0e9, c=2.0)
    assert not runs.look().ended


def test_a_budget_ends_the_time_left(folder):
    """Of what is expected only that begins for which there is time; the plan is always trained."""
    now = [0.0]
    planned(folder, a=1.0, b=1.0)
    planned(folder, "later-1-2", c=1.0, d=1.0, e=1.0, f=1.0)
    runs = ProgressMonitor(folder, 1, lambda: now[0], ends=40.0)
    runs.look()
    mark(folder, 0.0, "a")
    runs.look()
    now[0] = 10.0
    ends(folder, "a")
    assert runs.look() == snapshot(1, 0, 1, 1 / 4, 30, later=2)
    for now[0] in (35.0, 45.0):
        assert runs.look() == snapshot(1, 0, 1, 1 / 2, 10)


def test_marks_of_dead_processes_say_nothing(folder):
    """Neither of those that are gone, nor of those that wait to be reaped, nor broken ones."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
    tell(folder, f"{dead.pid}.json", {"share": 0.5, "runs": ["a"]})
    tell(folder, f"{NOBODY}.json", {"share": 0.5, "runs": ["b"]})
    tell(folder, f"{os.getppid()}.json", {"share": 0.5, "runs": 3})
    (folder / "8.json").write_text("{")
    assert heartbeats(folder) == {}
    assert not alive(dead.pid)
    dead.wait()
    tell(folder, f"{os.getpid()}.json", {"share": 0.5, "runs": ["c"]})
    assert heartbeats(folder) == {os.getpid(): Heartbeat(0.5, ("c",))}


def test_a_session_sees_its_own_plans_alone(folder):
    """All of its workers': those that look again plan more. A store may have other sessions."""
    for name, run in (("1-2", "a"), ("1-3", "b"), ("12-2", "c"), ("2-1", "d")):
        tell(folder, f"plan-{name}.json", {str(folder / run): (1.0, "")})
    (folder / "plan-1-4.json").write_text("{")
    assert ProgressMonitor(folder, 1).look().wanted == 2
    assert ProgressMonitor(folder, 3).look() is None


def test_what_killed_sessions_left_is_swept(folder):
    """What lives is left alone, and so is whatever is not ours."""
    kept = [f"plan-{os.getppid()}-{NOBODY}.json", f"{os.getppid()}.json", "notes.json"]
    gone = [f"plan-{NOBODY}-1.json", f"plan-{os.getpid()}-1.json", f"{NOBODY}.json"]
    kept, gone = ([*names, names[0].replace("plan", "later")] for names in (kept, gone))
    for name in (*kept, *gone):
        tell(folder, name, {})
    sweep(folder)
    assert sorted(each.name for each in folder.glob("*.json")) == sorted(kept)
    sweep(folder / "absent")


def test_the_time_left_in_words():
    """No finer than it is known."""
    for seconds, said in (
        (None, "estimating"),
        (60, "under a minute left"),
        (61, "about 2 min left"),
        (7140, "about 119 min left"),
        (7141, "about 2 h 00 min left"),
    ):
        assert ProgressSnapshot(0, 0, 1, 0.0, seconds).estimate == said


@pytest.fixture
def terminal():
    """Both ends of a terminal of 80 columns."""
    pty, fcntl, termios = map(pytest.importorskip, ("pty", "fcntl", "termios"))
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had: {error}")
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    yield ours, theirs
    os.close(ours)


def read(ours, file):
    """What was written to the terminal so far; it may come in parts, so its end is marked."""
    file.write("\0")
    file.flush()
    written = b""
    while not written.endswith(b"\0"):
        written += os.read(ours, 65536)
    return written[:-1].decode()


def test_the_line_waits_while_pytests_is_full(terminal):
    """A terminal wraps when the next letter comes, unless its cursor was moved meanwhile."""
    ours, theirs = terminal
    with open(theirs, "w") as file:
        writer = TerminalWriter(file)
        line = Line(writer, file)

        def written():
            return read(ours, file)

        writer.write("x" * 79)
        line.show(ProgressSnapshot(0, 1, 1, 0.5, None))
        assert "estimating" in written()
        writer.write("x")
        assert written() == f"{ERASE}x"
        line.show(ProgressSnapshot(0, 1, 1, 0.5, 60.0))
        writer.write("y")
        assert re.match(r"y\x1bD.*under a minute", written(), re.DOTALL)
        line.show(ProgressSnapshot(2, 0, 0, 1.0, 0.0))
        assert written() == ERASE
        line.close()
        writer.write("z")
        assert written() == "z"


@pytest.mark.parametrize(
    ("changed", "live"),
    [
        ({}, True),
        ({"isatty": False}, False),
        ({"TERM": "dumb"}, False),
        ({"CI": "1"}, False),
        ({"capture": "no"}, False),
        ({"usepdb": True}, False),
    ],
)
def test_the_line_needs_a_terminal_of_its_own(monkeypatch, changed, live):
    """One that can place it, and to which neither tests nor a debugger write."""
    given = {"isatty": True, "TERM": "xterm", "CI": "", "capture": "fd", **changed}
    for name in ("TERM", "CI"):
        monkeypatch.setenv(name, given[name])
    reporter = SimpleNamespace(isatty=given["isatty"])
    config = SimpleNamespace(
        pluginmanager=SimpleNamespace(get_plugin=lambda name: reporter), getoption=given.get
    )
    assert progress_line._live(config) is live
    assert progress_line._seconds() == (300 if given["CI"] else 30)
