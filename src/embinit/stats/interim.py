"""Interim analyses: with how many seeds a claim is judged, and how its share of alpha is split.

An interim analysis has twice the seeds of the one before, fixed before anything is trained. Alpha
is spent by Lan and DeMets's function of Pocock's type (Biometrika 1983, 70:659): the levels add up
to more than the claim's share, and yet the chance that any analysis errs is that share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from embinit.errors import InputError


@dataclass(frozen=True)
class Analysis:
    """An interim analysis of a claim; its level is ``share`` times the claim's alpha."""

    seeds: int
    share: float


def schedule(first: int, most: int | None = None, alpha: float = 0.05) -> tuple[Analysis, ...]:
    """The interim analyses of a claim, in order; ``alpha`` is the claim's share of its family's."""
    counts = seeds_of_analyses(first, most)
    return tuple(map(Analysis, counts, _shares(counts, alpha)))


def seeds_of_analyses(first: int, most: int | None = None) -> tuple[int, ...]:
    """The seeds of each analysis: twice as many each time, up to ``most`` (else a single one)."""
    if most is not None and most < first:
        raise InputError(
            f"at most {most} seeds, but the first interim analysis takes {first}; allow as many"
        )
    counts = [first]
    while most is not None and counts[-1] < most:
        counts.append(min(2 * counts[-1], most))
    return tuple(counts)


@lru_cache
def _shares(counts: tuple[int, ...], alpha: float) -> tuple[float, ...]:
    if len(counts) == 1:
        return (1.0,)
    from scipy import special

    times = [count / counts[-1] for count in counts]
    bounds = boundaries(times, [pocock_spending(time, alpha) for time in times])
    return tuple(float(special.ndtr(-bound)) / alpha for bound in bounds)


def pocock_spending(time: float, alpha: float) -> float:
    """The part of ``alpha`` that is spent when a share ``time`` of all seeds was looked at."""
    return alpha * math.log(1 + (math.e - 1) * time)


GRID = 801
"""How many points the density between two analyses is integrated over."""


def boundaries(times: Sequence[float], spent: Sequence[float]) -> list[float]:
    """The bounds that a standardised mean must pass, analysis by analysis.

    The density of the sum of all seeds so far, where no analysis has passed its bound yet, is
    integrated from one to the next (Armitage, McPherson and Rowe 1969, J. R. Stat. Soc. A 132:235).
    ``times`` is the share of all seeds at each analysis, rising to 1; ``spent`` the chance that it
    or an earlier one passes its bound though nothing is true. Bounds are in standard errors.
    """
    from scipy import integrate, optimize, special  # scipy.stats takes a second to load

    bounds = [-float(special.ndtri(spent[0]))]
    sums = np.linspace(-9.0, bounds[0], GRID) * math.sqrt(times[0])
    density = _normal(sums, math.sqrt(times[0]))
    for before, now, done, total in zip(times, times[1:], spent, spent[1:], strict=False):
        step = math.sqrt(now - before)

        def passed(
            bound: float,
            now: float = now,
            step: float = step,
            more: float = total - done,
            sums: np.ndarray = sums,
            density: np.ndarray = density,
        ) -> float:
            beyond = special.ndtr((sums - bound * math.sqrt(now)) / step)
            return float(integrate.simpson(density * beyond, x=sums)) - more

        bounds.append(float(optimize.brentq(passed, -8.0, 9.0, xtol=1e-9)))
        reached = np.linspace(-9.0, bounds[-1], GRID) * math.sqrt(now)
        arriving = _normal(reached[:, None] - sums, step)
        density = integrate.simpson(density * arriving, x=sums, axis=1)
        sums = reached
    return bounds


def _normal(x: np.ndarray, sd: float) -> np.ndarray:
    """The density at ``x`` of a normal variable with mean 0."""
    return np.asarray(np.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi)))
