"""Two counts of successes, such as 74 of 80: Fisher's exact test with Newcombe's interval."""

from __future__ import annotations

import math

from embinit.stats.power import POWER_WANTED
from embinit.stats.statements import Outcome, Relation, Verdict


def decide_counts(
    hits: tuple[int, int],
    trials: tuple[int, int],
    relation: Relation,
    level: float,
    margin: float = 0.0,
) -> Outcome:
    """Decide ``<`` or ``>`` from successes of independent trials.

    ``seeds_needed`` are the trials of a side that would show an effect of the measured size.
    """
    from scipy import special, stats

    (n, m), (p, q) = trials, (hits[0] / trials[0], hits[1] / trials[1])
    table = [[count, of - count] for count, of in zip(hits, trials, strict=True)]
    below = relation is Relation.BELOW
    ways = ("less", "greater") if below else ("greater", "less")
    shown, opposite = (float(stats.fisher_exact(table, way).pvalue) for way in ways)
    # Newcombe's interval of a difference, from Wilson's of either share (1998, method 10).
    own, other = (
        stats.binomtest(count, of).proportion_ci(1 - 2 * level, method="wilson")
        for count, of in zip(hits, trials, strict=True)
    )
    low = p - q - math.hypot(p - own.low, other.high - q)
    high = p - q + math.hypot(own.high - p, q - other.low)
    verdict, variance, needed = Verdict.UNDECIDED, p * (1 - p) + q * (1 - q), None
    if max(-low, high) < margin:
        verdict = Verdict.NO_EFFECT
    elif min(shown, opposite) <= level:
        verdict = Verdict.SUPPORTED if shown < opposite else Verdict.REFUTED
    elif p < q if below else p > q:
        z = -float(special.ndtri(level) + special.ndtri(1 - POWER_WANTED))
        needed = max(math.ceil((z / (p - q)) ** 2 * variance), min(n, m) + 1)
    rest = (1 - 2 * level, margin, shown, opposite, None, needed)
    sd = math.sqrt(variance) or 1.0
    return Outcome(verdict, min(n, m), p - q, (low, high), *rest, sd=sd)
