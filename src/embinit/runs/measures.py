"""Measures: the numbers that runs leave. Each is one object.

A measure says how it is read off a result, in which unit it is, which way is better, whether the
seed changes it, and how noisy its test set makes it.

A package adds a measure with ``MEASURES.register`` or an entry point in the group
``embinit.measures``, as the lab does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from embinit.errors import InputError
from embinit.registry import Registry
from embinit.runs.paired_examples import PairedTest
from embinit.runs.results import RunResult

Read = Callable[[RunResult], float | None]
"""Reads a measure off a result; None where the result has none."""


@dataclass(frozen=True)
class Measure:
    """A number that a run leaves. Measures of one name are the same measure.

    Attributes:
        name: What it is called in results and in ``verdicts.json``.
        unit: How its numbers are to be read (``BLEU``, ``% accuracy``); "" for a bare number.
        says: The measure in words; by default its name.
        better: Which way is better; None where neither is.
        of_start: Whether it is a statistic of the tables that a run starts from. The seed changes
            such a measure only where the tables are drawn or trained.
        curve: The curve of the result that shows it while the run trains.
        read: Reads it off a result; by default the entry of its name among ``measures``.
        test: A paired test over the test set's examples; None for a measure that has none.
        repeated: The curve of the result that holds the values whose mean the measure is, where a
            run repeats its last step.
    """

    name: str
    unit: str = field(default="", compare=False)
    says: str = field(default="", compare=False)
    better: Literal["up", "down"] | None = field(default=None, compare=False)
    of_start: bool = field(default=False, compare=False)
    curve: str | None = field(default=None, compare=False)
    read: Read | None = field(default=None, compare=False)
    test: PairedTest | None = field(default=None, compare=False)
    repeated: str | None = field(default=None, compare=False)

    @property
    def in_words(self) -> str:
        """The measure in words."""
        return self.says or self.name.replace("_", " ")

    def of(self, result: RunResult) -> float | None:
        """The measure of one run; None where the run has none, since it failed before."""
        if self.read is not None:
            return self.read(result)
        return result.measures.get(self.name)


MEASURES: Registry[Measure] = Registry("measure", "embinit.measures")


def measure(given: str | Measure) -> Measure:
    """The measure itself, or the registered one of that name.

    Raises:
        InputError: No measure of that name is registered.
    """
    return given if isinstance(given, Measure) else MEASURES[given]


def at_epoch(curve: Measure, epoch: int) -> Measure:
    """The value of a measure's curve after ``epoch`` epochs, counted from 1.

    Raises:
        InputError: The epoch is below 1, or the measure has no curve.
    """
    if epoch < 1:
        raise InputError(f"there is no epoch {epoch}; they count from 1")
    name = _curve_of(curve)

    def read(result: RunResult) -> float | None:
        values = result.curves.get(name) or ()
        return float(values[epoch - 1]) if epoch <= len(values) else None

    words = f"{_in_words(name)} at epoch {epoch}"
    return replace(curve, name=f"{name} at {epoch}", says=words, read=read, test=None)


def over_epochs(curve: Measure) -> Measure:
    """The mean of a measure's curve over all epochs.

    Raises:
        InputError: The measure has no curve.
    """
    name = _curve_of(curve)

    def read(result: RunResult) -> float | None:
        values = result.curves.get(name) or ()
        return sum(values) / len(values) if values else None

    words = f"mean {_in_words(name)} over the epochs"
    return replace(curve, name=f"{name} mean", says=words, read=read, test=None)


def _curve_of(measure: Measure) -> str:
    if measure.curve is None:
        raise InputError(f"no curve shows {measure.name} while a run trains; name another measure")
    return measure.curve


def _in_words(curve: str) -> str:
    return curve.replace("_", " ").replace("bleu", "BLEU")
