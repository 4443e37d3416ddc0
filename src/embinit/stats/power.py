"""What the rule can see: power, the seeds that an effect takes, the smallest effect of some seeds.

Up to a hundred pairs the rule itself is applied to simulated normal differences, of which each says
how large the effect must be to be shown. More pairs, and unpaired runs, have the power of a t.
"""

from __future__ import annotations

import bisect
import functools
import math

import numpy as np

from embinit.stats.statements import KnownSd

POWER_WANTED, MOST_SEEDS = 0.9, 1000
DRAWS, SIMULATED = 1000, 100
"""How many claims are simulated, with how many pairs at most."""


def power(effect: float, n: float, alpha: float, registered: int = 0, samples: int = 1) -> float:
    """The chance to show an effect of so many sds of the difference, one-sided at ``alpha``.

    ``registered`` degrees of freedom are pooled. ``samples`` is 1 for pairs, 2 without.
    """
    from scipy import special

    if samples == 1 and n <= SIMULATED:
        shown = np.searchsorted(_effects_shown(int(n), alpha, registered), effect, side="right")
        return float(shown) / DRAWS
    degrees = samples * (n - 1) + registered
    if degrees <= 0:
        return 0.0
    bound, middle = -float(special.stdtrit(degrees, alpha)), effect * math.sqrt(n)
    chance = 1 - float(special.nctdtr(degrees, middle, bound))
    # scipy's noncentral t gives up far out, where the normal is as good.
    return float(special.ndtr(middle - bound)) if math.isnan(chance) else chance


@functools.lru_cache(maxsize=4096)
def _effects_shown(n: int, alpha: float, registered: int) -> np.ndarray:
    """The least effect with which each simulated claim is shown, in order."""
    from scipy import special

    seen, chi_squares = _draws(registered)
    seen = seen[:, :n]
    ns = np.array([n] + [n - 1] * n * (n >= 3))
    middle = seen.mean(axis=1, keepdims=True)
    away = seen - middle
    left_out = np.concatenate([np.zeros_like(middle), away], axis=1)[:, : len(ns)]
    # Sums of powers give the moments without each seed.
    squares = (away**2).sum(axis=1, keepdims=True) - left_out**2
    cubes = (away**3).sum(axis=1, keepdims=True) - left_out**3
    moved = -left_out / ns
    second = np.maximum(squares / ns - moved**2, 1e-24)
    skewness = (cubes / ns - 3 * moved * squares / ns + 2 * moved**3) / second**1.5
    degrees = ns - 1 + registered
    sd = np.sqrt((second * ns + chi_squares[:, None]) / degrees)
    student = -special.stdtrit(degrees, alpha)
    bound = student + np.maximum(-skewness, 0) * (1 + 2 * student**2) / (6 * np.sqrt(ns))
    return np.sort((bound * sd / np.sqrt(ns) - middle - moved).max(axis=1))


@functools.lru_cache
def _draws(registered: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((DRAWS, SIMULATED))
    return normal, rng.chisquare(registered, DRAWS) if registered else np.zeros(DRAWS)


def seeds_for(effect: float, alpha: float, registered: int = 0, samples: int = 1) -> int | None:
    """The fewest seeds that show an effect, in sds of the difference, with 90 % power.

    None where it is not above 0 or needs over 1000 seeds.
    """
    if effect <= 0 or power(effect, MOST_SEEDS, alpha, registered, samples) < POWER_WANTED:
        return None
    shown = functools.partial(power, effect, alpha=alpha, registered=registered, samples=samples)
    return 2 + bisect.bisect_left(range(2, MOST_SEEDS), POWER_WANTED, key=shown)


def smallest_effect(alpha: float, n: int, known_sd: KnownSd, samples: int = 1) -> float:
    """The smallest mean difference that ``n`` seeds show with 90 % power, in the metric's unit."""
    from scipy import special

    if samples == 1 and n <= SIMULATED:
        effect = _effects_shown(n, alpha, known_sd.degrees)[math.ceil(POWER_WANTED * DRAWS) - 1]
        return float(effect) * known_sd.sd
    degrees = samples * (n - 1) + known_sd.degrees
    bound = -float(special.stdtrit(degrees, alpha))
    middle = float(special.nctdtrinc(degrees, 1 - POWER_WANTED, bound))
    return middle / math.sqrt(n) * known_sd.sd


def unknown_after(alpha: float, n: int, known_sd: KnownSd) -> float:
    """Half of the interval that ``n`` seeds leave, in the metric's unit."""
    from scipy import special

    return -float(special.stdtrit(n - 1 + known_sd.degrees, alpha)) * known_sd.sd / math.sqrt(n)


def rounded_up(value: float) -> float:
    """A number above 0 with two significant digits, not below it."""
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits - 1e-9) / 10.0**digits, max(digits, 0))
