"""Calibration: how often the procedure that decides claims errs, and how often it finds an effect.

Simulates suites of one family of 20 claims of several kinds (``<``, ``>=`` with its margin, ``~``,
a difference of differences, a rank correlation, a trend over four widths), lets them be decided as
a session would (a paired t over seeds, each claim with its share of alpha, one look or several),
and counts:

- *false SUPPORTED*: the truth lies at the edge of what the claim excludes (no difference for ``<``,
  a loss of exactly the margin for ``>=`` …), which is where erring is likeliest. Family-wise: at
  least one of the 20 is SUPPORTED. Nominal: 5 %.
- *false REFUTED*: the same for the opposite, at the edge of what that excludes.
- *power*: how often a single true effect of 1, 2 or 4 standard deviations of the paired difference
  is SUPPORTED, at the same share of alpha.

Differences are normal, skewed (exponential, to either side) or heavy-tailed (t with 3 degrees of
freedom). All is done in numpy for speed; a sample of it is held against ``inference.compare``.

    python benchmarks/calibration.py [--suites 20000] [--json src/embinit/claims/calibration.json]
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from embinit.claims.looks import Look, schedule
from embinit.claims.paired_tests import Relation, Verdict, _sides, compare
from embinit.runs.results import versions

ALPHA = 0.05
KINDS = {
    "<": (Relation.BELOW, 4),
    ">=": (Relation.NOT_BELOW, 4),
    "~": (Relation.ALIKE, 4),
    "difference of differences": (Relation.BELOW, 3),
    "rank correlation": (Relation.ABOVE, 2),
    "trend": (Relation.ABOVE, 3),
}
"""How each kind is compared, and how many of a suite's claims are of it."""

SIZE = sum(count for _, count in KINDS.values())
MARGIN = math.sqrt(2)
"""In standard deviations of a paired difference: two of one arm's, were the arms independent."""

PAIRS = 8
"""Arms with their bases in a simulated rank correlation."""

WIDTHS = (8, 32, 64, 256)
"""The widths of a simulated trend."""

SCHEDULES = {
    "3 seeds": schedule(3),
    "5 seeds": schedule(5),
    "10 seeds": schedule(10),
    "20 seeds": schedule(20),
    "5, 10, 20 seeds": schedule(5, 20),
}
EFFECTS = (1.0, 2.0, 4.0)
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]

DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "skewed up": lambda rng, shape: rng.exponential(size=shape) - 1,
    "skewed down": lambda rng, shape: 1 - rng.exponential(size=shape),
    "heavy-tailed": lambda rng, shape: rng.standard_t(3, size=shape) / math.sqrt(3),
}
"""Paired differences with mean 0 and standard deviation 1."""


def differences(kind: str, draw: Draw, rng: np.random.Generator, suites: int, n: int) -> np.ndarray:
    """(suites, claims of the kind, n) paired differences, where nothing is true but chance."""
    shape = (suites, KINDS[kind][1], n)
    if kind == "difference of differences":
        return (draw(rng, shape) - draw(rng, shape)) / math.sqrt(2)
    if kind == "rank correlation":
        ranks = draw(rng, (*shape, PAIRS)).argsort(axis=-1).argsort(axis=-1)
        doses = np.arange(PAIRS)
        centred, spread = ranks - ranks.mean(-1, keepdims=True), ((doses - doses.mean()) ** 2).sum()
        return np.asarray((centred * (doses - doses.mean())).sum(-1) / spread)
    if kind == "trend":
        logs = np.log2(WIDTHS)
        weights = logs - logs.mean()
        slopes = draw(rng, (*shape, len(WIDTHS))) @ weights
        return np.asarray(slopes / np.sqrt((weights**2).sum()))
    return draw(rng, shape)


def edges(kind: str) -> tuple[float, float]:
    """The true means at which SUPPORTED and REFUTED err most."""
    if kind == "~":
        return MARGIN, MARGIN
    return (-MARGIN, -MARGIN) if kind == ">=" else (0.0, 0.0)


def decide(
    values: np.ndarray, relation: Relation, looks: Sequence[Look], alpha: float
) -> np.ndarray:
    """(…,) of 1 (SUPPORTED), -1 (REFUTED) or 0 for differences (…, seeds), look after look."""
    supporting, opposing = _sides(relation, MARGIN)
    verdict = np.zeros(values.shape[:-1], dtype=int)
    for look in looks:
        seen = values[..., : look.seeds]
        error = seen.std(axis=-1, ddof=1) / math.sqrt(look.seeds)
        # Ranks can agree in every seed: then signs decide, and never at 20 claims and 3 seeds.
        tied = error < 1e-12
        error = np.where(tied, 1.0, error)

        def p(bound: float, side: str, seen=seen, error=error, look=look) -> np.ndarray:
            t = (seen.mean(axis=-1) - bound) / error
            return stats.t.sf(t if side == "greater" else -t, look.seeds - 1)

        p_for = np.max([p(*one) for one in supporting], axis=0)
        p_against = np.min([p(*one) for one in opposing], axis=0)
        level = alpha * look.share
        now = np.where(p_for <= level, 1, np.where(p_against <= level, -1, 0))
        if tied.any():
            signs = 0.5**look.seeds <= level
            mean = seen.mean(axis=-1)
            held = np.where(mean > 0, 1, np.where(mean < 0, -1, 0)) if signs else 0
            now = np.where(tied, held, now)
        verdict = np.where(verdict == 0, now, verdict)
    return verdict


def family_wise(name: str, draw: Draw, suites: int, seed: int) -> list[dict[str, object]]:
    """Rates of false SUPPORTED and false REFUTED, family-wise and by kind, for each schedule."""
    rows = []
    for plan, looks in SCHEDULES.items():
        rng = np.random.default_rng((seed, looks[-1].seeds, len(looks)))
        wrong = {1: np.zeros(suites, dtype=bool), -1: np.zeros(suites, dtype=bool)}
        by_kind: dict[str, dict[str, float]] = {}
        for kind, (relation, _) in KINDS.items():
            null = differences(kind, draw, rng, suites, looks[-1].seeds)
            by_kind[kind] = {}
            for sign, said, edge in zip(
                (1, -1), ("supported", "refuted"), edges(kind), strict=True
            ):
                found = decide(null + edge, relation, looks, ALPHA / SIZE) == sign
                wrong[sign] |= found.any(axis=1)
                # As though the whole family were of this kind.
                by_kind[kind][said] = round(float(1 - (1 - found.mean()) ** SIZE), 4)
        rows.append(
            {
                "differences": name,
                "looks": plan,
                "false_supported": round(float(wrong[1].mean()), 4),
                "false_refuted": round(float(wrong[-1].mean()), 4),
                "by_kind": by_kind,
            }
        )
    return rows


def power(suites: int, seed: int) -> list[dict[str, object]]:
    """How often a claim with a true effect is SUPPORTED, its differences normal."""
    rows = []
    for plan, looks in SCHEDULES.items():
        rng = np.random.default_rng((seed, 1, looks[-1].seeds, len(looks)))
        null = rng.standard_normal((suites, looks[-1].seeds))
        row: dict[str, object] = {"looks": plan}
        for effect in EFFECTS:
            found = decide(null - effect, Relation.BELOW, looks, ALPHA / SIZE) == 1
            row[f"{effect:g} sd"] = round(float(found.mean()), 3)
        for kind in (">=", "~"):
            found = decide(null, KINDS[kind][0], looks, ALPHA / SIZE) == 1
            row[f"{kind}, no difference"] = round(float(found.mean()), 3)
        rows.append(row)
    return rows


def agrees(checked: int, seed: int) -> None:
    """Hold ``decide`` against what decides claims, on random differences near the edges."""
    rng = np.random.default_rng(seed)
    words = {Verdict.SUPPORTED: 1, Verdict.REFUTED: -1, Verdict.UNDECIDED: 0}
    for _ in range(checked):
        relation = rng.choice(list(Relation))
        values = rng.standard_normal(20) + rng.uniform(-4, 4)
        looks = schedule(5, 20)
        theirs = 0
        for look in looks:
            alpha = ALPHA / SIZE * look.share
            outcome = compare(
                values[: look.seeds], np.zeros(look.seeds), Relation(relation), alpha, MARGIN
            )
            theirs = theirs or words[outcome.verdict]
        ours = int(decide(values, Relation(relation), looks, ALPHA / SIZE))
        if ours != theirs:
            raise SystemExit(f"decide says {ours}, compare {theirs}: {relation}, {values}")


def main() -> None:
    """Simulate, print tables, write JSON."""
    parser = argparse.ArgumentParser(description="calibration of the verdicts")
    parser.add_argument("--suites", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=20240712)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    agrees(300, arguments.seed)
    error = 1.96 * math.sqrt(ALPHA * (1 - ALPHA) / arguments.suites)
    print(f"{arguments.suites} suites of {SIZE} claims; 5 % is met up to {ALPHA + error:.2%}")
    rows = [
        row
        for name, draw in DISTRIBUTIONS.items()
        for row in family_wise(name, draw, arguments.suites, arguments.seed)
    ]
    for row in rows:
        kinds = ", ".join(
            f"{kind} {one['supported']:.1%}/{one['refuted']:.1%}"
            for kind, one in row["by_kind"].items()  # type: ignore[attr-defined]
        )
        print(
            f"{row['differences']:<13} {row['looks']:<16} false SUPPORTED "
            f"{row['false_supported']:.1%}, false REFUTED {row['false_refuted']:.1%} ({kinds})"
        )
    powers = power(arguments.suites, arguments.seed)
    for row in powers:
        print("power:", ", ".join(f"{name} {value}" for name, value in row.items()))
    if arguments.json:
        known = {name: versions()[name] for name in ("python", "numpy", "scipy")}
        document = {
            "command": f"python benchmarks/calibration.py --suites {arguments.suites}",
            "seed": arguments.seed,
            "suites": arguments.suites,
            "versions": known,
            "family_wise": rows,
            "power": powers,
        }
        arguments.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
