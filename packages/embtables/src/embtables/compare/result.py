"""The result of a comparison, as an object and as a JSON document."""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from embinit.errors import printable
from embinit.lab.data.preparation import PreparedData
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embtables.best import BestArmSearch, seeds_of
from embtables.compare.arms import Arm, Settings
from embtables.given import GivenTask

SCHEMA_VERSION = 2

LEAST_LEARNT = 2.0
"""The points above guessing from which a model counts as having learnt the task."""


@dataclass(frozen=True)
class ComparedStart:
    """The result of one start.

    Attributes:
        label: Its name for people.
        init: Its init.
        attention: The positions inside attention.
        vectors: The vectors as the user named them; None where it needs none.
        sigma: The standard deviation of the encoder's table at the start, in the first seed.
        coverage: The share of the text's words that have a vector; None without vectors.
        scores: Its scores, seed by seed.
        mean: Their mean.
        sd: Their standard deviation.
        low: The least that it costs against the best; it costs more where it is no candidate.
        high: The most that it costs against the best.
        candidate: Whether it may be the best.
        ruled_out_at: The seeds of the look that ruled it out; None for a candidate.
        failures: How many of its runs ended early.
        test_error: How far another test set would move its distance from the best mean: a standard
            error; None for translation, and for that start itself.
    """

    label: str
    init: str
    attention: str
    vectors: str | None
    sigma: float
    coverage: float | None
    scores: tuple[float, ...]
    mean: float
    sd: float
    low: float
    high: float
    candidate: bool
    ruled_out_at: int | None
    failures: int
    test_error: float | None

    @property
    def costs(self) -> str:
        """The interval of its cost in words; 0.0 stands for a cost of 0 alone."""
        low = f"{self.low:.1f}"
        return f"{'above 0' if low == '0.0' and not self.candidate else low} to {self.high:.1f}"


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        task: The task's name for people.
        kind: ``classification`` or ``translation``.
        examples: How many examples each split has.
        classes: The number of labels; 0 for translation.
        guessing: What always saying the commonest label scores, in points; 0 for translation.
        metric: What is compared, in words.
        unit: Its unit.
        alpha: The error of the statement on all costs, and so on which starts may be the best.
        within: A cost that does not matter.
        looks: How many looks there were.
        seeds: The seeds of the last look.
        runs: How many runs were compared.
        starts: The starts, the best mean first.
        use: The label of the recommended start; None where nothing was learnt or decided.
        settled: Whether one start is left, or those that are left cost next to nothing.
        stopped: Why it ended, in words.
        notes: What else is to be known, in words.
        settings: The models and their training.
        seconds: How long it took.
    """

    task: str
    kind: str
    examples: dict[str, int]
    classes: int
    guessing: float
    metric: str
    unit: str
    alpha: float
    within: float
    looks: int
    seeds: int
    runs: int
    starts: tuple[ComparedStart, ...]
    use: str | None
    settled: bool
    stopped: str
    notes: tuple[str, ...]
    settings: dict[str, Any]
    seconds: float

    @property
    def candidates(self) -> tuple[ComparedStart, ...]:
        """The starts that may be the best, the best mean first."""
        return tuple(start for start in self.starts if start.candidate)

    @property
    def verdict(self) -> str:
        """Which starts are among the best, and which to use, in words."""
        best, candidates = self.starts[0], self.candidates
        if not _learnt(best, self.guessing):
            bar = (
                f"does better than always giving the commonest label ({self.guessing:.1f} %) by "
                f"{LEAST_LEARNT:g} points"
                if self.classes
                else f"reaches {LEAST_LEARNT:g} BLEU"
            )
            return (
                f"Nothing can be said: no start {bar}; the best has {best.mean:.1f}. These models "
                "learn nothing here, so their starts tell nothing. Give more rows, or train longer "
                "(--epochs, --lr)."
            )
        if self.use is None:
            return (
                f"Nothing is decided: any of these {len(candidates)} starts may be the best, and "
                f"they may cost up to {max(start.high for start in candidates):.1f} against it. "
                f"{best.label} has the best mean so far."
            )
        if len(candidates) == 1:
            return f"Use {best.label}: it is the best of these starts."
        others = ", ".join(start.label for start in candidates if start is not best)
        told = (
            f"Use {best.label}: it has the best mean, and costs at most {best.high:.1f} against "
            f"the best. The best is among {len(candidates)} starts; {others} may be as good or "
            "better."
        )
        if self.settled:
            told = (
                f"Use any of these {len(candidates)} starts: none costs more than {self.within:g} "
                f"against the best. {best.label} has the best mean."
            )
        plain = [start for start in candidates if start.vectors is None]
        if plain and best.vectors is not None:
            told += f" {plain[0].label} needs no vectors and costs at most {plain[0].high:.1f}."
        return told

    @property
    def certainty(self) -> str:
        """The limits of the statement, in words."""
        told = "What is said holds for these small models on this test set, over seeds."
        errors = [start.test_error for start in self.starts if start.test_error is not None]
        if errors:
            told += (
                " Another test set of this size would move the differences by about "
                f"{max(errors):.1f} (a standard error)."
            )
        return told

    @classmethod
    def of(
        cls,
        task: GivenTask,
        data: PreparedData,
        arms: Sequence[Arm],
        search: BestArmSearch,
        results: Sequence[Sequence[RunResult]],
        metric: Measure,
        settings: Settings,
        *,
        stopped: str,
        notes: Sequence[str],
        seconds: float,
    ) -> Comparison:
        """The comparison that a finished search gives."""
        best = max(search.candidates, key=lambda number: search.statuses[number].scores.mean)
        compared = [
            _compared(
                arm,
                status,
                results[number],
                metric,
                _test_error(results[number], results[best], len(data.test))
                if number != best
                else None,
            )
            for number, (arm, status) in enumerate(zip(arms, search.statuses, strict=True))
        ]
        guessing = _guessing(data)
        decided = search.decided or len(search.candidates) < len(compared)
        told = list(notes)
        if broken := sum(start.failures for start in compared):
            told.append(f"{broken} runs ended early, since their loss was no number any more.")
        return cls(
            task=task.title,
            kind=task.kind,
            examples={name: len(getattr(data, name)) for name in ("train", "validation", "test")},
            classes=task.classes,
            guessing=guessing,
            metric="BLEU" if metric.unit == "BLEU" else metric.in_words,
            unit=metric.unit,
            alpha=search.alpha,
            within=search.within,
            looks=search.looks,
            seeds=seeds_of(search.looks - 1),
            runs=sum(map(len, results)),
            starts=tuple(sorted(compared, key=lambda start: (not start.candidate, -start.mean))),
            use=compared[best].label if decided and _learnt(compared[best], guessing) else None,
            settled=search.decided,
            stopped=stopped,
            notes=tuple(told),
            settings=vars(settings) | {"tokenizer": settings.words()},
            seconds=seconds,
        )

    def as_json(self) -> str:
        """The document that ``compare.schema.json`` describes."""
        plain = {name: value for name, value in vars(self).items() if name != "starts"}
        document = {
            "schema_version": SCHEMA_VERSION,
            **plain,
            "verdict": self.verdict,
            "certainty": self.certainty,
            "starts": [vars(start) | {"costs": start.costs} for start in self.starts],
        }
        return printable(json.dumps(_plain(document), indent=1, ensure_ascii=False)) + "\n"


@functools.cache
def load_schema() -> dict[str, Any]:
    """The JSON schema of the document."""
    text = resources.files("embtables.compare").joinpath("compare.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _compared(
    arm: Arm,
    status: Any,
    results: Sequence[RunResult],
    metric: Measure,
    test_error: float | None,
) -> ComparedStart:
    coverage = results[0].coverage.get("encoder")
    scores = tuple(metric.of(result) or 0.0 for result in results)
    return ComparedStart(
        label=arm.label,
        init=arm.init,
        attention=arm.attention,
        vectors=None if arm.vectors is None else arm.vectors.given,
        sigma=results[0].tables["encoder"].sigma,
        coverage=None if coverage is None else coverage.token_share,
        scores=scores,
        mean=status.scores.mean,
        sd=math.sqrt(status.scores.variance),
        low=status.low,
        high=status.high,
        candidate=status.ruled_out is None,
        ruled_out_at=None if status.ruled_out is None else seeds_of(status.ruled_out),
        failures=sum(result.failure is not None for result in results),
        test_error=test_error,
    )


def _test_error(
    first: Sequence[RunResult], second: Sequence[RunResult], examples: int
) -> float | None:
    """The standard error of two starts' difference over test sets of so many examples.

    The spread from example to example is that of the validation split, whose answers runs keep.
    """
    right = [_right(results) for results in (first, second)]
    if right[0] is None or right[1] is None:
        return None
    return float(100 * np.std(right[0] - right[1], ddof=1) / math.sqrt(examples))


def _right(results: Sequence[RunResult]) -> np.ndarray | None:
    """The share of seeds with a right answer, per example; None for translations."""
    answered = [
        np.array(result.outputs) == np.array(result.references)
        for result in results
        if result.outputs and "bleu" not in result.measures
    ]
    return np.mean(answered, axis=0) if answered else None


def _learnt(best: ComparedStart, guessing: float) -> bool:
    return best.mean >= guessing + LEAST_LEARNT


def _guessing(data: PreparedData) -> float:
    labels = data.test.labels
    if labels is None:
        return 0.0
    commonest = Counter(data.train.labels.tolist() if data.train.labels is not None else ())
    label = commonest.most_common(1)[0][0]
    return 100 * float((labels == label).double().mean())


def _plain(value: Any) -> Any:
    """``value`` as strict JSON has it: no NaN, no infinity, no tuple."""
    if isinstance(value, dict):
        return {name: _plain(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
