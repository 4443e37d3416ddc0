"""pytest in a process of its own, since it warns of a plugin that was imported before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from embinit.errors import OutputError, Status
from embinit.options import CONCLUDED


def run_pytest(arguments: Sequence[str]) -> int:
    """Runs pytest and returns its status, which is never 0 where no session came to its end.

    A signal is pytest's to answer, which writes its report and ends.
    """
    try:
        temporary = tempfile.TemporaryDirectory(prefix="embinit-")
    except OSError as error:
        raise OutputError(f"no temporary folder can be made: {error}") from None
    with temporary as folder:
        concluded = Path(folder) / "concluded"
        environment = {**os.environ, CONCLUDED: str(concluded)}
        command = [sys.executable, "-m", "pytest", *arguments]
        with subprocess.Popen(command, env=environment) as child:
            # A terminal sends an interrupt to both.
            answers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: child.terminate()}
            before = {number: signal.signal(number, answers[number]) for number in answers}
            try:
                status = child.wait()
            finally:
                for number, answer in before.items():
                    signal.signal(number, answer)
        if status == Status.IN_ORDER and not concluded.exists():
            print(
                "embinit: pytest ended with status 0 before its session came to its end, as "
                "os._exit(0) in a file of claims ends it: no verdict counts",
                file=sys.stderr,
            )
            return Status.BROKEN
        return status if status >= 0 else Status.INTERRUPTED
