"""Measures: the numbers that runs leave. Each is one object.

A package adds one with ``MEASURES.register`` or an entry point in the group ``embinit.measures``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from embinit.registry import Registry
from embinit.runs.results import RunResult

LOWER_IS_BETTER = re.compile(
    ".*loss|ppl|perplexity|bpb|bpc|bits|nll|.*entropy|ce|xent|kl|error|err|.*mse|.*mae|mape|wer|cer|"
    "eer|fid|brier|ece|regret|.*time|elapsed|duration|seconds|latency|cost"
)
"""Words in a measure's name whose lower numbers are better."""

Read = Callable[[RunResult], float | None]
"""Reads a measure off a result; None where the result has none."""


@dataclass(frozen=True)
class Measure:
    """A number that a run leaves. Measures of one name are the same measure."""

    name: str
    unit: str = field(default="", compare=False)  # such as "BLEU" or "% accuracy"
    says: str = field(default="", compare=False)  # the measure in words
    better: Literal["up", "down"] | None = field(default=None, compare=False)
    # A statistic of starting tables, so the seed decides it only if these are random or trained.
    of_start: bool = field(default=False, compare=False)
    curve: str | None = field(default=None, compare=False)  # shows it while the run trains
    read: Read | None = field(default=None, compare=False)  # by default, by its name
    # The curve of the values whose mean it is, where a run repeats its last step.
    repeated: str | None = field(default=None, compare=False)
    # What a run counts that ends without a number, as one that diverged; None: nothing.
    failed: Literal["worst"] | None = field(default=None, compare=False)

    @property
    def in_words(self) -> str:
        """The measure in words."""
        return self.says or self.name.replace("_", " ")

    def of(self, result: RunResult) -> float | None:
        """The measure of one run; None where the run has none, since it failed before."""
        if self.read is not None:
            return self.read(result)
        return result.measures.get(self.name)


def lower_is_better(name: str) -> bool:
    """Whether a measure's name says that lower numbers are better."""
    words = re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
    turned = not {"neg", "negative", "minus"}.isdisjoint(words)
    return not turned and any(map(LOWER_IS_BETTER.fullmatch, words))


MEASURES: Registry[Measure] = Registry("measure", "embinit.measures")


def measure(given: str | Measure) -> Measure:
    """The measure itself, or the registered one of that name; else InputError."""
    return given if isinstance(given, Measure) else MEASURES[given]
