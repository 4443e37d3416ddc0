"""The paper's tables in its own layout, with what was measured here beside each number."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from embinit.claims.comparisons import OTHER_SEEDS, measured_in
from embinit.claims.experiments import Experiment
from embinit.papers import Beside
from embinit.papers.kim2024 import TASKS, TITLES, numbers, stands_for
from embinit.papers.kim2024.experiments import LABELS, SOURCES, experiments, probes
from embinit.specs import canonical
from embinit.tables.positions import multiplier

ARMS = ("xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled", "xavier_pretrained")
"""The paper's arms in the order of its tables."""


def beside(tier: str, records: Iterable[Mapping[str, Any]]) -> list[Beside]:
    """Tables 1 to 4 and 6 to 8 as printed, and Figure 1, with what ``records`` measured here.

    A table of which nothing was run on ``tier`` is left out.
    """
    runs = _Runs(records)
    tables = [
        *(_scores(family, tier, runs) for family in SOURCES),
        *(_widths(family, tier, runs) for family in SOURCES),
        _grid(tier, runs),
        _analogies(tier, runs),
        _spread(tier, runs),
        *(_figure(family, task, tier, runs) for family, task in FIGURE),
    ]
    return [table for table in tables if table is not None]


class _Runs:
    """Records by their spec; an A/A control's second half is left out."""

    def __init__(self, records: Iterable[Mapping[str, Any]]) -> None:
        self._values: dict[str, list[Mapping[str, Any]]] = {}
        for record in records:
            spec = dict(record["spec"])
            if spec.pop("seed") < OTHER_SEEDS:
                self._values.setdefault(canonical(spec), []).append(record)

    def records(self, one: Experiment, init: str) -> Sequence[Mapping[str, Any]]:
        """An arm's records."""
        spec = one.run(init, 0).as_dict()
        del spec["seed"]
        return self._values.get(canonical(spec), ())

    def measured(self, one: Experiment, init: str, measure: str, decimals: int = 1) -> str:
        """Mean, standard deviation and number of an arm's runs; a dash where there are none."""
        found = [measured_in(record, measure) for record in self.records(one, init)]
        values = [value for value in found if value is not None]
        if not values:
            return "–"
        mean = f"{statistics.fmean(values):.{decimals}f}".replace("-", "−")
        if len(values) == 1:
            return mean
        return f"{mean} ± {statistics.stdev(values):.{decimals}f} ({len(values)})"


def _tasks(one: Experiment) -> list[str]:
    return sorted(stands_for(one), key=TASKS.index)


def _side_by_side(
    title: str,
    family: str,
    tier: str,
    cell: Callable[[str, str], str],
    here: Callable[[Experiment, str], str],
) -> Beside | None:
    """Arms by tasks: for each of our tasks the paper's it stands for, then what was measured."""
    found = experiments(tier, (family,))
    head = [""]
    for one in found:
        head += [f"{TITLES[task]}, paper" for task in _tasks(one)] + [f"{one.data.task}, here"]
    rows = []
    for init in ARMS:
        row = [found[0].label(init)]
        for one in found:
            row += [cell(init, task) for task in _tasks(one)] + [here(one, init)]
        rows.append(tuple(row))
    ran = any(row[place] != "–" for row in rows for place in _ours(head))
    return Beside(title, tuple(head), tuple(rows)) if ran else None


def _any_ours(rows: Iterable[Sequence[str]]) -> bool:
    return any(row[-1] != "–" for row in rows)


def _ours(head: Sequence[str]) -> list[int]:
    return [place for place, title in enumerate(head) if title.endswith(", here")]


def _scores(family: str, tier: str, runs: _Runs) -> Beside | None:
    def cell(init: str, task: str) -> str:
        found = numbers()["tables_1_and_7"][family].get(init, {}).get(task, {})
        mean = found.get("score") or found.get("matched")
        return " ± ".join(mean) if mean else "–"

    title = f"Tables 1 and 7, {LABELS[family]}: BLEU or accuracy"
    return _side_by_side(
        title, family, tier, cell, lambda one, init: runs.measured(one, init, one.metric)
    )


def _widths(family: str, tier: str, runs: _Runs) -> Beside | None:
    def cell(init: str, task: str) -> str:
        found = numbers()["tables_2_and_8"][family].get(init, {}).get(task)
        return str(found["sigma"]) if found else "–"

    title = f"Tables 2 and 8, {LABELS[family]}: sigma of the table at the start"
    return _side_by_side(
        title, family, tier, cell, lambda one, init: runs.measured(one, init, "table sigma", 3)
    )


def _grid(tier: str, runs: _Runs) -> Beside | None:
    found = [one for one in experiments(tier, ("glove",)) if "multi30k" in stands_for(one)]
    if not found:
        return None
    [one] = found
    rows = []
    for init, cells in numbers()["table_3"].items():
        for cell in cells:
            setting = one if cell["trained"] else one.frozen()
            setting = setting if cell["positions"] else setting.without_positions()
            name = f"{one.label(init)}, {'trained' if cell['trained'] else 'frozen'}"
            name += ", with positions" if cell["positions"] else ", without positions"
            # The registered setting follows Figure 1's curve, a changed one does not.
            rows.append((name, " ± ".join(cell["bleu"]), runs.measured(setting, init, one.metric)))
    head = ("", "Multi30k, paper", f"{one.data.task}, here")
    title = "Table 3: trained or frozen, with positions or without, BLEU"
    return Beside(title, head, tuple(rows)) if _any_ours(rows) else None


def _analogies(tier: str, runs: _Runs) -> Beside | None:
    [one] = probes(tier)
    scaled, placed = one.scaled("sqrt(D)"), one.with_positions("sinusoidal")
    settings = (
        (one, "pretrained"),
        (scaled, "pretrained"),
        (placed, "pretrained"),
        (one, "pretrained_xavier"),
        (scaled, "pretrained_xavier"),
        (placed, "pretrained_xavier"),
        (placed.scaled("one", "sigma_p/sigma_x"), "pretrained"),
    )
    rows = tuple(
        (row["says"], row["percent"] or "–", runs.measured(setting, init, one.metric))
        for row, (setting, init) in zip(numbers()["table_4"]["rows"], settings, strict=True)
    )
    head = ("", "analogies, paper", f"{one.data.task}, here")
    title = "Table 4: word relations left, % right"
    return Beside(title, head, rows) if _any_ours(rows) else None


STATISTICS = {"minimum": "min", "maximum": "max", "mean": "mean", "sigma": "sigma"}
SPREAD = {
    "xavier": ("xavier", False),
    "xavier*sqrt(D)": ("xavier", True),
    "glove": ("pretrained", False),
    "glove*sqrt(D)": ("pretrained", True),
    "glove_xavier": ("pretrained_xavier", False),
    "glove_xavier*sqrt(D)": ("pretrained_xavier", True),
    "position_encoding": ("xavier", False),
}
"""Table 6's rows: the arm, and whether its table is multiplied."""


def _spread(tier: str, runs: _Runs) -> Beside | None:
    found = [one for one in experiments(tier, ("glove",)) if "multi30k" in stands_for(one)]
    if not found:
        return None
    [one] = found
    head = [""]
    for name in STATISTICS.values():
        head += [f"{name}, paper", f"{name}, here"]
    rows = []
    for name, (init, scaled) in SPREAD.items():
        placed = name == "position_encoding"
        label = "Positions" if placed else one.label(init) + (" × √D" if scaled else "")
        records = runs.records(one, init)
        tables = records[0].get("positions" if placed else "tables", {}) if records else {}
        table, cells = tables.get("encoder", {}), [label]
        times = multiplier("sqrt(D)", int(table["dim"])) if scaled and table else 1.0
        for ours, printed in STATISTICS.items():
            here = f"{table[ours] * times:.3g}".replace("-", "−") if table else "–"
            cells += [numbers()["table_6"]["rows"][name][printed].replace("-", "−"), here]
        rows.append(tuple(cells))
    title = f"Table 6: range, mean and sigma, Multi30k there, {one.data.task} here"
    return Beside(title, tuple(head), tuple(rows)) if _any_ours(rows) else None


FIGURE = (("bert", "iwslt2017"), ("t5", "iwslt2017"), ("glove", "multi30k"))
"""Figure 1's panels, left to right."""

SHOWN = ("xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled")


def _figure(family: str, task: str, tier: str, runs: _Runs) -> Beside | None:
    """A panel: the curves here, and of the paper's what its tables say: the best epochs."""
    found = [one for one in experiments(tier, (family,)) if task in stands_for(one)]
    if not found:
        return None
    [one] = found
    rows, curves = [], []
    for init in SHOWN:
        label = one.label(init)
        followed = [record["curves"].get("validation_bleu") for record in runs.records(one, init)]
        curve = [values for values in followed if values]
        printed = numbers()["tables_1_and_7"][family].get(init, {}).get(task)
        theirs = (printed["epoch"], " ± ".join(printed["score"])) if printed else ("–", "–")
        ours = [runs.measured(one, init, measure) for measure in ("best_epoch", "bleu")]
        rows.append((label, theirs[0], ours[0], theirs[1], ours[1]))
        if curve:
            curves.append((label, tuple(curve)))
    if not curves:
        return None
    head = ("", "best epoch, paper", "best epoch, here", "test BLEU, paper", "test BLEU, here")
    title = f"Figure 1, {LABELS[family]}: {TITLES[task]} there, {one.data.task} here"
    return Beside(title, head, tuple(rows), tuple(curves))
