"""From run records to arms: runs whose specs differ in the seed alone are one arm.

Where two arms of a claim have the same label (Xavier with and without positions, say), the settings
in which they differ are added.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.report.charts import Curves, curves
from embinit.runs.kinds import kind_of
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

MOST_ARMS = 6
"""The most arms that a plot of curves can show: more lines can't be told apart."""


@dataclass(frozen=True)
class Run:
    """A stored run: its key in the store, its arm's name as the paper writes it, its result."""

    key: str
    label: str
    result: RunResult

    @property
    def spec(self) -> RunSpec:
        """The run's spec."""
        return self.result.spec


@dataclass(frozen=True)
class Arm:
    """Runs that differ in the seed alone, in the order of their seeds."""

    label: str
    runs: tuple[Run, ...]


def gather(keys: Iterable[str], runs: Mapping[str, Run]) -> tuple[Arm, ...]:
    """The arms of the runs ``keys``, in order of first appearance; unknown keys are passed over."""
    groups: dict[tuple[str, RunSpec], list[Run]] = {}
    for key in dict.fromkeys(keys):
        if key in runs:
            groups.setdefault((runs[key].label, runs[key].spec.without_seed()), []).append(
                runs[key]
            )
    members = [sorted(group, key=lambda run: run.spec.seed) for group in groups.values()]
    labels = _labels([group[0] for group in members])
    return tuple(Arm(label, tuple(group)) for label, group in zip(labels, members, strict=True))


def learning_curves(arms: Sequence[Arm]) -> Curves | None:
    """Draws the curve that most arms have, rather a score than a loss; None without one."""
    if len(arms) > MOST_ARMS:
        return None
    measures = sorted(
        (MEASURES[name] for name in MEASURES),
        key=lambda measure: (measure.better != "up", measure.name),
    )
    known = dict.fromkeys(each.curve for each in measures if each.curve is not None)
    choices = [
        (
            name,
            [(arm.label, [run.result.curves.get(name) or () for run in arm.runs]) for arm in arms],
        )
        for name in known
    ]
    name, series = max(choices, key=lambda choice: sum(any(runs) for _, runs in choice[1]))
    return curves(name, series)


def _labels(runs: Sequence[Run]) -> list[str]:
    """The arms' names, with the settings in which those of one name differ."""
    names = [run.label for run in runs]
    settings = [_settings(run.spec.without_seed()) for run in runs]
    labels = []
    for run, name, own in zip(runs, names, settings, strict=True):
        others = [other for same, other in zip(names, settings, strict=True) if same == name]
        differing = [path for path in own if any(other.get(path) != own[path] for other in others)]
        phrases = list(filter(None, (_phrase(run.spec, path, own[path]) for path in differing)))
        labels.append(f"{name} ({', '.join(phrases)})" if phrases else name)
    return labels


def _settings(spec: RunSpec) -> dict[str, Any]:
    """Every setting of a recipe by its path (``table.init``)."""
    return dict(_leaves("", dataclasses.asdict(spec.recipe)))  # type: ignore[call-overload]


def _leaves(path: str, value: object) -> Iterable[tuple[str, object]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for name, content in value.items():
        yield from _leaves(f"{path}.{name}" if path else str(name), content)


def _phrase(run: RunSpec, path: str, value: object) -> str:
    """A setting in words: ``model.depth`` 2 becomes 'depth 2'; "" where it is not named."""
    phrase = kind_of(run).say(path, value)
    if phrase is not None:
        return phrase
    words = path.removesuffix(".kind").split(".")[-1].replace("_", " ")
    return f"{words} {json.dumps(value, default=str).strip(chr(34))}"
