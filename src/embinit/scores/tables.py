"""Tables of runs: one run a row, as W&B, MLflow and agents write them, or one step of a run a row.

A row may also have a mean, a standard deviation and a count of runs.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.claims.paired_tests import MOST_SEEDS
from embinit.errors import InputError
from embinit.registry import nearest
from embinit.runs.measures import lower_is_better
from embinit.scores.arms import (
    CRASHED,
    Arms,
    Curve,
    Key,
    Reading,
    Score,
    arms_of,
    cell,
    from_curves,
)
from embinit.scores.folders import arm_and_seed
from embinit.scores.rows import VALUE, Table, table_of

SETTING = "arm|config|method|model|variant|group|condition|setting|algorithm|optimizer"
NAME = "description|experiment|experimentname|name|run|runname|commit"
"""What columns are called that tell arms apart: all of the first, else one of the second."""

STEP = (
    "step|globalstep|trainstep|epoch|iter|iters|iteration|it|t|tokens|batch|batches|samples|"
    "examples|update|updates|frames|timestep|timesteps|totaltimesteps"
)
STATUS, RUN = "status|state|runstatus", "run|runid|runname|id|name|trial|trialid|uid|rep|replicate"
MEAN, SD, N = "mean|avg|average", "sd|std|stdev|stddev", "n|runs|seeds|nseeds|nruns|count"
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
    columns = table.columns
    if [*columns] == [VALUE]:
        by = metric = seed = None
    if any(name.endswith("__MIN") for name in columns):
        return _history(table, metric, reading, paired)
    score = _metric(table, metric)
    arms = _columns(table, by.split(",")) if by else _arms(table, score)
    seeds = _columns(table, seed.split(",")) if seed else []
    if score in arms or {*seeds} & {*arms, score}:
        raise InputError(f"{path}: a column tells arms apart, or is the score, or the seed")
    if not seeds and paired:
        seeds = [n for n in columns if plain(n).endswith("seed") and n not in (*arms, score)]
    notes = [] if by and metric else [f"arms by {', '.join(arms) or 'nothing'}; judged is {score}"]
    free = {plain(name): name for name in columns[::-1] if name not in (score, *arms, *seeds)}
    named = _summary(table, score, arms, free)
    if named is None and (step := _called(free, STEP)):
        curves = _curves(table, score, arms, seeds, [free[n] for n in RUN.split("|") if n in free])
        if any(len(curve.points) > 1 for curve in curves):
            notes.append(
                f"rows are steps ({step}) of {len(curves)} runs; one number each is judged"
            )
            return from_curves(curves, score, reading, notes)
    found = arms_of(named or _scores(table, score, arms, seeds, free), score, notes)
    if not found.scores:
        raise InputError(f"{path} has no row; give one a run")
    return found


def plain(name: str) -> str:
    """The last part of a column's name: ``randomseed`` of ``config.Random Seed``."""
    return re.sub(r"[^a-z0-9]", "", re.split(r"[./]", name)[-1].lower())


def _called(columns: Mapping[str, str], names: str) -> str:
    """The first column of one of the names, or ""."""
    return next((columns[name] for name in names.split("|") if name in columns), "")


def _scores(
    table: Table, score: str, arms: Sequence[str], seeds: Sequence[str], free: Mapping[str, str]
) -> Iterator[tuple[Key, Score]]:
    """The score of each row."""
    count, end, status = len(arms) + 1, 1 + len(arms) + len(seeds), _called(free, STATUS)
    kinds: dict[bool, str] = {}
    for place, cells in table.rows([score, *arms, *seeds, status or score]):
        key, pair = tuple(map(str.strip, cells[1:count])), tuple(map(str.strip, cells[count:end]))
        found = cell(cells[0], place, score)
        if not found.crashed:
            kinds.setdefault("%" in cells[0], place)
            if status and CRASHED.fullmatch(cells[end].strip()):
                found = found._replace(crashed=f"its {status} is {cells[end].strip()!r}")
        yield key or (table.path.stem,), found._replace(seed=pair) if all(pair) and pair else found
    if len(kinds) > 1:
        raise InputError(f"{kinds[True]} has a %, and {kinds[False]} has none; write all alike")


def _curves(
    table: Table, score: str, arms: Sequence[str], seeds: Sequence[str], names: Sequence[str]
) -> list[Curve]:
    """The points of each run. Where no column names runs, steps that start again do."""
    free = {plain(n): n for n in table.columns[::-1] if n not in (score, *arms, *seeds)}
    step, count, end = _called(free, STEP), 2 + len(arms), 2 + len(arms) + len(seeds)
    found: dict[Key, Any] = defaultdict(lambda: ([], [], [], {}))
    for place, cells in table.rows([score, step, *arms, *seeds, *names]):
        if cells[0].strip():  # else the step logged something else
            at, values, places, crashed = found[tuple(cells[2:-1])]
            value = cell(cells[0], place, score)
            if value.crashed:
                crashed[len(values)] = value.crashed
            at.append(cell(cells[1], place, step).value)
            values.append(value.value)
            places.append(place)
    curves = []
    for key, (at, values, places, crashed) in found.items():
        arm, run = tuple(map(str.strip, key[: count - 2])), tuple(map(str.strip, key[count - 2 :]))
        starts = [i for i in range(len(at)) if not i or not at[i] > at[i - 1]]
        if 1 < len(starts) < len(at) and (run or len({at[i] for i in starts}) > 1):
            raise InputError(
                f"{places[starts[1]]}: {step} starts again; name the column that tells runs apart "
                "by --seed"
            )
        pair = run[: end - count] if all(run[: end - count]) else ()
        for i, j in zip(starts, [*starts[1:], len(at)], strict=True):
            why = next((told for index, told in crashed.items() if i <= index < j), "")
            points = [*zip(at[i:j], values[i:j], strict=True)]
            curves.append(Curve(arm, pair or None, places[i], points, why))
    return curves


def _summary(
    table: Table, score: str, arms: Sequence[str], free: Mapping[str, str]
) -> list[tuple[Key, Score]] | None:
    """Runs that have the mean and standard deviation of each row; None of another table."""
    stem = re.sub(MEAN, "", plain(score))
    sd = _called(free, "|".join(f"{stem}{each}|{each}" for each in SD.split("|")))
    n = _called(free, N)
    if not sd or not (n or stem != plain(score)):
        return None
    if not n:
        raise InputError(f"{table.path} has means and {sd}; add a column n, how many runs each has")
    made = []
    for place, cells in table.rows([score, sd, n, *arms]):
        mean, spread, runs = (cell(text, place).value for text in cells[:3])
        count = int(runs) if runs in range(1, MOST_SEEDS + 1) else 0
        if not count or math.isnan(mean) or (count > 1 and not spread >= 0):
            raise InputError(f"{place} has no mean, sd and n from 1 to {MOST_SEEDS}; mend the row")
        # Evenly spaced numbers that have this mean and standard deviation.
        unit = [index - (count - 1) / 2 for index in range(count)]
        size = math.sqrt(sum(u * u for u in unit) / (count - 1)) if count > 1 else math.inf
        key = tuple(map(str.strip, cells[3:-1]))
        made += [(key, Score(mean + (spread * u / size if u else 0.0), place)) for u in unit]
    return made


def _history(table: Table, metric: str | None, reading: Reading, paired: bool) -> Arms:
    """The runs of a chart that W&B exports: a column a run, called ``run - metric``."""
    runs = [name.removesuffix("__MIN") for name in table.columns if name.endswith("__MIN")]
    called = sorted({name.rpartition(" - ")[2] for name in runs})
    if metric not in called and (metric or len(called) > 1):
        raise InputError(f"{table.path}: name one by --metric; there are {', '.join(called)}")
    runs = [name for name in runs if name.rpartition(" - ")[2] == (metric or called[0])]
    points: list[list[tuple[float, float]]] = [[] for _ in runs]
    for place, cells in table.rows([table.columns[0], *runs]):
        for each, text in zip(points, cells[1:], strict=False):
            if text.strip():
                each.append((cell(cells[0], place).value, cell(text, place).value))
    curves = []
    for name, each in zip(runs, points, strict=True):
        arm, seed = arm_and_seed(name.rpartition(" - ")[0].split("/"))
        pair = (seed,) if seed and paired else None
        curves.append(Curve((arm,), pair, f"{table.path}, {name}", each))
    return from_curves(curves, metric or called[0], reading)


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
    raise InputError(
        f"{table.path}: name the column that is judged by --metric; there are "
        f"{_listed(known or table.columns)}"
    )


def _arms(table: Table, score: str) -> list[str]:
    """The columns that tell arms apart, by their names; none of a table of one column."""
    called = {plain(name): name for name in table.columns[::-1] if name != score}
    found = [called[name] for name in (*SETTING.split("|"), *NAME.split("|")) if name in called]
    if called and not found:
        raise InputError(
            f"{table.path}: name the columns that tell arms apart by --by; there are "
            f"{_listed(table.columns)}"
        )
    seen = [{*map(str.strip, column)} for column in _first(table, found)]
    varied = [name for name, values in zip(found, seen, strict=False) if len(values) > 1]
    settings = [name for name in varied if plain(name) in SETTING.split("|")]
    return settings or varied[:1] or found[:1]


def _first(table: Table, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The columns' cells in the first rows."""
    rows = itertools.islice(table.rows(names), 10_000) if names else ()
    return zip(*(cells[:-1] for _, cells in rows), strict=True)


def _columns(table: Table, names: Sequence[str]) -> list[str]:
    """The columns of names; a last part will do, as ``lr`` for MLflow's ``params.lr``."""
    found = []
    for name in map(str.strip, names):
        ends = [each for each in table.columns if each.endswith((f".{name}", f"/{name}"))]
        ends = [name] if name in table.columns else ends
        if len(ends) > 1:
            raise InputError(f"{table.path}: {name!r} may be {' or '.join(ends)}; name one of them")
        if not ends:
            raise InputError(
                f"{table.path} has no column {name!r}: {nearest(name, table.columns)}it has "
                f"{_listed(table.columns)}"
            )
        found += ends
    return found


def _listed(names: Sequence[str]) -> str:
    """Names in a line, the first twenty of many."""
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if names[20:] else "")
