"""Rows of any table: CSV, TSV, JSON, JSON lines, Markdown, or one number a line."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.registry import nearest

MEND = "save it as a table in UTF-8"
VALUE = "value"
"""The column of numbers that have no name."""

_RULE = re.compile(r"^[ \t]*\|?([ \t]*:?-+:?[ \t]*\|)+([ \t]*:?-+:?)?[ \t]*$", re.MULTILINE)
NUMBER = re.compile(r"\s*[-+]?[0-9.]+(e[-+]?[0-9]+)?\s*", re.IGNORECASE)

Rows = Iterable[tuple[str, Sequence[str]]]
"""The place of each row, and its cells."""


class Table(NamedTuple):
    """The cells of a table by column, and the place of each row that isn't empty."""

    path: Path
    columns: Mapping[str, Sequence[str]]
    places: Sequence[str]

    def keys(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """The cells of some columns, row by row."""
        columns = [self.columns[name] for name in names]
        return [*zip(*columns, strict=True)] if names else [()] * len(self.places)


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names in a line, the first of many."""
    first, rest = [*names][:most], [*names][most:]
    return (", ".join(first) or "none") + (f" and {len(rest)} more" if rest else "")


def one_of(place: Path, what: str, name: str, known: Iterable[str], alike: Sequence[str]) -> str:
    """The column or metric of a name, or the only one alike; InputError else."""
    if name in known:
        return name
    if len(alike) > 1:
        raise InputError(f"{place}: {name!r} may be {' or '.join(alike)}; name one of them")
    if not alike:
        near = nearest(name, known)
        raise InputError(f"{place} has no {what} {name!r}: {near}it has {listed(known)}")
    return alike[0]


def table_of(path: Path) -> Table:
    """The table in a file, whatever its form; InputError where it can't be read."""
    with reading(path, MEND):
        data = regular(path, MEND).read_bytes()
        utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = data.decode("utf-16" if utf_16 else "utf-8-sig")
    if not (start := text.lstrip()):
        raise InputError(f"{path} is empty; a table has a line of names, and a line for each run")
    form = _markdown if _RULE.search(text, 0, 100_000) else _csv
    names, rows = (_json if start[0] in "[{" else form)(path, text)
    names = [name.strip().strip("*`") for name in names]
    name, times = Counter(filter(None, names)).most_common(1)[0] if any(names) else ("", 0)
    if times > 1:
        raise InputError(f"{path}: {times} columns are called {name!r}; rename all but one")
    places, kept = [], []
    for place, cells in rows:
        if not "".join(cells).strip():
            continue
        if len(cells) != len(names):
            counts = f"{len(cells)} cells, and the line of names {len(names)}"
            raise InputError(f"{place} has {counts}; put quotes around a cell with a comma")
        places.append(place)
        kept.append(cells)
    columns = zip(*kept, strict=True) if kept else [()] * len(names)
    stripped = ([*map(str.strip, column)] for column in columns)
    return Table(path, dict(zip(names, stripped, strict=True)), places)


def _csv(path: Path, text: str) -> tuple[Sequence[str], Rows]:
    csv.field_size_limit(1 << 22)
    head, first = next(e for e in enumerate(io.StringIO(text), 1) if e[1].strip())
    delimiter = "\t" if path.suffix == ".tsv" else max("\t,;|", key=first.count)
    if numbers := bool(NUMBER.fullmatch(first)):
        head = 0
    names = next(csv.reader([first], delimiter=delimiter))
    if not numbers and all(map(NUMBER.fullmatch, names)):
        raise InputError(f"{path} has no line of names; give one, or one number a line")

    def rows() -> Iterator[tuple[str, list[str]]]:
        found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        with reading(path, MEND, lambda: f":{found.line_num}"):
            for row in found:
                if found.line_num > head:
                    yield f"{path}:{found.line_num}", row

    return [VALUE] if numbers else names, rows()


def _markdown(path: Path, text: str) -> tuple[Sequence[str], Rows]:
    """The one table of a text such as a pull request's."""
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if _RULE.fullmatch(line)]
    if len(rules) > 1 or not rules[0]:
        raise InputError(f"{path} has {len(rules)} tables, or one without names; give one alone")
    end = next((n for n in range(rules[0], len(lines)) if "|" not in lines[n]), len(lines))
    ends = [line.strip().removeprefix("|").removesuffix("|") for line in lines]
    cells = [[c.replace("\\|", "|").strip() for c in re.split(r"(?<!\\)\|", e)] for e in ends]
    rows = [(f"{path}:{n + 1}", cells[n]) for n in range(rules[0] + 1, end)]
    return cells[rules[0] - 1], rows


def _json(path: Path, text: str) -> tuple[Sequence[str], Rows]:
    """Objects, one a line or in a list, or lists of an object; inner names are ``outer.inner``."""
    first, _, rest = text.lstrip().partition("\n")
    try:
        lines = isinstance(json.loads(first), dict) and bool(rest.strip())
    except ValueError:
        lines = False
    line, found = 0, []
    mend = f"give {'one object a line' if lines else 'a list of objects, one a run'}, in UTF-8"
    with reading(path, mend, lambda: f":{line}" if line else ""):
        if lines:
            for line, each in enumerate(text.splitlines(), start=1):
                if each.strip():
                    found.append((f"{path}:{line}", json.loads(each, object_pairs_hook=_flat)))
        else:
            entries = _entries(json.loads(text, object_pairs_hook=_flat))
            found = [(f"{path}, entry {n}", each) for n, each in enumerate(entries, start=1)]
    taken: list[tuple[str, dict[str, Any]]] = []
    for place, entry in found:
        if not isinstance(entry, dict):
            raise InputError(f"{place} is no object; {mend}")
        lists = {n: v for n, v in entry.items() if isinstance(v, list)}
        most = max(map(len, lists.values()), default=0)
        plain = {n: v for n, v in entry.items() if n not in lists}
        rows = [{n: v[i] for n, v in lists.items() if len(v) == most} for i in range(most)]
        taken += [(place, plain | row) for row in rows or [{}]]
    names = list(dict.fromkeys(name for _, row in taken for name in row))

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    return names, ((place, [shown(row.get(n)) for n in names]) for place, row in taken)


def _flat(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object's entries, those of an object inside by both names; ValueError for one twice."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        inside = {f"{name}.{n}": v for n, v in value.items()} if isinstance(value, dict) else {}
        for key, each in (inside or {name: value}).items():
            if key in made:
                raise ValueError(f"{key!r} is there twice; keep one")
            made[key] = each
    return made


def _entries(value: Any) -> list[Any]:
    """The runs of a JSON document: a list of them, lists of numbers or runs by arm, or columns."""
    if isinstance(value, list):
        return [each if isinstance(each, dict) else {VALUE: each} for each in value]
    lists = [each for each in value.values() if isinstance(each, list)]
    cells = [cell for each in lists for cell in each]
    if len(lists) == 1 and all(isinstance(cell, dict) for cell in cells):
        return cells
    if cells and len(lists) == len(value) and all(isinstance(cell, dict) for cell in cells):
        return [{"arm": arm} | cell for arm, each in value.items() for cell in each]
    if len(lists) == len(value) and all(isinstance(c, int | float | None) for c in cells):
        return [{"arm": arm, VALUE: each} for arm, each in value.items()]
    return [value]
