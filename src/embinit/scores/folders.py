"""Folders of runs, with logs of Trainer, Lightning or TensorBoard; paths name arms and seeds."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.scores.arms import cells
from embinit.scores.names import arm_and_seed, unnumbered
from embinit.scores.rows import Table, listed, one_of, table_of

TRAINER, LIGHTNING, TENSORBOARD = "trainer_state.json", "metrics.csv", "events.out.tfevents.*"

Point = tuple[str, float, str, str]
"""A metric's name, a step, the text of its value, and its place."""


def table_of_runs(root: Path, metric: str | None) -> Table:
    """The table of the steps of a folder's runs; one without a log crashed, if it has an arm."""
    logs, empty = _logs(root)
    if not logs:
        kinds = f"{TRAINER} of Trainer, {LIGHTNING} of Lightning or {TENSORBOARD}"
        raise InputError(f"{root} has no {kinds}; name the folder above the runs")
    named = {run: arm_and_seed(run.relative_to(root).as_posix()) for run in [*logs, *empty]}
    arms = {unnumbered(named[run][0]) for run in logs}
    rows = []
    for folder, (arm, seed) in sorted(named.items()):
        run = (arm or root.name or "runs", seed, str(folder))
        points = sorted(_points(logs[folder], metric).items()) if folder in logs else []
        rows += [(place, *run, repr(step), "", text) for step, (text, place) in points]
        if not points and (folder in logs or unnumbered(arm) in arms):
            rows.append((str(folder), *run, "0", "no log", ""))
    others = [str(run) for run in empty if unnumbered(named[run][0]) not in arms]
    notes = [f"no run, since there is no log: {listed(others, 3)}"] if others else []
    places, *columns = zip(*rows, strict=True)
    names = ("arm", "seed", "uid", "step", "error", metric or "")
    return Table(str(root), dict(zip(names, columns, strict=True)), places, notes)


def _logs(root: Path) -> tuple[dict[Path, list[Path]], list[Path]]:
    """The logs of each run's folder, and the folders next to runs that have none."""
    inside = sorted(root.rglob("*"))
    files = [place for place in inside if place.is_file() or place.is_fifo()]
    folders = [place for place in inside if place.is_dir() and place.name[0] != "."]
    for link in filter(Path.is_symlink, folders):
        if not link.resolve().is_relative_to(root.resolve()):
            raise InputError(f"{link} is a link to a folder elsewhere; copy the runs, or remove it")
    files.sort(key=lambda file: _checkpoint(file.parent))
    found: dict[Path, list[Path]] = {}
    for kind in (TRAINER, LIGHTNING, TENSORBOARD):
        taken = {*found}
        for log in files:
            run = log.parent
            if run != root and kind == TRAINER and _checkpoint(run) < math.inf:
                run = run.parent
            if log.match(kind) and taken.isdisjoint(log.parents):
                found.setdefault(run, []).append(log)
    above = {parent for run in found for parent in (run, *run.parents)}
    near = {run.parent for run in found if run != root}
    next_to = [place for place in folders if place.parent in near and not place.is_symlink()]
    return found, [place for place in next_to if place not in above]


def _checkpoint(folder: Path) -> float:
    """The step of a folder such as ``checkpoint-500``; infinity for any other."""
    found = re.fullmatch(r"checkpoint-(\d+)", folder.name)
    return float(found[1]) if found else math.inf


def _points(logs: Sequence[Path], metric: str | None) -> dict[float, tuple[str, str]]:
    """The steps of a run's logs with the value that a metric last had there, and its place."""
    points: dict[str, dict[float, tuple[str, str]]] = {}
    readers = {TRAINER: _of_trainer, LIGHTNING: _of_lightning}
    # Trainer's last state has all that those before have.
    for log in logs[-1:] if logs[0].name == TRAINER else logs:
        for name, step, text, place in readers.get(log.name, _of_tensorboard)(log):
            points.setdefault(name, {})[step] = text, place
    if metric is None:
        raise InputError(f"name --metric; {logs[0]} has {listed(sorted(points))}")
    return points[one_of(str(logs[0]), "metric", metric, sorted(points))]


def _of_trainer(log: Path) -> Iterator[Point]:
    with reading(log, "let Trainer write it again"):
        for entry in json.loads(regular(log).read_bytes())["log_history"]:
            for name in entry.keys() - {"step", "epoch"}:
                yield name, float(entry.get("step", 0)), json.dumps(entry[name]), str(log)


def _of_lightning(log: Path) -> Iterator[Point]:
    """A row has the numbers of its own log call alone."""
    _, columns, places, _ = table_of(log)
    steps, _, _ = cells(columns.get("step", ["0"] * len(places)), places, "step")
    for name in columns.keys() - {"step", "epoch"}:
        for step, text, place in zip(steps, columns[name], places, strict=True):
            if text:
                yield name, step, text, place


def _of_tensorboard(log: Path) -> Iterator[Point]:
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
                        yield value.tag, float(event.step), repr(number), str(log)
