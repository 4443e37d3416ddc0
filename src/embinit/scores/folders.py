"""Folders of runs, with logs of Trainer, Lightning or TensorBoard; paths name arms and seeds."""

from __future__ import annotations

import contextlib
import json
import math
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.scores.arms import cells
from embinit.scores.names import arm_and_seed, unnumbered
from embinit.scores.rows import Table, listed, table_of, table_of_entries
from embinit.scores.tables import metric_of

TRAINER, LIGHTNING, TENSORBOARD = "trainer_state.json", "metrics.csv", "events.out.tfevents.*"

Entry = tuple[str, Mapping[str, Any]]
"""The place of what a run logged at once, and its numbers by name."""


def table_of_runs(root: Path, metric: str | None) -> Table:
    """The table of the steps of a folder's runs; one of their arms without a log has no score."""
    logs, empty = _logs(root)
    if not logs:
        kinds = f"{TRAINER} of Trainer, {LIGHTNING} of Lightning or {TENSORBOARD}"
        raise InputError(f"{root} has no {kinds}; name the folder above the runs")
    named = {run: arm_and_seed(run.relative_to(root).as_posix()) for run in [*logs, *empty]}
    arms = {unnumbered(named[run][0]) for run in logs}
    others = [run for run in empty if unnumbered(named[run][0]) not in arms]
    entries: list[Entry] = []
    for folder in sorted(named.keys() - others):
        arm, seed = named[folder]
        run = {"arm": arm or root.name or "runs", "seed": seed, "uid": str(folder)}
        steps = _steps(logs.get(folder, [])) or [(str(folder), {"step": 0})]
        entries += [(place, {**logged, **run}) for place, logged in steps]
    notes = [f"no run, since there is no log: {listed(map(str, others), 3)}"] if others else []
    table = table_of_entries(str(root), entries, notes)
    # Other metrics may be called like columns of tables: a seed, a state, a deviation.
    kept = ("arm", "seed", "uid", "step", metric_of(table, metric))
    return table._replace(columns={name: table.columns[name] for name in kept})


def _logs(root: Path) -> tuple[dict[Path, list[Path]], list[Path]]:
    """The logs of each run's folder, and the folders next to runs that have none."""
    inside = sorted(root.rglob("*"))
    folders = [place for place in inside if place.is_dir() and place.name[0] != "."]
    for link in filter(Path.is_symlink, folders):
        if not link.resolve().is_relative_to(root.resolve()):
            raise InputError(f"{link} is a link to a folder elsewhere; copy the runs, or remove it")
    found: dict[Path, list[Path]] = {}
    for kind in (TRAINER, LIGHTNING, TENSORBOARD):
        taken = {*found}
        of_kind = [log for log in inside if log.match(kind) and taken.isdisjoint(log.parents)]
        for log in sorted(of_kind, key=lambda log: _checkpoint(log.parent)):
            run = log.parent
            if run != root and kind == TRAINER and _checkpoint(run) < math.inf:
                run = run.parent
            # Trainer's last state has all that those before have.
            found[run] = [log] if kind == TRAINER else [*found.get(run, []), log]
    above = {parent for run in found for parent in (run, *run.parents)}
    near = {run.parent for run in found if run != root}
    next_to = [place for place in folders if place.parent in near and not place.is_symlink()]
    return found, [place for place in next_to if place not in above]


def _checkpoint(folder: Path) -> float:
    """The step of a folder such as ``checkpoint-500``; infinity for any other."""
    found = re.fullmatch(r"checkpoint-(\d+)", folder.name)
    return float(found[1]) if found else math.inf


def _steps(logs: Sequence[Path]) -> list[Entry]:
    """The steps of a run's logs in order, each with what was last logged there."""
    readers = {TRAINER: _of_trainer, LIGHTNING: _of_lightning}
    steps: dict[str, Entry] = {}
    for log in logs:
        for place, entry in readers.get(log.name, _of_tensorboard)(log):
            logged = {"step": 0} | {name: cell for name, cell in entry.items() if cell != ""}
            step = str(logged["step"])
            _, before = steps.get(step, (place, {}))
            steps[step] = place, {**before, **logged}
    numbers, _, _ = cells([*steps], [place for place, _ in steps.values()], "step")
    in_order = sorted(zip(numbers, steps.values(), strict=True), key=operator.itemgetter(0))
    return [entry for _, entry in in_order]


def _of_trainer(log: Path) -> Iterator[Entry]:
    with reading(log, "let Trainer write it again"):
        for entry in json.loads(regular(log).read_bytes())["log_history"]:
            yield str(log), {name: json.dumps(value) for name, value in entry.items()}


def _of_lightning(log: Path) -> Iterator[Entry]:
    """A row has the numbers of its own log call alone."""
    table = table_of(log)
    for place, *row in zip(table.places, *table.columns.values(), strict=True):
        yield place, dict(zip(table.columns, row, strict=True))


def _of_tensorboard(log: Path) -> Iterator[Entry]:
    """The scalars of an event file whose every record is whole and has its checksum."""
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.tensorflow_stub import errors, pywrap_tensorflow
        from tensorboard.util.tensor_util import make_ndarray
    except ModuleNotFoundError:
        mend = "pip install tensorboard to read it"
        raise InputError(f"{log} is an event file of TensorBoard: {mend}") from None
    with reading(log, "copy it again, or take out the run and say so"):
        reader = pywrap_tensorflow.PyRecordReader_New(str(regular(log)))
        with reader.file_handle, contextlib.suppress(errors.OutOfRangeError):  # the file's end
            while True:
                reader.GetNext()
                event = Event.FromString(reader.record())
                for value in event.summary.value:
                    number = value.simple_value if value.HasField("simple_value") else None
                    if value.HasField("tensor"):
                        array = make_ndarray(value.tensor)
                        number = array.item() if array.size == 1 else None
                    if type(number) in (int, float):
                        yield str(log), {"step": event.step, value.tag: number}
