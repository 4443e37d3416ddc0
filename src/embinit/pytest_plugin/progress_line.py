"""A session's progress: a line below pytest's output every half minute, in CI every five."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import pytest

from embinit.errors import counted
from embinit.runs.progress import Progress

SECONDS, CI_SECONDS = 30.0, 300.0
"""The seconds between lines: few, but no job is taken for hung."""


@contextlib.contextmanager
def shown(config: pytest.Config, progress: Progress) -> Iterator[None]:
    """A context that writes how far the session came, now and then, through pytest."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(CI_SECONDS if in_ci else SECONDS):
            state = progress.look()
            if state is not None and not state.ended:
                judged, every = progress.judged or (0, 0)
                claims = f"{judged} of {counted(every, 'claim')} judged, " if every else ""
                _write(config, f"embinit: {claims}{state.stored} stored, {state.estimate}")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _write(config: pytest.Config, line: str) -> None:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capture = config.pluginmanager.get_plugin("capturemanager")
    if reporter is None:
        return
    # The tests' output is captured, and this line is none of it.
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        reporter.ensure_newline()
        reporter.line(line)
        reporter.flush()  # into a file, lines would wait for the next test's end
