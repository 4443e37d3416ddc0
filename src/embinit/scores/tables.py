"""Tables of runs: CSV, TSV or JSON lines, one run a row, as W&B and MLflow export them."""

from __future__ import annotations

import csv
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.registry import nearest
from embinit.scores.arms import MOST_VALUES, Arms, Score, arms_of, number

JSON_LINES = (".jsonl", ".ndjson")
DELIMITERS = "\t,;|"
MEND = "save it as a table in UTF-8"
LONGEST_FIELD = 1 << 22

Row = tuple[int, Mapping[str, str]]
"""A row with the number of the line that it ends on."""


def read(
    path: Path, by: str | None, metric: str | None, seed: str | None = None, paired: bool = True
) -> Arms:
    """The arms of a table: CSV, TSV, or JSON lines by its suffix.

    Commas separate the columns of ``by``. The column of the seed is by default the one called so.

    Raises:
        InputError: The file can't be read, it lacks a column, or a score is no number.
    """
    columns = _columns(path)
    if by is None or metric is None:
        lacking = [name for name, given in (("--by", by), ("--metric", metric)) if given is None]
        raise InputError(
            f"{path}: name a column by {' and one by '.join(lacking)}; there are "
            f"{', '.join(columns)}"
        )
    arms = [_column(path, each.strip(), columns) for each in by.split(",")]
    score = _column(path, metric, columns)
    of_seed = _column(path, seed, columns) if seed else _seed_column(columns)
    if score in arms or (seed and of_seed in (*arms, score)):
        raise InputError(f"{path}: a column tells arms apart, or is the score, or the seed")
    if not paired or of_seed in (*arms, score):
        of_seed = None

    def named() -> Iterator[tuple[str, Score]]:
        for line, row in _rows(path):
            place, text = f"{path}:{line}", row.get(score, "")
            arm = ", ".join(row.get(each, "").strip() or "(empty)" for each in arms)
            if not text.strip():
                raise InputError(
                    f"{place}: {arm!r} has no {score}: a run that crashed counts against its arm, "
                    "and is not left out; discard the arm, or take out its row and tell so"
                )
            replicate = (row.get(of_seed, "").strip() or None) if of_seed else None
            yield arm, Score(number(text, place, score), place, replicate)

    found = arms_of(named(), metric=score)
    if not found.scores:
        raise InputError(f"{path} has no row; give one a run")
    return found


def _rows(path: Path) -> Iterator[Row]:
    yield from _json_rows(path) if path.suffix in JSON_LINES else _csv_rows(path)


def _columns(path: Path) -> list[str]:
    """The names of the columns; InputError where there are none, or two have one name."""
    if path.suffix in JSON_LINES:
        columns = list(dict.fromkeys(name for _, row in _json_rows(path) for name in row))
    else:
        with reading(path, MEND), opened(path) as file:
            _, columns = next(_csv(path, file))
    for name in columns:
        if columns.count(name) > 1:
            raise InputError(
                f"{path}: {columns.count(name)} columns are called {name!r}; rename all but one"
            )
    if not any(columns):
        raise InputError(f"{path} is empty; a table has a line of names, and a line for each run")
    return columns


def _column(path: Path, name: str, columns: Sequence[str]) -> str:
    """The column of a name; its last part will do, as ``lr`` for MLflow's ``params.lr``."""
    if name in columns:
        return name
    ends = [each for each in columns if each.endswith((f".{name}", f"/{name}"))]
    if len(ends) > 1:
        raise InputError(f"{path}: {name!r} may be {' or '.join(ends)}; name one of them")
    if not ends:
        raise InputError(
            f"{path} has no column {name!r}: {nearest(name, columns)}it has {', '.join(columns)}"
        )
    return ends[0]


def _seed_column(columns: Sequence[str]) -> str | None:
    """The one column that is called ``seed``, whatever stands before it; None without one."""
    found = [each for each in columns if each.replace("/", ".").rpartition(".")[2] == "seed"]
    return found[0] if len(found) == 1 else None


def opened(path: Path) -> Any:
    """The file as text, in UTF-8 or, where it says so, in UTF-16; InputError if it is no file."""
    with regular(path, MEND).open("rb") as file:
        start = file.read(2)
    utf_16 = start in (b"\xff\xfe", b"\xfe\xff")
    return path.open(encoding="utf-16" if utf_16 else "utf-8-sig", newline="")


def _csv(path: Path, file: Any) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV or TSV file with the lines that they end on, its names first."""
    csv.field_size_limit(LONGEST_FIELD)
    first = file.readline()
    delimiter = "\t" if path.suffix == ".tsv" else max(DELIMITERS, key=first.count)
    yield 1, [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    rows = csv.reader(file, delimiter=delimiter)
    for row in rows:
        yield 1 + rows.line_num, row


def _csv_rows(path: Path) -> Iterator[Row]:
    line = 1
    with reading(path, MEND, lambda: f":{line}"), opened(path) as file:
        rows = _csv(path, file)
        _, names = next(rows)
        for line, row in rows:
            if not any(cell.strip() for cell in row):
                continue
            if line > MOST_VALUES:
                raise InputError(f"{path} has over {MOST_VALUES:,} lines; give one line a run")
            if len(row) != len(names):
                raise InputError(
                    f"{path}:{line} has {len(row)} cells, and the line of names {len(names)}; "
                    "a comma in a cell needs quotes around the cell"
                )
            yield line, dict(zip(names, row, strict=True))


def _json_rows(path: Path) -> Iterator[Row]:
    line = 0
    mend = "give one object a line, in UTF-8"
    with reading(path, mend, lambda: f":{max(line, 1)}"), opened(path) as file:
        for text in file:
            line += 1
            if not text.strip():
                continue
            row = json.loads(text, object_pairs_hook=functools.partial(_once, f"{path}:{line}"))
            if not isinstance(row, dict):
                raise InputError(f"{path}:{line} is no object; {mend}")
            yield line, dict(_flat(row))


def _once(place: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object's entries; InputError where a name stands twice."""
    names = [name for name, _ in pairs]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{place} has {twice[0]!r} twice; keep one")
    return dict(pairs)


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """The object's values as text; those of an object inside under ``outer.inner``."""
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif value is not None:
            yield f"{before}{name}", value if isinstance(value, str) else json.dumps(value)
