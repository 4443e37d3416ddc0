"""Shapes of tables: a column an arm, a column a run, ``mean ± sd``; each becomes a row a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from embinit.errors import InputError
from embinit.scores.arms import number_in
from embinit.scores.asking import Ask
from embinit.scores.names import (
    arm_and_seed,
    called,
    is_seed,
    is_setting,
    is_spread,
    is_summary,
    lower_is_better,
    parts_of,
    score_words,
    unnumbered,
)
from embinit.scores.rows import VALUE, Table, listed, table_of_entries

A_RUN = re.compile(
    r"(?:(seed|s)|(fold|split)|run|rep|replicate|trial|r)?[-_ ]?(\d+)", re.IGNORECASE
)
OF_FOLD = re.compile(r"(?:fold|split)_?\d+_|_(?:fold|split)_?\d+$")
"""What names a fold in a column, as of ``split0_test_score``."""

SPREAD = re.compile(
    r"(.*\d%?) *(?:±|\+/?-|\\pm) *([\d.eE-]+)%?(?: */ *(\d+))?|(.*\d) *\((\d*\.\d+)\)"
)
"""A cell of a mean and its standard deviation, maybe with a number of runs; not 0.801(4)."""


COUNTS = (3, 5, 10)
"""The numbers of runs that are offered where a table has means and deviations alone."""


@dataclass(frozen=True)
class Reading:
    """How a table is read: the options of the command, None where they were not given.

    Columns are named by ``by`` (the arms), ``metric`` (the score), ``seed`` (what pairs runs),
    ``id`` (what names a run), ``step`` (the points of a run's curve) and ``cells`` (such as data
    sets, over which a run's score is a mean). ``columns`` and ``names`` say what columns of
    numbers, and numbers at the ends of names, are: arms or runs. ``n`` runs made each mean. All
    rows are of ``one_arm`` if they are the noise next to other scores.
    """

    by: str | None = None
    metric: str | None = None
    seed: str | None = None
    id: str | None = None
    step: str | None = None
    cells: str | None = None
    where: str | None = None
    columns: str | None = None
    names: str | None = None
    n: int | None = None
    last: int | None = None
    unpaired: bool = False
    one_arm: bool = False


def is_number(texts: Sequence[str]) -> bool:
    """Whether a column has numbers, and no other words than those of runs that have none."""
    values = [*map(number_in, {*texts})]
    return None not in values and any(value is not None and value == value for value in values)


def of_chart(table: Table, given: Reading) -> tuple[Table, Reading]:
    """A chart of W&B, which has columns by run, with a row a run and step; else the table."""
    of_runs = [name for name in table.columns if f"{name}__MIN" in table.columns]
    if not of_runs:
        return table, given
    if any(re.match(r"[\w.]+: ", name) for name in of_runs):
        raise Ask(f"{table.name} is a chart of W&B's groups, without the scores of their runs", ())
    step, *_ = table.columns.values()
    entries = []
    for name in of_runs:
        run, _, metric = name.rpartition(" - ")
        entries += [
            (f"{place}, {name}", {"Name": run, "step": at, metric: text})
            for place, at, text in zip(table.places, step, table.columns[name], strict=True)
            if text and metric != "_step"
        ]
    return table_of_entries(table.name, entries), replace(given, step=given.step or "step")


def long(table: Table, given: Reading) -> Table:
    """The table with a row a run, whichever of the shapes it has."""
    table = _spreads(table, given.n)
    numbers = [name for name, texts in table.columns.items() if is_number(texts)]
    others = [name for name in table.columns if name not in numbers]
    steps = called(numbers, "step")
    numbering = [name for name in numbers if called([name], "run") or called([name], "fold")]
    kept = [name for name in table.columns if is_seed(name) or name in numbering] + steps
    values = [name for name in numbers if name not in kept]
    numbered = of_runs(numbers)
    if given.columns != "arms" and (others or given.columns):
        runs = _judged(numbered, numbers, given)
        if given.columns and not runs:
            runs = {VALUE: {name: name for name in values if not is_summary(name)}}
        if runs:
            of_all = {name for of in [*numbered.values(), *runs.values()] for name in of.values()}
            rest = [name for name in table.columns if name not in of_all]
            return _of_runs(table, rest, runs, given)
    summary = called(values, "sd") or called(values, "count") or steps
    known = [name for name in values if lower_is_better(name) is not None]
    named = {*others} - {*kept} or known or given.metric or given.by
    lone = not (named or summary) and len(values) > 1
    if given.columns == "arms" or (lone and any(map(is_seed, kept))):
        return _of_arms(table, [*others, *kept], values, given.metric)
    return table


def _of_arms(table: Table, kept: Sequence[str], values: Sequence[str], metric: str | None) -> Table:
    """A row for each arm that has a column; a question where arms have columns of several scores.

    Deviations and counts, of cells such as ``84.1 ± 0.3``, are those of their arm.
    """
    spreads = {f"{name}{end}" for name in values for end in ("_sd", "_std")} & {*values}
    counts = called(values, "count") if spreads else []
    names = [name for name in values if name not in (*spreads, *counts)]
    parts = parts_of(names, metric)
    scores = [*dict.fromkeys(score for score, _ in parts.values())]
    if not parts and len(known := score_words(names)) > 1:
        raise InputError(f"{table.name} has columns of {listed(known)}; leave those of one")
    if scores and metric not in scores:
        choices = [{"columns": "arms", "metric": score} for score in scores]
        raise Ask(f"{table.name} has columns of {listed(scores)}: which is judged?", choices, table)
    arms = {}
    for name in names:
        score, arm = parts.get(name, (VALUE, name))
        ends = [name + end for end in ("_sd", "_std") if name + end in values]
        spread = {f"{score}_sd": ends[0]} if ends else {}
        if not parts or score == metric:
            arms["arm", arm] = {score: name, **spread}
    return _melted(table, [*kept, *counts], arms, "a column is an arm")


def of_runs(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Columns that may number runs, by score and run: ``acc_s1``, ``acc_s2``, or ``run1``."""
    found: dict[str, dict[str, str]] = {}
    for name in names:
        score = OF_FOLD.sub("", name) if OF_FOLD.search(name) else arm_and_seed(name)[0]
        score = "" if A_RUN.fullmatch(name) else score
        score = score if score != name else unnumbered(name)
        run = name.replace(score, "", 1).strip("-_., /#")
        if A_RUN.fullmatch(run) and not is_setting(name):
            found.setdefault(score or VALUE, {})[run] = name
    return {score: runs for score, runs in found.items() if len(runs) > 1}


def _judged(
    numbered: Mapping[str, Mapping[str, str]], names: Sequence[str], given: Reading
) -> Mapping[str, Mapping[str, str]]:
    """The scores whose runs are judged; a number alone, as of ``acc_1``, may be no run's."""
    if given.metric and given.metric in numbered:
        return {given.metric: numbered[given.metric]}
    if given.columns:
        return numbered
    sure = {n: of for n, of in numbered.items() if n == VALUE or not all(map(str.isdigit, of))}
    known = len(sure) == 1 or any(lower_is_better(n) is not None for n in sure)  # else arms?
    return sure if known and given.metric not in names else {}


def _of_runs(
    table: Table, rest: Sequence[str], runs: Mapping[str, Mapping[str, str]], given: Reading
) -> Table:
    """A row for each run that has columns, without the columns that sum runs up."""
    by = (given.by or "").split(",")
    sums = [name for name in rest if (is_summary(name) or name in runs) and name not in by]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for score, of in runs.items():
        for run, name in of.items():
            found = A_RUN.fullmatch(run)
            kind = ("seed" if found[1] else "fold" if found[2] else "run") if found else "run"
            key = (kind, run if found is None or kind == "run" else found[3])
            rows.setdefault(key, {})[score] = name
    note = "a column is a run" + (f", without {listed(sums)}" if sums else "")
    return _melted(table, [name for name in rest if name not in sums], rows, note)


def _melted(
    table: Table, kept: Sequence[str], rows: Mapping[tuple[str, str], Mapping[str, str]], note: str
) -> Table:
    """Some rows for each row: what names one, and which columns have its scores."""
    entries = []
    for place, cells in table.entries():
        shared = {column: cells[column] for column in kept}
        for (name, value), of in rows.items():
            key = {name if name not in kept else "column": value}
            scores = {score: cells[column] for score, column in of.items()}
            entries.append((f"{place}, {', '.join(of.values())}", shared | key | scores))
    return table_of_entries(table.name, entries, [*table.notes, note])


def _spreads(table: Table, n: int | None) -> Table:
    """The table with columns of means, deviations and counts where cells have ``mean ± sd``."""
    columns: dict[str, Sequence[str]] = {}
    counts: Mapping[str, Sequence[str]] = {}
    for name, texts in table.columns.items():
        found = [SPREAD.fullmatch(text) for text in texts]
        if not any(found):
            columns[name] = texts
            continue
        columns[name] = [f[1] or f[4] if f else text for f, text in zip(found, texts, strict=True)]
        columns[f"{name}_sd"] = [(f[2] or f[5] or "") if f else "0" for f in found]
        of = [(f and f[3]) or str(n or "") if f else "1" for f in found]
        if not called(table.columns, "count"):
            if "" in of:
                text = f"{table.places[of.index('')]}: of how many runs are mean and deviation"
                raise Ask(f"{text} of {name}?", [{"n": count} for count in COUNTS], table)
            if counts.get("n", of) != of:
                raise InputError(f"{table.name} has other numbers of runs in {name}: leave it out")
            counts = {"n": of}
    needs_n = any(map(is_spread, table.columns)) and not called(table.columns, "count")
    if n is not None and not (counts or needs_n):
        raise InputError(f"{table.name} has no mean ± sd: leave out --n")
    return table._replace(columns={**columns, **counts})
