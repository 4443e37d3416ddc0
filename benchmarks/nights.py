"""Simulated nights of trials: how often a change is kept that does nothing, or found that helps.

A night has a hundred trials of one change each. Scores have a standard deviation of 1, and lower is
better. Three rules decide what is kept: any lower number; the two-baseline rule, which keeps what
is lower by more than twice the gap of two runs of the baseline; and ``embinit judge`` against the
noise of runs of the baseline, with runs added as it says.

    python benchmarks/nights.py [--nights 100]

It writes ``benchmarks/results/nights.json`` and prints the table of ``docs/numbers.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from records import written

from embinit.scores.judging import Plan, judge
from embinit.scores.rows import from_words
from embinit.scores.tables import read
from embinit.stats.statements import Verdict

RESULTS = Path(__file__).parent / "results/nights.json"
TRIALS = 100
EFFECTS = (0.0, 1.0, 2.0)
"""By how many standard deviations every change of a night is better."""

Rule = Callable[[np.random.Generator, float], tuple[int, int]]
"""Plays a night in which every change has an effect; how many are kept, and the runs it took."""


def any_lower(rng: np.random.Generator, effect: float) -> tuple[int, int]:
    """One run each, against one run of the baseline."""
    return int(np.sum(rng.normal(-effect, 1, TRIALS) < rng.normal())), TRIALS + 1


def two_baselines(rng: np.random.Generator, effect: float) -> tuple[int, int]:
    """One run each, lower than the mean of two baselines by twice their gap."""
    first, second = rng.normal(size=2)
    bound = (first + second) / 2 - 2 * abs(first - second)
    return int(np.sum(rng.normal(-effect, 1, TRIALS) < bound)), TRIALS + 2


def judged(trials: int, measured: int = 10) -> Rule:
    """``embinit judge`` against noise that ``measured`` runs of the baseline show.

    So many ``trials`` share alpha; 0 lets each have all of it.
    """

    def play(rng: np.random.Generator, effect: float) -> tuple[int, int]:
        plan, kept, runs = Plan(lower=True, trials=trials), 0, measured
        noise = read(from_words(["base=" + ",".join(map(str, rng.normal(size=measured)))], None))
        for _ in range(TRIALS):
            values, more = [], 2
            while more:
                values += list(rng.normal(-effect, 1, more))
                arms = read(from_words(["new=" + ",".join(map(str, values))], None))
                (found,) = judge(arms, plan, noise=noise)
                more = found.more or 0
            kept += found.verdict is Verdict.SUPPORTED
            runs += len(values)
        return kept, runs

    return play


RULES: dict[str, Rule] = {
    "any lower number": any_lower,
    "beat two baselines": two_baselines,
    "`judge`, each trial alone": judged(0),
    "`judge --trials 100`": judged(TRIALS),
    "`judge --trials 100`, noise of 30": judged(TRIALS, 30),
}


def table(rules: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The table of ``docs/numbers.md``, of what ``main`` writes of each rule and effect."""
    lines = []
    for name, effects in rules.items():
        cells = [f"{100 * e['kept']:.1f} %, {e['runs_a_trial']:.1f}" for e in effects.values()]
        cells.append(f"{100 * effects['0']['nights_with_one']:.0f} %")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nights", type=int, default=100)
    nights = parser.parse_args().nights
    rules: dict[str, dict[str, dict[str, float]]] = {}
    for name, rule in RULES.items():
        rules[name] = {}
        for effect in EFFECTS:
            rng = np.random.default_rng(int(effect))
            played = [rule(rng, effect) for _ in range(nights)]
            kept = [number for number, _ in played]
            rules[name][f"{effect:g}"] = {
                "kept": float(np.mean(kept)) / TRIALS,
                "nights_with_one": float(np.mean([number > 0 for number in kept])),
                "runs_a_trial": float(np.mean([runs for _, runs in played])) / TRIALS,
            }
    written(RESULTS, {"nights": nights, "rules": rules})
    print(table(rules))


if __name__ == "__main__":
    main()
