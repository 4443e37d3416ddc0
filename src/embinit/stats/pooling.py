"""The standard deviation of one run, pooled over all arms that vary alike."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self

import numpy as np

from embinit.stats.statements import ENOUGH_REGISTERED, KnownSd

ALIKE = 0.01
"""The level of the F-test, on either side, that an arm varies as all others do."""

MOST_ODD = 0.25
"""Nothing is pooled where more than this share of the arms varies unlike the others."""

BEFORE = "runs made before: "
"""How the name of an arm begins whose runs were made before those that are judged."""

OWN = "estimated from these runs"


class Noise(NamedTuple):
    """The arms that have two values or more, and which of them are odd.

    ``values`` are the arms' own, or what is left of them without what each seed does to all arms;
    ``squares`` are the sums of the squares of their distances from their mean, ``alike`` is
    whether an arm is not odd, both in the order of ``values``: the arms made before are first.
    ``together`` has the sum of all arms that are alike, seed by seed.
    """

    values: Mapping[str, np.ndarray]
    squares: np.ndarray
    degrees: np.ndarray
    alike: np.ndarray
    odd: Mapping[str, str]
    together: np.ndarray | None = None

    @classmethod
    def of(cls, arms: Mapping[str, Sequence[float]], of_seeds: bool = False) -> Self:
        """The noise of arms, whose values have the same seeds in order if they are ``of_seeds``."""
        values = {name: np.array(scores) for name, scores in arms.items() if len(scores) > 1}
        if of_seeds and values:
            of_all = sum(values.values()) / len(values)
            values = {name: scores - of_all for name, scores in values.items()}
        squares = np.array([float(np.sum((v - v.mean()) ** 2)) for v in values.values()])
        degrees = np.array([len(scores) - 1 for scores in values.values()], dtype=int)
        odd = _odd(values, squares, degrees)
        alike = np.array([name not in odd for name in values], dtype=bool)
        pooled = [*itertools.compress(values.values(), alike)]
        together = np.sum(pooled, axis=0) if of_seeds and pooled else None
        return cls(values, squares, degrees, alike, odd, together)

    def sd_of_difference(self, *compared: str) -> tuple[KnownSd | None, str]:
        """The standard deviation of the difference of two runs, by what isn't compared itself.

        None where it isn't known. The text says where it is from, or why there is none.
        """
        here = [name for name in compared if name in self.odd]
        many = len(self.odd) > MOST_ODD * len(self.values) and len(self.values) > 2
        if here or (many and self.odd):
            name = (here or [*self.odd])[0]
            why = f"{name.removeprefix(BEFORE) or 'one arm'} {self.odd[name]}"
            return None, f"{OWN}, since {why}" + ("" if here else ", as do too many arms")
        names, kept = [*self.values], self.alike.copy()
        kept[[names.index(name) for name in compared if name in self.values]] = False
        before = sum(1 for _ in itertools.takewhile(lambda name: name.startswith(BEFORE), names))
        members, earlier = int(kept.sum()), int(kept[:before].sum())
        if before and not earlier:
            return None, f"{OWN}, since {names[0].removeprefix(BEFORE)} {self.odd[names[0]]}"
        degrees, squares = int(self.degrees[kept].sum()), float(self.squares[kept].sum())
        if self.together is not None and members:
            left_out = (self.values[name] for name in compared if name in self.values)
            of_seeds = (self.together - sum(left_out)) / members
            squares -= members * float(np.sum((of_seeds - of_seeds.mean()) ** 2))
            degrees -= degrees // members
        if (members < 2 or degrees + 1 < ENOUGH_REGISTERED) and not earlier:
            return None, OWN if members < 2 else f"{OWN}; the other arms have too few runs"
        sd = math.sqrt(max(squares, 0.0) / degrees)
        other = "other arms" if compared else "arms"
        of = f"{members} {other}" if members > earlier else "runs made before"
        without = f" (without {', '.join([*self.odd][:3])})" if self.odd else ""
        text = f"standard deviation {sd:.3g}, of {of}, {degrees} degrees of freedom{without}"
        return KnownSd(sd * 2**0.5, degrees + 1, text), text


def unless_odd(
    known_sd: KnownSd | None, left: Sequence[float], right: Sequence[float]
) -> KnownSd | None:
    """What other arms show, unless a new arm's differences vary more or less (F-test)."""
    from scipy import special

    if known_sd is None or not known_sd.origin:
        return known_sd
    ratio = float(np.var(np.subtract(left, right), ddof=1)) / known_sd.sd**2
    above = float(special.fdtrc(len(left) - 1, known_sd.degrees, ratio))
    return known_sd if min(above, 1 - above) >= ALIKE else None


def _odd(
    values: Mapping[str, np.ndarray], squares: np.ndarray, degrees: np.ndarray
) -> dict[str, str]:
    """The arms that vary more or less than all others together, as one that fails now and then."""
    from scipy import special

    constant = np.array([scores.min() == scores.max() for scores in values.values()], dtype=bool)
    odd = dict.fromkeys(itertools.compress(values, constant), "has runs that don't vary")
    names = [name for name in values if name not in odd]
    degrees, squares = degrees[~constant], squares[~constant]
    while len(names) > 1 and len(odd) <= MOST_ODD * len(values):
        others = degrees.sum() - degrees
        with np.errstate(divide="ignore"):
            ratio = squares / degrees * others / (squares.sum() - squares)
        above = special.fdtrc(degrees, others, ratio)
        p = np.minimum(above, 1 - above)
        if p[at := int(np.argmin(p))] >= ALIKE:
            break
        odd[names.pop(at)] = f"varies {'more' if ratio[at] > 1 else 'less'} than other runs"
        degrees, squares = np.delete(degrees, at), np.delete(squares, at)
    return odd
