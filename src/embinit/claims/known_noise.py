"""The noise of a new arm, known before it trains: pooled over the stored arms of its test file.

A test with ``seeds`` that compares a new arm with a stored one is then judged with three seeds
first, where others need six. Noise is measured once, before the first run of the new arm, and kept
in the store; what was measured of other code or inputs is of other records, and never taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from embinit.claims.comparisons import Comparison, Quantity
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
    arms = [*filter(_is_an_arm, (comparison.left, comparison.right))]
    if comparison.known_sd or len(arms) < 2:
        return None
    runs = [arm.with_seeds(SEEDS).runs() for arm in arms]
    records = [view.name_of(first) for first, *_ in runs]
    key = difference_key(comparison)
    if (kept := view.store.noise(key)) and kept["record"] in records:
        return KnownSd(kept["sd"], kept["seeds"], kept["of"])
    stored = [sum(map(view.is_stored, of_arm)) for of_arm in runs]
    if sorted(stored) != [0, SEEDS]:
        return None
    old = stored.index(SEEDS)
    known, measure = runs[old][0].recipe, arms[old].measure
    sides = (side for one in file for pair in one.comparisons for side in (pair.left, pair.right))
    others = {}
    for side in filter(_is_an_arm, sides):
        recipe = side.runs_of(0)[0].recipe
        if side.measure == measure and recipe.task == known.task:
            others[recipe.arm] = _values(side, view)
    noise = Noise.of(others, of_seeds=True)
    found, _ = noise.sd_of_difference()
    if found is None or known.arm in noise.odd:
        return None
    kept = {"sd": found.sd, "seeds": found.seeds, "of": found.origin, "record": records[old]}
    view.store.keep_noise(key, kept)
    return found


def _is_an_arm(quantity: Quantity) -> bool:
    """Whether a quantity is one arm, and nothing else."""
    known = [(term.weight, term.role) for term in quantity.terms]
    return known == [(1, Role.CLAIM)] and not (quantity.parts or quantity.shift)


def _values(arm: Quantity, view: StoreView) -> list[float]:
    """The values of an arm's first seeds; none where one is lacking."""
    values = arm.with_seeds(SEEDS).values(view.result)
    found = [value for value in values if value is not None and math.isfinite(value)]
    return found if len(found) == SEEDS else []
