"""Folders of runs, with logs of Trainer, Lightning or TensorBoard; paths name arms and seeds."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from embinit.errors import InputError
from embinit.files.reading import reading, regular
from embinit.scores.arms import cells
from embinit.scores.rows import Table, listed, one_of, table_of

TRAINER, LIGHTNING, TENSORBOARD = "trainer_state.json", "metrics.csv", "events.out.tfevents.*"

_NO_NAME = re.compile(
    r"lightning_logs|version_\d+|checkpoint-\d+|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*"
)
"""Parts of paths that tools make, and that name no arm."""

_SEED = re.compile(r"(?:^|[-_. ]|(?<=[a-z]))(?:seed|rng)[-_= ]?(\d+)(?=$|[-_. ])", re.IGNORECASE)
_SHORT_SEED = re.compile(r"(?:^|[-_. ])s(\d+)(?=$|[-_. ])")
_REPLICATE = re.compile(r"(?:^|[-_. ])(?:rep|replicate|run|trial)[-_=]?(\d+)(?=$|[-_. ])")
"""Parts that name a run's seed, and those that number runs without one."""


def table_of_runs(root: Path, metric: str | None) -> Table:
    """The table of the steps of a folder's runs. ``eval/loss`` is Trainer's ``eval_loss`` too."""
    logs, empty = _runs(root)
    if not logs:
        kinds = f"{TRAINER} of Trainer, {LIGHTNING} of Lightning or {TENSORBOARD}"
        raise InputError(f"{root} has no {kinds}; name the folder above the runs")
    like, rows, places = {_alike(folder) for folder in logs}, [], []
    for folder in sorted({*logs, *(each for each in empty if _alike(each) in like)}):
        arm, seed = arm_and_seed(folder.relative_to(root).parts)
        run, found = (arm or root.name or "runs", seed, str(folder)), logs.get(folder, [])
        points = sorted(_points(found, metric).items()) if found else []
        rows += [(*run, repr(step), "", repr(value)) for step, value in points]
        rows += [] if points else [(*run, "0", "no log", "")]
        places += [str((found or [folder])[0])] * max(1, len(points))
    names = ("arm", "seed", "run", "step", "error", metric or "")
    return Table(str(root), dict(zip(names, zip(*rows, strict=True), strict=True)), places)


def arm_and_seed(path: Sequence[str]) -> tuple[str, str | None]:
    """The arm, "" where there is none, and the seed that the parts of a run's path name."""
    parts = [part for part in path if not _NO_NAME.fullmatch(part)]
    for pattern in (_SEED, _SHORT_SEED, _REPLICATE):
        met = [(i, found) for i, part in enumerate(parts) for found in pattern.finditer(part)]
        if met:
            at, found = met[-1]
            rest = (parts[at][: found.start()] + parts[at][found.end() :]).strip("-_. ")
            name = "/".join(filter(None, [*parts[:at], rest, *parts[at + 1 :]]))
            return name, None if pattern is _REPLICATE else found[1]
    return "/".join(parts), None


def _alike(folder: Path) -> tuple[Path, str]:
    """What runs of one arm have in common: the folder that they lie in, and a name."""
    return folder.parent, re.sub(r"\d+", "#", folder.name)


def _runs(root: Path) -> tuple[dict[Path, list[Path]], list[Path]]:
    """The folder of each run with its logs, Trainer's first, and the folders near without any."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename} can't be read: {error.strerror}; make it readable")

    files, folders, top = [], [], root.resolve()
    for place, inside, names in os.walk(root, onerror=refuse):
        files += [Path(place) / name for name in sorted(names)]
        folders += [Path(place) / name for name in inside]
    for link in (folder for folder in folders if folder.is_symlink()):
        if not link.resolve().is_relative_to(top):
            raise InputError(f"{link} is a link to a folder elsewhere; copy the runs, or remove it")
    states: dict[Path, list[tuple[float, Path]]] = {}
    for log in sorted(path for path in files if path.name == TRAINER):
        step = log.parent.name.removeprefix("checkpoint-")
        inside_run = log.parent != root and step != log.parent.name
        at = int(step) if inside_run and step.isdecimal() else math.inf
        run = log.parent.parent if inside_run else log.parent
        states.setdefault(run, []).append((at, log))
    found = {run: [max(logs)[1]] for run, logs in states.items()}
    for pattern in (LIGHTNING, TENSORBOARD):
        taken = set(found)
        for log in (path for path in files if path.match(pattern)):
            if taken.isdisjoint(log.parents):
                found.setdefault(log.parent, []).append(log)
    above = {parent for run in found for parent in (run, *run.parents)}
    near = {run.parent for run in found if run != root}
    plain = [f for f in folders if not f.is_symlink() and f.name[0] != "."]
    return found, [f for f in plain if f.parent in near and f not in above]


def _points(logs: Sequence[Path], metric: str | None) -> dict[float, float]:
    """The steps of a run's logs with the values that a metric last had there."""
    points: dict[str, dict[float, float]] = {}
    readers = {TRAINER: _of_trainer, LIGHTNING: _of_lightning}
    for log in logs:
        for name, step, value in readers.get(log.name, _of_tensorboard)(log):
            points.setdefault(name, {})[step] = value
    if metric is None:
        raise InputError(f"name --metric; {logs[0]} has {listed(sorted(points))}")
    return points[one_of(str(logs[0]), "metric", metric, sorted(points))]


def _of_trainer(log: Path) -> Iterator[tuple[str, float, float]]:
    with reading(log, "let Trainer write it again"):
        for entry in json.loads(regular(log).read_bytes())["log_history"]:
            for name, value in entry.items():
                if name not in ("step", "epoch") and type(value) in (int, float):
                    yield name, float(entry.get("step", 0)), float(value)


def _of_lightning(log: Path) -> Iterator[tuple[str, float, float]]:
    """A row has the numbers of its own log call alone."""
    _, columns, places = table_of(log)
    steps, _, _ = cells(columns.get("step", ["0"] * len(places)), places, "step")
    for name in (name for name in columns if name not in ("step", "epoch")):
        values, _, _ = cells(columns[name], places, name)
        for text, step, value in zip(columns[name], steps, values, strict=True):
            if text:
                yield name, step, value


def _of_tensorboard(log: Path) -> Iterator[tuple[str, float, float]]:
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
                    array = make_ndarray(value.tensor) if value.HasField("tensor") else None
                    if value.HasField("simple_value"):
                        yield value.tag, float(event.step), value.simple_value
                    elif array is not None and array.size == 1 and array.dtype.kind in "fiu":
                        yield value.tag, float(event.step), float(array.item())
