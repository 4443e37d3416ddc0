"""How far a session is: its runs done, running and left, and the time that is left.

Each process tells its plan in a file that is named after the session; trainers leave marks of what
they train. The controller looks at both, and at the store. On a terminal it shows one line below
pytest's own output; into a pipe or a log it writes a plain line now and then, and seldom where
``CI`` is set.

pytest writes a test's letter on an open line, which rich's own ``Live`` would overwrite: it takes
whole lines, and takes the cursor for its own. So rich only draws the line. It is placed below the
cursor, which stays where pytest left it, and whatever pytest writes next first erases all that
follows the cursor. Nothing here has to know where on the screen that is.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from embinit.experiments import Cohort
from embinit.session import Session
from embinit.store import write_atomically

if TYPE_CHECKING:
    from rich.console import Console

LOOK_SECONDS = 1.0
TELL_SECONDS = 30.0
CI_SECONDS = 300.0
"""So seldom where nobody watches, and often enough that no job is taken for hung."""

ERASE = "\x1b[J"
"""Everything behind the cursor, to the end of the screen."""

BELOW = "\x1bD\x1b[A\x1b7\r\n{}\x1b8"
"""Text on the line below: make sure that there is one, keep the cursor, write, take it back."""


@dataclass(frozen=True)
class State:
    """How far the plan is: counts of runs, the share of its cost that is trained, seconds left.

    ``seconds`` is None while nothing tells how fast it goes.
    """

    done: int
    running: int
    left: int
    share: float
    seconds: float | None

    @property
    def wanted(self) -> int:
        """The runs of the plan."""
        return self.done + self.running + self.left

    @property
    def time(self) -> str:
        """How long it takes from here, as exactly as that is known."""
        if self.seconds is None:
            return "estimating"
        minutes = math.ceil(self.seconds / 60)
        if minutes <= 1:
            return "under a minute"
        if minutes < 120:
            return f"about {minutes} min"
        return f"about {minutes // 60} h {minutes % 60:02d} min"


class Runs:
    """The runs that the session ``controller`` plans, in the store whose marks are in ``folder``.

    The time left goes by cost, since the costliest runs are trained first, and by what was trained
    since the first look: what the store had, or others had begun, took none of the time.
    """

    def __init__(
        self, folder: Path, controller: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._folder, self._controller, self._clock = folder, controller, clock
        self._started: float | None = None
        self._first: dict[str, float] = {}

    def look(self) -> State | None:
        """How far they are now; None while there is no plan."""
        costs = self._costs()
        if not costs:
            return None
        stored = {path for path in costs if os.path.exists(path)}
        marked, now = in_training(self._folder), self._clock()
        begun = {path: marked[key] for path in costs if (key := Path(path).stem) in marked}
        shares = {path: 1.0 if path in stored else begun.get(path, 0.0) for path in costs}
        self._started = now if self._started is None else self._started
        for path, share in shares.items():
            self._first.setdefault(path, share)
        trained = sum(cost * (shares[path] - self._first[path]) for path, cost in costs.items())
        whole, left = sum(costs.values()), _left(costs, shares)
        running = len(begun.keys() - stored)
        return State(
            done=len(stored),
            running=running,
            left=len(costs) - len(stored) - running,
            share=1 - left / whole,
            seconds=left * (now - self._started) / trained if trained > 0 else None,
        )

    def _costs(self) -> dict[str, float]:
        """The costs of the planned runs by path: workers that look again plan more than others."""
        costs: dict[str, float] = {}
        for path in self._folder.glob(f"plan-{self._controller}-*.json"):
            with contextlib.suppress(OSError, ValueError):
                costs |= json.loads(path.read_bytes())
        return costs


def _left(costs: dict[str, float], shares: dict[str, float]) -> float:
    return math.fsum(cost * (1 - shares[path]) for path, cost in costs.items())


def in_training(folder: Path) -> dict[str, float]:
    """The keys of the runs that live processes train, and which share of each is behind them."""
    found: dict[str, float] = {}
    for path in folder.glob("[0-9]*.json"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            mark = json.loads(path.read_bytes())
            if alive(_owner(path)):
                found |= dict.fromkeys(mark["runs"], float(mark["share"]))
    return found


def alive(process: int) -> bool:
    """Whether there is such a process; one that ended and waits to be reaped is none."""
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return True  # macOS has no /proc
    return state != "Z"


def _owner(path: Path) -> int:
    """The session or the process that a plan (``plan-7-8.json``) or a mark (``7.json``) is of."""
    return int(path.stem.removeprefix("plan-").partition("-")[0])


def sweep(folder: Path) -> None:
    """Take away what killed sessions left; in a container the next one may have their number."""
    for path in (*folder.glob("[0-9]*.json"), *folder.glob("plan-[0-9]*.json")):
        with contextlib.suppress(OSError, ValueError):
            if _owner(path) == os.getpid() or not alive(_owner(path)):
                path.unlink()


def tell_plan(session: Session, controller: int) -> None:
    """Say what this process plans, for the progress that ``controller`` shows."""
    costs = {
        str(session.store.path(session.key(run))): Cohort((run,)).cost
        for run in session.wanted
        if session.problem(run) is None
    }
    name = f"plan-{controller}-{os.getpid()}.json"
    write_atomically(session.store.root / "sessions" / name, json.dumps(costs))


@contextlib.contextmanager
def shown(config: pytest.Config, folder: Path) -> Iterator[None]:
    """Meanwhile show how far this session is; nothing of it stays on a terminal's screen."""
    runs, done = Runs(folder, os.getpid()), threading.Event()
    with _line(config) if _live(config) else contextlib.nullcontext() as line:
        show, every = (line.show, 0.0) if line else (_teller(config), _seconds())
        watcher = threading.Thread(target=_watch, args=(runs, show, every, done), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()
            for path in folder.glob(f"plan-{os.getpid()}-*.json"):
                path.unlink(missing_ok=True)


def _watch(runs: Runs, show: Callable[[State], None], every: float, done: threading.Event) -> None:
    """Look often, so that the estimate is good; show what is new ``every`` so many seconds."""
    shown = time.monotonic()
    while not done.wait(min(LOOK_SECONDS, every or LOOK_SECONDS)):
        state = runs.look()
        if state is not None and time.monotonic() - shown >= every:
            shown = time.monotonic()
            show(state)


def quiet() -> bool:
    """Whether nobody watches: ``CI`` is set, as the services that run jobs do."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _seconds() -> float:
    return CI_SECONDS if quiet() else TELL_SECONDS


def _teller(config: pytest.Config) -> Callable[[State], None]:
    """Writes plain lines, through pytest."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    def show(state: State) -> None:
        if reporter is None or state.done == state.wanted:
            return
        # Without workers the tests' output is captured, and this line is none of it.
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            left = state.time if state.seconds is None else f"{state.time} left"
            reporter.ensure_newline()
            if config.get_terminal_writer().width_of_current_line:
                reporter.line("")  # xdist's letters have no file's name before them
            reporter.line(f"embinit: {state.done} of {state.wanted} runs stored, {left}")
            reporter.flush()  # into a file, lines would wait for the next test's end

    return show


def _live(config: pytest.Config) -> bool:
    """Whether the session has a terminal that can show a line, and keeps it for itself.

    With ``-s`` or a debugger others write to it, which can't be waited for.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return (
        reporter is not None
        and bool(reporter.isatty)
        and not quiet()
        and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
        and config.getoption("capture") in ("fd", "sys")
        and not (config.getoption("usepdb", False) or config.getoption("trace", False))
    )


@contextlib.contextmanager
def _line(config: pytest.Config) -> Iterator[Line]:
    capture = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        # Of its own, since without workers standard output is captured while tests run.
        terminal = os.dup(sys.stdout.fileno())
        encoding = sys.stdout.encoding
    with open(terminal, "w", encoding=encoding, errors="replace") as file:
        line = Line(config.get_terminal_writer(), file)
        try:
            yield line
        finally:
            line.close()


class Line:
    """The line below pytest's output, from the first time that there is something to show."""

    def __init__(self, writer: Any, terminal: TextIO) -> None:
        self._writer, self._terminal = writer, terminal
        self._write = writer.write_raw
        self._lock = threading.Lock()
        self._below, self._visible = "", False
        self._console: Console | None = None

    def show(self, state: State) -> None:
        """Draw it anew; when all runs are done there is nothing to wait for, and no line."""
        with self._lock, contextlib.suppress(OSError):
            self._writer.write_raw = self._write_above
            self._below = "" if state.done == state.wanted else BELOW.format(self._drawn(state))
            self._terminal.write(self._erased() + self._placed())
            self._terminal.flush()

    def close(self) -> None:
        """Leave the screen to pytest."""
        with self._lock, contextlib.suppress(OSError):
            self._terminal.write(self._erased())
            self._terminal.flush()
            self._writer.write_raw = self._write

    def _write_above(self, text: str, *, flush: bool = False) -> None:
        """What pytest writes goes where its cursor stands; flushed, so that nothing parts it."""
        with self._lock:
            self._write(self._erased() + text + self._placed(), flush=True)

    def _erased(self) -> str:
        return ERASE if self._visible else ""

    def _placed(self) -> str:
        """The line, unless pytest's is full: what comes next goes on the line that this takes."""
        written = self._writer.width_of_current_line
        self._visible = bool(self._below) and not (written and written % self._columns() == 0)
        return self._below if self._visible else ""

    def _columns(self) -> int:
        """The terminal's width; some tell none, as in containers."""
        return os.get_terminal_size(self._terminal.fileno()).columns or 80

    def _drawn(self, state: State) -> str:
        """One line, a column narrower than the terminal, so that it never wraps."""
        from rich.console import Console
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        width = max(1, self._columns() - 1)
        if self._console is None:
            self._console = Console(
                file=self._terminal,
                force_terminal=True,
                color_system="auto" if self._writer.hasmarkup else None,
                highlight=False,
            )
        said = f"{state.done} runs done, {state.running} running, {state.left} left, {state.time}"
        bar = ProgressBar(total=1.0, completed=state.share, width=min(40, width - len(said) - 10))
        row = Table.grid(padding=(0, 1))
        row.add_row(*(("embinit", bar) if bar.width and bar.width >= 4 else ()), Text(said))
        row.columns[-1].no_wrap = True
        with self._console.capture() as drawn:
            self._console.print(row, width=width)
        return drawn.get().partition("\n")[0]
