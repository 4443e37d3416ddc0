"""Two counts of successes, such as 74 of 80, by exact tests: Fisher's, and McNemar's of pairs."""

from __future__ import annotations

import math
from dataclasses import replace

from embinit.stats.power import POWER_WANTED
from embinit.stats.statements import Outcome, Relation, Verdict


def decide_counts(
    hits: tuple[int, int],
    trials: tuple[int, int],
    relation: Relation,
    level: float,
    margin: float = 0.0,
) -> Outcome:
    """Decide a relation from successes of independent trials, by Fisher's exact test.

    ``seeds_needed`` are the trials of a side that would show an effect of the measured size.
    """
    from scipy import special, stats

    (n, m), (p, q) = trials, (hits[0] / trials[0], hits[1] / trials[1])
    table = [[count, of - count] for count, of in zip(hits, trials, strict=True)]
    below = relation in (Relation.BELOW, Relation.NOT_ABOVE)
    ways = ("less", "greater") if below else ("greater", "less")
    ps = [float(stats.fisher_exact(table, way).pvalue) for way in ways]
    # Newcombe's interval of a difference, from Wilson's of either share (1998, method 10).
    own, other = (
        stats.binomtest(count, of).proportion_ci(1 - 2 * level, method="wilson")
        for count, of in zip(hits, trials, strict=True)
    )
    low = p - q - math.hypot(p - own.low, other.high - q)
    high = p - q + math.hypot(own.high - p, q - other.low)
    variance, needed = p * (1 - p) + q * (1 - q), None
    if p < q if below else p > q:
        z = -float(special.ndtri(level) + special.ndtri(1 - POWER_WANTED))
        needed = max(math.ceil((z / (p - q)) ** 2 * variance), min(n, m) + 1)
    sd = math.sqrt(variance) or 1.0
    return _decided(min(n, m), p - q, (low, high), ps, relation, level, margin, sd, needed)


def decide_matched(
    up: int, down: int, n: int, relation: Relation, level: float, margin: float = 0.0
) -> Outcome:
    """Decide a relation from n pairs of 0 and 1, some of which differ, by McNemar's exact test.

    The interval is Clopper and Pearson's, given how many differ.
    """
    from scipy import stats

    below = relation in (Relation.BELOW, Relation.NOT_ABOVE)
    ways, differ = ("less", "greater") if below else ("greater", "less"), up + down
    ps, (low, high) = [1.0, 1.0], (0.0, 1.0)
    if differ:
        ps = [float(stats.binomtest(up, differ, 0.5, way).pvalue) for way in ways]
        low, high = stats.binomtest(up, differ).proportion_ci(1 - 2 * level)
    ends = ((2 * low - 1) * differ / n, (2 * high - 1) * differ / n)
    sd = math.sqrt(differ / n) or 1.0
    return _decided(n, (up - down) / n, ends, ps, relation, level, margin, sd)


def _decided(
    n: int,
    difference: float,
    interval: tuple[float, float],
    ps: list[float],
    relation: Relation,
    level: float,
    margin: float,
    sd: float,
    needed: int | None = None,
) -> Outcome:
    """The outcome of an exact test; with a margin in the relation the interval decides."""
    (low, high), (least, most) = interval, relation.bounds(margin)
    verdict = Verdict.UNDECIDED
    if relation.uses_margin:
        if least <= low and high <= most:
            verdict = Verdict.SUPPORTED
        elif high < least or low > most:
            verdict = Verdict.REFUTED
    elif max(-low, high) < margin:
        verdict = Verdict.NO_EFFECT
    elif min(ps) <= level:
        verdict = Verdict.SUPPORTED if ps[0] < ps[1] else Verdict.REFUTED
    needed = needed if verdict is Verdict.UNDECIDED and not relation.uses_margin else None
    outcome = Outcome(verdict, n, difference, interval, 1 - 2 * level, margin, ps[0], ps[1], sd=sd)
    return replace(outcome, seeds_needed=needed)
