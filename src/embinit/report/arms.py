"""From run records to arms: which runs replicate the same thing, and what they show together.

Runs whose specs differ in the seed alone are one arm. Where two arms of a claim have the same
label (Xavier with and without positions, say), the settings in which they differ are added.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.registry import split_world
from embinit.report.charts import Curves, curves
from embinit.report.numbers import MISSING, count
from embinit.runs.coverage import Coverage
from embinit.runs.kinds import kind_of
from embinit.runs.measures import MEASURES
from embinit.runs.results import RunResult
from embinit.runs.table_statistics import TableStatistics
from embinit.specs import RunSpec

MOST_ARMS = 6
"""The most arms that a plot of curves can show: more lines can't be told apart."""


@dataclass(frozen=True)
class Run:
    """A stored run.

    Attributes:
        key: Its key in the store.
        label: Its arm's name as the paper writes it.
        result: Its result.
    """

    key: str
    label: str
    result: RunResult

    @property
    def spec(self) -> RunSpec:
        """The run's spec."""
        return self.result.spec

    @property
    def task(self) -> str:
        """The task's name, without the number of a world."""
        return split_world(self.spec.recipe.task)[0]

    @property
    def source(self) -> str:
        """The source's name, without the number of a world."""
        return split_world(self.spec.recipe.columns.get("source") or MISSING)[0]


@dataclass(frozen=True)
class Arm:
    """Runs that differ in the seed alone.

    Attributes:
        label: The arm's name, with the settings that tell it from another of that name.
        runs: Its runs, in the order of their seeds.
    """

    label: str
    runs: tuple[Run, ...]

    @property
    def spec(self) -> str:
        """The arm's spec as text, one setting a line; the seed is left out."""
        settings = _settings(self.runs[0].spec.without_seed())
        return "\n".join(
            f"{path} = {value if isinstance(value, str) else json.dumps(value, default=str)}"
            for path, value in sorted(settings.items())
        )

    @property
    def anchor(self) -> str:
        """The page's fragment where the arm's spec stands."""
        spec = self.runs[0].spec.without_seed().as_dict()
        del spec["seed"]
        text = json.dumps([self.runs[0].label, spec], sort_keys=True, default=str)
        return "arm-" + hashlib.sha256(text.encode()).hexdigest()[:10]

    @property
    def short_keys(self) -> list[str]:
        """The first 12 digits of its runs' keys, which are enough to find them."""
        return [run.key[:12] for run in self.runs]

    @property
    def task(self) -> str:
        """The task's name."""
        return self.runs[0].task

    @property
    def init(self) -> str:
        """The init's name in the spec."""
        return self.runs[0].spec.recipe.columns.get("init", "")

    @property
    def source(self) -> str:
        """The source's name."""
        return self.runs[0].source

    @property
    def tables(self) -> Mapping[str, TableStatistics]:
        """The starting tables' statistics by side, of the lowest seed."""
        return self.runs[0].result.tables

    @property
    def coverage(self) -> Mapping[str, Coverage | None]:
        """The source's coverage by side; None where a side uses no source."""
        return self.runs[0].result.coverage

    def followed(self, curve: str) -> list[Sequence[float]]:
        """A curve of each of its runs, empty where a run did not follow it."""
        return [run.result.curves.get(curve) or () for run in self.runs]


@dataclass(frozen=True)
class CoverageRow:
    """A source's coverage of one side's vocabulary.

    Attributes:
        task: The task's name.
        source: The source's name.
        side: ``encoder`` or ``decoder``.
        types: How many words the vocabulary has.
        types_found: How many of them the source has.
        tokens: How many running words the training text has.
        tokens_found: How many of them the source has.
    """

    task: str
    source: str
    side: str
    types: int
    types_found: int
    tokens: int
    tokens_found: int

    @property
    def type_share(self) -> float | None:
        """The share of the vocabulary's words that the source has, 0 to 1; None without any."""
        return self.types_found / self.types if self.types else None

    @property
    def token_share(self) -> float | None:
        """The share of running words that the source has, 0 to 1; None without any."""
        return self.tokens_found / self.tokens if self.tokens else None


@dataclass(frozen=True)
class TaskRow:
    """The usual setting of one task.

    Attributes:
        task: The task's name.
        runs: How many runs there were in all.
        examples: How many examples each split has.
        words: How many rows each table has.
        model: The model in words.
        training: The training in words.
    """

    task: str
    runs: int
    examples: str
    words: str
    model: str
    training: str


def task_rows(runs: Iterable[Run]) -> list[TaskRow]:
    """The settings of the runs, by task and kind of run."""
    tasks: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        tasks.setdefault((run.task, run.spec.kind), []).append(run)
    return [_task_row(task, of_task) for (task, _), of_task in sorted(tasks.items())]


def _task_row(task: str, runs: Sequence[Run]) -> TaskRow:
    def setting(run: Run) -> tuple[str, str, str, str]:
        examples, described = run.result.examples, kind_of(run.spec).describe(run.spec)
        splits = (examples.get(name) for name in ("train", "validation", "test"))
        return (
            " / ".join(MISSING if size is None else count(size) for size in splits),
            " / ".join(count(table.rows) for table in run.result.tables.values()) or MISSING,
            described.model,
            described.training,
        )

    [(usual, _)] = Counter(map(setting, runs)).most_common(1)
    return TaskRow(task, len(runs), *usual)


def gather(keys: Iterable[str], runs: Mapping[str, Run]) -> tuple[Arm, ...]:
    """The arms of the runs ``keys``, in order of first appearance; unknown keys are passed over."""
    groups: dict[tuple[str, RunSpec], list[Run]] = {}
    for key in dict.fromkeys(keys):
        if key in runs:
            groups.setdefault(_arm_key(runs[key]), []).append(runs[key])
    members = [sorted(group, key=lambda run: run.spec.seed) for group in groups.values()]
    labels = _labels([group[0] for group in members])
    return tuple(Arm(label, tuple(group)) for label, group in zip(labels, members, strict=True))


def learning_curves(arms: Sequence[Arm]) -> Curves | None:
    """Draws the learning curves of ``arms``.

    The curve that most arms have is drawn; of several, a score goes before a loss.

    Returns:
        The plot, or None where no run has a curve, or where there are over ``MOST_ARMS`` arms.
    """
    if len(arms) > MOST_ARMS:
        return None
    measures = sorted(
        (MEASURES[name] for name in MEASURES),
        key=lambda measure: (measure.better != "up", measure.name),
    )
    known = dict.fromkeys(each.curve for each in measures if each.curve is not None)
    choices = [(name, [(arm.label, arm.followed(name)) for arm in arms]) for name in known]
    name, series = max(choices, key=lambda choice: sum(any(runs) for _, runs in choice[1]))
    return curves(name, series)


def coverage_rows(runs: Iterable[Run]) -> list[CoverageRow]:
    """Every different coverage among ``runs``, by task, source and side."""
    rows = {
        CoverageRow(
            run.task,
            run.source,
            side,
            coverage.types,
            coverage.types_found,
            coverage.tokens,
            coverage.tokens_found,
        )
        for run in runs
        for side, coverage in run.result.coverage.items()
        if coverage
    }
    return sorted(rows, key=lambda row: (row.task, row.source, row.side, row.types))


def _arm_key(run: Run) -> tuple[str, RunSpec]:
    """Equal for runs of one label that differ in the seed alone."""
    return run.label, run.spec.without_seed()


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
    """A setting in words: ``table.sigma`` 0.1 becomes 'sigma 0.1'; "" where it is not told."""
    phrase = kind_of(run).say(path, value)
    if phrase is not None:
        return phrase
    words = path.removesuffix(".kind").split(".")[-1].replace("_", " ")
    return f"{words} {json.dumps(value, default=str).strip(chr(34))}"
