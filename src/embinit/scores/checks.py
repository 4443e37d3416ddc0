"""What numbers say of the rows that they stand in: copies, points of a curve, and two units."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TypeVar

import numpy as np

from embinit.errors import InputError
from embinit.scores.arms import Arms, Score, number_in
from embinit.scores.asking import Ask
from embinit.scores.rows import Table

T = TypeVar("T")

IN_ORDER, LEAST_IN_ORDER = -3.5, 4
"""Neighbours are more alike by so many standard errors in one of 3,000 tables of runs; an arm has
so many numbers at least where their order is looked at."""

BY_CHANCE = 1e-4
"""Rows are copies that would be alike less often by chance."""

MOST_TIMES = 30
"""Positive scores of one unit that differ so many times are rare."""


def require_no_copies(table: Table, values: Sequence[float]) -> None:
    """InputError where more rows are equal in all columns than chance has, as copies are.

    So it is where the rows of an arm repeat those before them, one by one.
    """
    rows = [*zip(*table.columns.values(), strict=True)]
    first: dict[tuple[str, ...], int] = {}
    twice = [at for at, row in enumerate(rows) if first.setdefault(row, at) != at]
    fine = [value for value in values if math.isfinite(value)]
    text = ""
    if twice and math.isfinite(values[twice[0]]):
        low, high = np.quantile(fine, (0.1, 0.9))
        unit = 10.0 ** min(int(Decimal(repr(v)).normalize().as_tuple().exponent) for v in fine)
        by_chance = len(fine) ** 2 / 2 / max(1.0, float(high - low) / unit)
        if by_chance < 1 and by_chance ** len(twice) < BY_CHANCE:
            before = table.places[first[rows[twice[0]]]]
            text = f"{table.places[twice[0]]} has all that {before} has, to the last digit"
    for of in grouped(tuple(cell for cell in row if not number_in(cell)) for row in rows).values():
        half = [rows[at] for at in of[: len(of) // 2]]
        alike = sum(half.count(row) for row in half) / len(half) ** 2 if half else 1.0
        if half == [rows[at] for at in of[len(half) :]] and alike ** len(half) < BY_CHANCE:
            first_place, again = table.places[of[0]], table.places[of[len(half)]]
            text = text or f"{again}: the rows of {first_place} on are there again, in order"
    if text:
        raise InputError(f"{text}; take copies out, or name the runs in a column seed")


def require_no_steps(arms: Mapping[str, Sequence[Score]]) -> None:
    """A question where the scores of rows without a seed depend on their order."""
    listed = [[run.value for run in of if not run.crashed] for of in arms.values()]
    without = [of for of in listed if len(of) >= LEAST_IN_ORDER]
    if any(run.seed for of in arms.values() for run in of):
        return
    by_score = all(of in (sorted(of), sorted(of)[::-1]) for of in without)
    if sum(map(order, without)) / math.sqrt(len(without) or 1) < IN_ORDER and not by_score:
        place = next(iter(arms.values()))[0].place
        text = f"{place}: scores depend on their order, as those of a run's steps do; name the"
        raise Ask(f"{text} steps' column by --step, or is each a run?", [{"unpaired": True}])


def order(values: Sequence[float]) -> float:
    """How much more alike neighbours are than by chance, below 0, in standard errors.

    It is von Neumann's ratio of the ranks (1941, Ann. Math. Stat. 12:367).
    """
    n, ranks = len(values), np.unique(values, return_inverse=True)[1]
    squares = n * float(np.var(ranks))
    ratio = float(np.sum(np.diff(ranks) ** 2)) / squares if squares else 2.0
    return (ratio - 2) / math.sqrt(4 * (n - 2) / (n**2 - 1))


def grouped(keys: Iterable[T]) -> dict[T, list[int]]:
    """The rows of each key."""
    found = defaultdict(list)
    for at, key in enumerate(keys):
        found[key].append(at)
    return found


def rising(numbers: Sequence[float] | Mapping[int, float], rows: Iterable[int]) -> list[list[int]]:
    """Rows in parts whose numbers rise: a row whose number doesn't begins the next one."""
    parts: list[list[int]] = []
    for row in rows:
        if parts and numbers[row] > numbers[parts[-1][-1]]:
            parts[-1].append(row)
        else:
            parts.append([row])
    return parts


def rises(numbers: Sequence[float], arms: Sequence[str], by_one: bool = True) -> bool:
    """Whether a column's numbers rise over three rows of each arm or more, as those of steps do.

    Numbers that just count the table's rows don't, nor those ``by_one`` if it is false.
    """
    if {b - a for a, b in itertools.pairwise(numbers)} == {1.0}:
        return False
    of = grouped(arms).values()
    gaps = {b - a for rows in of for a, b in itertools.pairwise(numbers[r] for r in rows)}
    gaps = {*filter((0.0).__lt__, gaps)}
    long = all(3 * len(rising(numbers, rows)) <= len(rows) for rows in of)
    return long and (gaps != {1.0} or (by_one and len({*numbers}) < len(numbers)))


def same_in_each(texts: Sequence[str], arms: Sequence[str], once: bool = True) -> bool:
    """Whether a column has the same values in each arm, each ``once``, as what pairs rows does."""
    first, *others = (sorted(texts[at] for at in rows) for rows in grouped(arms).values())
    alike = bool(others) and len(first) > 1 and all(other == first for other in others)
    return alike and (not once or len({*first}) == len(first))


def two_units(arms: Arms, noise: Arms | None, base: str, bound: float) -> str:
    """The question where positive scores, or a margin and they, may have two units; else ""."""
    shown: list[tuple[float, str]] = []
    for of_noise, of in ((" (noise)", noise), ("", arms)):
        for name, runs in (of.scores if of and not of.of_noise else {}).items():
            found = [(run.value, name + of_noise) for run in runs if not run.crashed]
            shown += found if found and min(found)[0] > 0 else []
    (low, least), (high, most) = min(shown, default=(1.0, "")), max(shown, default=(1.0, ""))
    if high <= MOST_TIMES * low:
        of_base = [run.value for run in arms.scores.get(base, ()) if not run.crashed] or [0.0]
        if not 0 < (mean := statistics.fmean(of_base)) <= 2 * bound:
            return ""
        return f"{bound:g} is a large margin where {base} has {mean:.3g}: are both in one unit?"
    text = f"scores go from {low:g} ({least}) to {high:g} ({most}): write all in one unit, such as"
    return f"{text} %, and take out what is no score; or are they in one unit?"
