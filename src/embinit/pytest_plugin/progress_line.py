"""A session's progress: one line below pytest's output, or plain lines in a pipe or a log.

The line is placed below the cursor, which stays where pytest left it, and is erased before pytest
writes on.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import pytest

from embinit.runs.progress import Progress, ProgressSnapshot, watched

TELL_SECONDS = 30.0
CI_SECONDS = 300.0
"""The seconds between lines where nobody watches: few lines, but no job is taken for hung."""

ERASE = "\x1b[J"
"""Erases everything behind the cursor, to the end of the screen."""

BELOW = "\x1bD\x1b[A\x1b7\r\n{}\x1b8"
"""Writes text on the line below, which is made if need be, and takes the cursor back."""


@contextlib.contextmanager
def shown(config: pytest.Config, progress: Progress) -> Iterator[None]:
    """A context that shows the session's progress; nothing of it stays on a terminal's screen."""
    with _line(config) if _live(config) else contextlib.nullcontext() as line:
        show, every = (line.show, 0.0) if line else (_reporter(config), _seconds())
        with watched(progress, show, every):
            yield


def quiet() -> bool:
    """Whether nobody watches: continuous integration sets the variable ``CI``."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false")


def _seconds() -> float:
    return CI_SECONDS if quiet() else TELL_SECONDS


def _reporter(config: pytest.Config) -> Callable[[ProgressSnapshot], None]:
    """A function that writes plain lines through pytest."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")

    def show(state: ProgressSnapshot) -> None:
        if reporter is None or state.ended:
            return
        # Without workers the tests' output is captured, and this line is none of it.
        with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
            reporter.ensure_newline()
            if config.get_terminal_writer().width_of_current_line:
                reporter.line("")  # xdist's letters have no file's name before them
            reporter.line(f"embinit: {state.stored} stored, {state.estimate}")
            reporter.flush()  # into a file, lines would wait for the next test's end

    return show


def _live(config: pytest.Config) -> bool:
    """Whether the terminal can show a line, and no ``-s`` or debugger would tear it."""
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
    """The line below pytest's output, on a terminal that is opened for it alone."""

    def __init__(self, writer: Any, terminal: TextIO) -> None:
        self._writer, self._terminal = writer, terminal
        self._write = writer.write_raw
        self._lock = threading.Lock()
        self._below, self._visible = "", False

    def show(self, state: ProgressSnapshot) -> None:
        """Draws the line for ``state``; when all runs are done there is no line."""
        with self._lock, contextlib.suppress(OSError):
            self._writer.write_raw = self._write_above
            self._below = "" if state.ended else BELOW.format(self._drawn(state))
            self._terminal.write(self._erased() + self._placed())
            self._terminal.flush()

    def close(self) -> None:
        """Erases the line, and leaves the screen to pytest."""
        with self._lock, contextlib.suppress(OSError):
            self._terminal.write(self._erased())
            self._terminal.flush()
            self._writer.write_raw = self._write

    def _write_above(self, text: str, *, flush: bool = False) -> None:
        """Writes pytest's text where its cursor stands, with the line below, in a single flush."""
        with self._lock:
            self._write(self._erased() + text + self._placed(), flush=True)

    def _erased(self) -> str:
        return ERASE if self._visible else ""

    def _placed(self) -> str:
        """The line's text; "" where pytest's line is full, since pytest needs the next one."""
        written = self._writer.width_of_current_line
        self._visible = bool(self._below) and not (written and written % self._columns() == 0)
        return self._below if self._visible else ""

    def _columns(self) -> int:
        """The terminal's width in columns; 80 where it tells none, as in containers."""
        return os.get_terminal_size(self._terminal.fileno()).columns or 80

    def _drawn(self, state: ProgressSnapshot) -> str:
        """The line's text, a column narrower than the terminal, so that it never wraps."""
        left = f"about {state.left + state.later}" if state.later else f"{state.left}"
        text = (
            f"embinit {100 * state.share:.0f} %: {state.done} runs done, {state.running} running, "
            f"{left} left, {state.estimate.removesuffix(' left')}"
        )
        return text[: max(1, self._columns() - 1)]
