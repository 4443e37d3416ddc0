"""``embinit runs``: list the runs of a store, without importing the user's code."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, counted, printable

if TYPE_CHECKING:
    from embinit.runs.results import RunResult
    from embinit.runs.store import Store

SHOWN = 12
"""How many digits of a key are shown."""


def add_runs(commands: Any) -> None:
    """Adds the command to the parser's."""
    runs = commands.add_parser("runs", help="list the runs of a store, or show one")
    runs.add_argument("key", nargs="?", help="show the runs whose key begins with KEY")
    runs.add_argument("--store", type=Path, default=Path(".embinit/store"))
    runs.add_argument(
        "--to",
        type=Path,
        metavar="FILE",
        help="keep the runs in one file without any text, such as runs.jsonl.xz, which "
        "--embinit-store reads",
    )
    runs.add_argument("--of", type=Path, metavar="VERDICTS", help="keep those of a verdicts.json")
    runs.set_defaults(run=_runs)


def _runs(parsed: argparse.Namespace) -> int:
    from embinit.runs.kept_runs import open_store

    store = open_store(parsed.store, write=False)
    if parsed.to is not None:
        return _keep(store, parsed)
    return _show(store, parsed.key) if parsed.key else _list(store)


def _keep(store: Store, parsed: argparse.Namespace) -> int:
    """Keeps a store's runs, or those of a report, in one file."""
    from embinit.report.reading import read
    from embinit.runs.kept_runs import keep_runs

    names = [*store]
    if parsed.of is not None:
        pairs = [pair for claim in read(parsed.of).claims for pair in claim.comparisons]
        names = sorted({name for pair in pairs for name in pair.runs})
    results = [result for name in names if (result := store.get(name)) is not None]
    if not results:
        raise InputError(f"{parsed.store} has none of the runs to keep; name the session's store")
    print(f"{parsed.to} has {counted(keep_runs(results, parsed.to), 'run')}")
    return Status.OK


def _list(store: Store) -> int:
    entries = sorted(_entries(store), key=lambda entry: entry.order)
    holding: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        why = _changed(entry)
        print(entry.line(why or ""))
        if why is not None and entry.result is not None:
            holding[entry.result.spec.recipe.task][why] += 1
    for task, reasons in holding.items():
        held = reasons.pop("", 0)
        others = "".join(f"; {count} don't: {why}" for why, count in reasons.most_common())
        print(
            printable(
                f"{task}: {counted(held, 'run')} hold{others}".replace("1 run hold", "1 run holds")
            )
        )
    print(printable(f"{len(entries)} runs in {store.root}"))
    damaged = any(entry.result is None for entry in entries)
    return Status.NOT_OK if damaged else Status.OK


def _changed(entry: _Entry) -> str | None:
    """Why a run is not used any more; "" for one that is, None where that can't be said."""
    from embinit.runs.functions import changed
    from embinit.runs.instructions import instructions
    from embinit.runs.kinds import kind_of

    if (result := entry.result) is None:
        return None
    pinned = kind_of(result.spec).pinned
    now, before = instructions(pinned), result.provenance.get("machine", {}).get("instructions")
    if now and before != now:
        return f"it was made with the instruction set {before or 'of its machine'}, not {now}"
    return changed(result)


@dataclass(frozen=True)
class _Entry:
    """A line of the list: a run that is stored, whole or not."""

    key: str
    outcome: str
    result: RunResult | None = None

    def line(self, more: str = "") -> str:
        """The entry in one line, which moves no terminal."""
        words: tuple[str, ...] = ()
        if self.result is not None:
            task, arm, seed = self.order[:3]
            finished = str(self.result.provenance.get("finished", ""))
            words = finished[:10], task, arm, f"seed {seed}"
        every = (self.key[:SHOWN], *words, self.outcome, more)
        return printable("  ".join(filter(None, every))).replace("\n", "\\n")

    @property
    def order(self) -> tuple[str, str, int, str]:
        """Its place: by task, by arm and by seed."""
        if self.result is None:
            return "", "", 0, self.key
        spec = self.result.spec
        return spec.recipe.task, spec.recipe.arm, spec.seed, self.key


def _entries(store: Store, begins: str = "") -> list[_Entry]:
    """The stored runs whose keys begin so."""
    from embinit.runs.store import RecordError

    entries = []
    for key in filter(lambda key: key.startswith(begins), store):
        try:
            result = store.read(key)
        except (FileNotFoundError, RecordError) as error:
            entries.append(_Entry(key, str(error)))
        else:
            entries.append(_Entry(key, _outcome(result), result))
    return entries


def _outcome(result: RunResult) -> str:
    measures = ", ".join(f"{name} {value:.4g}" for name, value in [*result.measures.items()][:4])
    return ", ".join(filter(None, (measures, result.failure)))


def _show(store: Store, begins: str) -> int:
    """Prints the records of the runs whose keys begin so."""
    entries = _entries(store, begins)
    if not entries:
        raise InputError(f"{store.root} has no run whose key begins with {begins!r}")
    for entry in entries:
        if entry.result is not None:
            print(json.dumps(entry.result.as_record(), indent=1))
        else:
            print(entry.line())
    return Status.OK
