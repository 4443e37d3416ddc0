"""The standard deviation of one run, pooled over all arms that vary alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from embinit.stats.statements import ENOUGH_REGISTERED, RegisteredSd

ALIKE = 0.01
"""The level of the F-test, on either side, that an arm varies as all others do."""

MOST_ODD = 0.25
"""Nothing is pooled where more than this share of the arms varies unlike the others."""

BEFORE = "runs made before: "
"""How the name of an arm begins whose runs were made before those that are judged."""

OWN = "estimated from these runs alone"


class Noise(NamedTuple):
    """The values of each arm that has two or more, and which of these arms are odd.

    Values ``of_seeds`` are of the same seeds in each arm, in order.
    """

    groups: Mapping[str, np.ndarray]
    odd: Mapping[str, str]
    of_seeds: bool

    @classmethod
    def of(cls, arms: Mapping[str, Sequence[float]], of_seeds: bool = False) -> Self:
        """The noise of arms; what each seed does to all of them is no noise of pairs."""
        groups = {name: np.array(each) for name, each in arms.items() if len(each) > 1}
        return cls(groups, _odd(_without_seeds(groups) if of_seeds else groups), of_seeds)

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
        members = {n: g for n, g in self.groups.items() if n not in compared and n not in self.odd}
        earlier = [name for name in members if name.startswith(BEFORE)]
        degrees = sum(map(len, members.values())) - len(members)
        if self.of_seeds and members:
            members = _without_seeds(members)
            degrees -= degrees // len(members)
        if (len(members) < 2 or degrees + 1 < ENOUGH_REGISTERED) and not earlier:
            return None, OWN if len(members) < 2 else f"{OWN}; the other arms have too few runs"
        sd = math.sqrt(sum(map(_squares, members.values())) / degrees)
        other = "other arms" if compared else "arms"
        of = f"{len(members)} {other}" if len(members) > len(earlier) else "runs made before"
        without = f" (without {', '.join([*self.odd][:3])})" if self.odd else ""
        told = f"standard deviation {sd:.3g}, of {of}, {degrees} degrees of freedom{without}"
        return RegisteredSd(sd * 2**0.5, degrees + 1), told


def _squares(values: np.ndarray) -> float:
    away = values - values.sum() / len(values)
    return float(away @ away)


def _without_seeds(groups: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The values of each arm without what each seed does to all of them."""
    of_seeds = sum(groups.values()) / len(groups) if groups else 0.0
    return {name: each - of_seeds for name, each in groups.items()}


def _odd(groups: Mapping[str, np.ndarray]) -> dict[str, str]:
    """The arms that vary more or less than all others together, as one that fails now and then."""
    from scipy import special

    odd = {n: "has runs that don't vary" for n, each in groups.items() if len({*each}) == 1}
    names = [name for name in groups if name not in odd]
    degrees = np.array([len(groups[name]) - 1.0 for name in names])
    squares = np.array([_squares(groups[name]) for name in names])
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
