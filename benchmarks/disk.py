"""Sessions of claims on disks that fill up, and with too little memory.

    python benchmarks/disk.py --cases 100
    python benchmarks/disk.py --memory --cases 100

Each case gives store and report a file system of its own that has a random number of bytes or of
files left, or limits the memory of the session's processes. However the session ends, no record may
be half-written, and status 0 or 1 may only stand for a whole report with the right verdicts. Then
there is room, and the session must come to its end, with the verdicts of an undisturbed one. What
is wrong is printed, and the status is 1. ``--json`` keeps the counts.

The file systems are tmpfs in a mount namespace of the command's own, which not every machine
allows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

INSIDE = "EMBINIT_DISK_INSIDE"
"""Set for the process that has a mount namespace of its own."""


def not_allowed() -> str | None:
    """Why no file system can be mounted here; None where it can."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", folder]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"there is no unshare ({error.strerror})"
    return None if done.returncode == 0 else f"no file system can be mounted: {done.stderr.strip()}"


def mount(folder: Path, options: str) -> None:
    """Mounts a tmpfs, or changes the limits of one that is mounted."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)


def small_disk(folder: Path, draw: random.Random) -> tuple[Callable[[], None], Callable[[], None]]:
    """Puts a folder's store and report on a small file system.

    Returns:
        What is called in the session's process before it starts, and what makes room.
    """
    small = folder / "small"
    small.mkdir()
    limit = (
        f"size={draw.randrange(4, 400) * 1024}"
        if draw.random() < 0.8
        else f"nr_inodes={draw.randrange(4, 60)}"
    )
    mount(small, limit)
    for name, target in ((".embinit", "store"), ("reports", "reports")):
        (small / target).mkdir(exist_ok=True)
        (folder / name).symlink_to(small / target)
    return (lambda: None), (lambda: mount(small, "remount,size=64m,nr_inodes=10000"))


def little_memory(
    folder: Path, draw: random.Random
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Limits what a session's processes may take beyond what they have at their start."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = size + draw.randrange(0, 800) * 2**20
    return (lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))), (lambda: None)


def try_many(
    cases: int, seed: int, memory: bool, root: Path, minutes: float
) -> tuple[Counter[str], list[str]]:
    """Tries cases, none after so many minutes: how the sessions ended, and what was wrong."""
    import kill

    kill.load(numbers=not memory)  # what is loaded already would need no memory
    draw, ends, faults = random.Random(seed), Counter[str](), list[str]()
    began, whole = time.monotonic(), kill.undisturbed(kill.new_folder(root))
    for case in range(cases):
        if time.monotonic() - began > 60 * minutes:
            break
        folder = kill.new_folder(root)
        before, make_room = (little_memory if memory else small_disk)(folder, draw)
        status, _ = kill.wait(kill.start(folder, (), before))
        ends[str(status)] += 1
        wrong = kill.faults_of(folder, {}, whole)
        latest = folder / "reports/latest/verdicts.json"
        if status in (0, 1) and not (latest.exists() and right(latest, whole)):
            wrong.append(f"status {status}, and no whole report")
        make_room()
        if kill.undisturbed(folder) != whole:
            wrong.append("with room the session came to other verdicts")
        if not memory:
            subprocess.run(["umount", str(folder / "small")], check=True)
        for fault in wrong:
            print(f"case {case}, status {status}: {fault}", flush=True)
        faults += wrong
    return ends, faults


def right(path: Path, whole: dict[str, Any]) -> bool:
    """Whether a document has the verdicts of an undisturbed session."""
    import kill

    claims = json.loads(path.read_bytes())["claims"]
    return {claim["id"]: kill.essence(claim) for claim in claims} == whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5000)
    parser.add_argument("--memory", action="store_true", help="limit memory, not the disk")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case afterwards")
    parser.add_argument("--json", type=Path, help="write the counts here")
    parsed = parser.parse_args(arguments)
    if not parsed.memory and INSIDE not in os.environ:
        if (reason := not_allowed()) is not None:
            print(f"left out: {reason}")
            return 0
        command = ["unshare", "-rm", sys.executable, *sys.argv]
        return subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="embinit-disk-") as root:
        ends, faults = try_many(
            parsed.cases, parsed.seed, parsed.memory, Path(root), parsed.minutes
        )
    told = {
        "cases": sum(ends.values()),
        "ends": dict(sorted(ends.items())),
        "faults": len(faults),
        "seconds": round(time.monotonic() - began),
        "seed": parsed.seed,
    }
    print(json.dumps(told, indent=1))
    if parsed.json:
        parsed.json.write_text(json.dumps(told, indent=1) + "\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
