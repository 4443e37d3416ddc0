"""What a run leaves behind: its measures, curves, tables and how they came about."""

from __future__ import annotations

import dataclasses
import datetime
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import torch

from embinit.data.sources import Coverage
from embinit.tables.diagnostics import TableStatistics

RECORDED_PACKAGES = ("embinit", "torch", "numpy", "scipy", "sacrebleu", "spacy", "transformers")


@dataclass(frozen=True)
class RunResult:
    """One run's outcome, as it is kept in the store.

    ``measures`` are the run's numbers by name (``bleu`` and ``accuracy`` in percent, ``sigma`` in
    the table's units, ``pe_share`` 0 to 1, ``best_epoch`` counted from 1; ``test_accuracy`` and
    ``best_test_epoch`` where the task reports its test split, and ``test_accuracy_then``, that of
    the best epoch on validation); they lack the task's metric if the
    run failed in its first epoch, and ``failure`` says why a run ended early. ``tables`` are the
    starting tables by side, ``positions`` the encodings that are added to them. ``outputs`` are
    what the model put out for each example that the metric is taken on, at its best epoch (a
    translation, or a class's number), and ``references`` what it should have. ``examples`` counts
    those of each split.
    """

    spec: Mapping[str, Any]
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

    def as_record(self) -> dict[str, Any]:
        """Plain data for the store."""
        return dataclasses.asdict(self)


def versions() -> dict[str, str]:
    """The versions of Python and of every installed package that can change a result."""
    found = {"python": platform.python_version()}
    for name in RECORDED_PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def device_name(device: str) -> str:
    """A device as a reader knows it: the processor's or the accelerator's model."""
    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(device))
    return f"cpu ({platform.machine()})"


def provenance(device: str, seconds: float) -> dict[str, Any]:
    """How a result came about: versions, device, the run's share of the time, when."""
    return {
        "versions": versions(),
        "device": device_name(device),
        "seconds": round(seconds, 3),
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
