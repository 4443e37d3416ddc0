"""pytest in a process of its own, since it warns of a plugin that was imported before."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence

from embinit.errors import Status


def run_pytest(arguments: Sequence[str]) -> int:
    """Runs pytest and returns its status.

    A signal is pytest's to answer, which writes its report and ends.
    """
    with subprocess.Popen([sys.executable, "-m", "pytest", *arguments]) as child:
        # A terminal sends an interrupt to both.
        answers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: child.terminate()}
        before = {number: signal.signal(number, answers[number]) for number in answers}
        try:
            status = child.wait()
        finally:
            for number, answer in before.items():
                signal.signal(number, answer)
    return status if status >= 0 else Status.INTERRUPTED
