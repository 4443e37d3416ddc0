"""Reliability: ``benchmarks/RELIABILITY.md``, written from what the killers and the fuzzer counted.

    python benchmarks/reliability.py --run               # all of it; 90 minutes on an idle machine
    python benchmarks/reliability.py --run --share 0.01  # a hundredth of each
    python benchmarks/reliability.py                     # the page alone, from benchmarks/results

A test fails where the committed page is not that of the committed counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
PAGE = ROOT / "benchmarks/RELIABILITY.md"
RUNS = {
    "reliability-fuzz": ("fuzz.py", {"--cases": 10_000}),
    "reliability-faults": ("faults.py", {"--cases": 400}),
    "reliability-kill": ("kill.py", {"--kills": 1_000}),
    "reliability-disk": ("disk.py", {"--cases": 100}),
    "reliability-memory": ("disk.py", {"--memory": None, "--cases": 100}),
    "reliability-large": ("large.py", {"--records": 100_000, "--claims": 1_000}),
}
"""The commands and how much each does on demand, by the name of its counts."""

HEAD = """# Reliability

Nothing is lost, nothing wrong is read, and what can't go on says so in one line. Every figure here
was counted by a command, which says what it holds to be a fault; `python benchmarks/reliability.py
--run` runs them all and writes the page. The tests run a few cases of each.

[Exit codes](../docs/options.md#exit-codes) tell how a session ended, and
[What embinit trusts](../docs/trust.md) what is code and what is data.
"""
TAIL = """## What a run's last digits depend on

On one machine's CPU a run has the same bits whatever is trained beside it, in any order, session
and number of workers, and after a kill: `tests/test_bits.py` holds that. Other machines, other
versions of torch, and GPUs can differ in the last digits.

## A cluster that loses machines

With `--embinit-engine ray` a task that was lost with its process or its node is begun again, up to
five times, and the verdicts are those of one machine. A cluster whose head is silent for 20 seconds
is given up. Results that had arrived are stored, the report says which claims lack runs (status 3),
and the next session trains those alone, on a cluster or without one. Ray itself would end the
process after a minute, without a report. `tests/test_ray_engine.py` kills workers, a node and a
head.

## What was not tried

A loss of power and a network file system. Files and folders are synchronised before a record counts
as stored, locks belong to the operating system, and durations are measured on a clock that never
goes backwards. A machine that sleeps uses up no function's time limit
(`tests/test_helpers.py::test_a_machine_that_sleeps_ends_no_function`).

A session needs some 512 MiB of address space beyond Python's own, and says so where it may not have
it. With more than that and less than its models take, runs fail and say why, or Python itself ends.
"""


def counts(name: str) -> Mapping[str, Any] | None:
    """What a command counted; None where it was not run."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_bytes()) if path.exists() else None


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]) + "\n"


def page() -> str:
    """The page in Markdown."""
    sections = [HEAD]
    for name, (script, given) in RUNS.items():
        told = counts(name)
        if told is None:
            continue
        command = " ".join([script, *(f"{k} {v:,}" if v else k for k, v in given.items())])
        sections.append(SECTIONS[name](told, command.replace(",", "")))
    return "\n".join([*sections, TAIL])


def _fuzz(told: Mapping[str, Any], command: str) -> str:
    outcomes = ("right", "refused", "set aside", "unlike", "WRONG", "ESCAPED")
    rows = [
        [reader, *(each.get(outcome, 0) for outcome in outcomes)]
        for reader, each in told["counts"].items()
    ]
    total = sum(sum(row[1:]) for row in rows)
    return (
        "## Malformed files\n\n"
        f"`python benchmarks/{command}` spoils files of every format. {total:,} cases, at most "
        f"{told['peak_mib']:,} MiB in all. `unlike` is content that another reader reads "
        "otherwise, and that the format leaves open.\n\n" + table(["reader", *outcomes], rows)
    )


def _faults(told: Mapping[str, Any], command: str) -> str:
    outcomes = ("right", "told", "WRONG")
    rows = [
        [each["says"], *(each[outcome] for outcome in outcomes)] for each in told["kinds"].values()
    ]
    total = sum(sum(row[1:]) for row in rows)
    return (
        f"## Faults by kind\n\n`python benchmarks/{command}` puts one fault each into {total:,} "
        "small projects, up to 400 of a kind. `right` came out as without the fault; `told` ended "
        "with a status other than 0 and said why, and all else was as without it; `WRONG` hung, "
        "showed a traceback, was green without a verdict, or lost what the fault had nothing to do "
        f"with. {told['seconds']:,} s, seed {told['seed']}.\n\n" + table(["what", *outcomes], rows)
    )


def _kill(told: Mapping[str, Any], command: str) -> str:
    kills = sum(told["kills"].values())
    rows = sorted(told["kills"].items())
    ends = ", ".join(f"{count} with {end}" for end, count in told["ends"].items())
    stores = ", ".join(f"{count} {state}" for state, count in told["records"].items())
    return (
        "## Kills\n\n"
        f"`python benchmarks/{command}`: {kills:,} kills of sessions at random moments, "
        f"{told['faults']} of them with anything lost or wrong. The sessions ended {ends} (below "
        "0: a signal; 70: Ctrl-C before pytest answers it). Of the runs they left stored: "
        f"{stores}. The longest that processes were "
        f"left over was {told['longest_seconds']} s. {told['seconds']:,} s, seeds "
        f"{', '.join(map(str, told['seeds']))}.\n\n" + table(["signal to", "kills"], rows)
    )


def _ends(title: str, says: str, told: Mapping[str, Any], command: str) -> str:
    rows = sorted(told["ends"].items())
    return (
        f"## {title}\n\n`python benchmarks/{command}` {says} {told['cases']:,} sessions, "
        f"{told['faults']} of them with anything half-written, green or lost. {told['seconds']:,} "
        f"s, seed {told['seed']}.\n\n" + table(["status", "sessions"], rows)
    )


def _disk(told: Mapping[str, Any], command: str) -> str:
    says = "gives store and report a file system with little room, then room again."
    return _ends("Full disks", says, told, command)


def _memory(told: Mapping[str, Any], command: str) -> str:
    says = "limits the memory of a session's processes."
    return _ends("Little memory", says, told, command)


def _large(told: Mapping[str, Any], command: str) -> str:
    rows = [
        [name, each["seconds"], each["processor_seconds"], f"{each['peak_mib']:,}"]
        for name, each in told["steps"].items()
    ]
    return (
        f"## Costs by size\n\n`python benchmarks/{command}`: a store of {told['records']:,} "
        f"records and a suite of {told['claims']:,} claims, whose runs are stored. Seconds by the "
        "clock hang on who else uses the machine; those of the processor do not.\n\n"
        + table(["step", "seconds", "processor's seconds", "most memory, MiB"], rows)
    )


SECTIONS = {
    "reliability-fuzz": _fuzz,
    "reliability-faults": _faults,
    "reliability-kill": _kill,
    "reliability-disk": _disk,
    "reliability-memory": _memory,
    "reliability-large": _large,
}


def main() -> int:
    """Runs the command line; 1 if a command found a fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true", help="run the commands first")
    parser.add_argument("--only", action="append", choices=list(RUNS), help="run no others")
    parser.add_argument("--share", type=float, default=1.0, help="of what each does")
    parsed = parser.parse_args()
    failed = False
    for name, (script, given) in RUNS.items():
        if not parsed.run or (parsed.only and name not in parsed.only):
            continue
        command = [sys.executable, str(ROOT / "benchmarks" / script)]
        for option, much in given.items():
            command += [option] if much is None else [option, str(max(2, int(much * parsed.share)))]
        command += ["--json", str(RESULTS / f"{name}.json")]
        failed |= subprocess.run(command, check=False).returncode != 0
    PAGE.write_text(page(), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
