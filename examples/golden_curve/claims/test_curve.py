"""Does training still follow the curve that was stored? A network of one layer learns a sine."""

import json
from pathlib import Path

import numpy as np

from embinit import training

GOLDEN = Path(__file__).parent / "golden.json"
POINTS = 20


@training(measures={"loss": "squared error"}, files=["golden.json"])
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
    """The stored mean curve, with what its own seeds differ from it by."""
    return json.loads(GOLDEN.read_text())


def test_training_ends_no_higher_than_it_did(seeds):
    assert seeds(fit).over_last(5) <= golden()["last"]


def test_training_keeps_to_the_golden_curve(seeds):
    assert seeds(fit).distance_from(golden()["curve"]) <= golden()["distance"]


def test_training_is_as_quick_as_it_was(seeds):
    assert seeds(fit).epochs_to(0.15) <= golden()["epochs"]


if __name__ == "__main__":
    curves = []
    for seed in range(10_000, 10_010):
        curves.append([])
        fit(seed, lambda share, loss: curves[-1].append(loss))
    mean = np.mean(curves, axis=0)
    reached = [
        next((i for i, loss in enumerate(each, 1) if loss <= 0.15), POINTS + 1) for each in curves
    ]
    GOLDEN.write_text(
        json.dumps(
            {
                "curve": [round(float(loss), 6) for loss in mean],
                "distance": round(float(np.mean(np.max(np.abs(curves - mean), axis=1))), 6),
                "last": round(float(np.mean(mean[-5:])), 6),
                "epochs": float(np.mean(reached)),
            },
            indent=1,
        )
        + "\n"
    )
