"""The mechanism in pictures: how wide the tables are, what positions drown, what words keep.

For each source one setting stands for all, the one that most runs share. What is shown is what
the model reads: tables are multiplied (by the square root of their width, in the paper) before the
positions are added.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embinit.comparisons import OTHER_SEEDS
from embinit.positions import multiplier
from embinit.report.arms import Record, setting
from embinit.report.charts import Histograms, Slides, histograms, slides
from embinit.report.numbers import MISSING, finite

SHOWN = ("xavier", "pretrained", "pretrained_xavier")
"""The arms that tell the mechanism; shuffled ones have the distribution of their originals."""

USUAL = {"kind": "sinusoidal", "multiplier": "sqrt(D)"}


@dataclass(frozen=True)
class Width:
    """One arm's table as the positions meet it: its sigma, theirs, their share of the variance."""

    label: str
    sigma: float
    positions: float
    share: float


@dataclass(frozen=True)
class Mechanism:
    """One source on one task."""

    source: str
    task: str
    histograms: Histograms
    widths: tuple[Width, ...]


@dataclass(frozen=True)
class Relations:
    """What a probe found: word relations right before and after positions were added."""

    task: str
    source: str
    slides: Slides


def mechanisms(records: Iterable[Record]) -> list[Mechanism]:
    """One for each source among trained ``records`` that tell their tables' histograms."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        if _tells(record):
            where = tuple(
                json.dumps(setting(record, part), sort_keys=True, default=str)
                for part in ("data", "model", "training")
            )
            groups.setdefault(where, []).append(record)
    chosen: dict[str, list[Record]] = {}
    for group in groups.values():
        for source in {str(name) for one in group if (name := setting(one, "table", "source"))}:
            own = [one for one in group if setting(one, "table", "source") in (None, source)]
            if len(own) > len(chosen.get(source, [])):
                chosen[source] = own
    found = [_mechanism(source, own) for source, own in sorted(chosen.items())]
    return [one for one in found if one is not None]


def relations(records: Iterable[Record]) -> list[Relations]:
    """For each probe with and without positions: how many relations were right, mean over seeds."""
    scores: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for record in records:
        value = finite((record.get("measures") or {}).get("accuracy"))
        positions = setting(record, "positions") or {}
        plain = setting(record, "table", "sigma") is None and positions.get("pe_scale") == "one"
        control = int(setting(record, "seed") or 0) >= OTHER_SEEDS
        if setting(record, "training") is not None or value is None or control or not plain:
            continue
        label = str(record.get("label") or MISSING)
        label += {"sqrt(D)": " × √D"}.get(str(positions.get("multiplier")), "")
        where = (str(setting(record, "data", "task")), str(setting(record, "table", "source")))
        arm = scores.setdefault(where, {}).setdefault(label, {})
        arm.setdefault(str(positions.get("kind")), []).append(value)
    found = []
    for (task, source), arms in sorted(scores.items()):
        rows = [
            (label, _mean(kinds["none"]), _mean(kinds["sinusoidal"]))
            for label, kinds in sorted(arms.items())
            if {"none", "sinusoidal"} <= kinds.keys()
        ]
        drawn = slides(rows)
        if drawn is not None:
            found.append(Relations(task, source, drawn))
    return found


def _tells(record: Record) -> bool:
    positions, table = setting(record, "positions") or {}, setting(record, "table") or {}
    usual = all(positions.get(name) == value for name, value in USUAL.items())
    return bool(
        usual
        and table.get("trained")
        and table.get("sigma") is None
        and table.get("init") in SHOWN
        and _encoder(record, "tables").get("histogram")
        and _encoder(record, "positions").get("histogram")
    )


def _encoder(record: Record, what: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (record.get(what) or {}).get("encoder") or {}
    return found


def _mechanism(source: str, records: Sequence[Record]) -> Mechanism | None:
    arms = [
        min(own, key=lambda one: int(setting(one, "seed") or 0))
        for init in SHOWN
        if (own := [one for one in records if setting(one, "table", "init") == init])
    ]
    series, widths = [], []
    for record in arms:
        table = _encoder(record, "tables")
        times = multiplier(str(setting(record, "positions", "multiplier")), int(table["dim"]))
        label = str(record.get("label") or MISSING)
        series.append((label, table["histogram"], times))
        share = finite((record.get("measures") or {}).get("pe_share"))
        sigma = finite(table["sigma"])
        added = finite(_encoder(record, "positions")["sigma"])
        if share is not None and sigma is not None and added is not None:
            widths.append(Width(label, sigma * times, added, share))
    series.append(("Positions", _encoder(arms[0], "positions")["histogram"], 1.0))
    drawn = histograms(series)
    if drawn is None:
        return None
    return Mechanism(source, str(setting(arms[0], "data", "task")), drawn, tuple(widths))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
