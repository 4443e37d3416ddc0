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
    p_for, against = (float(stats.fisher_exact(table, way).pvalue) for way in _ways(relation))
    # Newcombe's interval of a difference, from Wilson's of either share (1998, method 10).
    own, other = (
        stats.binomtest(count, of).proportion_ci(1 - 2 * level, method="wilson")
        for count, of in zip(hits, trials, strict=True)
    )
    low = p - q - math.hypot(p - own.low, other.high - q)
    high = p - q + math.hypot(own.high - p, q - other.low)
    variance, needed = p * (1 - p) + q * (1 - q), None
    least, most = relation.bounds(0.0)
    if least < p - q < most:
        z = -float(special.ndtri(level) + special.ndtri(1 - POWER_WANTED))
        needed = max(math.ceil((z / (p - q)) ** 2 * variance), min(n, m) + 1)
    numbers = min(n, m), p - q, (low, high), 1 - 2 * level, margin, p_for, against
    found = Outcome(Verdict.UNDECIDED, *numbers, sd=math.sqrt(variance) or 1.0, seeds_needed=needed)
    return _decided(found, relation, level)


def decide_matched(
    up: int, down: int, n: int, relation: Relation, level: float, margin: float = 0.0
) -> Outcome:
    """Decide a relation from n pairs of 0 and 1, some of which differ, by McNemar's exact test.

    The interval is Clopper and Pearson's, given how many differ.
    """
    from scipy import stats

    differ, p, against, low, high = up + down, 1.0, 1.0, 0.0, 1.0
    if differ:
        tests = (stats.binomtest(up, differ, 0.5, way) for way in _ways(relation))
        p, against = (float(test.pvalue) for test in tests)
        low, high = stats.binomtest(up, differ).proportion_ci(1 - 2 * level)
    ends = ((2 * low - 1) * differ / n, (2 * high - 1) * differ / n)
    numbers = n, (up - down) / n, ends, 1 - 2 * level, margin, p, against
    found = Outcome(Verdict.UNDECIDED, *numbers, sd=math.sqrt(differ / n) or 1.0)
    return _decided(found, relation, level)


def _ways(relation: Relation) -> tuple[str, str]:
    """The sides of the tests of a statement and of its opposite."""
    below = relation in (Relation.BELOW, Relation.NOT_ABOVE)
    return ("less", "greater") if below else ("greater", "less")


def _decided(found: Outcome, relation: Relation, level: float) -> Outcome:
    """The outcome with its verdict; with a margin in the relation the interval decides."""
    (low, high), (least, most) = found.interval, relation.bounds(found.margin)
    verdict = Verdict.UNDECIDED
    if relation.uses_margin:
        if least <= low and high <= most:
            verdict = Verdict.SUPPORTED
        elif high < least or low > most:
            verdict = Verdict.REFUTED
    elif max(-low, high) < found.margin:
        verdict = Verdict.NO_EFFECT
    elif min(found.p, found.p_against) <= level:
        verdict = Verdict.SUPPORTED if found.p < found.p_against else Verdict.REFUTED
    undecided = verdict is Verdict.UNDECIDED and not relation.uses_margin
    return replace(found, verdict=verdict, seeds_needed=found.seeds_needed if undecided else None)
