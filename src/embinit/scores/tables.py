"""Tables of runs: one run a row, as W&B, MLflow and agents write them, or one step of a run a row.

A row may also have a mean, a standard deviation and a count of runs.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.runs.measures import lower_is_better
from embinit.scores.arms import (
    CRASHED,
    NOTHING,
    Arms,
    Curve,
    Key,
    Reading,
    Score,
    arms_of,
    cell,
    from_curves,
    numbers,
    plain_numbers,
)
from embinit.scores.checks import called_steps, pairing
from embinit.scores.rows import NUMBER, VALUE, Table, listed, one_of, table_of
from embinit.stats.power import MOST_SEEDS

SETTING = "arm|config|method|model|variant|group|condition|setting|algorithm|optimizer"
NAME = "description|experiment|experimentname|name|run|runname|commit"
"""What columns are called that tell arms apart: all of the first, else one of the second."""

STEP = (
    "step|globalstep|trainstep|epoch|iter|iters|iteration|it|t|tokens|batch|batches|samples|"
    "examples|update|updates|frames|timestep|timesteps|totaltimesteps|steps|epochs|round|generation|"
    "nupdates|numupdates|tokensseen|envsteps|numenvsteps|numtimesteps"
)
RUN = "run|runid|runname|id|name|trial|trialid|uid|rep|replicate"
STATUS, TEXT = "status|state|runstatus", "error|exception|traceback|failed"
FLAG = "crashed|diverged|aborted|killed|oom|timedout|exitcode|exitstatus|returncode|rc"
"""Columns that say whether a run has a result: in words, by a text that is no number, by a flag."""

NO_FAILURE = (*NOTHING, "0", "0.0", "false", "no", "ok")
SEED = re.compile("(?<!n)seed(?!s)|randomstate|rng$")
"""A column whose plain name contains this pairs runs."""

MEAN, SD, N = "mean|avg|average", "sd|std|stdev|stddev", "n|runs|seeds|nseeds|nruns|count"
RUNS = N.split("|")
SCORE = re.compile(
    "accuracy|acc|score|f1|bleu|reward|return|auc|auroc|map|rouge|success|passed|metric|result"
)


def read(
    path: Path,
    reading: Reading,
    by: str | None = None,
    metric: str | None = None,
    seed: str | None = None,
    paired: bool = True,
) -> Arms:
    """The arms of a table. Commas separate several columns of ``by``, and of ``seed``."""
    table = table_of(path)
    if list(table.columns) == [VALUE]:
        by = metric = seed = None
    if any(name.endswith("__MIN") for name in table.columns):
        raise InputError(f"{path} is a chart of W&B; export its table of runs, or judge a folder")
    score = _metric(table, metric)
    arms = _columns(table, by.split(",")) if by else _arms(table, score)
    seeds = _columns(table, seed.split(",")) if seed else []
    if score in arms or {*seeds} & {*arms, score}:
        raise InputError(f"{path}: a column tells arms apart, or is the score, or the seed")
    if not table.places:
        raise InputError(f"{path} has no row; give one a run")
    rest = [name for name in table.columns if name not in (score, *arms)]
    if not seeds and paired:
        seeds = [name for name in rest if SEED.search(re.sub("[^a-z0-9]", "", name.lower()))]
    free = {plain(name): name for name in rest[::-1] if name not in seeds}
    roles = _Roles(table, score, table.keys(arms), [*map(_seed, table.keys(seeds))], free)
    notes = [] if by and metric else [f"arms by {', '.join(arms) or 'nothing'}; judged is {score}"]
    named: Iterable[tuple[Key, Score]] = [] if seeds else _summary(roles)
    if not named:
        if step := roles.called(STEP):
            curves = _curves(roles, step)
            if any(len(curve.points) > 1 for curve in curves):
                told = f"rows are steps ({step}) of {len(curves)} runs; one number each is judged"
                return from_curves(curves, score, reading, [*notes, told])
        columns = roles.by_arm() if free and not seed else {}
        if step := called_steps(columns):
            mend = f"call it step, or pair by it with --seed {step!r}"
            raise InputError(f"{path}: {step} rises in each arm as steps of a run do; {mend}")
        if paired and not seeds and (same := pairing(columns)):
            same_in_each = f"{listed(same, 3)} has the same values in each arm"
            notes.append(f"{same_in_each}, and pairs nothing without --seed")
        named = _scores(roles)
    found = replace(arms_of(named, score, notes), of_noise=is_spread(score))
    return found if paired else found.unpaired()


def plain(name: str) -> str:
    """The last part of a column's name: ``randomseed`` of ``config.Random Seed``."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]", name)[-1].lower())


class _Roles(NamedTuple):
    """A table with the arm and the seed of each row.

    ``free`` has the columns of no role by their plain names.
    """

    table: Table
    score: str
    arms: Sequence[Key]
    seeds: Sequence[Key | None]
    free: Mapping[str, str]

    def called(self, names: str) -> str:
        """The first free column of one of the names, or ""."""
        return next(iter(self.all_called(names)), "")

    def all_called(self, names: str) -> list[str]:
        """All free columns of one of the names."""
        return [self.free[name] for name in names.split("|") if name in self.free]

    def by_arm(self) -> dict[str, list[list[str]]]:
        """The cells of each free column, arm by arm, and seed by seed where one is named."""
        places = defaultdict[Any, list[int]](list)
        for place, key in enumerate(zip(self.arms, self.seeds, strict=True)):
            places[key].append(place)
        columns = ((name, self.table.columns[name]) for name in self.free.values())
        return {n: [[cells[i] for i in at] for at in places.values()] for n, cells in columns}

    def failures(self) -> list[str]:
        """Why the run of each row has no result, by columns of states; "" for no reason."""
        found = [""] * len(self.table.places)
        for name in self.all_called(f"{STATUS}|{TEXT}|{FLAG}")[::-1]:
            cells = self.table.columns[name]
            if why := {text: told for text in {*cells} if (told := _failure(name, text))}:
                found = [why.get(text, old) for text, old in zip(cells, found, strict=True)]
        return found


def _scores(roles: _Roles) -> Iterator[tuple[Key, Score]]:
    """The score of each row."""
    (path, columns, places), score, failures = roles.table, roles.score, roles.failures()
    texts = columns[score]
    arms = roles.arms if any(roles.arms) else [(path.stem,)] * len(texts)
    if values := plain_numbers(texts):
        return zip(arms, map(Score, values, places, roles.seeds, failures), strict=True)
    cells = [cell(text, place, score) for text, place in zip(texts, places, strict=True)]
    kinds = {"%" in text: c.place for text, c in zip(texts, cells, strict=True) if not c.crashed}
    if len(kinds) > 1:
        raise InputError(f"{kinds[True]} has a %, and {kinds[False]} has none; write all alike")
    rest = zip(cells, roles.seeds, failures, strict=True)
    scores = (c._replace(seed=seed, crashed=c.crashed or why) for c, seed, why in rest)
    return zip(arms, scores, strict=True)


def _failure(column: str, text: str) -> str:
    """Why a run has no result, by what a column of states says; "" for no reason."""
    number, called = bool(NUMBER.fullmatch(text)), plain(column)
    word = called in STATUS.split("|") and (number or CRASHED.search(text))
    if text.lower() in NO_FAILURE or not (
        word or called in FLAG.split("|") or (called in TEXT.split("|") and not number)
    ):
        return ""
    return f"its {column} is {text[:40]!r}"


def _seed(pair: Key) -> Key | None:
    """The seed of a row, 3 of pandas's 3.0; None of one that lacks a part."""
    return tuple(part.removesuffix(".0") for part in pair) if pair and all(pair) else None


def _curves(roles: _Roles, step: str) -> list[Curve]:
    """The points of each run. Where no column names runs, steps that start again do."""
    table, texts = roles.table, roles.table.columns[roles.score]
    names = table.keys(roles.all_called(RUN))
    failures = roles.failures()
    steps = numbers(table.columns[step], table.places, step)
    scores = numbers(texts, table.places, roles.score)
    runs, failed = defaultdict[Any, list[int]](list), {}
    for at, key in enumerate(zip(roles.arms, roles.seeds, names, strict=True)):
        if why := failures[at]:
            failed[key] = why
        if texts[at]:  # else the step logged something else
            runs[key].append(at)
    curves = []
    for key, rows in runs.items():
        starts = [i for i, at in enumerate(rows) if not i or not steps[at] > steps[rows[i - 1]]]
        arm, seed, run = key
        again = len({steps[rows[i]] for i in starts}) > 1
        if 1 < len(starts) < len(rows) and (seed or run or again):
            mend = "name the column that numbers the runs by --seed"
            raise InputError(f"{table.places[rows[starts[1]]]}: {step} starts again; {mend}")
        for i, j in itertools.pairwise([*starts, len(rows)]):
            points = [(steps[at], scores[at]) for at in rows[i:j]]
            place = table.places[rows[i]]
            curves.append(Curve(arm, seed, place, points, failed.get(key, "")))
    return curves


def _summary(roles: _Roles) -> list[tuple[Key, Score]]:
    """Runs that have the mean and standard deviation of each row; none of another table.

    Their mean is 0 where the table has only standard deviations.
    """
    table, score = roles.table, roles.score
    stem = re.sub(MEAN, "", plain(score))
    sd = roles.called("|".join(f"{stem}{each}|{each}" for each in SD.split("|")))
    sd, n, alone = sd or score, roles.called(N), is_spread(score)
    if not (alone or (sd != score and (n or stem != plain(score)))):
        return []
    if not n:
        raise InputError(f"{table.path} has means and {sd}; add a column n, how many runs each has")
    made: dict[Key, list[Score]] = {}
    cells = zip(table.places, roles.arms, table.keys([score, sd, n]), strict=True)
    for place, key, texts in cells:
        mean, spread, runs = (cell(text, place).value for text in texts)
        count = int(runs) if runs in range(1, MOST_SEEDS + 1) else 0
        if not count or math.isnan(mean) or (count > 1 and not spread >= 0) or key in made:
            mend = f"give one row an arm, with mean, sd, and n from 1 to {MOST_SEEDS}"
            raise InputError(f"{place} can't be used: {mend}")
        # Evenly spaced numbers that have this mean and standard deviation.
        unit, mean = spread / statistics.stdev(range(max(count, 2))), 0.0 if alone else mean
        around = (unit * (i - (count - 1) / 2) for i in range(count))
        made[key] = [Score(mean + (each if count > 1 else 0.0), place) for each in around]
    return [(key, score) for key, each in made.items() for score in each]


def is_spread(name: str) -> bool:
    """Whether a column is called like a standard deviation."""
    return plain(name) in SD.split("|")


def _metric(table: Table, metric: str | None) -> str:
    """The column of the score: the one that was named, or the only one that can be it."""
    if metric is not None or VALUE in table.columns:
        return _columns(table, [metric or VALUE])[0]
    known = []
    for name in table.columns:
        parts = {*re.findall("[a-z0-9]+", name.lower()), plain(name)}
        score = lower_is_better(name) or any(map(SCORE.fullmatch, parts))
        score = score and not {"time", "seconds", "latency", "error", *SD.split("|")} & parts
        known += [name] if score or plain(name) == "mean" else []
    if len(known) == 1:
        return known[0]
    if not known and {*RUNS} & {*map(plain, table.columns)} and any(map(is_spread, table.columns)):
        return next(filter(is_spread, table.columns))
    there = listed(known or table.columns)
    raise InputError(f"{table.path}: name the column that is judged by --metric; there are {there}")


def _arms(table: Table, score: str) -> list[str]:
    """The columns that tell arms apart, by their names; none of a table of one column."""
    known = {score, *(name for name in table.columns if is_spread(name) or plain(name) in RUNS)}
    called = {plain(name): name for name in [*table.columns][::-1] if name not in known}
    found = [called[name] for name in (*SETTING.split("|"), *NAME.split("|")) if name in called]
    if called and not found:
        there = f"there are {listed(table.columns)}"
        raise InputError(f"{table.path}: name the columns of the arms by --by; {there}")
    varied = [name for name in found if len({*table.columns[name]}) > 1]
    settings = [name for name in varied if plain(name) in SETTING.split("|")]
    return settings or varied[:1] or found[:1]


def _columns(table: Table, names: Sequence[str]) -> list[str]:
    """The columns of names; a last part will do, as ``lr`` for MLflow's ``params.lr``."""
    found = []
    for name in map(str.strip, names):
        ends = [each for each in table.columns if each.endswith((f".{name}", f"/{name}"))]
        found.append(one_of(table.path, "column", name, table.columns, ends))
    return found
