"""Does training still follow the curve that was stored? A network of one layer learns a sine."""

import json
from pathlib import Path

import numpy as np

from embinit import training

GOLDEN = Path(__file__).parent / "golden.json"
POINTS = 20


@training(measures={"loss": "squared error"})
def fit(seed, tell, lr=0.05, width=16):
    """Trains by SGD on batches of 32, and tells the loss of data that it never sees."""
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(2, width)), rng.normal(size=width) / width
    held_out = np.linspace(-2, 2, 64)
    for point in range(POINTS):
        for _ in range(50):
            x = rng.uniform(-2, 2, 32)
            hidden = np.tanh(np.outer(x, first[0]) + first[1])
            error = hidden @ second - np.sin(2 * x)
            slope = (error[:, None] * second) * (1 - hidden**2) / len(x)
            second = second - lr * hidden.T @ error / len(x)
            first = first - lr * np.stack([x @ slope, slope.sum(axis=0)])
        shown = np.tanh(np.outer(held_out, first[0]) + first[1]) @ second
        loss = float(np.mean((shown - np.sin(2 * held_out)) ** 2))
        tell((point + 1) / POINTS, loss=loss)
    return {"loss": loss}


def golden():
    """The stored curve, and for each reading of it the mean and the margin of its ten seeds."""
    return json.loads(GOLDEN.read_text())


def test_training_ends_no_higher_than_it_did(seeds):
    known = golden()["last"]
    assert seeds(fit).over_last(5).within(known["margin"]) <= known["mean"]


def test_training_keeps_to_the_golden_curve(seeds):
    known = golden()["distance"]
    assert seeds(fit).distance_from(golden()["curve"]).within(known["margin"]) <= known["mean"]


def test_training_is_as_quick_as_it_was(seeds):
    known = golden()["epochs"]
    assert seeds(fit).epochs_to(0.15).within(known["margin"]) <= known["mean"]


def summary(values):
    """The mean, and twice the standard deviation."""
    return {"mean": float(f"{np.mean(values):.4g}"), "margin": float(f"{2 * np.std(values):.2g}")}


if __name__ == "__main__":
    curves = []
    for seed in range(10_000, 10_010):
        curves.append([])
        fit(seed, lambda share, loss: curves[-1].append(loss))
    mean = np.mean(curves, axis=0).round(6)
    reached = [next((i for i, x in enumerate(run, 1) if x <= 0.15), POINTS + 1) for run in curves]
    stored = {
        "curve": list(mean),
        "last": summary([np.mean(curve[-5:]) for curve in curves]),
        "distance": summary(np.max(np.abs(curves - mean), axis=1)),
        "epochs": summary(reached),
    }
    GOLDEN.write_text(json.dumps(stored, indent=1) + "\n")
