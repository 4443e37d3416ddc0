"""What a quantity is read off a curve: its value at an epoch, its mean, its peak, and the like."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from embinit.errors import InputError
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult


def at_epoch(curve: Measure, epoch: int) -> Measure:
    """The value of a measure's curve after ``epoch`` epochs, counted from 1."""
    if epoch < 1:
        raise InputError(f"there is no epoch {epoch}; they count from 1")
    return _of_curve(
        curve,
        f"at {epoch}",
        f"{{}} at epoch {epoch}",
        lambda values: values[epoch - 1] if epoch <= len(values) else None,
    )


def over_epochs(curve: Measure) -> Measure:
    """The mean of a measure's curve over all epochs: the area under it over its length."""
    return _of_curve(curve, "mean", "mean {} over the epochs", statistics.fmean)


def over_last(curve: Measure, epochs: int) -> Measure:
    """The mean of a measure's curve over its last epochs."""
    if epochs < 1:
        raise InputError(f"there are no last {epochs} epochs; give 1 or more")
    return _of_curve(
        curve,
        f"last {epochs}",
        f"mean {{}} over the last {epochs} epochs",
        lambda values: statistics.fmean(values[-epochs:]) if len(values) >= epochs else None,
    )


def peak(curve: Measure) -> Measure:
    """The best value of a measure's curve, the way that is better."""
    best = _best(curve)
    return _of_curve(curve, "peak", "peak of {}", lambda values: values[best(values)])


def peak_epoch(curve: Measure) -> Measure:
    """The first epoch, from 1, at which a measure's curve is at its best value."""
    best = _best(curve)
    curve = replace(curve, unit="epochs", better=None)
    says = "epoch of the peak of {}"
    return _of_curve(curve, "peak epoch", says, lambda values: 1.0 + best(values))


def _best(curve: Measure) -> Callable[[Sequence[float]], int]:
    """The place of a curve's best value, the first of equals."""
    sign = -1 if _direction(curve) == "down" else 1
    return lambda values: max(range(len(values)), key=lambda place: sign * values[place])


def distance_from(curve: Measure, reference: Sequence[float]) -> Measure:
    """The largest distance of a curve from a reference of its length, such as a stored one."""
    points = [float(point) for point in reference]
    if not points or not all(map(math.isfinite, points)):
        raise InputError("a reference curve has finite numbers, one a point, and at least one")

    def read(values: Sequence[float]) -> float | None:
        if len(values) != len(points):
            return None
        return max(abs(value - other) for value, other in zip(values, points, strict=True))

    return _of_curve(
        curve,
        f"from {hashlib.sha256(repr(points).encode()).hexdigest()[:8]}",
        "largest distance of {} from the reference",
        read,
    )


def epochs_to(curve: Measure, value: float) -> Measure:
    """The first epoch, from 1, at which a curve reaches a value the way that is better, if any."""
    below = _direction(curve) == "down"

    def read(values: Sequence[float]) -> float | None:
        reached = (point <= value if below else point >= value for point in values)
        return next((1.0 + place for place, there in enumerate(reached) if there), None)

    curve = replace(curve, unit="epochs", better="down")
    return _of_curve(curve, f"to {value:g}", f"epochs until {{}} reaches {value:g}", read)


def _direction(curve: Measure) -> Literal["up", "down"]:
    if curve.better is None:
        raise InputError(
            f"{curve.name} doesn't say which way it goes: give it as a Measure with better='up' or "
            "'down'"
        )
    return curve.better


def _of_curve(
    measure: Measure, name: str, words: str, read: Callable[[Sequence[float]], float | None]
) -> Measure:
    """A measure that is read off another one's curve (``{}`` in ``words``); else InputError."""
    if measure.curve is None:
        raise InputError(f"no curve shows {measure.name} while a run trains; name another measure")
    curve = measure.curve

    def of(result: RunResult) -> float | None:
        values = result.curves.get(curve) or ()
        return read(values) if values else None

    says = words.format(curve.replace("_", " ").replace("bleu", "BLEU"))
    return replace(measure, name=f"{curve} {name}", says=says, read=of)
