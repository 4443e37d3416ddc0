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

from embinit.errors import InputError, counted
from embinit.files.reading import reading, regular
from embinit.registry import nearest

MEND = "save it as a table in UTF-8"
VALUE = "value"
"""The column of numbers that have no name."""

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_NO_COMMENT = re.compile(r"^\s*[^#\s].*", re.MULTILINE)
_SEED = re.compile(r"(seed)?[-_= ]?\d+", re.IGNORECASE)
_RULE = re.compile(r"^[ \t]*\|?([ \t]*:?-+:?[ \t]*\|)+([ \t]*:?-+:?)?[ \t]*$", re.MULTILINE)


class Table(NamedTuple):
    """The cells of a table by column, the place of each row, and what was left out."""

    name: str
    columns: Mapping[str, Sequence[str]]
    places: Sequence[str]
    notes: Sequence[str] = ()

    def texts(self, names: Sequence[str]) -> Sequence[str]:
        """The cells of some columns, row by row, with commas between those of several.

        A cell with a comma of its own has quotes then: x, y and z are not x and y, z.
        """
        if len(names) == 1:
            return self.columns[names[0]]
        columns = []
        for cells in map(self.columns.__getitem__, names):
            quoted = {cell: f'"{cell}"' for cell in {*cells} if "," in cell}
            columns.append([quoted.get(cell, cell) for cell in cells] if quoted else cells)
        return [*map(", ".join, zip(*columns, strict=True))] if names else [""] * len(self.places)


def listed(names: Iterable[str], most: int = 20) -> str:
    """Names in a line, the first of many."""
    first, rest = [*names][:most], [*names][most:]
    return (", ".join(first) or "none") + (f" and {len(rest)} more" if rest else "")


def refuse(messages: Iterable[str]) -> None:
    """InputError with the first of the messages on what can't be judged; none if there is none."""
    for message in messages:
        raise InputError(message)


def from_words(words: Sequence[str], metric: str | None) -> Table:
    """The table of ``base=3.2791,3.2776 new=3.2754,3.2756``; InputError for another form."""
    rows = []
    for word in words:
        arm, _, text = word.partition("=")
        if not arm or arm == word:
            what = "neither an arm, as in new=3.27,3.28, nor a file or folder here"
            raise InputError(f"{word[:60]!r} is {what}")
        cells = enumerate(text.split(","), start=1)
        rows += [(f"{arm}, number {n}", arm, cell.strip()) for n, cell in cells]
    places, arms, values = zip(*rows, strict=True)
    return Table("the command line", {"arm": arms, metric or VALUE: values}, places)


def one_of(place: str, what: str, name: str, known: Iterable[str]) -> str:
    """The name itself, or the only one alike, as ``eval_loss`` or ``x.eval/loss`` of eval/loss."""

    def plain(text: str) -> str:
        return re.sub(r"[/._ -]", "_", text).lower()

    if name in known:
        return name
    alike = [other for other in known if plain(other) == plain(name)]
    alike = alike or [other for other in known if other.endswith((f".{name}", f"/{name}"))]
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
        is_utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = data.decode("utf-16" if is_utf_16 else "utf-8-sig")
        if "\0" in text:
            raise ValueError("it is no text")
    start = text.lstrip()[:1] or "nothing"
    form = _json if start in "[{" else _markdown if _RULE.search(text, 0, 100_000) else _csv
    names, places, rows, notes = form(str(path), text)
    names = [name.strip() for name in names]
    refuse(
        f"{path}: {times} columns are called {name!r}; rename all but one"
        for name, times in Counter(filter(None, names)).items()
        if times > 1
    )
    if not {len(names)}.issuperset(map(len, rows)):
        at, row = next((at, row) for at, row in enumerate(rows) if len(row) != len(names))
        counts = f"{len(row)} cells, and the line of names {len(names)}"
        raise InputError(f"{places[at]} has {counts}; put quotes around a cell with a comma")
    columns = [[*map(str.strip, column)] for column in zip(*rows, strict=True)] or [[]] * len(names)
    return Table(str(path), dict(zip(names, columns, strict=True)), places, notes)


Rows = tuple[Sequence[str], Sequence[str], Sequence[Sequence[str]], Sequence[str]]
"""The names of the columns, each row's place, its cells, and notes."""


def _csv(path: str, text: str) -> Rows:
    """Cells between tabs, commas, semicolons, bars or else spaces; lines with # are comments."""
    csv.field_size_limit(1 << 22)
    first = _NO_COMMENT.search(text)
    signs = {sign: (first[0] if first else text).count(sign) for sign in "\t,;|"}
    delimiter = max(signs, key=signs.__getitem__) if any(signs.values()) else " "
    found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    with reading(path, MEND, lambda: f":{found.line_num}"):
        rows = [*found]
    ends: Iterable[int] = range(1, len(rows) + 1)
    if found.line_num > len(rows):  # a cell has several lines
        ends = itertools.accumulate(1 + sum(c.count("\n") for c in row) for row in rows)
    comments = {
        at: row
        for at, row in enumerate(rows)
        if row and row[0][:1] == "#" and not row[0][1:].isdigit()  # but a run may be called #1
    }
    for at in comments:
        rows[at] = []
    filled = [*map(any, rows)]
    if True not in filled:
        raise InputError(f"{path} is empty; a table has a line of names, and a line for each run")
    head = filled.index(True)
    names = rows[head]
    after = [at for at in comments if at > head]
    notes = [f"{counted(len(after), 'line')} with # skipped"] if after else []
    # A line of names may begin with # too.
    commented: Sequence[str] = next(
        (row for at, row in reversed(comments.items()) if at < head), []
    )
    if len(commented) == len(names) and any(map(NUMBER.fullmatch, names)):
        names = [commented[0].removeprefix("# "), *commented[1:]]
    elif all(NUMBER.fullmatch(name.strip()) for name in names):
        if len(names) > 1:
            raise InputError(f"{path} has no line of names; give one, or one number a line")
        if after and any(filled[after[0] :]):
            mend = "take the line out, or give a table with columns arm and value"
            raise InputError(f"{path} may have several arms, since # is among the numbers; {mend}")
        names = [VALUE]
    kept = [full and row != names for full, row in zip(filled, rows, strict=True)]
    places = [f"{path}:{line}" for line in itertools.compress(ends, kept)]
    return names, places, [*itertools.compress(rows, kept)], notes


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
    return cells(lines[rules[0] - 1]), places, [*map(cells, body)], ()


def _json(path: str, text: str) -> Rows:
    """Objects, one a line or in a list, or by arm; inner names are ``outer.inner``."""
    mend = "give a list of objects, one a run, or one object a line, in UTF-8"
    runs: list[tuple[str, dict[str, Any]]] = []
    line = 0
    with reading(path, mend, lambda: f":{line}" if line else ""):
        try:
            found = _runs(json.loads(text, object_pairs_hook=_object))
            runs = [(f"{path}, entry {n}", run) for n, run in enumerate(found, start=1)]
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            for line, document in enumerate(text.split("\n"), start=1):
                document = document.strip() or "[]"
                found = _runs(json.loads(document, object_pairs_hook=_object))
                runs += [(f"{path}:{line}", run) for run in found]
    names = list(dict.fromkeys(name for _, run in runs for name in run))

    def shown(value: Any) -> str:
        return value if isinstance(value, str) else "" if value is None else json.dumps(value)

    cells = [[shown(run.get(name)) for name in names] for _, run in runs]
    return names, [place for place, _ in runs], cells, ()


def _object(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of entries; ValueError where two have one name."""
    if len(made := dict(entries)) < len(entries):
        [(name, times)] = Counter(name for name, _ in entries).most_common(1)
        raise ValueError(f"{times} entries of a run are called {name!r}; rename all but one")
    return made


def _flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object's entries, those of objects inside by both names."""
    entries: list[tuple[str, Any]] = []
    for name, entry in value.items():
        inside = _flat(entry) if isinstance(entry, dict) else {}
        entries += [(f"{name}.{n}", v) for n, v in inside.items()] or [(name, entry)]
    return _object(entries)


def _runs(value: Any) -> list[dict[str, Any]]:
    """The runs of a list, of lists or objects by arm, or of lists with what their runs share."""
    if isinstance(value, list):
        return [run for entry in value for run in _runs(entry)]
    if not isinstance(value, dict):
        return [{VALUE: value}]
    objects = [entry for entry in value.values() if isinstance(entry, dict)]
    if len(objects) == len(value) == 1:
        return _runs(objects[0])
    if len(objects) == len(value) > 1:
        if all(_SEED.fullmatch(name) for entry in objects for name in entry):
            seeds = [(arm, *pair) for arm, entry in value.items() for pair in entry.items()]
            return [{"arm": arm, "seed": seed, VALUE: score} for arm, seed, score in seeds]
        if len({frozenset(entry) for entry in objects}) == 1:
            return [{"name": arm} | run for arm, entry in value.items() for run in _runs(entry)]
    value = _flat(value)
    lists = {name: entry for name, entry in value.items() if isinstance(entry, list)}
    of_runs = {name: entry for name, entry in lists.items() if entry and isinstance(entry[0], dict)}
    shared = {name: entry for name, entry in value.items() if name not in lists}
    if of_runs:
        arms = {name: {"arm": name} if len(of_runs) > 1 else {} for name in of_runs}
        return [shared | arms[name] | run for name in of_runs for run in _runs(of_runs[name])]
    words = any(isinstance(cell, str) for entry in lists.values() for cell in entry)
    if not (shared or words):
        return [{"arm": arm, VALUE: cell} for arm, cells in lists.items() for cell in cells]
    rows = itertools.zip_longest(*lists.values()) if any(lists.values()) else [()]
    return [shared | dict(zip(lists, row, strict=False)) for row in rows]
