"""A night of trials as an agent runs it: ``embinit judge`` says keep, discard or run again.

Run it by ``python examples/trials.py [TRIALS] [EFFECT]``. EFFECT says by how many standard
deviations each change lowers the loss; by default none does anything, and none is kept.
"""

import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

KEEP, DISCARD, AGAIN = 0, 1, 8


def loss(change, seed, effect):
    """Stands for a training: 3 nats, and what the seed makes of it."""
    return 3.0 - 0.01 * effect + random.Random(f"{change} {seed}").gauss(0, 0.01)


def decided(change, noise, trials, effect):
    """Runs a change until it is kept or discarded; whether it is kept, and with how many runs."""
    runs = 2
    while True:
        losses = ",".join(f"{loss(change, seed, effect):.6f}" for seed in range(runs))
        command = [sys.executable, "-m", "embinit", "judge", f"new={losses}", "--lower"]
        judged = subprocess.run(
            [*command, "--noise", noise, "--trials", str(trials)],
            capture_output=True,
            text=True,
            check=False,
        )
        if judged.returncode != AGAIN:
            assert judged.returncode in (KEEP, DISCARD), judged.stderr
            return judged.returncode == KEEP, runs
        runs += int(re.findall(r"(\d+) more of new", judged.stdout)[0])


def main(trials=100, effect=0.0):
    """Measures the noise of the baseline, then tries one change after another."""
    with tempfile.TemporaryDirectory() as folder:
        noise = Path(folder) / "noise.txt"
        noise.write_text("\n".join(f"{loss('nothing', seed, 0):.6f}" for seed in range(10)))
        results = [decided(f"change {number}", noise, trials, effect) for number in range(trials)]
    kept, runs = sum(keep for keep, _ in results), sum(number for _, number in results)
    print(f"{kept} of {trials} changes kept, {runs} runs and 10 of the baseline")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*(kind(value) for kind, value in zip((int, float), given, strict=False)))
