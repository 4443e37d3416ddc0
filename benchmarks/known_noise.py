"""How often a verdict from few runs errs where the noise is known, and what it finds.

    python benchmarks/known_noise.py seeds [--repeats 4000]
    python benchmarks/known_noise.py failing [--repeats 4000]
    python benchmarks/known_noise.py FILE [--repeats 4000]

``seeds``: a new arm of a test file against a stored one, by the rule of claims with the noise of
the file's stored arms. Scores have a standard deviation of 1, and those of a seed share another of
1. Printed are, for each kind of noise, the percentage of new arms that are kept though they do
nothing, and of those better by 2 and 4 that are found at the first three interim analyses.

``failing``: tables of 1, 10 and 100 other arms with 2, 3, 6 and 12 runs each, where one in ten runs
of the new arm is worse by 10, and all others better by 1, so that its mean is not worse. Printed
are the percentage of tables where Welch's t and ``judge`` keep an arm though none is better, and
where each finds a new arm better by 2 and 4. All arms of a table share the 5 %.

``FILE``: the same of tables of real runs, drawn from the file's configurations, and how often one
of two equal recipes is kept by counts, where more trials follow the first.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from scipy import stats

from embinit.claims.functions import MOST_SEEDS, SEEDS
from embinit.claims.known_noise import SEEDS_KNOWN
from embinit.errors import InputError
from embinit.scores.arms import Arms, Score
from embinit.scores.judging import Plan, judge
from embinit.scores.rows import Table, table_of
from embinit.scores.tables import read
from embinit.stats.interim import schedule
from embinit.stats.pooling import Noise, unless_odd
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, Relation, Verdict

Draw = Callable[[np.random.Generator, int, int], np.ndarray]
"""Draws (arms, runs) of mean 0."""

ENOUGH = 8
"""A configuration of so many runs or more is drawn from."""

EFFECTS, ALPHA, ANALYSES_SHOWN = (0.0, 2.0, 4.0), 0.05, 3


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
    for analysis in schedule(SEEDS if known_sd is None else SEEDS_KNOWN, MOST_SEEDS, ALPHA / arms):
        new, old = (values[n, : analysis.seeds] for n in (-1, 0))
        level = analysis.share * ALPHA / arms
        known = known_sd and unless_odd(known_sd, [*new], [*old])
        found = decide(Evidence(new - effect, old, Relation.BELOW, level, known_sd=known))
        yield found.verdict is Verdict.SUPPORTED


def read_runs(runs: Iterable[tuple[str, str, float]]) -> Arms:
    """Runs with the name of their arm, their seed and their score, as read from a table."""
    arms, seeds, scores = zip(*runs, strict=True)
    columns = {"arm": arms, "seed": seeds, "loss": [*map(str, scores)]}
    return read(Table("runs", columns, [f"run {n}" for n in range(len(arms))]))


def tables(repeats: int, others: int, runs: int, effect: float) -> tuple[np.ndarray, np.ndarray]:
    """Which arms of tables Welch's t keeps, and which ``judge`` does: (repeats, arms).

    The baseline is the first arm, and the new one the second, which fails now and then.
    """
    rng, kept, alone = np.random.default_rng(3), [], []
    for _ in range(repeats):
        values = rng.standard_normal((2 + others, runs))
        lost = rng.random(values.shape) < 0.1
        values[1] += 10 * lost[1] - 1 - effect
        welch = stats.ttest_ind(values[1:], values[:1], axis=1, equal_var=False, alternative="less")
        alone.append(welch.pvalue <= ALPHA / (1 + others))
        named = ((f"arm {n}", "", v) for n, arm in enumerate(values) for v in arm)
        with contextlib.suppress(InputError):  # none is kept
            found = judge(read_runs(named), Plan(lower=True, alpha=ALPHA), "arm 0")
            kept.append([arm.verdict is Verdict.SUPPORTED for arm in found])
    return np.array(alone), np.array(kept + [[False] * (1 + others)] * (repeats - len(kept)))


def print_tables(repeats: int) -> None:
    """Prints the table of errors and power, Welch's t before ``judge``."""
    for others, runs in itertools.product((1, 10, 100), (2, 3, 6, 12)):
        count, row = repeats // (5 if others == 100 else 1), []
        for effect in EFFECTS:
            both = tables(count, others, runs, effect)
            shares = [np.mean(kept[:, 0] if effect else kept.any(axis=1)) for kept in both]
            row += [f"{100 * share:.1f}" for share in shares]
        print(f"| {others} | {runs} | {' | '.join(row)} |", flush=True)


def real(pools: list[np.ndarray], alike: bool, effect: float, arms: int, runs: int) -> Draw:
    """Draws of real runs: of one configuration, whose deviation is then 1, or of one each arm."""
    sd = float(np.median([pool.std(ddof=1) for pool in pools]))

    def draw(rng: np.random.Generator, *_: int) -> np.ndarray:
        chosen = rng.integers(len(pools), size=1 if alike else arms + 1).repeat(
            arms + 1 if alike else 1
        )
        values = np.array([rng.choice(pools[at], runs) for at in chosen])
        values += rng.uniform(-5e-6, 5e-6, values.shape)  # scores are rounded
        values[1] -= effect * (pools[chosen[1]].std(ddof=1) if alike else sd)
        return values

    return draw


def print_real(file: str, repeats: int) -> None:
    """Prints the table of errors and power on real runs."""
    by = read(table_of(Path(file)))
    pools = [np.array(by.values(arm)) for arm, of in by.scores.items() if len(of) >= ENOUGH]
    pools = [pool - pool.mean() for pool in pools]
    for alike, arms, runs in itertools.product((True, False), (1, 5, 20), (3, 6, 12)):
        row: list[str] = []
        for effect, most in itertools.product((0.0, 1.9), (None, runs)):
            # The errors of the only analysis are closest to their limit.
            rng, draw = np.random.default_rng(3), real(pools, alike, effect, arms, runs)
            kept = []
            for _ in range(repeats if most else repeats // 4):
                named = {
                    f"arm {n}": [Score(v, "") for v in of] for n, of in enumerate(draw(rng, 0, 0))
                }
                found = judge(Arms(named), Plan(lower=True, most=most), "arm 0")
                shown = [arm.verdict is Verdict.SUPPORTED for arm in found]
                kept.append(shown[0] if effect else any(shown))
            row.append(f"{100 * np.mean(kept):.1f}")
        what = "one configuration" if alike else "one each arm"
        print(f"| {what} | {arms} | {runs} | {' | '.join(row)} |", flush=True)


def print_counts(repeats: int) -> None:
    """Prints how often one of two equal recipes is kept, where more trials follow the first."""
    for share, n in itertools.product((0.7, 0.9), (40, 100)):
        rng, kept = np.random.default_rng(3), 0
        for _ in range(repeats):
            trials, hits, more = 0, np.zeros(2, dtype=int), n
            while more and trials < 4 * n:
                trials, hits = trials + more, hits + rng.binomial(more, share, 2)
                named = {
                    f"arm {i}": (Score(k / trials, "", of=trials),) for i, k in enumerate(hits)
                }
                (found,) = judge(Arms(named), Plan(lower=False, of="runs"), "arm 0")
                more = found.more or 0
            kept += found.verdict is Verdict.SUPPORTED
        print(f"| counts, {share} | 1 | {n} | {100 * kept / repeats:.1f} |", flush=True)


def print_seeds(repeats: int) -> None:
    """Prints the errors and the power of new arms of a test file."""
    for stored, draw in itertools.product((3, 6), (normal, differ, skewed)):
        cells = []
        for effect in EFFECTS:
            rng = np.random.default_rng(3)
            kept = [[*seeds(draw, stored, rng, effect)] for _ in range(repeats)]
            if effect:
                analyses = [[*itertools.accumulate(shown, max)][:ANALYSES_SHOWN] for shown in kept]
                cells.append(", ".join(f"{100 * share:.0f}" for share in np.mean(analyses, axis=0)))
            else:
                cells.append(f"{100 * np.mean([*map(any, kept)]):.1f}")
        print(f"| {stored} stored arms | {draw.__name__} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("of", metavar="seeds|failing|FILE")
    parser.add_argument("--repeats", type=int, default=4000)
    given = parser.parse_args()
    if given.of == "seeds":
        print_seeds(given.repeats)
    elif given.of == "failing":
        print_tables(given.repeats)
    else:
        print_real(given.of, given.repeats)
        print_counts(given.repeats)


if __name__ == "__main__":
    main()
