"""The noise of a new arm, known before it trains: pooled over the stored arms of its test file.

A test with ``seeds`` that compares a new arm with a stored one is then judged with three seeds
first, where others need six. Noise is measured once, before the first run of the new arm, and kept
in the store; what was measured of other code or inputs is of other records, and never taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from embinit.claims.comparisons import Comparison, Quantity, Term
from embinit.claims.functions import SEEDS
from embinit.claims.judging import Case
from embinit.claims.lock import difference_key
from embinit.claims.roles import Role
from embinit.runs.store_view import StoreView
from embinit.stats.pooling import Noise
from embinit.stats.statements import KnownSd

SEEDS_KNOWN = 3
"""The first analysis if the noise is known: from three seeds on no seed may decide alone."""


def with_known_noise(case: Case, file: Sequence[Case], view: StoreView) -> Case:
    """The claim with the noise of its file's arms, and an earlier first analysis; or unchanged."""
    experiment = case.experiment
    if not experiment.pools_noise or experiment.seeds != SEEDS or case.line or case.obstacle:
        return case
    sds = [_known_sd(comparison, file, view) for comparison in case.comparisons]
    comparisons = tuple(
        replace(comparison.with_seeds(SEEDS_KNOWN), known_sd=sd)
        for comparison, sd in zip(case.comparisons, sds, strict=True)
    )
    known = replace(experiment, seeds=SEEDS_KNOWN)
    return case if None in sds else replace(case, experiment=known, comparisons=comparisons)


def _known_sd(comparison: Comparison, file: Sequence[Case], view: StoreView) -> KnownSd | None:
    """The standard deviation of a difference as it was known before its first run; or None."""
    terms = [term for side in (comparison.left, comparison.right) if (term := _arm(side))]
    if comparison.known_sd or len(terms) < 2:
        return None
    records = [view.name_of(term.run(0)) for term in terms]
    key = difference_key(comparison)
    if (kept := view.store.noise(key)) and kept["record"] in records:
        return KnownSd(kept["sd"], kept["seeds"], kept["of"])
    stored = [sum(view.is_stored(term.run(seed)) for seed in range(SEEDS)) for term in terms]
    if sorted(stored) != [0, SEEDS]:
        return None
    old = stored.index(SEEDS)
    function, measure = terms[old].run(0).recipe.task, terms[old].measure
    sides = [_arm(side) for case in file for c in case.comparisons for side in (c.left, c.right)]
    arms = {
        other.run(0).recipe.arm: other
        for other in filter(None, sides)
        if other.measure == measure and other.run(0).recipe.task == function
    }
    noise = Noise.of({n: v for n, arm in arms.items() if (v := _values(arm, view))}, of_seeds=True)
    found, _ = noise.sd_of_difference()
    if found is None or terms[old].run(0).recipe.arm in noise.odd:
        return None
    kept = {"sd": found.sd, "seeds": found.seeds, "of": found.origin, "record": records[old]}
    view.store.keep_noise(key, kept)
    return found


def _arm(quantity: Quantity) -> Term | None:
    """The one arm that a quantity is; None where it is anything else."""
    terms = quantity.terms
    plain = len(terms) == 1 and terms[0].weight == 1 and not (quantity.parts or quantity.shift)
    return terms[0] if plain and terms[0].role is Role.CLAIM else None


def _values(arm: Term, view: StoreView) -> list[float]:
    """The values of an arm's first seeds; none where one is lacking."""
    results = [view.result(arm.run(seed)) for seed in range(SEEDS)]
    values = [arm.measure.of(result) for result in results if result is not None]
    found = [value for value in values if value is not None and math.isfinite(value)]
    return found if len(found) == SEEDS else []
