"""The result of a run: its measures, its curves, its tables, and how they came about."""

from __future__ import annotations

import dataclasses
import datetime
import math
import platform
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from embinit.code import is_own_file
from embinit.distributions import version_of
from embinit.errors import InputError
from embinit.runs.instructions import machine
from embinit.specs import RunSpec

RECORDED_PACKAGES = ("embinit", "torch", "numpy", "scipy", "sacrebleu", "spacy", "transformers")
AGAIN = "again"
"""Where a run's provenance has what to tell of its second making; None where it came out alike."""

PERCENTILES = (5, 25, 50, 75, 95)
"""The percentiles of the rows' norms that ``TableStatistics`` holds."""

HISTOGRAM = (-5, 3, 8)
"""First and last power of ten of ``TableStatistics.histogram``, and its bins per decade."""


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table's values, without its special rows. Sigma is the sample's (n - 1).

    Percentiles are of the rows' norms, at ``PERCENTILES``. The histogram counts values by magnitude
    in the bins of ``HISTOGRAM``; the first and the last also count what lies beyond them.
    """

    minimum: float
    maximum: float
    mean: float
    sigma: float
    row_norm_percentiles: tuple[float, ...]
    rows: int
    dim: int
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """A source's coverage of a vocabulary, by different words and by running words."""

    types: int
    types_found: int
    tokens: int
    tokens_found: int


@dataclass(frozen=True)
class RunResult:
    """One run's outcome, as it is kept in the store.

    ``measures`` are numbers by name; they lack the task's metric if the run failed in its first
    epoch. ``curves`` go epoch by epoch, or layer by layer. By side there are statistics of the
    starting ``tables`` and of the ``positions`` added to them, and the ``coverage`` of its
    vocabulary by its source. ``outputs`` are the model's at its best epoch for each example that
    the metric is taken on, and ``references`` the right ones. ``failure`` says why the run ended
    early.
    """

    spec: RunSpec
    measures: Mapping[str, float]
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    tables: Mapping[str, TableStatistics] = field(default_factory=dict)
    positions: Mapping[str, TableStatistics] = field(default_factory=dict)
    coverage: Mapping[str, Coverage | None] = field(default_factory=dict)
    examples: Mapping[str, int] = field(default_factory=dict)
    signature: str = ""
    outputs: Sequence[str] = ()
    references: Sequence[str] = ()
    failure: str | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The run's duration in seconds; 0 where its provenance doesn't say."""
        took = self.provenance.get("seconds")
        return float(took) if isinstance(took, int | float) and 0 < took < math.inf else 0.0

    def as_record(self) -> dict[str, Any]:
        """The result as plain data, for the store."""
        plain = dataclasses.asdict(self) | {"spec": self.spec.as_dict()}
        return {"kind": self.spec.kind, **plain}


def versions(more: Iterable[str] = ()) -> dict[str, str]:
    """The versions of Python, of packages that can change a result, and of ``more``."""
    known = {"python": platform.python_version()}
    found = ((name, version_of(name)) for name in (*RECORDED_PACKAGES, *more))
    return known | {name: version for name, version in found if version}


def device_name(device: str) -> str:
    """A device's name for people: the GPU's model, or ``cpu`` with the machine's architecture."""
    if device.startswith("cuda"):
        import torch

        return str(torch.cuda.get_device_name(device))
    return f"cpu ({platform.machine()})"


def provenance(
    device: str, seconds: float, more: Iterable[str] = (), pinned: bool = True
) -> dict[str, Any]:
    """Versions, machine, time of the end, and seconds (the run's share of its stack's)."""
    return {
        "versions": versions(more),
        "machine": machine(pinned),
        "device": device_name(device),
        "seconds": round(seconds, 3),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def failure_reason(error: Exception) -> str:
    """Why a run failed, in one line: the error, and the line of the user's code that raised it."""
    if isinstance(error, InputError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if is_own_file(frame.filename)] or frames
    text = str(error).strip().splitlines() or [""]
    reason = f"{type(error).__name__}: {text[0]}".removesuffix(": ")
    return f"{reason} ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else reason
