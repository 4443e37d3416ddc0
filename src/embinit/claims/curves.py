"""What a quantity is read off a curve: its value at an epoch, its mean, its peak, and the like."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult

if TYPE_CHECKING:
    from embinit.claims.comparisons import Quantity


class OnCurve:
    """The quantities that are read off the curve of one with a measure."""

    measure: Measure
    measured_by: Callable[..., Quantity]

    def at_epoch(self, epoch: int) -> Quantity:
        """The validation metric after ``epoch`` epochs (from 1), with the same unit and margin."""
        if epoch < 1:
            raise InputError(f"there is no epoch {epoch}; they count from 1")
        return self._read(
            f"at {epoch}",
            f"{{}} at epoch {epoch}",
            lambda values: values[epoch - 1] if epoch <= len(values) else None,
        )

    @property
    def over_epochs(self) -> Quantity:
        """The mean of the metric's curve over all epochs, with the same unit and margin."""
        return self._read("mean", "mean {} over the epochs", statistics.fmean)

    def over_last(self, epochs: int) -> Quantity:
        """The mean of the metric's curve over its last epochs, with the same unit and margin."""
        if epochs < 1:
            raise InputError(f"there are no last {epochs} epochs; give 1 or more")
        return self._read(
            f"last {epochs}",
            f"mean {{}} over the last {epochs} epochs",
            lambda values: statistics.fmean(values[-epochs:]) if len(values) >= epochs else None,
        )

    @property
    def peak(self) -> Quantity:
        """The best value of the metric's curve, with the same unit and margin."""
        best = self._best()
        return self._read("peak", "peak of {}", lambda values: values[best(values)])

    @property
    def peak_epoch(self) -> Quantity:
        """The first epoch with the best value of the metric's curve, without a margin."""
        best, says = self._best(), "epoch of the peak of {}"
        return self._read(
            "peak epoch", says, lambda values: 1.0 + best(values), unit="epochs", better=None
        )

    def distance_from(self, reference: Sequence[float]) -> Quantity:
        """The largest distance between the metric's curve and a curve of the same length."""
        points = [float(point) for point in reference]
        if not points or not all(map(math.isfinite, points)):
            raise InputError("a reference curve has finite numbers, one a point, and at least one")

        def read(values: Sequence[float]) -> float | None:
            if len(values) != len(points):
                return None
            return max(abs(value - other) for value, other in zip(values, points, strict=True))

        name = f"from {hashlib.sha256(repr(points).encode()).hexdigest()[:8]}"
        return self._read(name, "largest distance of {} from the reference", read)

    def epochs_to(self, value: float) -> Quantity:
        """The first epoch at which the metric's curve reaches a value, without a margin."""
        sign = self._sign()

        def read(values: Sequence[float]) -> float | None:
            reached = (sign * point >= sign * value for point in values)
            return next((1.0 + place for place, there in enumerate(reached) if there), None)

        says = f"epochs until {{}} reaches {value:g}"
        return self._read(f"to {value:g}", says, read, unit="epochs", better="down")

    def _sign(self) -> int:
        """1 where a higher curve is better, -1 where a lower one is; InputError if unknown."""
        if self.measure.better is None:
            raise InputError(
                f"{self.measure.name} doesn't say which way it goes: give it as a Measure with "
                "better='up' or 'down'"
            )
        return 1 if self.measure.better == "up" else -1

    def _best(self) -> Callable[[Sequence[float]], int]:
        """The place of a curve's best value, the first of equals."""
        sign = self._sign()
        return lambda values: max(range(len(values)), key=lambda place: sign * values[place])

    def _read(
        self,
        name: str,
        words: str,
        read: Callable[[Sequence[float]], float | None],
        **changes: Any,
    ) -> Quantity:
        """What is read off the curve (``{}`` in ``words``), with its margin if nothing ``changes``.

        InputError for a measure without a curve.
        """
        measure = self.measure
        if (curve := measure.curve) is None:
            raise InputError(
                f"no curve shows {measure.name} while a run trains; name another measure"
            )

        def of(result: RunResult) -> float | None:
            values = result.curves.get(curve) or ()
            return read(values) if values else None

        says = words.format(curve.replace("_", " ").replace("bleu", "BLEU"))
        found = replace(measure, name=f"{curve} {name}", says=says, read=of, **changes)
        return self.measured_by(found, keep_margin=not changes)
