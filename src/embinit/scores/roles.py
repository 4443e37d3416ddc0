"""The roles of a table's columns: what is the score, and what tells arms, runs and steps apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from embinit.errors import InputError
from embinit.scores.arms import CRASHED, NOTHING, cells
from embinit.scores.checks import grouped, rises, same_in_each
from embinit.scores.names import (
    baselines,
    called,
    is_seed,
    is_setting,
    is_spread,
    lower_is_better,
    plain,
    role,
    unlikely,
)
from embinit.scores.rows import NUMBER, VALUE, Ask, Choice, Table, listed, one_of
from embinit.scores.shapes import Reading, is_number, of_runs

FAILED = re.compile(CRASHED.pattern + r"|^(true|yes|[-+.\d]+)$", re.IGNORECASE)
NO_FAILURE = (*NOTHING, "0", "0.0", "false", "no", "ok")

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|\d+ days \d\d:.*|[\d.]+(ms|s|min|h)")
"""A date, or a duration as pandas and MLflow write it."""


class Rows(NamedTuple):
    """A table with the arm, the seed and the run of each row, "" for none.

    ``by`` are the columns that tell arms apart, ``free`` those of no role.
    """

    table: Table
    given: Reading
    score: str
    by: Sequence[str]
    free: Sequence[str]
    arms: Sequence[str]
    seeds: Sequence[str]
    runs: Sequence[str]
    paired_by: Sequence[str]
    run: str
    step: str

    @property
    def seed(self) -> str:
        """The columns of the seeds, with commas."""
        return ",".join(self.paired_by)

    @property
    def groups(self) -> dict[tuple[str, str, str], list[int]]:
        """The rows of each arm, seed and run."""
        return grouped(zip(self.arms, self.seeds, self.runs, strict=True))

    @property
    def varied(self) -> list[str]:
        """The free columns in which rows of one arm differ, but for states."""
        return [name for name in self.free if role(name) != "status" and self.varies(name)]

    def varies(self, name: str) -> bool:
        """Whether rows of one arm differ in a column."""
        pairs = {*zip(self.arms, self.table.columns[name], strict=True)}
        return len(pairs) > len({*self.arms})

    @property
    def labels(self) -> list[str]:
        """The varied columns that may tell arms apart, pair runs, or number a run's steps."""
        table, varied = self.table, self.varied
        settings = {*settings_of(table, varied), *filter(is_setting, varied)}

        def is_label(name: str) -> bool:
            texts = table.columns[name]
            return (
                name in settings
                or (same_in_each(texts, self.arms) and lower_is_better(name) is None)
                or (are_counts(texts) and rises(steps_of(table, name), self.arms))
            )

        return [*filter(is_label, varied)]

    @property
    def telling(self) -> list[str]:
        """The columns of ``by`` and what else tells rows of one arm and seed apart."""
        names = [n for n in self.varied if not (is_spread(n) or role(n) in _NO_LABELS)]
        return _telling(self.table, self.by, settings_of(self.table, names), self.paired_by)

    def failures(self, found: Sequence[str]) -> Sequence[str]:
        """Why the run of each row has no result, also by columns of states; "" for no reason."""
        for name in called(self.free, "status"):
            texts = self.table.columns[name]
            text = plain(name) in ("error", "exception", "traceback", "failed")
            known = {text for text in {*texts} if text.lower() not in NO_FAILURE}
            bad = {t for t in known if (not NUMBER.fullmatch(t) if text else FAILED.search(t))}
            pairs = zip(texts, found, strict=True)
            found = [f"its {name} is {t[:40]!r}" if t in bad else why for t, why in pairs]
        return found


_NO_LABELS = ("of rows", "count", "error")


def rows_of(table: Table, given: Reading) -> Rows:
    """The table's rows by the roles of its columns, which are named, or are the only ones."""

    def columns(option: str) -> list[str]:
        names = getattr(given, option) or ""
        parts = re.findall(rf"(?:{known})(?=,|$)|[^,]+", names)  # a name may have commas
        return [one_of(table, option, name.strip(), names) for name in parts]

    known = "|".join(map(re.escape, sorted(table.columns, key=len, reverse=True)))
    metric, seeds, runs, steps, over = map(columns, ("metric", "seed", "id", "step", "cells"))
    but = (given.by or "")[:1] == "!"
    by = [] if but else columns("by")
    left = [name for name in table.columns if name not in (*metric, *steps, *over, *by)]
    if not seeds:
        seeds = [*filter(is_seed, left)]
        _require_one_pair(table, seeds)
    left = [name for name in left if name not in (*seeds, *runs)]
    if but:
        by, notes = _all_but(table, left, given.by or "")
        table = table._replace(notes=[*table.notes, *notes])
        left = [name for name in left if name not in by]
    runs = runs or called([name for name in left if len({*table.columns[name]}) > 1], "run")
    steps = steps or called(left, "step")[:1]
    others = [n for n in left if n not in (*runs, *steps) and role(n) != "status"]
    score, by = _score_and_arms(table, given, metric, by, others, runs, seeds)
    for option in ("seed", "id", "step", "cells"):
        for name in filter((score, *by).__contains__, columns(option)):
            raise InputError(f"{name} is the score or tells arms apart: leave out --{option}")
    runs = [name for name in runs if name not in by]
    roles = (score, *by, *seeds, *runs, *steps, *over)
    free = [name for name in table.columns if name not in roles]
    pairs = table.texts(seeds)
    # 3 is pandas's 3.0; seeds that lack all parts are none.
    seed_of = {pair: re.sub(r"\.0(?=,|$)", "", pair.strip(", ")) for pair in {*pairs}}
    arms = table.texts(by) if by else [Path(table.name).stem] * len(pairs)
    names = [*table.texts(runs)]
    if over and not (seeds or runs or steps):  # the first row of each cell is of the first run
        for rows in grouped(zip(arms, table.texts(over), strict=True)).values():
            for number, row in enumerate(rows, start=1):
                names[row] = str(number)
    of_seeds = [*map(seed_of.__getitem__, pairs)]
    run, step = ",".join(runs), next(iter(steps), "")
    return Rows(table, given, score, by, free, arms, of_seeds, names, seeds, run, step)


def _require_one_pair(table: Table, seeds: Sequence[str]) -> None:
    """A question where each seed of one column has several of another: which numbers runs?"""
    seeds = sorted(seeds, key=lambda name: len({*table.columns[name]}))
    if seeds and len({*table.texts(seeds)}) > len({*table.columns[seeds[-1]]}):
        few, many = seeds[0], seeds[-1]
        choices = [{"seed": few, "cells": many}, {"seed": many, "cells": few}]
        text = f"{table.name}: which of {listed(seeds)} numbers runs, each trained anew?"
        raise Ask(text, [*choices[: 2 * (len(seeds) == 2)], {"seed": ",".join(seeds)}], table)


def _all_but(table: Table, names: Sequence[str], by: str) -> tuple[list[str], list[str]]:
    """The settings but those of ``!seed,…``, which vary, and a note on what else does."""
    without = [one_of(table, "by", name.strip(" !"), by) for name in by.split(",")]
    rest = [n for n in names if n not in without and len({*table.columns[n]}) > 1]
    settings = settings_of(table, [n for n in rest if role(n) not in ("run", "step", "status")])
    found = [*filter(is_setting, settings)] or settings
    others = [n for n in rest if n not in settings and not is_number(table.columns[n])]
    notes = [f"no settings, but ids, dates or notes: {listed(others)}"] if others else []
    if not found:
        raise InputError(f"{table.name} has no setting that varies but {listed(without)}")
    return found, notes


def settings_of(table: Table, names: Sequence[str]) -> list[str]:
    """The columns that may tell arms apart, words first: all rows have one of few values.

    A tracker's settings may have more; dates are none, nor scores of known direction.
    """

    def is_one(name: str) -> bool:
        texts = table.columns[name]
        values = len({*texts})
        if values < 2 or values == len(texts) or is_setting(name):
            return 1 < values < len(texts)
        score = is_number(texts) and lower_is_better(name) is not None
        return 2 * values <= len(texts) and all(texts) and not score and not are_dates(texts)

    return sorted(filter(is_one, names), key=lambda name: is_number(table.columns[name]))


def repeat(table: Table, names: Sequence[str]) -> bool:
    """Whether columns have a row again for most of what they say together."""
    return bool(names) and 2 * len({*table.texts(names)}) <= len(table.places)


def _telling(
    table: Table, by: Sequence[str], settings: Sequence[str], seeds: Sequence[str]
) -> list[str]:
    """The arms' columns with the settings that tell rows of one arm and seed apart."""
    found, again = [*by], seeds if repeat(table, seeds) else ()
    for name in sorted(settings, key=lambda n: len({*table.columns[n]})):
        key = [*again, *found]
        if len({*table.texts([*key, name])}) > len({*table.texts(key)}):
            found.append(name)
    return found


def _score_and_arms(
    table: Table,
    given: Reading,
    metric: Sequence[str],
    by: Sequence[str],
    others: Sequence[str],
    runs: Sequence[str],
    seeds: Sequence[str],
) -> tuple[str, list[str]]:
    """The column of the score and those of the arms; a question where others could be them."""
    texts = table.columns
    numbers = {name for name in texts if is_number(texts[name])}
    settings = settings_of(table, [n for n in others if n != VALUE and role(n) != "of rows"])
    if numbers.isdisjoint({*others, *metric} - {*settings}):  # one of them is the score
        settings = [n for n in settings if n not in numbers]
    if settings:  # what else has words names runs, or notes something of them
        others = [n for n in others if n in {*settings, *numbers} or role(n) == "of rows"]
    several = [n for n in others if len({*texts[n]}) > 1 or len(table.places) == 1]
    scores = [n for n in others if n in numbers and not is_setting(n)]
    scores = [n for n in scores if n in several] or scores
    spread = [*filter(is_spread, scores)]
    scores = [n for n in scores if n not in spread and role(n) not in _NO_LABELS[1:]] or spread
    words = [n for n in others if n != VALUE and (is_setting(n) or n not in numbers)]
    labels = [n for n in words if n in several and n not in metric and role(n) != "of rows"]
    if not (labels or settings or by or given.one_arm):
        labels = [n for n in words if n == "arm"] or [n for n in runs if n not in numbers]
        labels = labels or [n for n in words if role(n) != "of rows"] or words
    if metric:
        scores = [*metric]
    elif by or len(labels) == 1:
        arms = table.texts(by or labels)
        unlike = [n for n in scores if not same_in_each(texts[n], arms, False)]
        scores = [n for n in scores if n in unlike or lower_is_better(n) is not None] or scores
    scores = scores or [n for n in (VALUE,) if n in texts]
    dates = [n for n in labels if are_dates(texts[n])]
    if len(scores) == 1 and (by or (len(labels) < 2 and not dates)):
        return scores[0], [*by] or labels
    if not scores:
        for name in filter(lambda n: lower_is_better(n) is not None, texts):
            cells(texts[name], table.places, name)  # one of them is no number
        raise Ask(f"{table.name} has no column of numbers", (), table)

    count = {name: len({*texts[name]}) for name in texts}
    rows = len(table.places)
    measured = [n for n in scores if n not in settings and not are_counts(texts[n])] or scores
    measured = sorted(measured, key=lambda n: (*unlikely(n), 2 * count[n] <= rows))
    labels = [n for n in labels if n not in dates]
    words = [n for n in labels if n not in numbers] or labels
    words = words or [n for n in several if n in numbers and count[n] < rows]
    rank = {n: (not baselines({*texts[n]}), count[n] == rows, count[n]) for n in words}
    if repeat(table, telling := _telling(table, (), settings, seeds)):
        rank.setdefault(",".join(telling), (True, False, 0))
    arms = [",".join(by)] if by else sorted(rank, key=rank.__getitem__)
    choices = [{"metric": n, "by": arm} for n in measured[:3] for arm in arms[:3] if arm != n]
    if not (by or settings or (labels and rows > 1)):  # one row may have all runs
        if all(lower_is_better(n) is None for n in scores):
            choices.insert(0, {"columns": "arms"})
    elif len(labels) == 1 and not by and role(labels[0]) == "of rows":
        choices = [{**way, "columns": "arms"} for way in wheres(table, labels, given.where)]
    elif len(labels) == 1 and not (by or seeds) and baselines(scores):
        choices = [{"columns": "arms", "cells": labels[0]}]
    wide = of_runs([n for n in others if n in numbers]) and rows in map(count.get, (*by, *labels))
    if given.columns is None and wide:
        choices.insert(0, {"columns": "runs"})
    what = "column is judged" if by else "columns name the arm and the score"
    raise Ask(f"{table.name}: which {what}?", choices, table)


def wheres(table: Table, names: Sequence[str], before: str | None) -> list[Choice]:
    """The first two values of some columns, those of training last, after those chosen before."""
    first = f"{before}," if before else ""
    return [{"where": f"{first}{n}={v}"} for n in names for v in likeliest(table.columns[n])]


def likeliest(texts: Sequence[str]) -> list[str]:
    """Two of a column's values, those of training last."""
    return sorted(dict.fromkeys(texts), key=unlikely)[:2]


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all cells are dates or durations."""
    return all(map(DATE.fullmatch, texts))


def are_counts(texts: Sequence[str]) -> bool:
    """Whether a column has whole numbers, or says whether something is so."""
    return all(re.fullmatch(r"-?\d+(\.0)?|(?i:true|false)", text) for text in texts if text)


def steps_of(table: Table, name: str) -> Sequence[float]:
    """The numbers of a column of steps, which may be dates."""
    texts = table.columns[name]
    if is_number(texts):
        return cells(texts, table.places, name)[0]
    if not are_dates(texts):
        return [float((re.findall(r"\d+", text) or ["nan"])[-1]) for text in texts]
    rank = {text: float(at) for at, text in enumerate(sorted({*texts}))}
    return [rank[text] for text in texts]
