"""Shapes of tables: a column an arm, a column a run, ``mean ± sd``; each becomes a row a run."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from embinit.errors import InputError
from embinit.scores.arms import number_in
from embinit.scores.asking import Ask
from embinit.scores.names import HIGHER, LOWER, called, is_seed, lower_is_better
from embinit.scores.rows import VALUE, Table, listed, table_of_entries

A_RUN = re.compile(r"(?:(seed)|run|rep|replicate|trial|r|s)?[-_ ]?(\d+)", re.IGNORECASE)
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
    kept = [n for n in table.columns if is_seed(n) or (n in numbers and called([n], "run"))] + steps
    values = [name for name in numbers if name not in kept]
    of_runs = [name for name in numbers if A_RUN.fullmatch(name)]
    if len(of_runs) > 1 and given.columns is None and others:
        summing = [name for name in values if name not in of_runs and _sums(table, of_runs, name)]
        others += [name for name in numbers if name not in (*of_runs, *summing)]
        return _melted(table, others, of_runs, "run")
    if given.columns == "runs":
        return _melted(table, others, values, "run")
    summary = called(values, "sd") or called(values, "count") or steps
    known = [name for name in values if lower_is_better(name) is not None]
    named = {*others} - {*kept} or known or given.metric or given.by
    lone = not (named or summary) and len(values) > 1
    if given.columns == "arms" or (lone and any(map(is_seed, kept))):
        ends = sorted({n.split("_")[-1] for n in values} & (HIGHER | LOWER))
        if len(ends) > 1:
            raise InputError(f"{table.name} has columns of {listed(ends)}; leave those of one")
        return _melted(table, [*others, *kept], values, "arm")
    return table


def _melted(table: Table, kept: Sequence[str], values: Sequence[str], name: str) -> Table:
    """A row for each cell of some columns, whose names are those of arms or runs."""
    entries, name = [], name if name not in kept else "column"
    for place, cells in table.entries():
        shared = {column: cells[column] for column in kept}
        for value in values:
            found = A_RUN.fullmatch(value) if name == "run" else None
            key = {"seed": found[2]} if found and found[1] else {name: value}
            entries.append((f"{place}, {value}", shared | key | {VALUE: cells[value]}))
    notes = [*table.notes, f"a column is {'an arm' if name == 'arm' else 'a run'}"]
    return table_of_entries(table.name, entries, notes)


def _sums(table: Table, runs: Sequence[str], name: str) -> bool:
    """Whether a column has the mean or the deviation of each row's runs, by its numbers."""
    for row, text in enumerate(table.columns[name]):
        values = [number_in(table.columns[run][row]) or 0.0 for run in runs]
        found = number_in(text)
        close = 10.0 ** -len(text.partition(".")[2]) if found is not None else 0.0
        sums = (statistics.fmean(values), statistics.stdev(values), statistics.pstdev(values))
        if found is None or not any(abs(found - value) <= close for value in sums):
            return False
    return True


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
                raise Ask(f"{text} of {name}?", [{"n": count} for count in (3, 5, 10)], table)
            counts = {"n": of}
    if n is not None and not counts:
        raise InputError(f"{table.name} has no mean ± sd: leave out --n")
    return table._replace(columns={**columns, **counts})
