"""What the pytest plugin costs a project that has no claims: at most 50 ms a session.

Two figures, each the least of several processes in processor time, which a busy machine hardly
changes: what the plugin's module takes to import where pytest is imported already, and how much
more a session of one trivial test takes with the plugin than without it.

    python benchmarks/plugin.py [--times 20]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORT = """
import time
import pytest
started = time.process_time()
import embinit.pytest_plugin
print(time.process_time() - started)
"""
LIMIT_MS = 50


def imported() -> float:
    """Seconds that the plugin's module takes to import."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def session(root: Path, *arguments: str) -> float:
    """Seconds that pytest takes in a project with one test and no other plugin."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    started = _children()
    subprocess.run(
        command,
        cwd=root,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        check=True,
    )
    return _children() - started


def _children() -> float:
    """Processor seconds of the processes that ended so far."""
    used = os.times()
    return used.children_user + used.children_system


def main() -> None:
    """Measure, print both figures, and fail where they are above the limit."""
    parser = argparse.ArgumentParser(description="what the plugin costs a project without claims")
    parser.add_argument("--times", type=int, default=20, help="processes of each kind")
    times = range(parser.parse_args().times)
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "test_trivial.py").write_text("def test_trivial():\n    pass\n")
        pairs = [(session(root), session(root, "-p", "embinit.pytest_plugin")) for _ in times]
    without, with_plugin = (1000 * min(column) for column in zip(*pairs, strict=True))
    alone = 1000 * min(imported() for _ in times)
    added = with_plugin - without
    print(
        f"import {alone:.1f} ms; a session {with_plugin:.0f} ms with the plugin, {without:.0f} ms "
        f"without: {added:+.1f} ms (limit {LIMIT_MS} ms)"
    )
    sys.exit(max(alone, added) > LIMIT_MS)


if __name__ == "__main__":
    main()
