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

from embinit.claims.comparisons import OTHER_SEEDS
from embinit.report.arms import Record, setting
from embinit.report.charts import Histograms, Scatter, Slides, histograms, scatter, slides
from embinit.report.numbers import MISSING, finite
from embinit.tables.positions import multiplier

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
    groups: dict[str, list[Record]] = {}
    for record in records:
        if _tells(record):
            groups.setdefault(_where(record), []).append(record)
    chosen: dict[str, list[Record]] = {}
    for group in groups.values():
        for source in {str(name) for one in group if (name := setting(one, "table", "source"))}:
            own = [one for one in group if setting(one, "table", "source") in (None, source)]
            if len(own) > len(chosen.get(source, [])):
                chosen[source] = own
    found = [_mechanism(source, own) for source, own in sorted(chosen.items())]
    return [one for one in found if one is not None]


def doses(records: Iterable[Record]) -> Scatter | None:
    """What pre-trained tables cost over their width, each beside Xavier in its own setting.

    x is sigma over Xavier's, y what is lost of Xavier's score in percent, both means over seeds.
    """
    arms: dict[str, dict[tuple[str, str], list[Record]]] = {}
    for record in records:
        if _usual(record) and int(setting(record, "seed") or 0) < OTHER_SEEDS:
            place = _where(record)
            arm = (str(setting(record, "table", "init")), str(record.get("label") or MISSING))
            arms.setdefault(place, {}).setdefault(arm, []).append(record)
    points: list[tuple[str, str, float, float]] = []
    for _, found in sorted(arms.items()):
        base = next((_scored(runs) for (init, _), runs in found.items() if init == "xavier"), None)
        for (init, label), runs in sorted(found.items()):
            own = _scored(runs)
            if init == "pretrained" and own and base and base[0] > 0 and base[1] > 0:
                lost, task = 100 * (1 - own[1] / base[1]), str(setting(runs[0], "data", "task"))
                points.append((label, task, own[0] / base[0], lost))
    tasks = sorted({task for _, task, _, _ in points})
    return scatter([(label, tasks.index(task), x, y) for label, task, x, y in points], tasks)


def _scored(records: Sequence[Record]) -> tuple[float, float] | None:
    """Mean sigma and mean score of an arm; None where a run lacks one."""
    rows = []
    for record in records:
        measures = record.get("measures") or {}
        score = finite(measures.get("bleu", measures.get("accuracy")))
        sigma = finite(_encoder(record, "tables").get("sigma"))
        if score is None or sigma is None:
            return None
        rows.append((sigma, score))
    return _mean([sigma for sigma, _ in rows]), _mean([score for _, score in rows])


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


def _where(record: Record) -> str:
    """Equal for runs that differ in table, positions and seed alone."""
    parts = [setting(record, part) for part in ("data", "model", "training")]
    return json.dumps([json.dumps(one, sort_keys=True, default=str) for one in parts])


def _usual(record: Record) -> bool:
    """Whether nothing but the start of its table may differ from the paper's setting."""
    positions, table = setting(record, "positions") or {}, setting(record, "table") or {}
    return bool(
        all(positions.get(name) == value for name, value in USUAL.items())
        and table.get("trained")
        and table.get("sigma") is None
        and table.get("init") in SHOWN
    )


def _tells(record: Record) -> bool:
    return _usual(record) and all(
        _encoder(record, what).get("histogram") for what in ("tables", "positions")
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
