"""Folders of runs: the logs that Trainer, Lightning and TensorBoard leave.

A run is a folder with such a log. Its path below the root names its arm, and a part such as
``seed3`` or ``s3`` its seed.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from embinit.errors import InputError
from embinit.files.reading import reading
from embinit.registry import nearest
from embinit.scores.arms import Arms, Score, arms_of
from embinit.scores.tables import opened

Points = dict[str, list[tuple[float, float]]]
"""The points of each metric: step and value."""

Reading = Callable[[Sequence[tuple[float, float]], str], float]
"""Reads one number off a metric's points; the place is for errors."""

TRAINER, LIGHTNING, TENSORBOARD = "trainer_state.json", "metrics.csv", "events.out.tfevents.*"

_NO_NAME = re.compile(
    r"lightning_logs|version_\d+|checkpoint-\d+|[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.*"
)
"""Parts of paths that tools make, and that name no arm."""

_SEED = re.compile(r"(?:^|[-_. ]|(?<=[a-z]))(?:seed|rng)[-_= ]?(\d+)(?=$|[-_. ])", re.IGNORECASE)
_SHORT_SEED = re.compile(r"(?:^|[-_. ])s(\d+)(?=$|[-_. ])")
_REPLICATE = re.compile(r"(?:^|[-_. ])(?:rep|replicate|run|trial)[-_=]?(\d+)(?=$|[-_. ])")
"""Parts that tell a run's seed, and those that number runs without one."""


def read(root: Path, metric: str | None, reading_of: Reading, paired: bool = True) -> Arms:
    """The arms of a folder of runs. The metric ``eval/loss`` is Trainer's ``eval_loss`` too.

    Raises:
        InputError: No run is there, a log can't be read, or a run lacks the metric.
    """
    runs = sorted(_runs(root).items())
    if not runs:
        raise InputError(
            f"{root} has no run: no {TRAINER} of Trainer, no {LIGHTNING} of Lightning, and no "
            "event file of TensorBoard lies in it"
        )
    named: list[tuple[str, Score]] = []
    for folder, log in runs:
        points = _points(log)
        if metric is None:
            raise InputError(f"name --metric; {log} has {', '.join(sorted(points)) or 'none'}")
        known = _metric(metric, points, log)
        arm, seed = _arm(folder.relative_to(root), root)
        named.append(
            (arm, Score(reading_of(points[known], str(log)), str(log), seed if paired else None))
        )
    return arms_of(named, metric or "")


def _runs(root: Path) -> dict[Path, Path]:
    """The folder of each run with its log; Trainer's own, then Lightning's, then TensorBoard's."""
    found: dict[Path, Path] = {}
    files = list(_files(root))
    for log in sorted((path for path in files if path.name == TRAINER), key=_step):
        folder = log.parent
        inside = folder != root and folder.name.startswith("checkpoint-")
        found[folder.parent if inside else folder] = log
    taken = set(found)
    for pattern in (LIGHTNING, TENSORBOARD):
        for log in sorted(path for path in files if path.match(pattern)):
            if not any(folder in taken for folder in (log.parent, *log.parents)):
                found[log.parent] = log if pattern == LIGHTNING else log.parent
        taken = set(found)
    return found


def _files(root: Path) -> Iterator[Path]:
    """All files below a folder; InputError where a folder, which may hold runs, can't be read."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename} can't be read: {error.strerror}; make it readable")

    for folder, _, names in os.walk(root, onerror=refuse):
        yield from (Path(folder) / name for name in names)


def _step(log: Path) -> tuple[float, str]:
    """The order of Trainer's states: by the step of a checkpoint, the run's own last."""
    number = log.parent.name.removeprefix("checkpoint-")
    at = float(number) if number.isdigit() and number != log.parent.name else float("inf")
    return at, str(log)


def _arm(path: Path, root: Path) -> tuple[str, str | None]:
    """The arm and the seed that a run's path tells."""
    parts = [part for part in path.parts if not _NO_NAME.fullmatch(part)]
    name, seed = "/".join(parts), None
    for pattern in (_SEED, _SHORT_SEED, _REPLICATE):
        met = [(i, found) for i, part in enumerate(parts) for found in pattern.finditer(part)]
        if met:
            index, found = met[-1]
            part = parts[index]
            rest = (part[: found.start()] + part[found.end() :]).strip("-_. ")
            name = "/".join(filter(None, [*parts[:index], rest, *parts[index + 1 :]]))
            seed = None if pattern is _REPLICATE else found[1]
            break
    return name or root.name or "runs", seed


def _metric(metric: str, points: Mapping[str, object], log: Path) -> str:
    """The metric's name in a log."""
    if metric in points:
        return metric
    alike = [name for name in points if _plain(name) == _plain(metric)]
    if len(alike) > 1:
        raise InputError(f"{log}: {metric!r} may be {' or '.join(alike)}; name one of them")
    if not alike:
        raise InputError(
            f"{log} has no metric {metric!r}: {nearest(metric, points)}it has "
            f"{', '.join(sorted(points)) or 'none'}"
        )
    return alike[0]


def _plain(name: str) -> str:
    return re.sub(r"[/._ -]", "_", name).lower()


def _points(log: Path) -> Points:
    if log.is_dir():
        return dict(_of_tensorboard(log))
    return _of_trainer(log) if log.name == TRAINER else _of_lightning(log)


def _of_trainer(log: Path) -> Points:
    points: Points = {}
    with reading(log, "let Trainer write it again"):
        for entry in json.loads(log.read_bytes())["log_history"]:
            step = float(entry.get("step", 0))
            for name, value in entry.items():
                if name not in ("step", "epoch") and isinstance(value, int | float):
                    points.setdefault(name, []).append((step, float(value)))
    return points


def _of_lightning(log: Path) -> Points:
    points: Points = {}
    line = 1
    with (
        reading(log, "let Lightning write it again", lambda: f":{line}"),
        opened(log) as file,
    ):
        for row in csv.DictReader(file):
            line += 1
            for name, text in row.items():
                if name not in ("step", "epoch") and text:
                    points.setdefault(name, []).append((float(row.get("step") or 0), float(text)))
    return points


def _of_tensorboard(folder: Path) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.util import tensor_util
    except ModuleNotFoundError:
        raise InputError(
            f"{folder} has event files of TensorBoard: pip install tensorboard to read them"
        ) from None
    with reading(folder, "let TensorBoard write it again"):
        events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
        events.Reload()
        for name in events.Tags()["scalars"]:
            yield name, [(float(each.step), each.value) for each in events.Scalars(name)]
        for name in events.Tags()["tensors"]:
            made = [
                (each.step, tensor_util.make_ndarray(each.tensor_proto))
                for each in events.Tensors(name)
            ]
            if all(array.size == 1 for _, array in made):
                yield name, [(float(step), float(array)) for step, array in made]
