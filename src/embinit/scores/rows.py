"""Tables of text: CSV, TSV, JSON, JSON lines, Markdown, one number a line, or words."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.registry import nearest

MEND = "save it as a table in UTF-8"
VALUE = "value"
"""The column of numbers that have no name."""

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_NO_COMMENT = re.compile(r"^\s*[^#\s].*", re.MULTILINE)
_SEED = re.compile(r"(seed)?[-_= ]?\d+", re.IGNORECASE)
_RULE = re.compile(r"^[ \t]*\|?([ \t]*:?-+:?[ \t]*\|)+([ \t]*:?-+:?)?[ \t]*$", re.MULTILINE)

Rows = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]]]
"""The names of the columns, each row's place, and its cells."""


class Table(NamedTuple):
    """The cells of a table by column, the place of each row, and what was left out."""

    name: str
    columns: Mapping[str, Sequence[str]]
    places: Sequence[str]
    notes: Sequence[str] = ()

    def texts(self, names: Sequence[str]) -> Sequence[str]:
        """The cells of some columns, row by row, with commas between those of several."""
        if len(names) == 1:
            return self.columns[names[0]]
        columns = [self.columns[name] for name in names]
        return [*map(", ".join, zip(*columns, strict=True))] if names else [""] * len(self.places)


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names in a line, the first of many."""
    first, rest = [*names][:most], [*names][most:]
    return (", ".join(first) or "none") + (f" and {len(rest)} more" if rest else "")


def one_of(place: str, what: str, name: str, known: Iterable[str]) -> str:
    """The name itself, or the only one alike, as ``eval_loss`` or ``x.eval/loss`` of eval/loss."""
    if name in known:
        return name
    alike = [each for each in known if _alike(each) == _alike(name)]
    alike = alike or [each for each in known if each.endswith((f".{name}", f"/{name}"))]
    if len(alike) > 1:
        raise InputError(f"{place}: {name!r} may be {' or '.join(alike)}; name one of them")
    if not alike:
        near = nearest(name, known)
        raise InputError(f"{place} has no {what} {name!r}: {near}it has {listed(known)}")
    return alike[0]


def _alike(name: str) -> str:
    return re.sub(r"[/._ -]", "_", name).lower()


def from_words(words: Sequence[str], metric: str | None) -> Table:
    """The table of ``base=3.2791,3.2776 new=3.2754,3.2756``; InputError for another form."""
    rows = []
    for word in words:
        arm, equals, text = word.partition("=")
        if not (arm and equals):
            what = "neither an arm, as in new=3.27,3.28, nor a file or folder here"
            raise InputError(f"{word[:60]!r} is {what}")
        cells = enumerate(text.split(","), start=1)
        rows += [(f"{arm}, number {n}", arm, cell.strip()) for n, cell in cells]
    places, arms, values = zip(*rows, strict=True)
    return Table("the command line", {"arm": arms, metric or VALUE: values}, places)


def table_of(path: Path) -> Table:
    """The table in a file, whatever its form; InputError where it can't be read."""
    with reading(path, MEND):
        data = regular(path, MEND).read_bytes()
        utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = data.decode("utf-16" if utf_16 else "utf-8-sig")
        if "\0" in text:
            raise ValueError("it is no text")
    if not (start := text.lstrip()):
        raise InputError(f"{path} is empty; a table has a line of names, and a line for each run")
    form = _markdown if _RULE.search(text, 0, 100_000) else _csv
    names, places, rows = (_json if start[0] in "[{" else form)(str(path), text)
    names = [name.strip() for name in names]
    for name, times in Counter(filter(None, names)).items():
        if times > 1:
            raise InputError(f"{path}: {times} columns are called {name!r}; rename all but one")
    for at, cells in enumerate(map(len, rows)):
        if cells != len(names):
            counts = f"{cells} cells, and the line of names {len(names)}"
            raise InputError(f"{places[at]} has {counts}; put quotes around a cell with a comma")
    columns = [[*map(str.strip, column)] for column in zip(*rows, strict=True)]
    return Table(str(path), dict(zip(names, columns or [[] for _ in names], strict=True)), places)


def _csv(path: str, text: str) -> Rows:
    """Cells between tabs, commas, semicolons, bars or else spaces, after comments."""
    csv.field_size_limit(1 << 22)
    first = _NO_COMMENT.search(text)
    counts = {sign: (first[0] if first else text).count(sign) for sign in "\t,;|"}
    delimiter = max(counts, key=counts.__getitem__) if any(counts.values()) else " "
    lines = io.StringIO(text, newline="")
    found = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    with reading(path, MEND, lambda: f":{found.line_num}"):
        rows = [(found.line_num, row) for row in found if any(row)]
    names = rows[0][1]
    # A line of names may begin with # too.
    while names[0][:1] == "#" and len(rows) > 1:
        following = rows[1][1]
        if len(names) == len(following) and any(map(NUMBER.fullmatch, following)):
            break
        rows, names = rows[1:], following
    if all(NUMBER.fullmatch(name.strip()) for name in names):
        if len(names) > 1:
            raise InputError(f"{path} has no line of names; give one, or one number a line")
        names = [VALUE]
    rows = [each for each in rows if each[1] != names]
    places = [f"{path}:{line}" for line, _ in rows]
    return [names[0].removeprefix("# "), *names[1:]], places, [row for _, row in rows]


def _markdown(path: str, text: str) -> Rows:
    """The one table of a text such as a pull request's."""
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if _RULE.fullmatch(line)]
    if len(rules) > 1 or not rules[0]:
        raise InputError(f"{path} has {len(rules)} tables, or one without names; give one alone")

    def cells(line: str) -> list[str]:
        inside = line.strip().removeprefix("|").removesuffix("|")
        return [cell.replace("\\|", "|").strip(" \t*`") for cell in re.split(r"(?<!\\)\|", inside)]

    body = [*itertools.takewhile(lambda line: "|" in line, lines[rules[0] + 1 :])]
    places = [f"{path}:{rules[0] + n}" for n in range(2, len(body) + 2)]
    return cells(lines[rules[0] - 1]), places, [*map(cells, body)]


def _json(path: str, text: str) -> Rows:
    """Objects, one a line or in a list, or by arm; inner names are ``outer.inner``."""
    mend = "give a list of objects, one a run, or one object a line, in UTF-8"
    decoder, following = json.JSONDecoder(), re.compile(r"\S")
    documents, at, line = [], 0, 1
    with reading(path, mend, lambda: f":{line}"):
        while start := following.search(text, at):
            line += text.count("\n", at, start.start())
            document, at = decoder.raw_decode(text, start.start())
            documents.append((f"{path}:{line}", _runs(document)))
            line += text.count("\n", start.start(), at)
    rows = [row for _, runs in documents for row in runs]
    places = [place for place, runs in documents for _ in runs]
    if len(documents) == 1:
        places = [f"{path}, entry {n}" for n in range(1, len(rows) + 1)]
    names = list(dict.fromkeys(name for row in rows for name in row))

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    return names, places, [[shown(row.get(name)) for name in names] for row in rows]


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object's entries, those of objects inside by both names."""
    made: dict[str, Any] = {}
    for name, each in value.items():
        inside = _flat(each) if isinstance(each, dict) else {}
        made |= {f"{name}.{n}": v for n, v in inside.items()} or {name: each}
    return made


def _runs(value: Any) -> list[dict[str, Any]]:
    """The runs of a list, of lists or objects by arm, or of lists with what their runs share."""
    if isinstance(value, list):
        return [run for each in value for run in _runs(each)]
    if not isinstance(value, dict):
        return [{VALUE: value}]
    objects = [each for each in value.values() if isinstance(each, dict)]
    if len(objects) == len(value) == 1:
        return _runs(objects[0])
    if len(objects) == len(value) > 1:
        if all(_SEED.fullmatch(name) for each in objects for name in each):
            seeds = [(arm, *pair) for arm, each in value.items() for pair in each.items()]
            return [{"arm": arm, "seed": seed, VALUE: score} for arm, seed, score in seeds]
        if len({frozenset(each) for each in objects}) == 1:
            return [{"name": arm} | run for arm, each in value.items() for run in _runs(each)]
    value = _flat(value)
    lists = {name: each for name, each in value.items() if isinstance(each, list)}
    of_runs = {name: each for name, each in lists.items() if each and isinstance(each[0], dict)}
    plain = {name: each for name, each in value.items() if name not in lists}
    if of_runs:
        arms = {name: {"arm": name} if len(of_runs) > 1 else {} for name in of_runs}
        return [plain | arms[name] | run for name, each in of_runs.items() for run in _runs(each)]
    words = any(isinstance(cell, str) for each in lists.values() for cell in each)
    if not (plain or words):
        return [{"arm": arm, VALUE: each} for arm, values in lists.items() for each in values]
    cells = itertools.zip_longest(*lists.values()) if any(lists.values()) else [()]
    return [plain | dict(zip(lists, each, strict=False)) for each in cells]
