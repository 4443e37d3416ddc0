"""Python in a process of its own, for tests of what a command prints and imports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python(
    *arguments: object, cwd: Path = ROOT, statuses: tuple[int, ...] = (0,), **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs this Python with further variables; fails if it ends with none of ``statuses``."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in statuses, done.stdout + done.stderr
    return done
