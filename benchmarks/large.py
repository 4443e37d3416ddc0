"""What a large suite costs: seconds of the processor, from an empty store and judged again.

    python benchmarks/large.py --claims 1000

The suite's claims are on a function that takes no time. Each session has a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
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

SESSION = (
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"),
    *("-p", "no:playwright", "--embinit-seeds=6", "claims"),
)


def processor_seconds(folder: Path) -> float:
    """Runs a session; what it took of the processor, its trainers included."""
    process = subprocess.Popen(SESSION, cwd=folder, stdout=subprocess.DEVNULL)
    _, code, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(code) not in (0, 1):  # 1 is of claims without an effect
        raise SystemExit(f"{' '.join(SESSION)} ended with {os.waitstatus_to_exitcode(code)}")
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--claims", type=int, default=1000)
    claims = parser.parse_args().claims
    with tempfile.TemporaryDirectory(prefix="embinit-large-") as temporary:
        folder = Path(temporary)
        (folder / "claims").mkdir()
        (folder / "pytest.ini").write_text("[pytest]\n")
        (folder / "claims/test_mine.py").write_text(CLAIMS.format(claims=claims))
        for name in ("from an empty store", "judged again"):
            print(f"{name}: {processor_seconds(folder):.1f} s", flush=True)


if __name__ == "__main__":
    main()
