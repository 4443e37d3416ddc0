"""Killed sessions, full disks and other faults: few cases here, and many on demand.

Those that start many processes are left out of ``make test``.

``benchmarks/kill.py``, ``benchmarks/disk.py`` and ``benchmarks/faults.py`` are the commands; their
figures are in ``benchmarks/RELIABILITY.md``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

import disk  # noqa: E402
import kill  # noqa: E402
import reliability  # noqa: E402


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_nothing_is_lost_or_wrong_when_sessions_are_killed(tmp_path):
    """A random signal to a random process, the same in every run of the tests."""
    done = run("kill.py", "--kills", "1", "--workers", "0", "--json", str(tmp_path / "told.json"))
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads((tmp_path / "told.json").read_text())
    assert sum(told["kills"].values()) == 1
    assert told["faults"] == 0


@pytest.mark.nightly
@pytest.mark.skipif(disk.not_allowed() is not None, reason=str(disk.not_allowed()))
def test_a_full_disk_is_never_green_and_nothing_is_half_written():
    """A small file system of its own, and as much room as a case leaves."""
    done = run("disk.py", "--cases", "1")
    assert done.returncode == 0, done.stdout + done.stderr


FAULTS = (
    "a pipe for a record, runs",
    "a directory for history.jsonl, session",
    "another run's, with its key rewritten, session",
    "EIO at opening, once, session",
    "skips one arm",
    "an import in the body",
    "--prune='1e300'",
    "a folder of records, runs --prune 0",
    "ESC in an error",
)


@pytest.mark.nightly
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds processes in /proc")
def test_a_fault_of_each_kind_is_come_through_or_told():
    """Those that nobody foresaw once; ``benchmarks/faults.py`` has a thousand more."""
    done = run("faults.py", *(f"--case={name}" for name in FAULTS))
    assert done.returncode == 0, done.stdout + done.stderr
    told = re.findall(r"(\d+) (?:right|told)", done.stdout)
    assert sum(map(int, told)) == len(FAULTS), done.stdout


LITTLE = """
import resource, sys
from pathlib import Path
import pytest
import embinit.pytest_plugin.session

taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
most = taken + 50 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
sys.exit(pytest.main(["claims", "-q", "-p", "no:cacheprovider"]))
"""
"""A session that may have 50 MiB more than Python and embinit, which is too little for scipy."""

limits_memory = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux limits a process's address space"
)


def python(folder, *arguments, timeout=500):
    """A Python of a folder of the killer's, to its end."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **kill.PLUGINS, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@limits_memory
def test_a_session_with_too_little_memory_says_so(tmp_path):
    """OpenBLAS would ask for memory for ever, and nothing but SIGKILL would end the session."""
    folder = kill.new_folder(tmp_path)
    done = python(folder, "-c", LITTLE, timeout=120)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "can't have 512 MiB of memory more" in done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.nightly
@limits_memory
def test_little_memory_is_never_green_and_nothing_is_half_written():
    """As much memory as a case leaves."""
    done = run("disk.py", "--memory", "--cases", "1")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_eight_workers_come_to_what_one_process_does_and_make_one_run_twice(tmp_path):
    """More of them than cores, which all want the same runs at once.

    They agree on the run that is made twice, to see that its seed decides it.
    """
    verdicts, calls = [], []
    for workers in ((), ("-p", "xdist", "-n", "8")):
        folder = kill.new_folder(tmp_path)
        claims = folder / "claims/test_mine.py"
        made = f"open({str(folder / 'calls')!r}, 'a').write(f'{{arm}} {{seed}}\\n')\n"
        claims.write_text(claims.read_text().replace("    for step", f"    {made}    for step"))
        done = python(folder, "-m", "pytest", "claims", *kill.OPTIONS, *workers)
        assert done.returncode == 1, done.stdout + done.stderr
        document = json.loads((folder / "reports/latest/verdicts.json").read_bytes())
        verdicts.append({each["id"]: kill.essence(each) for each in document["claims"]})
        calls.append(sorted((folder / "calls").read_text().splitlines()))
    assert verdicts[0] == verdicts[1]
    assert calls[0] == calls[1]
    assert len(calls[0]) - 1 == len(set(calls[0])) == kill.RUNS


def test_the_page_has_the_figures_of_the_committed_runs():
    """Figures in prose grow old."""
    assert (ROOT / "benchmarks/RELIABILITY.md").read_text("utf-8") == reliability.page()
