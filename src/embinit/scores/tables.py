"""From a table to arms: a row is a run, or a point of its curve; what isn't sure is asked."""

from __future__ import annotations

import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from embinit.errors import InputError, counted
from embinit.scores.arms import Arms, Score, arms_of, cells, number_in
from embinit.scores.checks import require_no_copies, require_no_steps, rises, rising, same_in_each
from embinit.scores.names import (
    by_numbers,
    called,
    is_setting,
    is_spread,
    plain,
    role,
)
from embinit.scores.roles import (
    Rows,
    are_dates,
    likeliest,
    repeat,
    rows_of,
    steps_of,
    wheres,
)
from embinit.scores.rows import VALUE, Ask, Choice, Table, listed, one_of
from embinit.scores.shapes import Reading, is_number, long
from embinit.stats.power import MOST_SEEDS

ENDED_EARLY = 0.9
"""A run ended early whose last step is below this share of the last step of its arm's runs."""

Groups = dict[tuple[str, str, str], list[int]]
"""The rows of each arm, seed and run."""


def read(table: Table, given: Reading = Reading()) -> Arms:  # noqa: B008
    """The arms of a table; a question where it has two readings."""
    if not table.places:
        raise Ask(f"{table.name} has no row", ())
    table = _where(table, given)
    index = ("", "Unnamed: 0")
    kept = {n: of for n, of in table.columns.items() if n not in index and any(of)}
    rows = rows_of(long(table._replace(columns=kept), given), given)
    notes = [*rows.table.notes]
    rows = _numbered(rows, notes)
    _require_runs(rows)
    summary, points = _summary(rows), _points(rows)
    if points:
        named = _of_points(rows, points, notes)
    elif given.last is not None:
        raise InputError(f"{table.name} has one number a run: leave out --last")
    else:
        named = summary or _of_rows(rows, notes)
    if given.unpaired:
        named = [(arm, run._replace(seed="")) for arm, run in named]
    arms = arms_of(named, "" if rows.score == VALUE else rows.score, notes)
    if not (summary or points or given.unpaired):
        require_no_steps(arms.scores)
    of_sd = bool(summary) and role(rows.score) == "sd"
    return replace(arms, of_noise=of_sd, by=", ".join(rows.by))


def _where(table: Table, given: Reading) -> Table:
    """The rows whose columns have values, as in ``split=test,metric=acc``.

    Such a column leaves the table, but where ``by`` names it.
    """
    where, by = given.where, re.split(" *, *", given.by or "")
    parts = [] if where is None else re.split(",(?=[^,=]+=)", where)
    for part in parts:
        name, _, value = part.partition("=")
        name = one_of(table, "where", name, where)
        texts, number = table.columns[name], number_in(value)
        like = {
            t for t in {*texts} if t == value or (number is not None and number_in(t) == number)
        }
        if not like:
            values = listed(dict.fromkeys(texts))
            text = f"{table.name}: no row has {value!r} in {name}; there are {values}"
            ways = [(where or "").replace(part, f"{name}={v}") for v in likeliest(texts)]
            raise Ask(text, [{"where": way} for way in ways])
        kept = [row for row, text in enumerate(texts) if text in like]
        left = {n: of for n, of in table.columns.items() if n != name or n in by}
        columns = {n: [of[row] for row in kept] for n, of in left.items()}
        table = table._replace(columns=columns, places=[table.places[row] for row in kept])
    return table


def _require_runs(rows: Rows) -> None:
    """InputError where a row is of no arm, or of no seed where most seeds are numbers."""
    places = rows.table.places
    for place, arm in zip(places, rows.arms, strict=True):
        if not arm.strip(", "):
            raise InputError(f"{place}: {', '.join(rows.by)} is empty; write a name, such as none")
    odd = [at for at, seed in enumerate(rows.seeds) if not re.match(r"\d", seed)]
    if 0 < 2 * len(odd) < len(places):
        seed = rows.seeds[odd[0]]
        mend = "take the row out, if it sums up others, or write its seed"
        raise InputError(f"{places[odd[0]]}: its {rows.seed} is {seed!r}; {mend}")


def _require_once(rows: Rows, runs: Iterable[tuple[str, str, str]]) -> None:
    """A question where an arm has a seed, or else a run, twice.

    ``runs`` have the arm, the seed or run, and the place of each.
    """
    first: dict[tuple[str, str], tuple[int, str]] = {}
    for at, (arm, key, place) in enumerate(runs):
        number, before = first.setdefault((arm, key), (at, place))
        if key and number != at:
            text = f"{place}: the arm {arm!r} has {rows.seed or rows.run} {key} twice"
            mend = "take out copies, or say what the rows are"
            _ask(rows, f"{text} (before at {before}); {mend}", rows.labels, twice=True)


def _ask(rows: Rows, text: str, names: Sequence[str], twice: bool = False) -> None:
    """Asks what columns are in which rows of one arm differ, or of one seed or run: ``twice``."""
    table, texts, arms = rows.table, rows.table.columns, rows.arms
    tracked = [*filter(is_setting, names)]
    names = tracked or names
    same = {n for n in names if same_in_each(texts[n], arms) and not are_dates(texts[n])}
    measures = [n for n in names if role(n) == "of rows" and plain(n) != "task"]
    others = [n for n in names if n not in measures]
    few = [n for n in others if rows.seed and len({*texts[n]}) <= 4]
    steps = [
        n for n in others if not (rows.step or is_setting(n)) and rises(steps_of(table, n), arms)
    ]
    choices: list[Choice] = [{"step": n} for n in steps if n not in same]
    choices += wheres(table, measures, rows.given.where)
    settled, several = rows.telling == [*rows.by], len({*arms}) > 1
    apart = not settled and bool(rows.seed or repeat(table, rows.telling))
    if apart:  # to pool them would hide a setting; words may be data sets
        ways: list[Choice] = [{"cells": n} for n in few]
        at = 0 if any(is_number(texts[n]) for n in few) else len(ways)
        choices += [*ways[:at], {"by": ",".join(rows.telling)}, *ways[at:]]
    elif not (twice or tracked or rows.seed) and several:
        choices += [{"seed": n} for n in others if n in same]
        choices += [{"seed": ",".join(names)}] if len(names) > 1 and not measures else []
    choices += [{"step": n} for n in steps if n in same]
    if twice:
        # All may have one seed, as by default.
        alike = rows.step or rows.run or (several and len({*rows.seeds}) == 1)
        choices += [{"unpaired": True, "seed": None}] if rows.seed and settled and alike else []
        choices += [{"id": rows.run or rows.seed}] if settled or rows.run else []
    elif not (apart or measures):
        ways = [{"by": ",".join([*rows.by, *others])}, {"unpaired": True}]
        choices += ways if tracked else ways[::-1]
    raise Ask(text, choices, table)


def _points(rows: Rows) -> Groups:
    """The rows of each run's curve; none where each row is a run, a question where it may be."""
    table, groups = rows.table, rows.groups
    folder = Path(table.name).is_dir()
    if not rows.step or (len(groups) == len(rows.arms) and not folder):
        return {}
    if folder or rows.given.step:
        return groups
    if len({*table.columns[rows.step]}) == 1:
        return {}  # such as the last epoch of each
    if rows.seed or rows.run:
        return groups
    steps = steps_of(table, rows.step)
    again = any(len(rising(steps, of)) > 1 for of in groups.values())
    if not again and not rows.given.unpaired:
        text = f"{table.name}: is each row a run, or the point of a run at its {rows.step}?"
        raise Ask(text, [{"step": rows.step}, {"unpaired": True}], table)
    return groups if again else {}


def _of_points(rows: Rows, groups: Groups, notes: list[str]) -> list[tuple[str, Score]]:
    """One number of each run's points. Steps that start again are another run's.

    A run that ended before the other runs of its arm has crashed.
    """
    table, given, name = rows.table, rows.given, rows.score
    if given.cells:
        raise InputError(f"{table.name} has points of runs' curves: leave out --cells")
    mixed = [*filter(is_setting, rows.labels)]
    if mixed and not (given.by or given.unpaired):
        _ask(rows, _differ(rows, mixed), mixed)
    failures = rows.failures([""] * len(table.places))
    # Other rows logged something else.
    filled = [row for row, text in enumerate(table.columns[name]) if text]
    logged = Table(
        table.name,
        {n: [table.columns[n][row] for row in filled] for n in (rows.step, name)},
        [table.places[row] for row in filled],
    )
    steps = dict(zip(filled, steps_of(logged, rows.step), strict=True))
    scores, _, _ = cells(logged.columns[name], logged.places, name)
    values = dict(zip(filled, scores, strict=True))
    most: dict[str, float] = defaultdict(float)
    for row, step in steps.items():
        most[rows.arms[row]] = max(most[rows.arms[row]], step)
    last = 1 if given.last is None else given.last
    named = []
    for (arm, seed, run), of in groups.items():
        at = [row for row in of if row in values]
        parts = rising(steps, at)
        again = len({steps[part[0]] for part in parts}) > 1
        if len(parts) > 1 and (seed or run or (again and len(parts) < len(at))):
            text = f"{table.places[parts[1][0]]}: {rows.step} starts again"
            free = [{"id": n} for n in rows.free if rows.varies(n)]
            raise Ask(f"{text}: which column names runs?", free, table)
        for points in parts or [[]]:
            odd = [row for row in points if not math.isfinite(values[row])]
            place = table.places[(odd or points or of)[0]]
            why = next(filter(None, (failures[row] for row in of)), "")
            if not why and (odd or not points):
                why = f"{name} is {values[odd[0]]}" if odd else f"it has no {name}"
            elif points and not 0 < last <= len(points):
                mend = f"give --last 1 to {len(points)}"
                raise InputError(f"{place} has {counted(len(points), 'point')}; {mend}")
            elif not why and steps[points[-1]] < ENDED_EARLY * most[arm]:
                place, end = table.places[points[-1]], steps[points[-1]]
                why = f"it ended at step {end:g}, and others of {arm} at {most[arm]:g}"
            value = statistics.fmean([values[row] for row in points[-last:]] or [math.nan])
            named.append((arm, Score(value, place, seed, why)))
    if not given.unpaired:
        _require_once(rows, ((arm, run.seed, run.place) for arm, run in named))
    if len(groups) < len(rows.arms):
        text = f"rows are steps ({rows.step}) of {len(named)} runs{_by_id(rows)}"
        notes.append(f"{text}; one number each is judged")
    return named


def _of_rows(rows: Rows, notes: list[str]) -> list[tuple[str, Score]]:
    """The score of each row, or the mean of those of a run; a question what other columns are."""
    table, given, groups = rows.table, rows.given, rows.groups
    values, crashed, trials = cells(table.columns[rows.score], table.places, rows.score)
    why = rows.failures(crashed)
    if given.cells:
        notes.append(_require_cells(rows, groups))
    else:
        _require_runs_of_rows(rows, values, notes)
    named = []
    for (arm, seed, _), of in groups.items():
        for part in [of] if given.id or given.cells else [[at] for at in of]:
            mean, place = statistics.fmean(values[at] for at in part), table.places[part[0]]
            lost = next(filter(None, (why[at] for at in part)), "")
            trial = trials[part[0]] if len(part) == 1 else 0
            named.append((arm, Score(mean, place, seed, lost, trial)))
    return named


def _require_runs_of_rows(rows: Rows, values: Sequence[float], notes: list[str]) -> None:
    """A question where rows share a run, or differ in what has no role; else notes on them."""
    table, texts, given, groups = rows.table, rows.table.columns, rows.given, rows.groups
    if not rows.run:
        require_no_copies(table, values)
    if given.id:
        notes.append(f"{len(values)} rows are {len(groups)} runs{_by_id(rows)}; means are judged")
        keys = [(arm, seed, table.places[of[0]]) for (arm, seed, _), of in groups.items()]
    else:
        of_runs = rows.seeds if rows.seed else rows.runs
        keys = [*zip(rows.arms, of_runs, table.places, strict=True)]
    if rows.run or not given.unpaired:
        _require_once(rows, keys)
    labels = rows.labels
    if rows.run in texts and not rows.seed and same_in_each(texts[rows.run], rows.arms):
        numbers = steps_of(table, rows.run)
        if max(numbers) - min(numbers) >= len({*numbers}):  # else they count runs
            labels.insert(0, rows.run)
    # What a seed names once is a run, whatever else is known of it, but for a setting.
    named = rows.seed and len(groups) == len(values) and not any(map(is_setting, labels))
    if labels and not (given.seed or given.unpaired or given.id or named):
        _ask(rows, _differ(rows, labels), labels)
    if labels and (given.unpaired or not (given.id and rows.seed)):
        notes.append(f"rows of an arm differ in {listed(labels, 3)}, and are runs of it alike")


def _by_id(rows: Rows) -> str:
    return f" by {rows.given.id}" if rows.given.id else ""


def _differ(rows: Rows, names: Sequence[str]) -> str:
    text = f"{rows.table.name}: rows of one arm differ in {listed(names, 3)}"
    return f"{text}: do they pair runs, tell arms apart, or are the runs alike?"


def _require_cells(rows: Rows, groups: Groups) -> str:
    """The note on a run's cells; InputError where one lacks a cell, or has one twice."""
    name = one_of(rows.table, "cells", rows.given.cells or "")
    texts, places = rows.table.columns[name], rows.table.places
    wanted = sorted({*texts})
    for (arm, seed, _), of in groups.items():
        if sorted(texts[at] for at in of) != wanted:
            run = f"{places[of[0]]}: {arm}, {rows.seed or 'run'} {seed or '1'}"
            mend = f"has not each {name} once ({listed(wanted, 5)}); add the rows"
            raise InputError(f"{run} {mend}")
    return f"a run's score is its mean over {len(wanted)} of {name}{_by_id(rows)}"


def _numbered(rows: Rows, notes: list[str]) -> Rows:
    """The rows with the arms that their names have without a number, if it numbers runs."""
    given = rows.given
    alone = len({*rows.arms}) == len(rows.groups) and not any(rows.seeds) and len(rows.by) < 2
    alone = alone and (bool(rows.step) or len({*rows.arms}) == len(rows.arms) > 1)
    found, sure = by_numbers([*dict.fromkeys(rows.arms)]) if alone else ({}, False)
    if given.names and not found:
        raise InputError(f"{rows.table.name} has no names that end in numbers: leave out --names")
    if not found or given.names == "arms":
        return rows
    if not (sure or given.one_arm or given.names):
        text = f"{rows.table.name}: do the numbers at the ends of names number runs of one arm"
        choices = [{"names": "runs"}, {"names": "arms"}]
        raise Ask(f"{text}, as in {rows.arms[0]}, or is each name an arm?", choices, rows.table)
    notes.append(f"numbers at the ends of names number runs: {rows.arms[0]} is one")
    arms, seeds = zip(*map(found.__getitem__, rows.arms), strict=True)
    return rows._replace(arms=arms, seeds=seeds, runs=rows.arms, run=", ".join(rows.by))


def _summary(rows: Rows) -> list[tuple[str, Score]]:
    """Runs that have the mean and standard deviation of each row; none of another table.

    Their mean is 0 where the table has only standard deviations. A row of one run is that run.
    """
    table, score = rows.table, rows.score
    alone, count = called([score], "sd"), called(rows.free, "count")
    stem = re.sub("mean|avg|average", "", plain(score))
    named = [n for n in rows.free if is_spread(n) and plain(n).startswith(stem)]
    sd = ([] if any(rows.seeds) else alone) or named or called(rows.free, "sd")
    spread = sd or (called(rows.free, "error") if count else [])
    if any(rows.seeds) or rows.step or not spread or not (alone or count or stem != plain(score)):
        return []
    if not sd or not count:
        mend = "give columns sd and n (sd is a standard error times the root of n)"
        raise InputError(f"{table.name} has means and {spread[0]}; {mend}")
    mixed = [n for n in rows.free if rows.varies(n) and not is_number(table.columns[n])]
    if mixed:
        ways = wheres(table, mixed[:1], rows.given.where)
        raise Ask(f"{table.name}: which {mixed[0]} is judged?", ways, table)
    made: dict[str, list[Score]] = {}
    names = score, sd[0], count[0]
    columns = [cells(table.columns[name], table.places, name)[0] for name in names]
    for place, arm, mean, deviation, runs in zip(table.places, rows.arms, *columns, strict=True):
        n = int(runs) if runs in range(1, MOST_SEEDS + 1) else 0
        again = arm in made and (n > 1 or len({run.place for run in made[arm]}) < len(made[arm]))
        if not n or math.isnan(mean) or (n > 1 and not deviation >= 0) or again:
            mend = f"give one row an arm, with mean, sd, and n from 1 to {MOST_SEEDS}"
            raise InputError(f"{place} can't be used: {mend}")
        # Evenly spaced numbers that have this mean and standard deviation.
        unit = deviation / statistics.stdev(range(n)) if n > 1 else 0.0
        middle = 0.0 if alone else mean
        around = (middle + unit * (i - (n - 1) / 2) for i in range(n))
        made.setdefault(arm, []).extend(Score(value, place) for value in around)
    return [(arm, run) for arm, runs in made.items() for run in runs]
