"""``embinit runs``: list the runs of a store, without importing the user's code."""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, counted, printable

if TYPE_CHECKING:
    from embinit.runs.results import RunResult
    from embinit.runs.store import Store

SHOWN = 12
"""How many digits of a key are shown."""


def add(commands: Any) -> None:
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
    holding: dict[str, Counter[str]] = defaultdict(Counter)
    records = sorted(_records(store), key=_order)
    for key, result in records:
        why = None if isinstance(result, str) else _changed(result)
        print(_line(key, result, why or ""))
        if why is not None and not isinstance(result, str):
            holding[result.spec.recipe.task][why] += 1
    for task, reasons in holding.items():
        held = reasons.pop("", 0)
        others = "".join(f"; {count} don't: {why}" for why, count in reasons.most_common())
        holds = "1 run holds" if held == 1 else f"{held} runs hold"
        print(printable(f"{task}: {holds}{others}"))
    print(printable(f"{len(records)} runs in {store.root}"))
    damaged = any(isinstance(result, str) for _, result in records)
    return Status.NOT_OK if damaged else Status.OK


def _show(store: Store, begins: str) -> int:
    """Prints the records of the runs whose keys begin so."""
    records = _records(store, begins)
    if not records:
        raise InputError(f"{store.root} has no run whose key begins with {begins!r}")
    for key, result in records:
        if isinstance(result, str):
            print(_line(key, result))
        else:
            print(json.dumps(result.as_record(), indent=1))
    return Status.OK


def _records(store: Store, begins: str = "") -> list[tuple[str, RunResult | str]]:
    """The stored runs whose keys begin so: for each its result, or what is wrong with it."""
    from embinit.runs.store import RecordError

    records: list[tuple[str, RunResult | str]] = []
    for key in filter(lambda key: key.startswith(begins), store):
        try:
            records.append((key, store.read(key)))
        except (FileNotFoundError, RecordError) as error:
            records.append((key, str(error)))
    return records


def _order(record: tuple[str, RunResult | str]) -> tuple[str, str, int, str]:
    """A run's place in the list: by task, by arm and by seed."""
    key, result = record
    if isinstance(result, str):
        return "", "", 0, key
    return result.spec.recipe.task, result.spec.recipe.arm, result.spec.seed, key


def _line(key: str, result: RunResult | str, more: str = "") -> str:
    """A run in one line, which moves no terminal."""
    if isinstance(result, str):
        words = [result]
    else:
        finished = str(result.provenance.get("finished", ""))
        recipe, measures = result.spec.recipe, [*result.measures.items()][:4]
        outcome = [f"{name} {value:.4g}" for name, value in measures] + [result.failure or ""]
        words = [finished[:10], recipe.task, recipe.arm, f"seed {result.spec.seed}"]
        words.append(", ".join(filter(None, outcome)))
    return printable("  ".join(filter(None, (key[:SHOWN], *words, more)))).replace("\n", "\\n")


def _changed(result: RunResult) -> str | None:
    """Why a run is not used any more; "" for one that is, None where that can't be said."""
    from embinit.runs.functions import changed
    from embinit.runs.instructions import instructions
    from embinit.runs.kinds import kind_of

    now = instructions(kind_of(result.spec).pinned)
    before = result.provenance.get("machine", {}).get("instructions")
    if now and before != now:
        return f"it was made with the instruction set {before or 'of its machine'}, not {now}"
    return changed(result)
