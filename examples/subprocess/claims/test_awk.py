"""A claim over a program in another language: a trainer in awk, called as a process."""

import subprocess
from pathlib import Path

from embinit import Family, claim, experiment, positive_control, training

SCRIPT = Path(__file__).with_name("train.awk")


@training(measures={"accuracy": "% accuracy"}, files=["train.awk"])
def by_awk(seed, shift, rate=0.5, steps=300):
    """The script is a file of its own, so it is named: what it holds is in the runs' keys."""
    settings = {"seed": seed + 1, "shift": shift, "rate": rate, "steps": steps}
    given = [part for name, value in settings.items() for part in ("-v", f"{name}={value}")]
    done = subprocess.run(
        ["awk", *given, "-f", SCRIPT], capture_output=True, text=True, check=True, timeout=60
    )
    name, value = done.stdout.split()
    return {name: float(value)}


shifts = experiment(
    "shifts",
    training=by_awk,
    arms={
        "near": {"shift": 0.2},
        "far": {"shift": 0.6},
        "untrained": {"shift": 0.6, "steps": 0},
    },
    baseline="far",
    margin=2.0,
)
MINE = Family("awk/shifts", says="How far apart classes lie")


@claim(
    "awk/shifts/far-above-near", says="Far classes are told apart better", family=MINE, on=shifts
)
def test_far_classes_are_told_apart(arms):
    assert arms["far"] > arms["near"]


test_control = positive_control(MINE, on=shifts, worse="untrained")
