"""From a table to arms: a row is a run, or a point of its curve; what isn't sure is asked."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError, counted
from embinit.scores.arms import CRASHED, NOTHING, Arms, Score, arms_of, cells, number_in
from embinit.scores.asking import Ask, Choice
from embinit.scores.checks import (
    grouped,
    require_no_copies,
    require_no_steps,
    rises,
    rising,
    same_in_each,
)
from embinit.scores.names import (
    baselines,
    by_numbers,
    called,
    is_cost,
    is_seed,
    is_setting,
    is_spread,
    lower_is_better,
    plain,
    unlikely,
)
from embinit.scores.rows import NUMBER, VALUE, Table, listed, one_of
from embinit.scores.shapes import COUNTS, Reading, is_number, long, of_chart, of_runs
from embinit.stats.power import MOST_SEEDS

FAILED = re.compile(CRASHED.pattern + r"|^(true|yes|[-+.\d]+)$", re.IGNORECASE)
NO_FAILURE = (*NOTHING, "0", "0.0", "false", "no", "ok")
ENDED_EARLY = 0.9
"""A run ended early whose last step is below this share of the last step of its arm's runs."""

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
DURATION = re.compile(r"\d+ days \d\d:\d\d:\d\d.*|[\d.]+(ms|s|min|h)")  # of pandas, of MLflow


def read(table: Table, given: Reading = Reading()) -> Arms:  # noqa: B008
    """The arms of a table; a question where it has two readings."""
    if not table.places:
        raise Ask(f"{table.name} has no row", ())
    table, given = of_chart(table, given)
    index = ("", "Unnamed: 0")  # pandas writes the rows' numbers there, or their names
    columns = table.columns.items()
    kept = {n or "row": of for n, of in columns if n not in index or not is_number(of)}
    table = _where(table._replace(columns=kept), given)
    filled = {n: of for n, of in table.columns.items() if any(of)}
    table = long(table._replace(columns=filled), given)
    rows = _rows(table, given)
    notes = [*rows.table.notes]
    rows = _numbered(rows, notes)
    _require_runs(rows)
    summary, points = _summary(rows), _points(rows)
    if points:
        folds = [n for n in called(rows.free, "fold") if not is_number(table.columns[n])]
        labels = {*filter(is_setting, rows.free), *called(rows.free, "cells"), *folds}
        mixed = [name for name in rows.free if name in labels and rows.varies(name)]
        if mixed and not (given.by or given.unpaired):
            _ask_of_labels(rows, mixed)
        named = _of_points(rows, points, 1 if given.last is None else given.last)
        if len(points) < len(rows.arms):
            text = f"rows are steps ({rows.step}) of {len(named)} runs{rows.by_id}"
            notes.append(f"{text}; one number each is judged")
    elif given.last is not None:
        raise InputError(f"{table.name} has one number a run: leave out --last")
    else:
        named = summary or _of_rows(rows, notes)
    if called(rows.paired_by, "fold"):
        notes.append("folds share most of their training data, so the interval is too narrow")
    if given.unpaired:
        named = [(arm, run._replace(seed="")) for arm, run in named]
    elif not given.cells:
        _require_seeds_once(rows, named)
    chosen = [part.partition("=") for part in re.split(",(?=[^,=]+=)", given.where or "")]
    measures = [of for name, _, of in chosen if name.lower() in ("metric", "metric_name")]
    unnamed = len(measures) == 1 and plain(rows.score) in (VALUE, "score", "result", "mean")
    score = measures[0] if unnamed and lower_is_better(measures[0]) is not None else rows.score
    arms = arms_of(named, "" if score == VALUE else score, notes)
    if not (summary or points or given.unpaired):
        require_no_steps(arms.scores)
    of_sd = bool(summary and called([rows.score], "sd"))
    return replace(arms, of_noise=of_sd, by=", ".join(rows.by))


class _Rows(NamedTuple):
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
    def by_id(self) -> str:
        """What was said to name runs, behind their number."""
        return f" by {self.given.id}" if self.given.id else ""

    @property
    def keys(self) -> list[tuple[str, str, str]]:
        """What tells the run of each row."""
        return [*zip(self.arms, self.seeds, self.runs, strict=True)]

    def varies(self, name: str) -> bool:
        """Whether rows of one arm differ in a column."""
        pairs = {*zip(self.arms, self.table.columns[name], strict=True)}
        return len(pairs) > len({*self.arms})

    @property
    def telling(self) -> list[str]:
        """The columns of ``by`` and what else tells rows of one arm and seed apart."""
        roles = ("status", "of rows", "count", "error")
        free = [n for n in self.free if not is_spread(n) and not any(called([n], r) for r in roles)]
        settings = _settings(self.table, [*filter(self.varies, free)])
        return _telling(self.table, self.by, settings, self.paired_by)

    def failures(self, found: Sequence[str]) -> Sequence[str]:
        """Why the run of each row has no result, also by columns of states; "" for no reason."""
        for name in called(self.free, "status"):
            texts = self.table.columns[name]
            text = plain(name) in ("error", "exception", "traceback", "failed")
            known = {text for text in {*texts} if text.lower() not in NO_FAILURE}
            bad = {t for t in known if (not NUMBER.fullmatch(t) if text else FAILED.search(t))}
            if bad:
                pairs = zip(texts, found, strict=True)
                found = [f"its {name} is {t[:40]!r}" if t in bad else why for t, why in pairs]
        return found


def _where(table: Table, given: Reading) -> Table:
    """The rows whose columns have values, as in ``split=test,metric=acc``.

    Such a column leaves the table, but where ``by`` names it.
    """
    where, by = given.where, re.split(" *, *", given.by or "")
    parts = [] if where is None else re.split(",(?=[^,=]+=)", where)
    for at, part in enumerate(parts):
        name, _, value = part.partition("=")
        name = one_of(table, "where", name, where)
        texts, number = table.columns[name], number_in(value)
        like = {
            t for t in {*texts} if t == value or (number is not None and number_in(t) == number)
        }
        if not like:
            values = listed(dict.fromkeys(texts))
            text = f"{table.name}: no row has {value!r} in {name}; there are {values}"
            ways = [[*parts[:at], f"{name}={v}", *parts[at + 1 :]] for v in _likeliest(texts)]
            raise Ask(text, [{"where": ",".join(way)} for way in ways])
        kept = [row for row, text in enumerate(texts) if text in like]
        left = {n: of for n, of in table.columns.items() if n != name or n in by}
        columns = {n: [of[row] for row in kept] for n, of in left.items()}
        table = table._replace(columns=columns, places=[table.places[row] for row in kept])
    return table


def _wheres(table: Table, names: Sequence[str], before: str | None) -> list[Choice]:
    """The first two values of some columns, those of training last, after those chosen before."""
    first = f"{before}," if before else ""
    return [{"where": f"{first}{n}={v}"} for n in names for v in _likeliest(table.columns[n])]


def _likeliest(texts: Sequence[str]) -> list[str]:
    return sorted(dict.fromkeys(texts), key=unlikely)[:2]


def _rows(table: Table, given: Reading) -> _Rows:
    """The table's rows by the roles of its columns, which are named, or are the only ones."""

    def columns(option: str) -> list[str]:
        names = getattr(given, option) or ""
        parts = re.findall(rf"(?:{known})(?=,|$)|[^,]+", names)  # a name may have commas
        return [one_of(table, option, name.strip(), names) for name in parts]

    known = "|".join(map(re.escape, sorted(table.columns, key=len, reverse=True)))
    seeds, runs, steps = columns("seed"), columns("id"), columns("step")
    named = {*seeds, *runs, *steps, *columns("metric"), *columns("cells")}
    left = [name for name in table.columns if name not in named]
    if not seeds:
        seeds = [*filter(is_seed, [*left, *runs])]
        _require_one_pair(table, seeds)
    if (given.by or "")[:1] == "!":
        by, left_out = _all_but(left, seeds, given.by, table)
        table = table._replace(notes=[*table.notes, *left_out])
    else:
        by = columns("by")
    left = [name for name in left if name not in (*seeds, *by)]
    varied = [name for name in left if len({*table.columns[name]}) > 1]
    runs = runs or [name for name in called(varied, "run") if name not in steps]
    steps = steps or called(left, "step")[:1]
    others = [name for name in left if name not in (*runs, *steps, *called(left, "status"))]
    score, by = _score_and_arms(table, given, columns("metric"), by, others, runs, seeds)
    for option in ("seed", "id", "step", "cells"):
        for name in filter((score, *by).__contains__, columns(option)):
            raise InputError(f"{name} is the score or tells arms apart: leave out --{option}")
    seeds, runs, steps = ([n for n in of if n not in (score, *by)] for of in (seeds, runs, steps))
    roles = (score, *by, *seeds, *runs, *steps, *columns("cells"))
    free = [name for name in table.columns if name not in roles]
    pairs = table.texts(seeds)
    # 3 is pandas's 3.0; seeds that lack all parts are none.
    seed_of = {pair: re.sub(r"\.0(?=,|$)", "", pair.strip(", ")) for pair in {*pairs}}
    names = table.texts(by) if by else [Path(table.name).stem] * len(pairs)
    of_seeds = [*map(seed_of.__getitem__, pairs)]
    run, step = ",".join(runs), next(iter(steps), "")
    names_of_runs = table.texts(runs)
    if given.cells and not (seeds or runs or steps):
        names_of_runs = _in_order(zip(names, table.texts(columns("cells")), strict=True))
    return _Rows(table, given, score, by, free, names, of_seeds, names_of_runs, seeds, run, step)


def _in_order(cells: Iterable[tuple[str, str]]) -> list[str]:
    """Each row's number among those of its arm and cell, which are runs in their order."""
    so_far: Counter[tuple[str, str]] = Counter()
    numbers = []
    for cell in cells:
        so_far[cell] += 1
        numbers.append(str(so_far[cell]))
    return numbers


def _require_one_pair(table: Table, seeds: Sequence[str]) -> None:
    """A question where each seed of one column has several of another: which numbers runs?"""
    seeds = sorted(seeds, key=lambda name: len({*table.columns[name]}))
    if seeds and len({*table.texts(seeds)}) > len({*table.columns[seeds[-1]]}):
        few, many = seeds[0], seeds[-1]
        choices = [{"seed": few, "cells": many}, {"seed": many, "cells": few}]
        text = f"{table.name}: which of {listed(seeds)} numbers runs, each trained anew?"
        raise Ask(text, [*choices[: 2 * (len(seeds) == 2)], {"seed": ",".join(seeds)}], table)


def _all_but(
    names: Sequence[str], seeds: Sequence[str], by: str | None, table: Table
) -> tuple[list[str], list[str]]:
    """The settings but those of ``!seed,…``, which vary, and a note on what else does."""
    without = [one_of(table, "by", name.strip(" !"), by) for name in (by or "").split(",")]
    rest = [n for n in names if n not in (*without, *seeds) and len({*table.columns[n]}) > 1]
    roles = ("run", "step", "status")
    settings = _settings(table, [n for n in rest if not any(called([n], role) for role in roles)])
    found = [*filter(is_setting, settings)]
    numbers = [n for n in settings if is_number(table.columns[n])] if not found else []
    found = found or [n for n in settings if n not in numbers]
    others = [n for n in rest if n not in settings and not is_number(table.columns[n])]
    notes = [f"no settings, but ids, dates or notes: {listed(others)}"] if others else []
    if numbers:
        choices = [{"by": ",".join(names)} for names in ([*found, *numbers], found) if names]
        text = f"{table.name}: are {listed(numbers)} settings?"
        raise Ask(" ".join([text, *(f"({note})" for note in notes)]), choices, table)
    if not found:
        raise InputError(f"{table.name} has no setting that varies but {listed(without)}")
    return found, notes


def _settings(table: Table, names: Sequence[str]) -> list[str]:
    """The columns that may tell arms apart: words that repeat, then numbers of few values.

    Dates are none, nor what most rows lack, nor sentences of which most are there once.
    """
    words, numbers = [], []
    for name in names:
        texts = table.columns[name]
        filled = [*filter(None, texts)]
        values = {*filled}
        repeat, few = len(values) < len(filled), 2 * len(values) <= len(filled)
        if len({*texts}) < 2 or not repeat:
            continue
        if is_number(texts) and not is_setting(name):
            numbers += [name] if few and lower_is_better(name) is None else []
        elif is_setting(name) or not (
            2 * len(filled) < len(texts)
            or _dates(filled)
            or all(map(DURATION.fullmatch, filled))
            or (not few and 2 * sum(" " in text for text in filled) > len(filled))
        ):
            words.append(name)
    return [name for name in (*words, *numbers) if not called([name], "fold")]


def _repeat(table: Table, names: Sequence[str]) -> bool:
    """Whether columns have a row again for most of what they say together."""
    return bool(names) and 2 * len({*table.texts(names)}) <= len(table.places)


def _telling(
    table: Table, by: Sequence[str], settings: Sequence[str], seeds: Sequence[str]
) -> list[str]:
    """The arms' columns with the settings that tell rows of one arm and seed apart."""
    found, again = [*by], seeds if _repeat(table, seeds) else ()
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
    settings = _settings(table, [n for n in others if n != VALUE and not called([n], "of rows")])
    if not any(is_number(texts[n]) for n in {*others, *metric} - {*settings}):
        settings = [n for n in settings if not is_number(texts[n])]  # one of them is the score
    if any(not is_number(texts[n]) and len({*texts[n]}) > 1 for n in others):  # better labels
        numbers = [n for n in settings if re.search(r"\d", "".join(texts[n])) and not is_setting(n)]
        none = [n for n in numbers if is_cost(n) or is_spread(n)] + called(settings, "count")
        settings = [n for n in settings if n not in none]
    if settings:  # what else has words names runs, or notes something of them
        read = {*settings, *filter(lambda n: is_number(texts[n]), others)}
        others = [n for n in others if n in read or called([n], "of rows")]
    several = [n for n in others if len({*texts[n]}) > 1 or len(table.places) == 1]
    numbers = [n for n in others if is_number(texts[n]) and not is_setting(n)]
    numbers = [n for n in numbers if n in several] or numbers
    spread = [*filter(is_spread, numbers)]
    summing = [*spread, *called(numbers, "count"), *called(numbers, "error")]
    kept = [n for n in numbers if n not in summing] or spread
    labels = [n for n in several if (is_setting(n) or not is_number(texts[n])) and n not in metric]
    no_arms = ("of rows", "fold")
    labels = [n for n in labels if n != VALUE and not any(called([n], role) for role in no_arms)]
    data_sets = called(labels, "cells")
    again = bool(seeds) and len({*table.texts([*seeds, *data_sets])}) < len(table.places)
    if data_sets and (
        rest := [n for n in dict.fromkeys(labels + settings * again) if n not in data_sets]
    ):
        arms = table.texts(rest)  # what all arms were tried on alike tells none of them apart
        data_sets = [n for n in data_sets if same_in_each(texts[n], arms, False)]
        labels = [n for n in labels if n not in data_sets]
        settings = [n for n in settings if n not in data_sets]
    if not (labels or settings or by or given.one_arm):
        labels = [n for n in runs if len({*texts[n]}) > 1 and not is_number(texts[n])]
        words = [n for n in others if n != VALUE and not is_number(texts[n])]
        labels = labels or [n for n in words if not called([n], "of rows")]
        some = words and len({*texts[words[0]]}) > 1 and len(numbers) > 1
        if some and not (labels or given.columns):
            ways = _wheres(table, words[:1], given.where)
            choices: list[Choice] = [{**way, "columns": "arms"} for way in ways]
            raise Ask(f"{table.name}: which {words[0]} of arms is judged?", choices, table)
        labels = labels or words
    if metric:
        kept = [*metric]
    elif by or len(labels) == 1:
        arms = table.texts(by or labels)
        known = [n for n in kept if lower_is_better(n) is not None]
        kept = [n for n in kept if n in known or not same_in_each(texts[n], arms, False)] or kept
    sure = by or not labels or (len(labels) == 1 and not _dates(texts[labels[0]]))
    if len(kept) == 1 and sure:
        return kept[0], [*by] or labels
    kept = kept or [n for n in (VALUE,) if n in texts]
    if kept == [VALUE] and (by or len(labels) < 2):
        return VALUE, [*by] or labels
    if not kept:
        for name in filter(lambda n: lower_is_better(n) is not None, texts):
            cells(texts[name], table.places, name)  # one of them is no number
        raise Ask(f"{table.name} has no column of numbers", (), table)

    def likely(name: str) -> tuple[bool, ...]:
        found = {*texts[name]}
        repeats, outcome = 2 * len(found) <= len(table.places), bool(called([name], "outcome"))
        return *unlikely(name)[:3], outcome, *unlikely(name)[3:], "" in found, repeats

    def few(name: str) -> tuple[bool, bool, int]:
        count = len({*texts[name]})
        return count == len(table.places), not baselines({*texts[name]}), count

    measured = [n for n in kept if n not in settings or called([n], "outcome")] or kept
    known = [n for n in measured if lower_is_better(n) is not None or called([n], "outcome")]
    scores = [n for n in measured if n in known or not _counts(texts[n])] or measured
    scores.sort(key=likely)
    labels = [n for n in labels if not _dates(texts[n])]
    words = [n for n in labels if not is_number(texts[n])] or labels
    counts = [n for n in several if _counts(texts[n]) and not (is_cost(n) or called([n], "count"))]
    counts = [n for n in counts if not (called([n], "fold") or called([n], "outcome"))]
    words = words or [n for n in counts if is_number(texts[n]) and not few(n)[0]]
    data_sets = called(settings, "cells") + called(settings, "likely cells")
    telling = _telling(table, (), [n for n in settings if n not in data_sets] or settings, seeds)
    words = [*([",".join(telling)] if _repeat(table, telling) else []), *sorted(words, key=few)]
    words = [",".join(by)] if by else [*dict.fromkeys(words)]

    def no_arm(name: str) -> tuple[bool, bool, bool]:
        named, parts = name in texts and bool(baselines({*texts[name]})), name.split(",")
        methods = len(called(parts, "method"))
        return parts[0] in data_sets, not named, methods < min(2, len(parts))

    words.sort(key=no_arm)
    choices = [{"metric": n, "by": arm} for n in scores[:3] for arm in words[:3] if arm != n]
    told = by or settings or (labels and len(table.places) > 1)  # a single row may have all runs
    if not told and all(lower_is_better(n) is None for n in kept):
        choices.insert(0, {"columns": "arms"})
    of_rows = table.texts(by or sorted(labels, key=few)[:1])
    once = bool(by or labels) and len({*of_rows}) == len(table.places)
    if not (by or seeds) and len(labels) == 1 and len(table.places) > 1:
        of_columns: list[Choice] = [{"columns": "arms", "cells": labels[0]}]
        unknown = once and len(kept) > 1 and all(lower_is_better(n) is None for n in kept)
        if baselines(kept):
            choices = of_columns
        elif unknown and not baselines(of_rows):  # rows or columns may be arms
            choices = [*of_columns, *[{"columns": "arms"}] * bool(spread), *choices]
    if given.columns is None and once and of_runs(kept):
        choices.insert(0, {"columns": "runs"})
    what = "column is judged" if by else "columns name the arm and the score"
    raise Ask(f"{table.name}: which {what}?", choices, table)


def _dates(texts: Sequence[str]) -> bool:
    return all(map(DATE.fullmatch, texts))


def _require_runs(rows: _Rows) -> None:
    """InputError where a row is of no arm, or of no seed where most seeds are numbers."""
    places = rows.table.places
    for place, arm in zip(places, rows.arms, strict=True):
        if not arm.strip(", "):
            raise InputError(f"{place}: {', '.join(rows.by)} is empty; write a name, such as none")
    odd = [at for at, seed in enumerate(rows.seeds) if not re.match(r"\d", seed)]
    if odd and len(odd) < len(places):
        ways, without = [], {*odd}
        for name in rows.free:  # a word that all rows with a seed have, and no other row
            texts = rows.table.columns[name]
            known = {text for at, text in enumerate(texts) if at not in without}
            if len(known) == 1 and known.isdisjoint(texts[at] for at in odd):
                ways += [{"where": f"{name}={text}"} for text in known if text]
        mend = "take the row out, if it sums up others, or write its seed"
        text = f"{places[odd[0]]}: its {rows.seed} is {rows.seeds[odd[0]]!r}; {mend}"
        if ways and not any(rows.seeds[at] for at in odd):
            raise Ask(text, ways, rows.table)
        if 2 * len(odd) < len(places):
            raise InputError(text)


def _points(rows: _Rows) -> dict[Any, list[int]]:
    """The rows of each run's curve; none where each row is a run, a question where it may be."""
    groups = grouped(rows.keys)
    folder = Path(rows.table.name).is_dir()
    if not rows.step or (len(groups) == len(rows.arms) and not folder):
        return {}
    if folder or rows.given.step:
        return groups
    texts = rows.table.columns[rows.step]
    if len({*texts}) == 1:
        return {}  # such as the last epoch of each
    if rows.seed or rows.run:
        return groups
    steps = _steps(texts, rows.table.places, rows.step)
    again = any(len(rising(steps, of)) > 1 for of in groups.values())
    if not again and not rows.given.unpaired:
        text = f"{rows.table.name}: is each row a run, or the point of a run at its {rows.step}?"
        raise Ask(text, [{"step": rows.step}, {"unpaired": True}], rows.table)
    return groups if again else {}


def _steps(texts: Sequence[str], places: Sequence[str], column: str) -> Sequence[float]:
    """The numbers of steps, which may be dates."""
    if is_number(texts):
        return cells(texts, places, column)[0]
    if not _dates(texts):
        return [float((re.findall(r"\d+", text) or ["nan"])[-1]) for text in texts]
    rank = {text: float(at) for at, text in enumerate(sorted({*texts}))}
    return [rank[text] for text in texts]


def _of_points(rows: _Rows, groups: dict[Any, list[int]], last: int) -> list[tuple[str, Score]]:
    """One number of each run's points. Steps that start again are another run's.

    A run that ended before the other runs of its arm has crashed.
    """
    table, name = rows.table, rows.score
    if rows.given.cells:
        text = f"{table.name} has points of runs' curves, and a run has one of each --cells"
        mend = f"does {rows.step} number the runs, or leave out --cells?"
        raise Ask(f"{text}: {mend}", [{"seed": rows.step}, {"cells": None}], table)
    failures = rows.failures([""] * len(table.places))
    # Other rows logged something else.
    filled = [row for row, text in enumerate(table.columns[name]) if text]
    places = [table.places[row] for row in filled]
    logged, scores = ([table.columns[n][row] for row in filled] for n in (rows.step, name))
    steps = dict(zip(filled, _steps(logged, places, rows.step), strict=True))
    values = dict(zip(filled, cells(scores, places, name)[0], strict=True))
    most: dict[str, float] = defaultdict(float)
    for row, step in steps.items():
        most[rows.arms[row]] = max(most[rows.arms[row]], step)
    named = []
    for (arm, seed, run), of in groups.items():
        at = [row for row in of if row in values]
        parts = rising(steps, at)
        again = len({steps[part[0]] for part in parts}) > 1
        if len(parts) > 1 and (seed or run or (again and len(parts) < len(at))):
            texts, varied = table.columns, filter(rows.varies, rows.free)
            free = [n for n in varied if not is_number(texts[n]) or _counts(texts[n])]
            text = f"{table.places[parts[1][0]]}: {rows.step} starts again"
            new = [n for n in rows.telling if n not in rows.by]
            few = new and all(len({*texts[n]}) <= 4 for n in new) and not called(new, "cells")
            choices: list[Choice] = [{"by": ",".join(rows.telling)}] if few else []
            choices += [{"id": n} for n in free]
            raise Ask(f"{text}: which column names runs, or tells arms apart?", choices, table)
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
            ends = [values[row] for row in points[-last:]]
            value = statistics.fmean(ends) if ends else math.nan
            named.append((arm, Score(value, place, seed, why)))
    return named


def _of_rows(rows: _Rows, notes: list[str]) -> list[tuple[str, Score]]:
    """The score of each row, or the mean of those of a run; a question what other columns are."""
    table, given, groups = rows.table, rows.given, grouped(rows.keys)
    values, crashed, trials = cells(table.columns[rows.score], table.places, rows.score)
    why = rows.failures(crashed)
    if given.cells:
        notes.append(_require_cells(rows, groups))
    else:
        notes += _ask_of_rows(rows, groups, values)
    named = []
    for (arm, seed, _), of in groups.items():
        if given.id or given.cells:
            lost = next(filter(None, (why[at] for at in of)), "")
            mean = statistics.fmean(values[at] for at in of)
            named.append((arm, Score(mean, table.places[of[0]], seed, lost)))
            continue
        for at in of:
            named.append((arm, Score(values[at], table.places[at], seed, why[at], trials[at])))
    return named


def _ask_of_rows(
    rows: _Rows, groups: dict[Any, list[int]], values: Sequence[float]
) -> Iterator[str]:
    """A question where rows share a run, or differ in what has no role; else notes on them."""
    table, texts, given = rows.table, rows.table.columns, rows.given
    unpaired = given.unpaired
    if not rows.run:
        require_no_copies(table, values)
    if given.id:
        yield f"{len(values)} rows are {len(groups)} runs{rows.by_id}; means are judged"
        unpaired = not rows.seed
    elif len(groups) < len(values) and (rows.run or rows.seed):
        _ask_of_twice(rows, groups)
    free = [n for n in rows.free if rows.varies(n) and not called([n], "status")]
    settings = {*_settings(table, free), *filter(is_setting, free), *called(free, "fold")}
    labels = [n for n in texts if n == rows.run and not rows.seed and _rises(rows, n, False)] + [
        n for n in free
        if n in settings or ((not is_number(texts[n]) or _counts(texts[n])) and _rises(rows, n))
        or ((_counts(texts[n]) or _dates(texts[n])) and len({*texts[n]}) < len(table.places))
        or (same_in_each(texts[n], rows.arms) and lower_is_better(n) is None)
    ]  # fmt: skip
    # What a seed names once is a run, whatever else is known of it, but for a setting.
    named = rows.seed and len(groups) == len(values) and not any(map(is_setting, labels))
    if labels and not (given.seed or unpaired or given.id or named):
        _ask_of_labels(rows, labels)
    if labels and (unpaired or not given.id):
        yield f"rows of an arm differ in {listed(labels, 3)}, and are runs of it alike"


def _rises(rows: _Rows, name: str, by_one: bool = True) -> bool:
    """Whether the numbers in a column rise as those of steps do; those of a name, if again."""
    texts = rows.table.columns[name]
    names = len({*texts}) == len(texts) and not is_number(texts)
    if names or called([name], "fold"):
        return False
    return rises(_steps(texts, rows.table.places, name), rows.arms, by_one)


def _counts(texts: Sequence[str]) -> bool:
    """Whether a column has whole numbers, or says whether something is so."""
    return all(re.fullmatch(r"-?\d+(\.0)?|(?i:true|false)", text) for text in texts if text)


def _ask_of_twice(rows: _Rows, groups: dict[Any, list[int]]) -> None:
    """Asks what rows of one run, or of one seed of an arm, are."""
    table, texts = rows.table, rows.table.columns
    key, of = next((key, of) for key, of in groups.items() if len(of) > 1)
    column, value = (rows.run, key[2]) if rows.run else (rows.seed, key[1])
    text = f"{table.places[of[1]]}: the arm {key[0]!r} has {column} {value} twice"
    settings = _settings(table, rows.free)
    numbers = [n for n in rows.free if is_number(texts[n]) and n not in settings]
    numbers = [n for n in numbers if _counts(texts[n]) or len({*texts[n]}) == len(of)]
    free = [n for n in rows.free if n in (*settings, *numbers) and rows.varies(n)]
    free = [n for n in free if not called([n], "status")]
    several, telling = len({*rows.arms}) > 1, ",".join(rows.telling)
    steps = [n for n in free if _rises(rows, n) and not {*texts[rows.score]} <= {"0", "1"}]
    choices: list[Choice] = [
        {"step": n, "by": ",".join(name for name in rows.telling if name != n)}
        for n in called(free, "round")
    ]
    choices += [{"step": n} for n in steps if _rises(rows, n, False)]
    measures = [n for n in called(free, "of rows") if plain(n) != "task"]  # tasks have a mean
    data_sets = called(free, "cells")
    choices += [{"cells": n} for n in data_sets]
    choices += _wheres(table, [*measures, *data_sets], rows.given.where)
    settled = telling == ",".join(rows.by)
    for n in free if rows.seed else []:
        ways: list[Choice] = [{"cells": n}, *[{"by": telling}] * (not settled)]  # or data sets
        ways = ways[::-1] if is_number(texts[n]) else ways
        choices += [] if n in measures else ways
    choices += [{"step": n} for n in steps]
    if len({*rows.seeds}) == 1 and not rows.run and several and settled:
        choices.append({"unpaired": True, "seed": None})  # all have one seed, as by default
        if rows.given.unpaired:
            return
    if rows.run or settled:
        choices.append({"id": column})
    mend = "take out copies, or say what the rows are"
    raise Ask(f"{text} (before at {table.places[of[0]]}); {mend}", choices, table)


def _require_seeds_once(rows: _Rows, named: Sequence[tuple[str, Score]]) -> None:
    """A question where two runs of an arm have one seed: a setting may have been left out."""
    first: dict[tuple[str, str], Score] = {}
    for arm, run in named:
        before = first.setdefault((arm, run.seed), run)
        if run.seed and before is not run:
            settled = rows.telling == [*rows.by]
            choices = [{"unpaired": True} if settled else {"by": ",".join(rows.telling)}]
            text = f"{run.place}: the arm {arm!r} has {rows.seed} {run.seed} twice"
            mend = "are there two settings, or are runs alike?"
            raise Ask(f"{text} (before at {before.place}); {mend}", choices, rows.table)


def _ask_of_labels(rows: _Rows, labels: Sequence[str]) -> None:
    """Asks what columns are in which rows of one arm differ, though no role has them."""
    table, texts, by = rows.table, rows.table.columns, ",".join(rows.by)
    dates = [n for n in labels if _dates(texts[n])]
    same = [n for n in labels if same_in_each(texts[n], rows.arms) and n not in dates]
    steps = [n for n in labels if n in dates or _rises(rows, n, n not in same)]
    few = [n for n in labels if len({*texts[n]}) <= 4]
    of_rows = called(labels, "of rows")
    rest = [n for n in labels if n not in (*of_rows, *called(labels, "fold"))]
    settings = [*filter(is_setting, labels)] or rest
    several = len({*rows.arms}) > 1
    data_sets = called(labels, "cells")
    choices: list[Choice] = [{"cells": n} for n in data_sets]
    choices += _wheres(table, data_sets, rows.given.where)
    choices += [{"step": n} for n in steps]
    all_of_them, telling = ",".join([by, *settings]), rows.telling
    if telling != [*rows.by] and _repeat(table, telling):  # to pool them would hide a setting
        choices += [{"by": ",".join(telling)}, *({"cells": n} for n in few if rows.seed)]
    elif any(map(is_setting, labels)):
        choices = [{"by": all_of_them}, {"unpaired": True}]
    elif several:
        choices += [{"seed": n} for n in same if n not in of_rows]
        choices += [{"seed": ",".join(labels)}] if len(labels) > 1 and not of_rows else []
        choices += [{"cells": n} for n in few if rows.seed]
        choices += _wheres(table, few, rows.given.where)
        choices += [{"step": n} for n in same if n not in steps and _rises(rows, n)]
    if not (of_rows or any("by" in choice for choice in choices)):
        choices += [{"unpaired": True}] * several + [{"by": all_of_them}]
    text = f"{table.name}: rows of one arm differ in {listed(labels, 3)}"
    raise Ask(f"{text}: do they pair runs, tell arms apart, or are the runs alike?", choices, table)


def _require_cells(rows: _Rows, groups: dict[Any, list[int]]) -> str:
    """The note on a run's cells; InputError where one lacks a cell, or has one twice."""
    name = one_of(rows.table, "cells", rows.given.cells or "")
    texts, places = rows.table.columns[name], rows.table.places
    wanted = sorted({*texts})
    for (arm, seed, _), of in groups.items():
        if sorted(texts[at] for at in of) != wanted:
            run = f"{places[of[0]]}: {arm}, {rows.seed or 'run'} {seed or '1'}"
            mend = f"has not each {name} once ({listed(wanted, 5)}); add the rows"
            raise InputError(f"{run} {mend}")
    return f"a run's score is its mean over {len(wanted)} of {name}{rows.by_id}"


def _numbered(rows: _Rows, notes: list[str]) -> _Rows:
    """The rows with the arms that their names have without a number, if it numbers runs."""
    given = rows.given
    alone = len({*rows.arms}) == len({*rows.keys}) and not any(rows.seeds) and len(rows.by) < 2
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


def _summary(rows: _Rows) -> list[tuple[str, Score]]:
    """Runs that have the mean and standard deviation of each row; none of another table.

    Their mean is 0 where the table has only standard deviations. A row of one run is that run.
    """
    table, score = rows.table, rows.score
    alone, count = called([score], "sd"), called(rows.free, "count")
    stem = re.sub("mean|avg|average", "", plain(score))
    of_score = [n for n in rows.free if is_spread(n) and plain(n).startswith(stem)]
    level = score[: len(score) - len(re.split("[./]", score)[-1])]
    named = [n for n in of_score if n.startswith(level)] or of_score
    sd = ([] if any(rows.seeds) else alone) or named or called(rows.free, "sd")
    spread = sd or (called(rows.free, "error") if count else [])
    n, is_mean = rows.given.n, alone or count or stem != plain(score)
    if any(rows.seeds) or rows.step or not spread or not (is_mean or n):
        if n and not count:
            raise InputError(f"{table.name} has runs in its rows: leave out --n")
        return []
    if rows.given.cells:
        raise InputError(f"{table.name} has means and deviations: leave out --cells")
    if sd and not (count or n):
        text = f"{table.name}: of how many runs are mean and deviation, {score} and {sd[0]}?"
        raise Ask(text, [{"n": number} for number in COUNTS], table)
    if not sd:
        mend = "give columns sd and n (sd is a standard error times the root of n)"
        raise InputError(f"{table.name} has means and {spread[0]}; {mend}")
    mixed = [n for n in rows.free if rows.varies(n) and not is_number(table.columns[n])]
    if mixed:
        ways = _wheres(table, mixed[:1], rows.given.where)
        raise Ask(f"{table.name}: which {mixed[0]} is judged?", ways, table)
    made: dict[str, list[Score]] = {}
    names = [score, sd[0], *count[:1]]
    columns = [cells(table.columns[name], table.places, name)[0] for name in names]
    columns += [] if count else [[float(n or 1)] * len(table.places)]
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
