"""How often ``embtables compare`` errs, and how many seeds it takes.

Simulates searches for the best start (``embtables.best.BestArmSearch``) among starts whose true
means are known, and counts over all of their looks:

- *best lost*: the best start was ruled out. Nominal: at most 5 %.
- *cost missed*: the true cost of any start lies outside of its interval. Nominal: at most 5 %.
- *others left*: how many starts are left beside the best one, and *seeds*: how many runs it took.

Starts vary alike, or one of them three times as much (the best one, or another), or by variances
from a scaled inverse chi-square; scores are normal, heavy-tailed (t with 3 degrees of freedom),
skewed, or those of a start of which one run in ten fails. Or the best start "gets it" on one seed
of five or ten alone: then it scores higher by five or ten standard deviations of the others.

    python packages/embtables/benchmarks/best.py [--searches 2000] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from embtables.best import BestArmSearch, seeds_of

ALPHA = 0.05
LOOKS = 4

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _failing(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    lost = 10.0 * (rng.random(shape) < 0.1)
    return np.asarray((rng.standard_normal(shape) - lost + 1.0) / np.sqrt(10.0))


def _best_gets_it(chance: float, gap: float) -> Draw:
    """Scores that vary by 1, but of the first start, which lie higher by ``gap`` by chance."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        scores = rng.standard_normal(shape)
        scores[0] += gap * ((rng.random(shape[1]) < chance) - chance)
        return scores

    return draw


SCORES: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, size=shape) / np.sqrt(3),
    "skewed up": lambda rng, shape: rng.exponential(size=shape) - 1,
    "skewed down": lambda rng, shape: 1 - rng.exponential(size=shape),
    "1 of 10 fails": _failing,
    "the best gets it in 2 of 10, by 5 sd": _best_gets_it(0.2, 5),
    "the best gets it in 2 of 10, by 10 sd": _best_gets_it(0.2, 10),
    "the best gets it in 1 of 10, by 10 sd": _best_gets_it(0.1, 10),
}
"""Scores with mean 0, and standard deviation 1 but where a start gets it."""

MEANS = {
    "4 alike": (0.0, 0.0, 0.0, 0.0),
    "8 alike": (0.0,) * 8,
    "2 alike": (0.0, 0.0),
    "one 2 sd ahead of 3": (2.0, 0.0, 0.0, 0.0),
    "one 1 sd ahead of 3": (1.0, 0.0, 0.0, 0.0),
    "a ladder of 6": (2.0, 1.8, 1.5, 1.0, 0.5, 0.0),
}
SPREADS = {
    "alike": lambda rng, count: np.ones(count),
    "the best 3 times as wide": lambda rng, count: np.where(np.arange(count) == 0, 3.0, 1.0),
    "another 3 times as wide": lambda rng, count: np.where(np.arange(count) == 1, 3.0, 1.0),
    "by chance (3 degrees)": lambda rng, count: np.sqrt(3 / rng.chisquare(3, count)),
}
WORLDS = (
    *(("normal", spread, means) for spread in SPREADS for means in ("4 alike",)),
    *(("normal", "alike", means) for means in MEANS if means != "4 alike"),
    *((scores, "alike", "4 alike") for scores in SCORES if scores != "normal"),
    ("1 of 10 fails", "alike", "one 2 sd ahead of 3"),
    ("the best gets it in 2 of 10, by 10 sd", "alike", "8 alike"),
    ("normal", "by chance (3 degrees)", "a ladder of 6"),
)


def search(rng: np.random.Generator, scores: str, spread: str, means: str) -> dict[str, float]:
    """One search: what went wrong in it, and what it took."""
    true = np.array(MEANS[means])
    wide = SPREADS[spread](rng, len(true))
    most = seeds_of(LOOKS - 1)
    values = true[:, None] + wide[:, None] * SCORES[scores](rng, (len(true), most))
    running, runs, lost = BestArmSearch(len(true), ALPHA), 0, False
    missed = False
    costs = true.max() - true
    while running.looks < LOOKS and not running.decided:
        seeds = running.seeds
        before = seeds_of(running.looks - 1) if running.looks else 0
        runs += len(running.candidates) * (seeds - before)
        running.look([values[start, :seeds] for start in running.candidates])
        lost |= 0 not in running.candidates
        missed |= any(
            not each.low - 1e-9 <= cost <= each.high + 1e-9
            for each, cost in zip(running.statuses, costs, strict=True)
        )
    return {
        "best lost": float(lost),
        "cost missed": float(missed),
        "others left": len(running.candidates) - (not lost),
        "seeds": runs / len(true),
    }


def simulate(searches: int, seed: int, scores: str, spread: str, means: str) -> dict[str, float]:
    """The means over searches of what ``search`` counts."""
    rng = np.random.default_rng(seed)
    each = [search(rng, scores, spread, means) for _ in range(searches)]
    return {name: float(np.mean([one[name] for one in each])) for name in each[0]}


def main() -> None:
    """Prints a table, a world a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--json", type=Path)
    parsed = parser.parse_args()
    print("| scores | spread | means | best lost | cost missed | others left | seeds a start |")
    print("|---|---|---|---|---|---|---|")
    rows = []
    for world in WORLDS:
        told = simulate(parsed.searches, 5000, *world)
        rows.append(dict(zip(("scores", "spread", "means"), world, strict=True)) | told)
        print(
            f"| {' | '.join(world)} | {100 * told['best lost']:.1f} % | "
            f"{100 * told['cost missed']:.1f} % | {told['others left']:.2f} | "
            f"{told['seeds']:.1f} |",
            flush=True,
        )
    if parsed.json:
        parsed.json.write_text(json.dumps({"searches": parsed.searches, "worlds": rows}, indent=1))


if __name__ == "__main__":
    main()
