"""Refuses numbers that are not one a run: copies, one arm under two names, and steps of a run."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from embinit.errors import InputError
from embinit.scores.arms import Score

OK = -3.5
"""Neighbours are more alike by so many standard errors in one of 3,000 tables of runs."""

MOST_ITEMS = 300
"""Scores may be shares of so many items, as 0.8333 of 6: few numbers, though of many digits."""

LEAST_IN_ORDER = 4
"""An arm has so many numbers at least where their order is looked at."""


def require_one_a_run(arms: Mapping[str, Sequence[Score]]) -> None:
    """InputError where numbers of arms are copies, or seem to be steps."""
    seen: dict[tuple[float, ...], str] = {}
    without_seed = []
    for name, runs in arms.items():
        values, place = [run.value for run in runs if not run.crashed], runs[0].place
        half, ranked = len(values) // 2, sorted(values)
        if ranked[::2] == ranked[1::2] and _copied(values[:half], values[half:]):
            raise InputError(f"{place}: {name!r} has each number twice or more; remove the copies")
        other = seen.setdefault(tuple(ranked), name)
        if other != name and _copied(values, [run.value for run in arms[other]]):
            mend = "take the rows of one out"
            raise InputError(f"{place}: {name!r} has the numbers of {other!r}; {mend}")
        if len(values) >= LEAST_IN_ORDER and not any(run.seed for run in runs):
            without_seed.append(values)
    sorted_by_score = all(
        values in (sorted(values), sorted(values)[::-1]) for values in without_seed
    )
    alike = sum(map(order, without_seed)) / math.sqrt(len(without_seed) or 1)
    if alike < OK and not sorted_by_score:
        mend = "call their column step, or name by --seed what numbers runs, with --unpaired"
        place = next(iter(arms.values()))[0].place
        raise InputError(f"{place}: scores depend on their order, as those of steps do; {mend}")


def _copied(values: Sequence[float], others: Sequence[float]) -> bool:
    """Whether numbers that others are too, in any order, are so by chance less than 1e-5 often."""
    if not values:
        return False
    shares = [Fraction(value).limit_denominator(MOST_ITEMS) for value in values]
    if all(abs(share - value) < 1e-6 for share, value in zip(shares, values, strict=True)):
        unit = 1.0 / max(share.denominator for share in shares)
    else:
        digits = [Decimal(repr(value)).normalize().as_tuple().exponent for value in values]
        unit = 10.0 ** min(map(int, digits))
    size = math.log(1 + (max(values) - min(values)) / unit)
    ways = 0.0 if values == others else math.lgamma(1 + len(values))
    return ways - len(values) * size < math.log(1e-5)


def order(values: Sequence[float]) -> float:
    """How much more alike neighbours are than by chance, below 0, in standard errors.

    It is von Neumann's ratio of the ranks (1941, Ann. Math. Stat. 12:367).
    """
    n, ranks = len(values), np.unique(values, return_inverse=True)[1]
    squares = n * float(np.var(ranks))
    ratio = float(np.sum(np.diff(ranks) ** 2)) / squares if squares else 2.0
    return (ratio - 2) / math.sqrt(4 * (n - 2) / (n**2 - 1))


def called_steps(columns: Mapping[str, Sequence[str]], runs: Sequence[Sequence[int]]) -> str:
    """The column whose numbers rise over the rows of every arm as those of steps do; "" for none.

    They start again within an arm, are the same in several, or are evenly spaced; those that
    just count rows are none.
    """
    long = [rows for rows in runs if len(rows) > 2]
    for name, texts in columns.items() if long else ():
        numbers = [*map(_number, texts)]
        if {b - a for a, b in itertools.pairwise(numbers)} == {1.0}:
            continue
        parts = [[numbers[row] for row in part] for of in long for part in rising(numbers, of)]
        fewest = min(map(len, parts))
        gaps = [{b - a for a, b in itertools.pairwise(part)} for part in parts]
        same = len(parts) > 1 and len({*parts[0]} & {*parts[1]}) > 2
        even = fewest > 3 and all(len(of_one) == 1 for of_one in gaps)
        again = len(parts) > len(long)
        if fewest > 2 and (again or ((same or even) and {1.0} != set().union(*gaps))):
            return name
    return ""


def rising(numbers: Sequence[float] | Mapping[int, float], rows: Iterable[int]) -> list[list[int]]:
    """Rows in parts whose numbers rise: a row whose number doesn't begins the next one."""
    parts: list[list[int]] = []
    for row in rows:
        if parts and numbers[row] > numbers[parts[-1][-1]]:
            parts[-1].append(row)
        else:
            parts.append([row])
    return parts


def pairing(columns: Mapping[str, Sequence[str]], runs: Sequence[Sequence[int]]) -> list[str]:
    """The columns that have the same values in every arm, and together number its rows."""
    same = []
    for name, texts in columns.items():
        first, *others = (sorted(texts[at] for at in rows) for rows in runs)
        if others and len({*first}) > 1 and all(arm == first for arm in others):
            same.append(name)
    cells = [{tuple(columns[name][at] for name in same) for at in rows} for rows in runs]
    numbered = all(len(arm) == len(runs[0]) and arm == cells[0] for arm in cells)
    return same if same and numbered else []


def counts(texts: Sequence[str]) -> bool:
    """Whether the numbers in cells are 0, 1, 2 and so on, or 1, 2, 3, as those of runs are."""
    numbers = sorted({*map(_number, texts)})
    return numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])


def _number(text: str) -> float:
    """The last number in a cell, as 10 in ckpt-10 or 10%; NaN without one."""
    found = re.findall(r"\d+(?:\.\d+)?", text)
    return float(found[-1]) if found else math.nan
