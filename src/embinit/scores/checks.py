"""What numbers say of the rows that they stand in: copies, points of a curve, and two units."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from embinit.errors import InputError
from embinit.scores.arms import Arms, Score, number_in
from embinit.scores.asking import Ask
from embinit.scores.rows import Table

IN_ORDER, LEAST_IN_ORDER = -3.5, 4
"""Neighbours are more alike by so many standard errors in one of 3,000 tables of runs; an arm has
so many numbers at least where their order is looked at."""

MOST_ITEMS = 5000
"""Scores may be shares of so many items, as 0.8333 of 6: few numbers, though of many digits."""

BY_CHANCE = 1e-4
"""Rows are copies that would be alike less often by chance."""

MOST_TIMES = 30
"""Positive scores of one unit that differ so many times are rare."""


def require_no_copies(table: Table, values: Sequence[float]) -> None:
    """InputError where rows are equal in all columns, and their scores in more than chance has.

    So are rows that repeat those before them, one by one.
    """
    rows = [*zip(*table.columns.values(), strict=True)]
    first: dict[tuple[str, ...], int] = {}
    twice = [(at, first[row]) for at, row in enumerate(rows) if first.setdefault(row, at) != at]
    fine = [value for value in values if math.isfinite(value)]
    if twice and math.isfinite(values[twice[0][0]]):
        low, high = np.quantile(fine, (0.1, 0.9))
        alike = len(fine) ** 2 / 2 / max(1.0, float(high - low) / _unit(fine))
        if alike < 1 and alike ** len(twice) < BY_CHANCE:
            again, before = (table.places[at] for at in twice[0])
            text = f"{again} has all that {before} has, to the last digit"
            raise InputError(f"{text}; take the copy out")
    arms: dict[tuple[str, ...], list[int]] = {}
    for at, row in enumerate(rows):
        arms.setdefault(tuple(cell for cell in row if not number_in(cell)), []).append(at)
    for of in arms.values():
        half = [rows[at] for at in of[: len(of) // 2]]
        alike = sum(half.count(row) for row in half) / len(half) ** 2 if half else 1.0
        if half == [rows[at] for at in of[len(half) :]] and alike ** len(half) < BY_CHANCE:
            again = f"{table.places[of[len(half)]]}: the rows of {table.places[of[0]]} on are there"
            raise InputError(f"{again} again, in order; take the copies out")


def _unit(values: Sequence[float]) -> float:
    """The smallest difference that numbers can have, as they are written."""
    digits = [Decimal(repr(value)).normalize().as_tuple().exponent for value in values]
    unit = 10.0 ** min(map(int, digits))
    if min(values) < 0 or max(values) > 1:
        return unit
    shares = [Fraction(value).limit_denominator(MOST_ITEMS) for value in values]
    if all(abs(share - v) <= max(unit, 1e-15) for share, v in zip(shares, values, strict=True)):
        return max(unit, 1.0 / max(share.denominator for share in shares))
    return unit


def require_no_steps(arms: Mapping[str, Sequence[Score]]) -> None:
    """A question where the scores of rows without a seed depend on their order."""
    listed = [[run.value for run in of if not run.crashed] for of in arms.values()]
    without = [of for of in listed if len(of) >= LEAST_IN_ORDER]
    if any(run.seed for of in arms.values() for run in of):
        return
    by_score = all(of in (sorted(of), sorted(of)[::-1]) for of in without)
    if sum(map(order, without)) / math.sqrt(len(without) or 1) < IN_ORDER and not by_score:
        place = next(iter(arms.values()))[0].place
        text = f"{place}: scores depend on their order, as those of a run's steps do"
        raise Ask(
            f"{text}; name the steps' column by --step, or is each a run?", [{"unpaired": True}]
        )


def order(values: Sequence[float]) -> float:
    """How much more alike neighbours are than by chance, below 0, in standard errors.

    It is von Neumann's ratio of the ranks (1941, Ann. Math. Stat. 12:367).
    """
    n, ranks = len(values), np.unique(values, return_inverse=True)[1]
    squares = n * float(np.var(ranks))
    ratio = float(np.sum(np.diff(ranks) ** 2)) / squares if squares else 2.0
    return (ratio - 2) / math.sqrt(4 * (n - 2) / (n**2 - 1))


def rising(numbers: Sequence[float] | Mapping[int, float], rows: Iterable[int]) -> list[list[int]]:
    """Rows in parts whose numbers rise: a row whose number doesn't begins the next one."""
    parts: list[list[int]] = []
    for row in rows:
        if parts and numbers[row] > numbers[parts[-1][-1]]:
            parts[-1].append(row)
        else:
            parts.append([row])
    return parts


def rises(numbers: Sequence[float], arms: Sequence[str]) -> bool:
    """Whether a column's numbers rise over three rows of each arm or more, as those of steps do.

    Numbers that just count the table's rows don't.
    """
    if {b - a for a, b in itertools.pairwise(numbers)} == {1.0}:
        return False
    of: dict[str, list[int]] = {}
    for at, arm in enumerate(arms):
        of.setdefault(arm, []).append(at)
    gaps = {b - a for rows in of.values() for a, b in itertools.pairwise(numbers[r] for r in rows)}
    long = all(3 * len(rising(numbers, rows)) <= len(rows) for rows in of.values())
    return long and (gaps != {1.0} or len({*numbers}) < len(numbers))


def same_in_each(texts: Sequence[str], arms: Sequence[str]) -> bool:
    """Whether a column has the same values in each arm, each once, as what pairs rows does."""
    of: dict[str, list[str]] = {}
    for arm, text in zip(arms, texts, strict=True):
        of.setdefault(arm, []).append(text)
    first, *others = map(sorted, of.values())
    return bool(others) and len({*first}) == len(first) > 1 and all(o == first for o in others)


def require_one_unit(arms: Arms, noise: Arms | None) -> None:
    """A question where positive scores differ so much that they may have two units."""
    shown: dict[str, list[float]] = {}
    for name, of in (noise.scores if noise and not noise.of_noise else {}).items():
        shown[f"{name} (noise)"] = [run.value for run in of if not run.crashed]
    for name, of in arms.scores.items():
        shown[name] = [run.value for run in of if not run.crashed]
    shown = {name: of for name, of in shown.items() if of and min(of) > 0}
    odd = [name for name, of in shown.items() if max(of) > MOST_TIMES * min(of)]
    middle = {name: float(np.median(of)) for name, of in shown.items()}
    text = ""
    if odd:
        values = shown[odd[0]]
        text = f"scores of {odd[0]} go from {min(values):g} to {max(values):g}"
    elif shown and max(middle.values()) > MOST_TIMES * min(middle.values()):
        low, high = min(middle, key=middle.__getitem__), max(middle, key=middle.__getitem__)
        text = f"scores of {low} are about {middle[low]:g}, and of {high} {middle[high]:g}"
    if text:
        text += ": write all in one unit, such as %, and take out what is no score"
        raise Ask(f"{text}; or are they in one unit?", [{"one_unit": True}])
