"""The paper's tables in its own layout: each printed number and the mean measured here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from embinit.lab.experiments import ModelExperiment
from embinit.lab.measures import table_statistic
from embinit.papers import PaperTable, by_arm, mean_and_spread
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit_papers.kim2024 import scaled, with_sinusoidal_positions
from embinit_papers.kim2024.experiments import LABELS, SOURCES, experiments, probes
from embinit_papers.kim2024.numbers import TASKS, numbers, stands_for
from embinit_papers.kim2024.printed import TITLES

ARMS = ("xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled", "xavier_pretrained")
"""The paper's arms in the order of its tables."""


def paper_tables(tier: str, results: Sequence[RunResult]) -> list[PaperTable]:
    """The paper's tables with printed and measured numbers.

    Returns:
        Tables 1 to 4 and 6 to 8, and Figure 1; a table of which nothing was run is left out.
    """
    runs = Runs(results)
    tables = [
        *(_scores(family, tier, runs) for family in SOURCES),
        *(_widths(family, tier, runs) for family in SOURCES),
        _grid(tier, runs),
        _analogies(tier, runs),
        _spread(tier, runs),
        *(_figure(family, task, tier, runs) for family, task in FIGURE),
    ]
    return [table for table in tables if table is not None]


class Runs:
    """Results by arm and seed, without the second halves of A/A controls."""

    def __init__(self, results: Iterable[RunResult]) -> None:
        """Groups ``results`` by arm."""
        self._arms = by_arm(results)

    def __call__(self, run: RunSpec) -> RunResult | None:
        """The result of a run; None for a run that was not made."""
        arm = self._arms.get(run.without_seed(), ())
        return next((result for result in arm if result.spec.seed == run.seed), None)

    def of(self, experiment: ModelExperiment, init: str) -> list[RunResult]:
        """An arm's results in the order of their seeds."""
        return self._arms.get(experiment.run(init, 0).without_seed(), [])

    def measured(
        self, experiment: ModelExperiment, init: str, what: str | Measure, decimals: int = 1
    ) -> str:
        """Mean, standard deviation and number of an arm's runs (see ``mean_and_spread``)."""
        return mean_and_spread(self.of(experiment, init), what, decimals)


def _tasks(experiment: ModelExperiment) -> list[str]:
    """The paper's tasks that an experiment's task stands for; none for one that it lacks."""
    return [task for task in TASKS if task in stands_for(experiment)]


def _side_by_side(
    title: str,
    family: str,
    tier: str,
    cell: Callable[[str, str], str],
    here: Callable[[ModelExperiment, str], str],
) -> PaperTable | None:
    """A table of arms by tasks; None where nothing was run.

    For each of our tasks the columns are the paper's tasks that it stands for, then ours.
    """
    ours = experiments(tier, (family,))
    if not ours:
        return None
    head = [""]
    for experiment in ours:
        head += [f"{TITLES[task]}, paper" for task in _tasks(experiment)] + [
            f"{experiment.data.task}, here"
        ]
    rows = []
    for init in ARMS:
        row = [ours[0].label(init)]
        for experiment in ours:
            row += [cell(init, task) for task in _tasks(experiment)] + [here(experiment, init)]
        rows.append(tuple(row))
    ran = any(row[column] != "–" for row in rows for column in _ours(head))
    return PaperTable(title, tuple(head), tuple(rows)) if ran else None


def _any_ours(rows: Iterable[Sequence[str]]) -> bool:
    return any(row[-1] != "–" for row in rows)


def _ours(head: Sequence[str]) -> list[int]:
    return [column for column, title in enumerate(head) if title.endswith(", here")]


def _scores(family: str, tier: str, runs: Runs) -> PaperTable | None:
    def cell(init: str, task: str) -> str:
        printed = numbers()["tables_1_and_7"][family].get(init, {}).get(task, {})
        mean = printed.get("score") or printed.get("matched")
        return " ± ".join(mean) if mean else "–"

    title = f"Tables 1 and 7, {LABELS[family]}: BLEU or accuracy"
    return _side_by_side(
        title,
        family,
        tier,
        cell,
        lambda experiment, init: runs.measured(experiment, init, experiment.metric),
    )


def _widths(family: str, tier: str, runs: Runs) -> PaperTable | None:
    def cell(init: str, task: str) -> str:
        printed = numbers()["tables_2_and_8"][family].get(init, {}).get(task)
        return str(printed["sigma"]) if printed else "–"

    title = f"Tables 2 and 8, {LABELS[family]}: sigma of the table at the start"
    return _side_by_side(
        title,
        family,
        tier,
        cell,
        lambda experiment, init: runs.measured(experiment, init, table_statistic("sigma"), 3),
    )


def _grid(tier: str, runs: Runs) -> PaperTable | None:
    candidates = [
        experiment
        for experiment in experiments(tier, ("glove",))
        if "multi30k" in stands_for(experiment)
    ]
    if not candidates:
        return None
    [experiment] = candidates
    rows = []
    for init, cells in numbers()["table_3"].items():
        for cell in cells:
            setting = experiment if cell["trained"] else experiment.frozen()
            setting = setting if cell["positions"] else setting.without_positions()
            name = f"{experiment.label(init)}, {'trained' if cell['trained'] else 'frozen'}"
            name += ", with positions" if cell["positions"] else ", without positions"
            # The registered setting follows Figure 1's curve, a changed one does not.
            rows.append(
                (name, " ± ".join(cell["bleu"]), runs.measured(setting, init, experiment.metric))
            )
    head = ("", "Multi30k, paper", f"{experiment.data.task}, here")
    title = "Table 3: trained or frozen, with positions or without, BLEU"
    return PaperTable(title, head, tuple(rows)) if _any_ours(rows) else None


def _analogies(tier: str, runs: Runs) -> PaperTable | None:
    [experiment] = probes(tier)
    times_root = scaled(experiment, "sqrt(D)")
    # Positions are added to the table × √D, as the text has it (``test_table_4``).
    placed = with_sinusoidal_positions(times_root)
    settings = (
        (experiment, "pretrained"),
        (times_root, "pretrained"),
        (placed, "pretrained"),
        (experiment, "pretrained_xavier"),
        (times_root, "pretrained_xavier"),
        (placed, "pretrained_xavier"),
        (scaled(placed, "sqrt(D)", "sigma_p/sigma_x"), "pretrained"),
    )
    rows = tuple(
        (row["says"], row["percent"] or "–", runs.measured(setting, init, experiment.metric))
        for row, (setting, init) in zip(numbers()["table_4"]["rows"], settings, strict=True)
    )
    head = ("", "analogies, paper", f"{experiment.data.task}, here")
    title = "Table 4: word relations left, % right"
    return PaperTable(title, head, rows) if _any_ours(rows) else None


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
"""Table 6's rows: the arm's init, and whether its table is multiplied by the root of D."""


def _spread(tier: str, runs: Runs) -> PaperTable | None:
    candidates = [
        experiment
        for experiment in experiments(tier, ("glove",))
        if "multi30k" in stands_for(experiment)
    ]
    if not candidates:
        return None
    [experiment] = candidates
    head = [""]
    for name in STATISTICS.values():
        head += [f"{name}, paper", f"{name}, here"]
    rows = []
    for name, (init, times_root) in SPREAD.items():
        of_positions = name == "position_encoding"
        label = (
            "Positions"
            if of_positions
            else experiment.label(init) + (" × √D" if times_root else "")
        )
        results, cells, table = runs.of(experiment, init), [label], None
        if results:
            table = (results[0].positions if of_positions else results[0].tables).get("encoder")
        times = math.sqrt(table.dim) if times_root and table else 1.0
        for ours, printed in STATISTICS.items():
            here = getattr(table, ours) * times if table else math.nan
            written = f"{here:.3g}".replace("-", "−") if math.isfinite(here) else "–"
            cells += [numbers()["table_6"]["rows"][name][printed].replace("-", "−"), written]
        rows.append(tuple(cells))
    title = f"Table 6: range, mean and sigma, Multi30k there, {experiment.data.task} here"
    return PaperTable(title, tuple(head), tuple(rows)) if _any_ours(rows) else None


FIGURE = (("bert", "iwslt2017"), ("t5", "iwslt2017"), ("glove", "multi30k"))
"""Figure 1's panels, left to right."""

SHOWN = ("xavier", "pretrained", "pretrained_xavier", "pretrained_shuffled")


def _figure(family: str, task: str, tier: str, runs: Runs) -> PaperTable | None:
    """A panel of Figure 1: measured curves, and the best epochs that the paper's tables print."""
    candidates = [
        experiment for experiment in experiments(tier, (family,)) if task in stands_for(experiment)
    ]
    if not candidates:
        return None
    [experiment] = candidates
    rows, curves = [], []
    for init in SHOWN:
        label = experiment.label(init)
        curves_of_runs = [
            result.curves.get("validation_bleu") for result in runs.of(experiment, init)
        ]
        curve = [values for values in curves_of_runs if values]
        printed = numbers()["tables_1_and_7"][family].get(init, {}).get(task)
        theirs = (printed["epoch"], " ± ".join(printed["score"])) if printed else ("–", "–")
        ours = [runs.measured(experiment, init, measure) for measure in ("best_epoch", "bleu")]
        rows.append((label, theirs[0], ours[0], theirs[1], ours[1]))
        if curve:
            curves.append((label, tuple(curve)))
    if not curves:
        return None
    head = ("", "best epoch, paper", "best epoch, here", "test BLEU, paper", "test BLEU, here")
    title = f"Figure 1, {LABELS[family]}: {TITLES[task]} there, {experiment.data.task} here"
    return PaperTable(title, head, tuple(rows), tuple(curves))
