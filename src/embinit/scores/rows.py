"""Tables of text: CSV, TSV, JSON, JSON lines, Markdown, one number a line, or words."""

from __future__ import annotations

import csv
import difflib
import io
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from embinit.errors import InputError, counted
from embinit.files.reading import reading, regular
from embinit.registry import nearest
from embinit.scores.asking import Ask
from embinit.scores.names import lower_is_better

MEND = "save it as a table in UTF-8"
VALUE = "value"
"""The column of numbers that have no name."""

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE)
_NO_COMMENT = re.compile(r"^\s*[^#\s].*", re.MULTILINE)
_SEED = re.compile(r"(?:seed)?[-_= ]?(\d+)", re.IGNORECASE)
_OF_RUNS = re.compile("seeds|runs|scores|values|results", re.IGNORECASE)
_RULE = re.compile(r"^[ \t]*\|?([ \t]*:?-+:?[ \t]*\|)+([ \t]*:?-+:?)?[ \t]*$", re.MULTILINE)


class Table(NamedTuple):
    """The cells of a table by column, the place of each row, and what was left out."""

    name: str
    columns: Mapping[str, Sequence[str]]
    places: Sequence[str]
    notes: Sequence[str] = ()

    def entries(self) -> list[tuple[str, dict[str, str]]]:
        """The place of each row and its cells by column."""
        rows = zip(*self.columns.values(), strict=True)
        cells = [dict(zip(self.columns, row, strict=True)) for row in rows]
        return [*zip(self.places, cells, strict=True)]

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
    *first, last = [*names] or ["none"]
    if len(first) >= most:
        first, last = first[:most], f"{len(first) + 1 - most} more"
    return f"{', '.join(first)} and {last}" if first else last


def table_of_entries(
    name: str, entries: Sequence[tuple[str, Mapping[str, Any]]], notes: Sequence[str] = ()
) -> Table:
    """The table of places and what stands there by column; cells of other columns are empty."""
    columns = dict.fromkeys(column for _, entry in entries for column in entry)
    cells = {column: [_text(entry.get(column)) for _, entry in entries] for column in columns}
    return Table(name, cells, [place for place, _ in entries], notes)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else "" if value is None else json.dumps(value)


def from_words(words: Sequence[str], metric: str | None) -> Table:
    """The table of ``base=3.2791,3.2776 new=3.2754,3.2756``; InputError for another form."""
    entries = []
    for word in words:
        arm, _, text = word.partition("=")
        if not arm or arm == word:
            mend = "give arms, as in new=3.27,3.28, or one file or folder that is here"
            what = "one of several files" if Path(word).exists() else "neither an arm nor a file"
            raise InputError(f"{word[:60]!r} is {what}; {mend}")
        for n, cell in enumerate(text.split(","), start=1):
            entries.append((f"{arm}, number {n}", {"arm": arm, metric or VALUE: cell}))
    return table_of_entries("the command line", entries)


def one_of(table: Table, option: str, name: str, given: str | None = None) -> str:
    """The column itself, or the only one alike, as ``eval_loss`` or ``x.eval/loss`` of eval/loss.

    Else a question about the ``option`` that named it, as all of it was ``given``.
    """

    def plain(text: str) -> str:
        return re.sub(r"[/._ -]", "_", text).lower()

    known = table.columns
    if name in known:
        return name
    alike = [other for other in known if plain(other) == plain(name)]
    alike = alike or [o for o in known if name in (re.split("[./]", o)[-1], o.split(",")[0])]
    if len(alike) != 1:
        text = f"{len(alike)} columns" if alike else "no column"
        near = "" if alike else nearest(name, known)
        there = listed(alike or known)
        place = re.compile(rf"(?<![^,! ]){re.escape(name)}(?![^,=])")
        close = difflib.get_close_matches(name, known)
        others = alike or close or [o for o in known if plain(name) in plain(o)]
        choices = [{option: place.sub(lambda _: o, given or name, 1)} for o in others]  # noqa: B023
        said = f"{table.name} has {text} {name!r}: {near}it has {there}"
        raise Ask(said, choices) if choices else InputError(said)
    return alike[0]


def table_of(path: Path) -> Table:
    """The table in a file, whatever its form; InputError where it can't be read."""
    with reading(path, MEND):
        data = regular(path, MEND).read_bytes()
        is_utf_16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        text = data.decode("utf-16" if is_utf_16 else "utf-8-sig")
        if "\0" in text:
            raise ValueError("it is no text")
    name = str(path)
    if "\\begin{" in text:
        raise InputError(f"{name} is LaTeX, which is not read; save it as CSV or Markdown")
    if text.lstrip()[:1] in ("[", "{"):
        return table_of_entries(name, _json(name, text))
    is_markdown = _RULE.search(text, 0, 100_000)
    names, rows, notes = (_markdown if is_markdown else _csv)(name, text)
    columns = [column.strip() for column in names]
    for column, times in Counter(filter(None, columns)).items():
        if times > 1:
            raise InputError(f"{name}: {times} columns are called {column!r}; rename all but one")
    lines, cells = zip(*rows, strict=True) if rows else ((), ())
    if not {len(columns)}.issuperset(map(len, cells)):
        line, row = next((line, row) for line, row in rows if len(row) != len(columns))
        counts = f"{len(row)} cells, and the line of names {len(columns)}"
        raise Ask(f"{name}:{line} has {counts}", ())
    texts = [[*map(str.strip, column)] for column in zip(*cells, strict=True)] or [[]] * len(names)
    places = [f"{name}:{line}" for line in lines]
    return Table(name, dict(zip(columns, texts, strict=True)), places, notes)


Rows = tuple[Sequence[str], Sequence[tuple[int, Sequence[str]]], Sequence[str]]
"""The names of the columns, the line and the cells of each row, and notes."""


def _csv(path: str, text: str) -> Rows:
    """Cells between tabs, commas, semicolons, bars or else spaces; lines with # are comments."""
    csv.field_size_limit(1 << 22)
    first = _NO_COMMENT.search(text)
    signs = {sign: (first[0] if first else text).count(sign) for sign in "\t,;|"}
    delimiter = max(signs, key=signs.__getitem__) if any(signs.values()) else " "
    found = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    with reading(path, MEND, lambda: f":{found.line_num}"):
        lines = [(found.line_num, row) for row in found if any(row)]
    # A run may be called #1, which is no comment.
    comments = {n: row for n, row in lines if row[0][:1] == "#" and not row[0][1:].isdigit()}
    rows = [line for line in lines if line[0] not in comments] if comments else lines
    if not rows:
        return [], [], []
    (head, names), last = rows[0], rows[-1][0]
    skipped = sum(n > head for n in comments)
    notes = [f"{counted(skipped, 'line')} with # skipped"] if skipped else []
    # A line of names may begin with # too.
    *_, above = [[], *(row for n, row in comments.items() if n < head)]
    numbers = [name for name in names if NUMBER.fullmatch(name.strip())]
    if len(above) == len(names) and numbers:
        names = [above[0].removeprefix("# "), *above[1:]]
    elif len(numbers) == len(names) or any("." in number for number in numbers):
        if len(names) > 1:
            raise Ask(f"{path} has no line of names", ())
        if any(head < n < last for n in comments):
            mend = "take the line out, or give a table with columns arm and value"
            raise InputError(f"{path} may have several arms, since # is among the numbers; {mend}")
        names = [VALUE]
    return names, [line for line in rows if line[1] != names], notes


def _markdown(path: str, text: str) -> Rows:
    """The one table of a text such as a pull request's."""
    lines = text.splitlines()
    rules = [at for at, line in enumerate(lines) if _RULE.fullmatch(line)]
    if len(rules) > 1 or not rules[0]:
        raise InputError(f"{path} has {len(rules)} tables, or one without names; give one alone")

    def cells(line: str) -> list[str]:
        inside = line.strip().removeprefix("|").removesuffix("|")
        parts = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", inside)]
        return [re.sub(r"\*\*|__|^\*|\*$|`", "", cell) for cell in parts]

    body = itertools.takewhile(lambda line: "|" in line, lines[rules[0] + 1 :])
    return cells(lines[rules[0] - 1]), [*enumerate(map(cells, body), rules[0] + 2)], ()


def _json(path: str, text: str) -> list[tuple[str, dict[str, Any]]]:
    """The places and entries of runs: objects, one a line or in a list, or by arm."""
    mend = "give a list of objects, one a run, or one object a line, in UTF-8"
    line = 0
    with reading(path, mend, lambda: f":{line}" if line else ""):
        try:
            found = _runs(json.loads(text, object_pairs_hook=_object))
            return [(f"{path}, entry {n}", run) for n, run in enumerate(found, start=1)]
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
        entries = []
        for line, document in enumerate(text.split("\n"), start=1):
            found = _runs(json.loads(document.strip() or "[]", object_pairs_hook=_object))
            entries += [(f"{path}:{line}", run) for run in found]
    return entries


def _object(entries: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object of entries; ValueError where two have one name."""
    if len(made := dict(entries)) < len(entries):
        [(name, times)] = Counter(name for name, _ in entries).most_common(1)
        raise ValueError(f"{times} entries of a run are called {name!r}; rename all but one")
    return made


def flat(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object's entries, those of objects inside by both names."""
    entries: list[tuple[str, Any]] = []
    for name, entry in value.items():
        inside = flat(entry) if isinstance(entry, dict) else {}
        entries += [(f"{name}.{n}", v) for n, v in inside.items()] or [(name, entry)]
    return _object(entries)


def _runs(value: Any, of_arm: bool = False) -> list[dict[str, Any]]:
    """The runs of a list, of lists or objects by arm, or of lists with what their runs share.

    Names with _ are notes. Inside ``of_arm`` lists have one score of each run, by its name.
    """
    if isinstance(value, list):
        return [run for entry in value for run in _runs(entry, of_arm)]
    if not isinstance(value, dict):
        return [{VALUE: value}]
    if isinstance(value.get("results"), dict) and {"n-shot", "versions"} & value.keys():
        return _of_harness(value)
    value = {name: entry for name, entry in value.items() if name[:1] != "_"}
    inner = {name: entry for name, entry in value.items() if isinstance(entry, dict | list)}
    if of_arm and len(inner) == 1 and _OF_RUNS.fullmatch(next(iter(inner))):
        return _runs(next(iter(inner.values())), of_arm)  # what is beside them sums them up
    objects = [entry for entry in inner.values() if isinstance(entry, dict)]
    if len(objects) == len(value) == 1 and not of_arm:
        return _runs(objects[0])
    if len(objects) == len(value):
        if value and all(map(_SEED.fullmatch, value)):
            pairs = [(name, run) for name, entry in value.items() for run in _runs(entry, True)]
            return [{"seed": name} | run for name, run in pairs]
        by_name = {name: _runs(entry, True) for name, entry in value.items()}
        if len({frozenset(runs[0]) if runs else None for runs in by_name.values()}) == 1:
            key = "metric" if all(lower_is_better(n) is not None for n in by_name) else "arm"
            return [
                {key: name} | {_lower(n, key, value[name]): v for n, v in run.items()}
                for name, runs in by_name.items()
                for run in runs
            ]
    if value and all(map(_SEED.fullmatch, value)) and not inner:
        return [{"seed": name, VALUE: score} for name, score in value.items()]
    value = flat(value)
    lists = {name: entry for name, entry in value.items() if isinstance(entry, list)}
    of_runs = {name: entry for name, entry in lists.items() if entry and isinstance(entry[0], dict)}
    shared = {name: entry for name, entry in value.items() if name not in lists}
    if shared and all(map(_is_worded, lists.values())):  # such as a run's layers
        return [shared | {name: ", ".join(entry) for name, entry in lists.items()}]
    shared = {name: entry for name, entry in shared.items() if name not in _sums(shared, lists)}
    if of_runs:
        arms = {name: {"arm": name} if len(of_runs) > 1 else {} for name in of_runs}
        return [shared | arms[name] | run for name in of_runs for run in _runs(of_runs[name])]
    words = any(isinstance(cell, str) for entry in lists.values() for cell in entry)
    if not (of_arm or shared or words or all(lower_is_better(name) is not None for name in lists)):
        return [{"arm": arm, VALUE: cell} for arm, cells in lists.items() for cell in cells]
    names = ["seed" if name == "seeds" else name for name in lists]
    rows = itertools.zip_longest(*lists.values()) if any(lists.values()) else [()]
    return [shared | dict(zip(names, row, strict=False)) for row in rows]


def _is_worded(entry: Sequence[Any]) -> bool:
    """Whether a list has words that are no numbers."""
    return all(isinstance(cell, str) and not re.match(r"\s*[-+]?\.?\d", cell) for cell in entry)


def _sums(shared: Mapping[str, Any], lists: Mapping[str, Sequence[Any]]) -> set[str]:
    """The entries next to lists of numbers that are their mean, and a deviation next to it."""
    sums = set()
    for name, entry in lists.items():
        level = name[: len(name) - len(name.rpartition(".")[2])]
        numbers = [value for value in entry if type(value) in (int, float)]
        mean: Any = shared.get(f"{level}mean")
        known = numbers and len(numbers) == len(entry) and type(mean) in (int, float)
        if known and math.isclose(mean, math.fsum(numbers) / len(numbers), rel_tol=0.01):
            sums |= {f"{level}{word}" for word in ("mean", "std", "sd", "stdev", "stddev")}
    return sums


def _lower(name: str, key: str, own: Mapping[str, Any]) -> str:
    """The name of a level that is inside another one: ``arm_2`` of ``arm``, unless it is theirs."""
    found = None if key in own else re.fullmatch(rf"{key}(?:_(\d))?", name)
    return f"{key}_{int(found[1] or 1) + 1}" if found else name


def _of_harness(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tasks of a file of lm-evaluation-harness, one a row."""
    model = value.get("model_name", "model")
    seed = value.get("config", {}).get("random_seed", "")
    return [
        {"model": model, "task": task, "seed": seed}
        | {name: v for name, v in row.items() if name != "alias" and "stderr" not in name}
        for task, row in value["results"].items()
    ]
