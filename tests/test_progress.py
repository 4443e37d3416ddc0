"""What is told while models train, and to whom; nothing is trained here, and nothing timed."""

from __future__ import annotations

import contextlib
import json
import os
import re
import struct
import subprocess
import sys
from types import SimpleNamespace

import pytest
from _pytest._io import TerminalWriter

from embinit.errors import InputError
from embinit.pytest_plugin import progress_line
from embinit.pytest_plugin.progress_line import BELOW, ERASE, Line
from embinit.runs import progress
from embinit.runs.progress import (
    Heartbeat,
    ProgressMonitor,
    ProgressSnapshot,
    alive,
    heartbeats,
    sweep,
)
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit_papers.kim2024.experiments import experiments

COLOUR = re.compile(r"\x1b\[[\d;]*m")
NOBODY = 2**22 + 1
"""More than the largest number of a process."""

CLAIMS = """
from embinit import Family, claim, experiment, training


@training(measures={"score": "points"})
def fit(seed, arm):
    raise AssertionError("conftest.py has its results")


on = experiment("scores", training=fit, arms=["low", "high"], margin=1.0, seeds=5, most_seeds=5)
MINE = Family("mine/finding", size=2)


@claim("mine/finding/a", says="a", family=MINE, on=on)
def test_a(arms):
    assert arms["low"] < arms["high"]


@claim("mine/finding/b", says="b", family=MINE, on=on)
def test_b(arms):
    assert arms["low"] > arms["high"]
"""

CONFTEST = """
# A run takes until the line was seen, and then it has a score.
import contextlib
import json
import os
import sys
import time
from pathlib import Path

from embinit.pytest_plugin import progress_line as progress
from embinit.runs import progress as state
from embinit.runs.results import RunResult
from embinit.runs.session import Session

SHOWN = Path("shown")
show = progress.Line.show


def seen(self, state):
    show(self, state)
    SHOWN.write_text("")


def ensure(self, runs):
    names = sorted(path.name for path in (self.store.root / "sessions").glob("plan-*"))
    told = {"parent": os.getppid(), "plans": names, "rich": "rich" in sys.modules}
    Path(f"told-{os.getpid()}.json").write_text(json.dumps(told))
    end = time.monotonic() + 60
    while sys.argv[-1] == "wait" and not SHOWN.exists() and time.monotonic() < end:
        time.sleep(0.01)


def result(self, run):
    return RunResult(run, {"score": 40.0 + run.seed % 2 + ('"high"' in run.recipe.arguments)})


state.LOOK_SECONDS = 0.01
progress.Line.show = seen
Session.ensure, Session.result = ensure, result
Session.with_helpers = lambda self: contextlib.nullcontext()


def pytest_addoption(parser):
    parser.addoption("--until", default="", help="wait: for the line")


def pytest_configure(config):
    sys.argv.append(config.getoption("until"))
"""


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def tell(folder, name, document):
    (folder / name).write_text(json.dumps(document))


def planned(folder, **costs):
    """The plan of session 1, and its runs' paths by name."""
    paths = {name: folder / "runs" / f"{name}.json" for name in costs}
    (folder / "runs").mkdir()
    plan = {
        str(paths[name]): cost if isinstance(cost, tuple) else (cost, "")
        for name, cost in costs.items()
    }
    tell(folder, "plan-1-2.json", plan)
    return paths


def mark(folder, share, *runs):
    tell(folder, f"{os.getpid()}.json", {"share": share, "runs": runs})


def test_the_time_left_goes_by_cost(folder):
    """And by what this session trained: what was stored or begun before took none of its time."""
    now = [0.0]
    paths = planned(folder, stored=1.0, begun=1.0, costly=3.0, cheap=1.0)
    paths["stored"].touch()
    mark(folder, 0.5, "begun", "of another plan")
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    assert runs.look() == ProgressSnapshot(
        done=1, running=1, left=2, share=pytest.approx(0.25), seconds=None
    )
    now[0] = 5.0
    paths["begun"].touch()
    mark(folder, 0.0, "costly")
    assert runs.look().seconds is None
    now[0] = 35.0
    mark(folder, 0.5, "costly")
    assert runs.look() == ProgressSnapshot(
        2, 1, 1, pytest.approx(3.5 / 6), seconds=pytest.approx(50)
    )
    now[0] = 45.0
    assert runs.look().seconds == pytest.approx(40)  # no mark, but no slowness either
    now[0] = 65.0
    paths["costly"].touch()
    (folder / f"{os.getpid()}.json").unlink()
    assert runs.look() == ProgressSnapshot(3, 0, 1, pytest.approx(5 / 6), seconds=pytest.approx(20))


def test_each_group_of_runs_has_its_own_speed(folder):
    """A unit of cost may take longer in one kind of run; others are expected in between."""
    now = [0.0]
    paths = planned(
        folder, a=(1.0, "slow"), b=(1.0, "quick"), c=(2.0, "slow"), d=(1.0, "quick"), e=(1.0, "new")
    )
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    for run, seconds in {"a": 30.0, "b": 10.0}.items():
        runs.look()
        mark(folder, 0.0, run)
        runs.look()
        now[0] += seconds
        paths[run].touch()
        (folder / f"{os.getpid()}.json").unlink()
    assert runs.look().seconds == pytest.approx(2 * 30 + 10 + 20)


def test_all_that_train_share_the_time_left(folder):
    """Two processes at work halve it, and for a minute one that is between two cohorts."""
    now = [0.0]
    planned(folder, a=1.0, b=1.0, c=1.0)
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    runs.look()
    mark(folder, 0.0, "a")
    tell(folder, f"{os.getppid()}.json", {"share": 0.0, "runs": ["b"]})
    runs.look()
    now[0] = 10.0
    mark(folder, 0.5, "a")
    tell(folder, f"{os.getppid()}.json", {"share": 0.5, "runs": ["b"]})
    assert runs.look() == ProgressSnapshot(0, 2, 1, pytest.approx(1 / 3), seconds=pytest.approx(20))
    (folder / f"{os.getppid()}.json").unlink()
    (folder / "runs/b.json").touch()
    assert runs.look() == ProgressSnapshot(1, 1, 1, pytest.approx(1 / 2), seconds=pytest.approx(10))
    now[0] = 21.0
    assert runs.look().seconds == pytest.approx((20 - 11) / 2)
    now[0] = 71.0
    mark(folder, 0.75, "a")
    assert runs.look().seconds == pytest.approx((10 + 10 + 61) / 1.75 * 1.25)


def expects(folder, by=2, after=0.0, **costs):
    """What a process of session 1 expects to plan later, told so many seconds after the epoch."""
    runs = {str(folder / "runs" / f"{name}.json"): (cost, "") for name, cost in costs.items()}
    tell(folder, f"later-1-{by}.json", runs)
    os.utime(folder / f"later-1-{by}.json", (after, after))


def test_the_time_left_is_that_of_later_looks_too(folder):
    """A run is counted once; whoever told last knows best, and what is stored takes no time."""
    now = [0.0]
    paths = planned(folder, a=1.0, b=1.0)
    expects(folder, b=1.0, c=2.0, d=1.0, e=4.0)
    (folder / "runs/d.json").touch()
    runs = ProgressMonitor(folder, 1, lambda: now[0])
    assert runs.look().stored == "0 of about 4 runs"
    assert runs.look().seconds is None
    mark(folder, 0.0, "a")
    runs.look()
    now[0] = 10.0
    paths["a"].touch()
    (folder / f"{os.getpid()}.json").unlink()
    state = runs.look()
    assert state == ProgressSnapshot(1, 0, 1, pytest.approx(1 / 8), pytest.approx(70), later=2)
    assert (state.stored, state.ended) == ("1 of about 4 runs", False)
    expects(folder, by=3, after=1.0, c=2.0)
    assert runs.look().seconds == pytest.approx(30)
    expects(folder, by=2, after=2.0)
    assert runs.look() == ProgressSnapshot(1, 0, 1, pytest.approx(1 / 2), pytest.approx(10))
    (folder / "later-1-4.json").write_text("{")
    assert runs.look().stored == "1 of 2 runs"
    paths["b"].touch()
    assert runs.look().ended
    expects(folder, by=4, after=3.0e9, c=2.0)
    assert not runs.look().ended


def test_a_budget_ends_the_time_left(folder):
    """Of what is expected only that begins for which there is time; the plan is always trained."""
    now = [0.0]
    paths = planned(folder, a=1.0, b=1.0)
    expects(folder, c=1.0, d=1.0, e=1.0, f=1.0)
    runs = ProgressMonitor(folder, 1, lambda: now[0], ends=40.0)
    runs.look()
    mark(folder, 0.0, "a")
    runs.look()
    now[0] = 10.0
    paths["a"].touch()
    (folder / f"{os.getpid()}.json").unlink()
    assert runs.look() == ProgressSnapshot(
        1, 0, 1, pytest.approx(1 / 4), pytest.approx(30), later=2
    )
    now[0] = 35.0
    assert runs.look() == ProgressSnapshot(1, 0, 1, pytest.approx(1 / 2), pytest.approx(10))
    now[0] = 45.0
    assert runs.look() == ProgressSnapshot(1, 0, 1, pytest.approx(1 / 2), pytest.approx(10))


def test_a_session_says_that_it_waits_for_a_core(folder):
    """Where others have every core, an estimate of its own time would be no answer."""
    planned(folder, a=1.0, b=1.0)
    runs = ProgressMonitor(folder, 1, cores=2)
    mark(folder, 0.0, "of another plan")
    assert runs.look().estimate == "estimating"
    tell(folder, f"{os.getppid()}.json", {"share": 0.0, "runs": ["of a third"]})
    assert runs.look().estimate == "waiting for a core, since other sessions train on all of them"
    mark(folder, 0.0, "a")
    assert runs.look().estimate == "estimating"


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
    assert sorted(path.name for path in folder.iterdir()) == sorted(kept)
    sweep(folder / "absent")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "estimating"),
        (60, "under a minute"),
        (61, "about 2 min"),
        (7140, "about 119 min"),
        (7141, "about 2 h 00 min"),
    ],
)
def test_the_time_left_in_words(seconds, said):
    """No finer than it is known."""
    state = ProgressSnapshot(0, 0, 1, 0.0, seconds)
    assert state.time == said
    assert state.estimate == (said if seconds is None else f"{said} left")


@pytest.mark.parametrize(
    ("value", "quiet"), [(None, False), ("", False), ("false", False), ("true", True), ("1", True)]
)
def test_a_continuous_integration_job_is_told_seldom(monkeypatch, value, quiet):
    """But not never: a job that is silent for long is taken for hung."""
    monkeypatch.delenv("CI", raising=False)
    if value is not None:
        monkeypatch.setenv("CI", value)
    assert progress_line.quiet() is quiet
    assert progress_line._seconds() == (300 if quiet else 30)


def test_rich_is_imported_where_it_is_used_alone():
    """Not by whoever imports embinit, nor by a pytest that trains nothing."""
    code = "import sys, embinit, embinit.pytest_plugin\nassert 'rich' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_later_looks_may_take_is_told_without_reading_texts(tmp_path, monkeypatch):
    """A run that failed, or whose file is missing, is left out and costs the others nothing."""

    def failure(run):
        if run.seed == 2:
            raise InputError("a file is missing")
        return "it failed" if run.seed == 1 else None

    def problem(run):
        raise AssertionError("its texts were read")

    session = Session(Store(tmp_path), None, "cpu")
    monkeypatch.setattr(session, "failure", failure)
    monkeypatch.setattr(session, "problem", problem)
    [one] = experiments("micro", ("glove",), ("sentiment",))
    runs = [one.run("xavier", seed) for seed in range(4)]
    progress.publish_expected_runs(session, os.getpid(), runs)
    [told] = tmp_path.glob("sessions/later-*")
    made = {str(session.store.path(session.key(runs[seed]))) for seed in (0, 3)}
    assert json.loads(told.read_text()).keys() == made


@pytest.fixture
def suite(pytester):
    (pytester.mkdir("claims") / "test_mine.py").write_text(CLAIMS)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\n")
    return pytester


def test_a_session_tells_its_plan_under_its_own_name(suite):
    """From every worker, to the controller alone; another session's stays, and ours are gone."""
    sessions = suite.path / ".embinit/store/sessions"
    sessions.mkdir(parents=True)
    tell(sessions, f"plan-{os.getpid()}-1.json", {})
    suite.runpytest_subprocess("claims", "-n", "2").assert_outcomes(xfailed=2)
    told = [json.loads(path.read_text()) for path in suite.path.glob("told-*.json")]
    assert told
    for one in told:
        mine = set(one["plans"]) - {f"plan-{os.getpid()}-1.json"}
        assert mine
        assert all(name.startswith(f"plan-{one['parent']}-") for name in mine)
        assert not one["rich"]
    assert [path.name for path in sessions.glob("plan-*")] == [f"plan-{os.getpid()}-1.json"]


def resize(terminal, columns):
    fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


@pytest.fixture
def terminal():
    """Both ends of a terminal of 80 columns."""
    pty = pytest.importorskip("pty")
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"no terminal to be had: {error}")
    resize(theirs, 80)
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


def on_a_terminal(suite, terminal, *arguments, **environment):
    """What a session writes to a terminal, whole."""
    ours, theirs = terminal
    given = {name: value for name, value in os.environ.items() if name not in ("CI", "COLUMNS")}
    session = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "claims", *arguments],
        cwd=suite.path,
        env={**given, "TERM": "xterm", **environment},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # Linux' way to say that nobody writes there any more
        while part := os.read(ours, 65536):
            written += part
    assert session.wait() == 1, written.decode()  # two seeds decide nothing
    return written.decode()


LINE = re.compile(re.escape(BELOW).replace(r"\{\}", r"([^\r\n]*?)").replace("\n", "\r?\n"))


@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_terminal_has_a_line_that_leaves_no_trace(suite, terminal, workers):
    """Below pytest's, erased before pytest goes on; without it the output is as ever."""
    written = on_a_terminal(suite, terminal, "-n", workers, "--until", "wait")
    drawn = list(LINE.finditer(written))
    assert drawn
    for line in drawn:
        said = COLOUR.sub("", line[1])
        assert re.match(r"embinit .*━* +0 runs done, 0 running, 10 left, estimating$", said)
        assert len(said) < 80
        assert written[line.end() :].startswith(ERASE)
    screen = COLOUR.sub("", LINE.sub("", written).replace(ERASE, ""))
    assert "runs done" not in screen
    assert "\x1b" not in screen
    assert re.search(r"^(\S+ )?xx +\[100%\]", screen, re.MULTILINE)


def test_a_quiet_job_has_no_line_though_it_has_a_terminal(suite, terminal):
    """What reads its log may know no cursor."""
    written = on_a_terminal(suite, terminal, CI="true")
    assert "2 xfailed" in written
    assert "runs done" not in written
    assert ERASE not in written


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
