"""What a large suite costs.

    python benchmarks/large.py --claims 1000

Makes a suite of claims on a function that takes no time. Measures how long it takes to collect the
suite, to train, judge and report it, and to judge it again, and the most memory that each takes.
Each step has a process of its own.

``--parts`` measures only what a trainer of such a function costs, in milliseconds: to start it, to
make and to store one run, and to check that the inputs of a stored run are as they were.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CLAIMS = """
import random

from embinit import Family, claim, experiment, training

@training(measures={{"score": "points"}})
def fit(seed, arm):
    return 20.0 * arm.startswith("high") + random.Random(f"{{seed}} {{arm}}").random()

MINE = Family("mine/f", size={claims})


def stated(number):
    on = experiment(f"scores-{{number}}", training=fit, margin=0.5, seeds=5,
                    arms=[f"low-{{number}}", f"high-{{number}}"])

    def test(arms):
        assert arms[f"high-{{number}}"] > arms[f"low-{{number}}"]

    says = f"High {{number}} is above low"
    return claim(f"mine/f/{{number}}", says=says, family=MINE, on=on)(test)


for number in range({claims}):
    globals()[f"test_{{number}}"] = stated(number)
"""


def made(folder: Path, claims: int) -> None:
    """Makes a project of claims."""
    (folder / "claims").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "claims/test_mine.py").write_text(CLAIMS.format(claims=claims))


def measured(folder: Path, *command: str) -> dict[str, float]:
    """Runs a command: its seconds, its processor's seconds, its status and its peak in MiB."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    output = process.stdout.read()
    _, code, used = os.wait4(process.pid, 0)
    status = os.waitstatus_to_exitcode(code)
    if status not in (0, 1):
        print(output.decode()[-3000:])
    return {
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(used.ru_utime + used.ru_stime, 1),
        "status": status,
        "peak_mib": round(used.ru_maxrss / 1024),
    }


PARTS = """
import json, time
from pathlib import Path
from embinit.claims.definitions import Claim
from embinit.runs.kinds import Stack, RunContext, kind_of
from embinit.runs.modules import load_module
from embinit.runs.session import Session
from embinit.runs.store import Store

home = "test_mine", str(Path("claims/test_mine.py").absolute())
load_module(*home)
from test_mine import test_0

[on] = Claim.of(test_0).experiments("micro")
runs = [on.run("low-0", seed) for seed in range(200)]
kind, session = kind_of(runs[0]), Session(Store(Path("parts")), None, "cpu")
context, took = RunContext(None, trainers=session.trainers), {}

def timed(name, act, given):
    began = time.monotonic()
    made = [act(one) for one in given]
    took[name] = round(1000 * (time.monotonic() - began) / len(made), 2)
    return made

def make(run):
    return kind.make(Stack((run,)), context)[0]

timed("start", make, runs[:1])  # its process, and a first run
made = timed("run", make, runs)
timed("store", lambda result: session.keep(session.key(result.spec), result), made)
held = timed("check", Session(session.store, None, "cpu").is_stored, runs)
assert all(held)
print(json.dumps(took))
"""


def parts(folder: Path) -> dict[str, float]:
    """The milliseconds that a trainer's start, a run, its storing and its check take."""
    done = subprocess.run(
        [sys.executable, "-c", PARTS], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def steps(claims: int) -> dict[str, tuple[str, ...]]:
    """The commands that are measured, by what they do."""
    test = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly",
            "-p", "no:playwright", "--embinit-seeds=6", "claims")  # fmt: skip
    return {
        "collect the suite": (*test, "--collect-only"),
        "train it, with 6 seeds": test,
        "judge it again": test,
        "judge it again without training": (*test, "--embinit-no-train"),
        "one claim of it": (*test, "-k", f"test_{claims - 1}"),
    }


def main() -> int:
    """Runs the command line; 1 if a step failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--claims", type=int, default=1000)
    parser.add_argument("--parts", action="store_true", help="what a trainer costs, part by part")
    parsed = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory(prefix="embinit-large-") as temporary:
        folder = Path(temporary) / "mine"
        if parsed.parts:
            made(folder, 1)
            print("milliseconds:", parts(folder))
            return 0
        made(folder, parsed.claims)
        for name, command in steps(parsed.claims).items():
            figures[name] = measured(folder, *command)
            print(f"{name:34} {figures[name]}", flush=True)
    # Status 1 is of claims without an effect, and nothing broke.
    return int(any(figure["status"] not in (0, 1) for figure in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
