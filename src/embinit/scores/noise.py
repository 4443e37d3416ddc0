"""The noise of one run: of runs that were made before, or pooled over all arms that vary alike."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from embinit.report.numbers import short
from embinit.scores.arms import Arms
from embinit.stats.statements import ENOUGH_REGISTERED, RegisteredSd

ALIKE = 0.01
"""The level of the F-test, on either side, that an arm varies as all others do."""

MOST_ODD = 0.25
"""Nothing is pooled where more than this share of the arms varies unlike the others."""

BEFORE = "runs made before: "
OWN = "their own runs' alone"


class Noise(NamedTuple):
    """The runs of each arm that has two or more, and which of these arms are odd.

    ``runs`` are those of the baseline that were made before, where they are of one arm.
    """

    groups: Mapping[str, np.ndarray]
    odd: Mapping[str, str]
    before: bool
    runs: tuple[float, ...] = ()

    @classmethod
    def of(cls, arms: Arms, before: Arms | None = None) -> Noise:
        """The noise of arms and of runs made before."""
        earlier = {} if before is None else {n: before.values(n) for n in before.scores}
        values = {BEFORE + name: each for name, each in earlier.items()}
        values |= {name: arms.values(name) for name in arms.scores}
        groups = {name: np.array(each) for name, each in values.items() if len(each) > 1}
        runs = next(iter(earlier.values())) if len(earlier) == 1 else ()
        runs = () if before is not None and before.of_noise else runs
        return cls(groups, _odd(groups), before is not None, runs)

    def spread(self, *compared: str) -> tuple[RegisteredSd | None, str]:
        """The standard deviation of the difference of two runs, by what isn't compared itself.

        None where it isn't known. The text says where it is from, or why there is none.
        """
        here = [name for name in compared if name in self.odd]
        many = len(self.odd) > MOST_ODD * len(self.groups) and len(self.groups) > 2
        if here or (many and self.odd):
            name = (here or [*self.odd])[0]
            why = f"{name.removeprefix(BEFORE) or 'one arm'} {self.odd[name]}"
            return None, f"{OWN}, since {why}" + ("" if here else ", as do too many arms")
        members = [n for n in self.groups if n not in compared and n not in self.odd]
        earlier = [name for name in members if name.startswith(BEFORE)]
        degrees = sum(len(self.groups[name]) - 1 for name in members)
        if (len(members) < 2 or degrees + 1 < ENOUGH_REGISTERED) and not earlier:
            return None, OWN if len(members) < 2 else f"{OWN}; the other arms have too few runs"
        squares = sum(len(self.groups[n]) * float(np.var(self.groups[n])) for n in members)
        sd = math.sqrt(squares / degrees)
        of = f"{len(members)} other arms" if len(members) > len(earlier) else "runs made before"
        without = f" (without {', '.join([*self.odd][:3])})" if self.odd else ""
        told = f"standard deviation {short(sd)}, of {of}, {degrees} degrees of freedom{without}"
        return RegisteredSd(sd * 2**0.5, degrees + 1), told


def _odd(groups: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The arms that vary more or less than all others together, as one that fails now and then."""
    from scipy import special

    odd = {n: "has runs that don't vary" for n, each in groups.items() if len({*each}) == 1}
    names = [name for name in groups if name not in odd]
    degrees = np.array([len(groups[name]) - 1.0 for name in names])
    squares = np.array([np.var(groups[name]) * len(groups[name]) for name in names])
    while len(names) > 1 and len(odd) <= MOST_ODD * len(groups):
        others = degrees.sum() - degrees
        ratio = squares / degrees * others / (squares.sum() - squares)
        above = special.fdtrc(degrees, others, ratio)
        p = np.minimum(above, 1 - above)
        if p[at := int(np.argmin(p))] >= ALIKE:
            break
        odd[names.pop(at)] = f"varies {'more' if ratio[at] > 1 else 'less'} than other runs"
        degrees, squares = np.delete(degrees, at), np.delete(squares, at)
    return odd
