"""How often a verdict from few runs errs where the noise is known, and what it finds.

``seeds``: a new arm of a test file against a stored one, by the rule of claims with the noise of
the file's stored arms. ``judge``: two arms of a table, with the noise of four others of four runs
each, or of ten baseline runs made before. Scores have a standard deviation of 1; scores of a
seed share another of 1 where seeds pair runs. No arm is given up.

    python benchmarks/known_noise.py [--files 2000]

It prints, for each kind of noise, the percentage of new arms that are kept though they do nothing,
and of those better by 2 and 4 that are found at the first three interim analyses.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from embinit.claims.functions import MOST_SEEDS, SEEDS
from embinit.claims.known_noise import SEEDS_KNOWN
from embinit.scores.arms import Score, arms_of
from embinit.scores.judging import Plan, judge
from embinit.stats.interim import schedule
from embinit.stats.pooling import Noise, unless_odd
from embinit.stats.rule import compare
from embinit.stats.statements import Relation, Verdict

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
"""Draws (arms, runs) of mean 0."""

EFFECTS, ALPHA, LOOKS_SHOWN, OTHERS = (0.0, 2.0, 4.0), 0.05, 3, 4


def normal(rng: np.random.Generator, arms: int, runs: int) -> np.ndarray:
    """Normal scores."""
    return rng.standard_normal((arms, runs))


def differ(rng: np.random.Generator, arms: int, runs: int) -> np.ndarray:
    """Normal scores of arms whose variances differ as those of nine runs do."""
    return normal(rng, arms, runs) / np.sqrt(rng.chisquare(8, (arms, 1)) / 8)


def skewed(rng: np.random.Generator, arms: int, runs: int) -> np.ndarray:
    """Scores whose logarithm has a deviation of 0.5, with a tail to the better side."""
    e = math.exp(0.25)
    return (math.exp(0.125) - rng.lognormal(0, 0.5, (arms, runs))) / math.sqrt((e - 1) * e)


def seeds(draw: Draw, arms: int, rng: np.random.Generator, effect: float) -> Iterator[bool]:
    """Whether the new arm is kept, at each interim analysis: ``arms`` of the file are stored."""
    values = draw(rng, arms + 1, MOST_SEEDS) + rng.standard_normal(MOST_SEEDS)
    stored = {str(n): values[n, :SEEDS] for n in range(arms)}
    known_sd, _ = Noise.of(stored, of_seeds=True).sd_of_difference()
    if known_sd is None:
        yield False  # it isn't judged with three seeds
    for look in schedule(SEEDS if known_sd is None else SEEDS_KNOWN, MOST_SEEDS, ALPHA / arms):
        new, old = (values[n, : look.seeds] for n in (-1, 0))
        level = look.share * ALPHA / arms
        known = known_sd and unless_odd(replace(known_sd, of="arms"), [*new], [*old])
        found = compare(new - effect, old, Relation.BELOW, level, known_sd=known)
        yield found.verdict is Verdict.SUPPORTED


def judged(
    draw: Draw, before: int, paired: bool, rng: np.random.Generator, effect: float
) -> Iterator[bool]:
    """Whether an arm is kept at its 5 %, with its runs and the baseline's added step by step."""
    others = 0 if before else OTHERS
    plan = Plan(lower=True, alpha=ALPHA * (1 + others))
    values = draw(rng, 2 + others, 24) + rng.standard_normal(24) * paired
    noise = arms_of(("b", Score(v, "")) for v in draw(rng, 1, before)[0]) if before else None
    values[1] -= effect
    for runs in (2, 4, 8, 16, 24):
        of = [runs, runs] + [max(runs, 4) if paired else 4] * others
        named = (
            (str(arm), Score(v, "", str(seed) if paired else ""))
            for arm, count in enumerate(of)
            for seed, v in enumerate(values[arm, :count])
        )
        yield judge(arms_of(named), plan, "0", noise)[0].verdict is Verdict.SUPPORTED


RULES: dict[str, Callable[[Draw, np.random.Generator, float], Iterator[bool]]] = {
    "seeds, 3 stored arms": lambda draw, *rest: seeds(draw, 3, *rest),
    "seeds, 6 stored arms": lambda draw, *rest: seeds(draw, 6, *rest),
    "judge, four other arms": lambda draw, *rest: judged(draw, 0, False, *rest),
    "judge, four other arms by seed": lambda draw, *rest: judged(draw, 0, True, *rest),
    "judge, ten runs made before": lambda draw, *rest: judged(draw, 10, False, *rest),
}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for (name, rule), draw in itertools.product(RULES.items(), (normal, differ, skewed)):
        if given.only not in name:
            continue
        cells = []
        for effect in EFFECTS:
            rng, count = np.random.default_rng(3), given.files // (5 if "other" in name else 1)
            kept = [[*rule(draw, rng, effect)] for _ in range(count)]
            if effect:
                looks = [[*itertools.accumulate(shown, max)][:LOOKS_SHOWN] for shown in kept]
                cells.append(", ".join(f"{100 * share:.0f}" for share in np.mean(looks, axis=0)))
            else:
                cells.append(f"{100 * np.mean([*map(any, kept)]):.1f}")
        print(f"| {name} | {draw.__name__} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
