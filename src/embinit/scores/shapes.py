"""Shapes of tables: a column an arm, a column a run, ``mean ± sd``; each becomes a row a run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embinit.errors import InputError
from embinit.scores.arms import number_in
from embinit.scores.names import (
    HIGHER,
    LOWER,
    SEEDS,
    is_seed,
    is_setting,
    is_summary,
    lower_is_better,
    numbered,
    role,
)
from embinit.scores.rows import VALUE, Ask, Table, listed, table_of_entries

SPREAD = re.compile(
    r"(.*\d%?) *(?:±|\+/?-|\\pm) *([\d.eE-]+)%?(?: */ *(\d+))?|(.*\d) *\((\d*\.\d+)\)"
)
"""A cell of a mean and its standard deviation, maybe with a number of runs; not 0.801(4)."""


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


def long(table: Table, given: Reading) -> Table:
    """The table with a row a run, where its columns are arms or runs."""
    if any(f"{name}__MIN" in table.columns for name in table.columns):
        mend = "export the table of runs, or of their history"
        raise InputError(f"{table.name} is a chart of W&B, without what the runs are; {mend}")
    table = _spreads(table, given.n)
    numbers = [name for name, texts in table.columns.items() if is_number(texts)]
    kept = [
        n for n in table.columns if n not in numbers or is_seed(n) or role(n) in ("run", "step")
    ]
    values = [name for name in numbers if name not in kept]
    runs = of_runs(numbers)
    columns = given.columns or _only_reading(kept, values, runs, given)
    if given.metric in runs and given.metric not in table.columns:
        runs = {given.metric: runs[given.metric]}
    elif columns == "arms":
        ends = sorted({n.split("_")[-1] for n in values} & (HIGHER | LOWER))
        if len(ends) > 1:
            raise InputError(f"{table.name} has columns of {listed(ends)}; leave those of one")
        arms = {("arm", name): {VALUE: name} for name in values}
        return _melted(table, kept, arms, "a column is an arm")
    elif columns is None:
        return table
    runs = runs or {VALUE: {("run", name): name for name in values if not is_summary(name)}}
    of_all = {name for of in runs.values() for name in of.values()}
    rest = [name for name in table.columns if name not in of_all]
    sums = [name for name in rest if is_summary(name) and name not in (given.by or "").split(",")]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for score, of in runs.items():
        for run, name in of.items():
            rows.setdefault(run, {})[score] = name
    note = "a column is a run" + (f", without {listed(sums)}" if sums else "")
    return _melted(table, [name for name in rest if name not in sums], rows, note)


def _only_reading(
    kept: Sequence[str],
    values: Sequence[str],
    runs: Mapping[str, Mapping[tuple[str, str], str]],
    given: Reading,
) -> str | None:
    """What columns of numbers can only be: runs by names such as seed1, or arms next to a seed.

    ``kept`` are the other columns: words, seeds, runs and steps.
    """
    if given.metric or given.by in values:
        return None
    words = [name for name in kept if not (is_seed(name) or role(name) in ("run", "step"))]
    if words and len(runs) == 1:
        (of,) = runs.values()
        named = all(kind == "seed" or not run.isdigit() for kind, run in of)
        others = {name for name in values if not is_summary(name)} - {*of.values()}
        return "runs" if named and not others else None
    scores = [n for n in values if lower_is_better(n) is not None or role(n) in ("sd", "count")]
    of_seeds = bool(kept) and all(map(is_seed, kept)) and len(values) > 1
    return "arms" if of_seeds and not scores else None


def of_runs(names: Sequence[str]) -> dict[str, dict[tuple[str, str], str]]:
    """Columns that may number runs, by score and run: ``acc_s1``, ``acc_s2``, or ``run1``."""
    found: dict[str, dict[tuple[str, str], str]] = {}
    for name in names:
        score, word, number = numbered(name)
        if number and not is_setting(name):
            run = ("seed", number) if word in SEEDS else ("run", word + number)
            found.setdefault(score or VALUE, {})[run] = name
    return {score: runs for score, runs in found.items() if len(runs) > 1}


def _melted(
    table: Table,
    kept: Sequence[str],
    rows: Mapping[tuple[str, str], Mapping[str, str]],
    *notes: str,
) -> Table:
    """Some rows for each row: what names one, and which columns have its scores."""
    entries = []
    for place, cells in table.entries():
        shared = {column: cells[column] for column in kept}
        for (name, value), of in rows.items():
            key = {name if name not in kept else "column": value}
            scores = {score: cells[column] for score, column in of.items()}
            entries.append((f"{place}, {', '.join(of.values())}", shared | key | scores))
    return table_of_entries(table.name, entries, [*table.notes, *notes])


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
        if "count" not in map(role, table.columns):
            if "" in of:
                text = f"{table.places[of.index('')]}: of how many runs are mean and deviation"
                raise Ask(f"{text} of {name}?", [{"n": count} for count in (3, 5, 10)], table)
            counts = {"n": of}
    if n is not None and not counts:
        raise InputError(f"{table.name} has no mean ± sd: leave out --n")
    return table._replace(columns={**columns, **counts})
