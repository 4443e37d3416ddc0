"""From run records to arms: which runs replicate the same thing, and what they show together.

Runs whose specs differ in the seed alone are one arm. Where two arms of a claim have the same
label (Xavier with and without positions, say), the settings in which they differ are added.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.report.charts import Curves, curves
from embinit.report.numbers import MISSING, count, plain

Record = Mapping[str, Any]

CURVES = (
    "validation_bleu",
    "validation_accuracy",
    "validation_loss",
    "train_loss",
    "masked_loss",
)
"""What the learning curves show: the first of these that most of a claim's arms have."""


MOST_ARMS = 6
"""More lines than this can't be told apart."""


@dataclass(frozen=True)
class Arm:
    """Runs that differ in the seed alone, in the order of their seeds."""

    label: str
    keys: tuple[str, ...]
    records: tuple[Record, ...]

    @property
    def spec(self) -> str:
        """What made it, a setting a line; the seed is left out."""
        settings = dict(_leaves("", self.records[0].get("spec") or {}))
        return "\n".join(
            f"{path} = {value if isinstance(value, str) else json.dumps(value, default=str)}"
            for path, value in sorted(settings.items())
            if path != "seed"
        )

    @property
    def anchor(self) -> str:
        """Where its spec stands in the page."""
        return "arm-" + hashlib.sha256(_arm_key(self.records[0]).encode()).hexdigest()[:10]

    @property
    def short_keys(self) -> list[str]:
        """Its runs' keys as far as a reader needs them."""
        return [key[:12] for key in self.keys]

    @property
    def task(self) -> str:
        """The task's name in the spec."""
        return str(setting(self.records[0], "data", "task") or MISSING)

    @property
    def init(self) -> str:
        """The init's name in the spec."""
        return str(setting(self.records[0], "table", "init") or MISSING)

    @property
    def source(self) -> str:
        """The source's name in the spec."""
        return str(setting(self.records[0], "table", "source") or MISSING)

    @property
    def tables(self) -> Mapping[str, Any]:
        """The starting tables' statistics by side, of the lowest seed."""
        return self.records[0].get("tables") or {}

    def followed(self, curve: str) -> list[Sequence[object]]:
        """A curve of each of its runs, empty where a run did not follow it."""
        return [(record.get("curves") or {}).get(curve) or [] for record in self.records]

    @property
    def coverage(self) -> Mapping[str, Any]:
        """The source's coverage by side; None where a side uses no source."""
        return self.records[0].get("coverage") or {}


@dataclass(frozen=True)
class CoverageRow:
    """How much of one side's vocabulary a source knows."""

    task: str
    source: str
    side: str
    types: int
    types_found: int
    tokens: int
    tokens_found: int

    @property
    def type_share(self) -> float | None:
        """Found types over all types."""
        return self.types_found / self.types if self.types else None

    @property
    def token_share(self) -> float | None:
        """Found running words over all running words."""
        return self.tokens_found / self.tokens if self.tokens else None


@dataclass(frozen=True)
class TaskRow:
    """The setting that most runs of one task share, and how many runs there were in all."""

    task: str
    runs: int
    examples: str
    words: str
    model: str
    training: str


def task_rows(records: Iterable[Record]) -> list[TaskRow]:
    """What was trained, task by task."""
    tasks: dict[str, list[Record]] = {}
    for record in records:
        if setting(record, "model") and setting(record, "training", "epochs"):
            tasks.setdefault(str(setting(record, "data", "task")), []).append(record)
    return [_task_row(task, found) for task, found in sorted(tasks.items())]


def _task_row(task: str, records: Sequence[Record]) -> TaskRow:
    def told(record: Record) -> tuple[str, str, str, str]:
        examples, model = record.get("examples") or {}, setting(record, "model")
        training = setting(record, "training")
        tables = (record.get("tables") or {}).values()
        splits = (examples.get(name) for name in ("train", "validation", "test"))
        return (
            " / ".join(MISSING if one is None else count(one) for one in splits),
            " / ".join(count(table.get("rows")) for table in tables) or MISSING,
            f"{model.get('dim')} wide, {model.get('layers')} "
            f"layer{'' if model.get('layers') == 1 else 's'}, "
            f"feed-forward {model.get('feed_forward')}",
            f"{training.get('epochs')} epochs, batches of {training.get('batch_size')}, "
            f"rate {plain(training.get('lr'))}",
        )

    [(usual, _)] = Counter(map(told, records)).most_common(1)
    return TaskRow(task, len(records), *usual)


def setting(record: Record, *path: str) -> Any:
    """What the record's spec says under ``path``, or None."""
    value: Any = record.get("spec") or {}
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def gather(keys: Iterable[str], records: Mapping[str, Record]) -> tuple[Arm, ...]:
    """The arms of the runs ``keys``, in order of first appearance; unknown keys are passed over."""
    groups: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        if key in records:
            groups.setdefault(_arm_key(records[key]), []).append(key)
    members = [sorted(group, key=lambda key: _seed(records[key])) for group in groups.values()]
    labels = _labels([records[group[0]] for group in members])
    return tuple(
        Arm(label, tuple(group), tuple(records[key] for key in group))
        for label, group in zip(labels, members, strict=True)
    )


def learning_curves(arms: Sequence[Arm]) -> Curves | None:
    """The learning curves of ``arms``, or None where their runs have none or they are too many."""
    if len(arms) > MOST_ARMS:
        return None
    found = [(name, [(arm.label, arm.followed(name)) for arm in arms]) for name in CURVES]
    name, series = max(found, key=lambda one: sum(any(runs) for _, runs in one[1]))
    return curves(name, series)


def coverage_rows(records: Iterable[Record]) -> list[CoverageRow]:
    """Every different coverage among ``records``, by task, source and side."""
    rows = {
        CoverageRow(
            str(setting(record, "data", "task") or MISSING),
            str(setting(record, "table", "source") or MISSING),
            side,
            *(found[name] for name in ("types", "types_found", "tokens", "tokens_found")),
        )
        for record in records
        for side, found in (record.get("coverage") or {}).items()
        if found
    }
    return sorted(rows, key=lambda row: (row.task, row.source, row.side, row.types))


def _arm_key(record: Record) -> str:
    return json.dumps(record.get("label"), default=str) + _arm_spec(record)


def _arm_spec(record: Record) -> str:
    spec = {name: part for name, part in (record.get("spec") or {}).items() if name != "seed"}
    return json.dumps(spec, sort_keys=True, default=str)


def _seed(record: Record) -> int:
    return int(setting(record, "seed") or 0)


def _labels(records: Sequence[Record]) -> list[str]:
    names = [str(r.get("label") or setting(r, "table", "init") or MISSING) for r in records]
    settings = [dict(_leaves("", record.get("spec") or {})) for record in records]
    labels = []
    for name, own in zip(names, settings, strict=True):
        others = [other for same, other in zip(names, settings, strict=True) if same == name]
        differing = [path for path in own if any(other.get(path) != own[path] for other in others)]
        phrases = [_phrase(path, own[path]) for path in differing if path not in UNTOLD]
        labels.append(f"{name} ({', '.join(phrases)})" if phrases else name)
    return labels


SAID = {
    ("table.trained", True): "trained",
    ("table.trained", False): "frozen",
    ("table.sigma", None): "as it is",
    ("positions.kind", "none"): "without positions",
    ("positions.kind", "sinusoidal"): "with positions",
    ("model.coupled", True): "coupled",
    ("model.coupled", False): "two tables",
    ("model.input_width", None): "E_in as the model",
    ("model.output_width", None): "E_out as the model",
    ("model.norm_after_sum", True): "LayerNorm after the sum",
    ("model.norm_after_sum", False): "no LayerNorm after the sum",
}


def _leaves(path: str, value: object) -> Iterable[tuple[str, object]]:
    if not isinstance(value, Mapping):
        yield path, value
        return
    for name, part in value.items():
        yield from _leaves(f"{path}.{name}" if path else str(name), part)


UNTOLD = ("seed", "training.validation_bleu")
"""What is no treatment: it changes nothing of a run but what is followed of it."""


def _phrase(path: str, value: object) -> str:
    """A setting in words: ``positions.kind`` none becomes 'positions none'."""
    said = SAID.get((path, value)) if isinstance(value, str | bool | None) else None
    if said is not None:
        return said
    words = path.removesuffix(".kind").split(".")[-1].replace("_", " ")
    return f"{words} {json.dumps(value, default=str).strip(chr(34))}"
