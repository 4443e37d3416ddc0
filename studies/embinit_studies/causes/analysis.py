"""The analysis of ``causes``: the factorial of repairs, and the score over R, with intervals.

The claims on ``causes`` compare arms, and say which way. This tells how much: from the runs that
they train (and from others, which it trains where the store lacks them) each arm's mean, each
factorial contrast with its interval, each cause's share of the whole cost, and two figures.

A share is Shapley's: what a repair gains on the mean over all orders in which the three can be
made. The three shares sum to what all repairs together gain. An interval is Student's, 95 %, over
the seeds' own contrasts.

    python analysis.py STORE --from 5000  seeds 5000 to 5002, which no claim uses
    python analysis.py STORE --seeds 6    seeds 0 to 5, as the claims' second look
    python analysis.py STORE --optimizers    the arms that are trained by other optimizers
    python analysis.py STORE --settings    other tables, widths, depths, lengths, words
    python analysis.py STORE --search    each arm at each rate, on seeds 5000 to 5002
    python analysis.py STORE --data-dir DIR    real text

Without an option, what was told before of arms of the same seeds is kept, and not trained again.

It writes ``results/causes.json``, ``repairs.svg`` and ``ratio.svg``, and the tables of
``README.md``; with ``--optimizers``,
``--settings``, ``--search`` or ``--data-dir`` a table and a file of results of their own alone.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Quantity
from embinit.claims.pilot import FIRST_SEED
from embinit.report.charts import Axis
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit_studies.arms import mean_of, runs_of, told_of, train, values_of
from embinit_studies.causes import (
    COMBINATIONS,
    FOLLOWED,
    OTHER_TABLES,
    RATIOS,
    TIMES,
    TRAINED_BY,
    TableExperiment,
    contrast,
    experiments,
    language_model_experiments,
    setting_experiments,
    with_table,
)
from embinit_studies.causes.paper_tables import COMBINED, UNDER
from embinit_studies.pages import (
    Estimate,
    Values,
    best_bold,
    estimate,
    spread,
    svg,
    table,
    text,
    write_parts,
)
from embinit_studies.repairs import REPAIRS

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "causes.json"
OPTIMIZED = HERE / "results" / "optimizers.json"
CHANGED = HERE / "results" / "settings.json"
SEARCHED = HERE / "results" / "rates.json"
REAL = HERE / "results" / "real-text.json"
PAGE = HERE / "README.md"
SCRIPT = "causes/analysis.py"

COLOURS = {"xavier": "#1f6f8b", "glove": "#c0562f"}
RATE_FACTORS = (0.5, 1.0, 2.0)
"""The learning rates that are searched, over the registered one."""

NAMES = {"xavier": "Xavier", "glove": "GloVe", **OTHER_TABLES}


def arms_of(experiment: TableExperiment) -> dict[str, Quantity]:
    """Every arm of an experiment, by name."""
    arms = {"registered width": experiment.small_sigma()}
    for chosen in COMBINATIONS:
        arms[" + ".join(chosen) or "nothing"] = experiment.large_sigma(*chosen)
    for ratio in RATIOS:
        arms[f"R {ratio:.2g}"] = experiment.at_ratio(ratio)
        arms[f"frozen R {ratio:.2g}"] = experiment.frozen().at_ratio(ratio)
    return arms


EFFECTS = (
    *((cause,) for cause in REPAIRS),
    ("scale", "ratio"),
    ("scale", "step"),
    ("ratio", "step"),
    REPAIRS,
)
"""The seven contrasts."""


def contrasts_of(experiment: TableExperiment) -> dict[str, Quantity]:
    """The seven contrasts of an experiment, by name."""
    return {" × ".join(causes): contrast(experiment, *causes) for causes in EFFECTS}


def shares(contrasts: Mapping[str, Values]) -> dict[str, Values]:
    """Each cause's share of what all repairs gain, one a seed (see the module)."""
    triple = contrasts[" × ".join(REPAIRS)]
    gains = {
        cause: [main + three / 3 for main, three in zip(contrasts[cause], triple, strict=True)]
        for cause in REPAIRS
    }
    whole = [sum(of_seed) for of_seed in zip(*gains.values(), strict=True)]
    return {
        cause: [100 * gain / total for gain, total in zip(gained, whole, strict=True)]
        for cause, gained in gains.items()
    }


def measured(session: Session, seeds: Sequence[int], before: Mapping[str, Any]) -> dict[str, Any]:
    """Every experiment's scores by arm, and its contrasts, one value a seed.

    Args:
        session: Has the results.
        seeds: The seeds.
        before: What was told of the same seeds before, which is kept of arms that were not run.
    """

    def of(experiment: TableExperiment, what: str, quantities: Mapping[str, Quantity]) -> Any:
        kept = before.get(experiment.name, {}).get(what, {})
        return told_of(quantities, session, seeds, kept)

    return {
        experiment.name: {
            "metric": experiment.metric.unit,
            "arms": of(experiment, "arms", arms_of(experiment)),
            "contrasts": of(experiment, "contrasts", contrasts_of(experiment)),
        }
        for experiment in experiments("micro")
    }


def by_optimizer(tables: Sequence[str], optimizers: Sequence[str]) -> dict[str, TableExperiment]:
    """The experiments on translation with some tables under Adam and other optimizers, by name."""
    every = [each for each in with_table(*tables)("micro") if isinstance(each, TableExperiment)]
    return {
        f"{NAMES[each.source_role]}, {name}": trained
        for each in every
        for name, trained in (
            ("Adam", each),
            *((TRAINED_BY[optimizer], each.with_optimizer(optimizer)) for optimizer in optimizers),
        )
    }


def optimizers_table(results: Mapping[str, Any]) -> list[str]:
    """Mean and standard deviation of each table's arms under each optimizer."""
    return table(
        ["table, optimizer", *UNDER],
        [
            [name, *(spread(arms[arm]) if arms.get(arm) else "" for arm in UNDER)]
            for name, arms in results.items()
        ],
    )


def write_optimizers(told: Mapping[str, Any]) -> None:
    """The page's table on optimizers."""
    first, number = told["seeds"]
    lines = [f"Seeds {first} to {first + number - 1}:", "", *optimizers_table(told["arms"])]
    write_parts(PAGE, SCRIPT, {"optimizers": lines})


def train_optimizers(session: Session, seeds: range, tables: Sequence[str]) -> None:
    """Trains the arms of ``by_optimizer`` that the store lacks, and writes the results."""
    arms = {
        name: {
            arm: make(experiment)
            for arm, make in UNDER.items()
            # Xavier's table is at its registered width as it is.
            if arm != "as it is" or experiment.source_role != "xavier"
        }
        for name, experiment in by_optimizer(tables, ["adamw", "adafactor"]).items()
    }
    train(session, [run for each in arms.values() for run in runs_of(each.values(), seeds)])
    values = {name: values_of(each, session, seeds) for name, each in arms.items()}
    told = {"seeds": [seeds.start, len(seeds)], "arms": values}
    OPTIMIZED.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_optimizers(told)


def by_setting() -> dict[str, TableExperiment]:
    """Translation in each setting, and each task with language models' tables, by name."""
    registered = {
        f"{heading(each.name)}, as registered": each
        for each in experiments("micro")
        if each.role == FOLLOWED
    }
    every = registered | {heading(each.name): each for each in setting_experiments("micro")}
    by_table = sorted(every, key=lambda name: list(NAMES.values()).index(name.partition(",")[0]))
    return {name: every[name] for name in by_table} | {
        heading(each.name): each for each in language_model_experiments("micro")
    }


def on_real_text() -> dict[str, TableExperiment]:
    """The factorial on real text, by name."""
    return {heading(each.name): each for each in experiments("sample")}


def train_factorials(
    session: Session, seeds: range, every: Mapping[str, TableExperiment]
) -> dict[str, Any]:
    """Trains the factorials that the store lacks, and returns their scores and contrasts."""
    arms_of_all = [arm(each) for each in every.values() for arm in COMBINED.values()]
    train(session, runs_of(arms_of_all, seeds))
    told = {}
    for name, each in every.items():
        arms = {label: arm(each) for label, arm in COMBINED.items()}
        contrasts = values_of(contrasts_of(each), session, seeds)
        if len(contrasts) == len(EFFECTS):
            told[name] = {"arms": values_of(arms, session, seeds), "contrasts": contrasts}
    return {"seeds": [seeds.start, len(seeds)], "rows": told}


def factorials_table(told: Mapping[str, Any]) -> list[str]:
    """A row per factorial: small sigma, large sigma, all repairs, and the shares.

    Where the repairs are not shown to gain anything, there is nothing to share.
    """
    first, number = told["seeds"]
    names = ("registered width", f"{TIMES} × as wide", " + ".join(REPAIRS))
    rows = []
    for name, each in told["rows"].items():
        _, before, after = (each["arms"][arm] for arm in names)
        gained = estimate([b - a for a, b in zip(before, after, strict=True)]).low > 0
        of_each = shares(each["contrasts"]) if gained else {}
        cells = [estimate(of_each[cause]).told(0) if gained else "–" for cause in REPAIRS]
        rows.append([name, *(spread(each["arms"][arm]) for arm in names), *cells])
    head = ["table and setting", "registered width", f"{TIMES} × as wide", "all three repaired"]
    head += [f"share of {cause}, %" for cause in REPAIRS]
    return [f"Seeds {first} to {first + number - 1}:", "", *table(head, rows)]


def write_factorials(part: str, file: Path, told: Mapping[str, Any]) -> None:
    """Saves the measurements, and writes the page's table."""
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    lines = factorials_table(told)
    if part == "real text":
        lines += ["", *real_arms_table(told["rows"])]
    write_parts(PAGE, SCRIPT, {part: lines})


def real_arms_table(rows: Mapping[str, Any]) -> list[str]:
    """Mean and standard deviation of each arm on real text."""
    return table(
        ["repaired", *rows],
        [[arm, *(spread(each["arms"][arm]) for each in rows.values())] for arm in COMBINED],
    )


def search_rates(session: Session) -> None:
    """Trains each arm of the factorial at each learning rate, and writes the results."""
    seeds = range(FIRST_SEED, FIRST_SEED + 3)
    arms = {
        heading(each.name): {
            f"{label}, {times:g}": arm(each.at_rate_times(times))
            for label, arm in COMBINED.items()
            for times in RATE_FACTORS
        }
        for each in experiments("micro")
    }
    train(session, runs_of((arm for of in arms.values() for arm in of.values()), seeds))
    values = {name: values_of(of, session, seeds) for name, of in arms.items()}
    told = {"seeds": [seeds.start, len(seeds)], "arms": values}
    SEARCHED.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_parts(PAGE, SCRIPT, {"rates": rates_table(values)})


def rates_table(values: Mapping[str, Mapping[str, Values]]) -> list[str]:
    """Each arm's means at the rates, the highest bold."""
    rows = [
        [
            label,
            *(
                " / ".join(best_bold([mean_of(of, f"{label}, {t:g}") for t in RATE_FACTORS]))
                for of in values.values()
            ),
        ]
        for label in COMBINED
    ]
    return table(["repaired", *values], rows)


def wanted(roles: Sequence[str]) -> list[tuple[TableExperiment, str, Quantity]]:
    """The arms to train: the factorial on every task, the sigmas on those of ``roles``."""
    return [
        (experiment, name, arm)
        for experiment in experiments("micro")
        for name, arm in arms_of(experiment).items()
        if experiment.role in roles or "R " not in name
    ]


def main() -> None:
    """Trains what the store lacks, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument(
        "--followed",
        nargs="*",
        default=["translation"],
        help="the tasks whose score is followed over R",
    )
    parser.add_argument("--optimizers", action="store_true", help="the other optimizers' arms")
    parser.add_argument("--search", action="store_true", help="search over the learning rate")
    parser.add_argument("--settings", action="store_true", help="the factorial in other settings")
    parser.add_argument("--data-dir", type=Path, help="the factorial on real text")
    parser.add_argument(
        "--tables",
        nargs="*",
        default=["xavier", "t5"],
        help="the tables that they are trained from",
    )
    parser.add_argument("--no-train", action="store_true", help="train nothing")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    session = Session(Store(options.store), options.data_dir, "cpu", may_train=not options.no_train)
    if options.search:
        search_rates(session)
        return
    if options.settings:
        write_factorials("settings", CHANGED, train_factorials(session, seeds, by_setting()))
        return
    if options.data_dir is not None:
        write_factorials("real text", REAL, train_factorials(session, seeds, on_real_text()))
        return
    if options.optimizers:
        train_optimizers(session, seeds, options.tables)
        return
    told = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept = told["experiments"] if told.get("seeds") == [options.first, options.seeds] else {}
    lacking = [
        arm
        for experiment, name, arm in wanted(options.followed)
        if name not in kept.get(experiment.name, {}).get("arms", {})
    ]
    train(session, runs_of(lacking, seeds))
    results = measured(session, seeds, kept)
    told = {"seeds": [options.first, options.seeds], "experiments": results}
    RESULTS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write(told)


def write(told: Mapping[str, Any]) -> None:
    """Writes the page's figures and tables."""
    results = told["experiments"]
    (HERE / "repairs.svg").write_text(repairs_figure(results), "utf-8")
    (HERE / "ratio.svg").write_text(ratio_figure(results), "utf-8")
    first, number = told["seeds"]
    parts = {
        "seeds": [f"Seeds {first} to {first + number - 1}."],
        "arms": arms_table(results),
        "contrasts": contrasts_table(results),
        "shares": shares_table(results),
        "ratio": ratio_table(results),
    }
    write_parts(PAGE, SCRIPT, parts)


def heading(name: str) -> str:
    """An experiment's name for people: its table and its task."""
    made, task = name.split("-", 1)
    told = task.removeprefix("micro-").removesuffix("-en-de")
    return f"{NAMES[made]}, " + told.replace("translation-", "translation, ").replace("-", " ")


def arms_table(results: Mapping[str, Any]) -> list[str]:
    """Mean and standard deviation of each arm of the factorial."""
    names = ["registered width", *(" + ".join(chosen) or "nothing" for chosen in COMBINATIONS)]
    rows = [[name, *(spread(each["arms"][name]) for each in results.values())] for name in names]
    return table(["repaired", *map(heading, results)], rows)


def contrasts_table(results: Mapping[str, Any]) -> list[str]:
    """Each contrast with its interval."""
    rows = [
        [name, *(estimate(each["contrasts"][name]).told() for each in results.values())]
        for name in (" × ".join(causes) for causes in EFFECTS)
    ]
    return table(["contrast", *map(heading, results)], rows)


def shares_table(results: Mapping[str, Any]) -> list[str]:
    """Each cause's share of the whole cost, in percent."""
    of_each = [shares(each["contrasts"]) for each in results.values()]
    rows = [[cause, *(estimate(of_one[cause]).told(0) for of_one in of_each)] for cause in REPAIRS]
    return table(["share of the cost, %", *map(heading, results)], rows)


def ratio_table(results: Mapping[str, Any]) -> list[str]:
    """The mean over R, trained and frozen, of the experiments that were followed."""
    rows = []
    for name, each in results.items():
        for kind, begin in (("trained", "R"), ("frozen", "frozen R")):
            found = [each["arms"].get(f"{begin} {ratio:.2g}") for ratio in RATIOS]
            if all(found):
                rows.append(
                    [f"{heading(name)}, {kind}", *(f"{statistics.fmean(v):.1f}" for v in found)]
                )
    return table(["R", *(f"{ratio:.2g}" for ratio in RATIOS)], rows)


WIDE, HIGH = 940, 330


def legend(x: float, y: float) -> list[str]:
    """The legend of tables by colour."""
    return [
        part
        for number, (made, colour) in enumerate(COLOURS.items())
        for part in (
            f'<circle cx="{x + 80 * number}" cy="{y - 4}" r="4" fill="{colour}"/>',
            text(x + 80 * number + 8, y, NAMES[made]),
        )
    ]


def tasks_of(results: Mapping[str, Any]) -> list[str]:
    """The tasks, in order."""
    return list(dict.fromkeys(name.split("-", 1)[1] for name in results))


def repairs_figure(results: Mapping[str, Any]) -> str:
    """A panel a task: each arm of the factorial with its interval, for both tables."""
    names = ["registered width", *(" + ".join(chosen) or "nothing" for chosen in COMBINATIONS)]
    parts, left, wide, row = legend(170, 20), 170, 240, 26
    for number, task in enumerate(tasks_of(results)):
        of_task = {name.split("-", 1)[0]: each for name, each in results.items() if task in name}
        unit = next(iter(of_task.values()))["metric"]
        ends = [
            end
            for each in of_task.values()
            for name in names
            for end in estimate(each["arms"][name])[1:]
        ]
        low, high = max(0.0, min(ends) - 2), min(100.0, max(ends) + 2)
        x0 = left + number * (wide + 20)
        axis = Axis(low, high, x0, x0 + wide)
        parts.append(text(x0 + wide / 2, 42, f"{task.removeprefix('micro-')}, {unit}", "middle"))
        bottom = 56 + row * len(names)
        for tick in axis.ticks(4):
            parts.append(
                f'<line x1="{tick.at:.1f}" x2="{tick.at:.1f}" y1="50" y2="{bottom}" stroke="#ddd"/>'
            )
            parts.append(text(tick.at, bottom + 16, tick.text, "middle"))
        for index, name in enumerate(names):
            y = 66 + row * index
            if not number:
                parts.append(text(left - 10, y + 4, name, "end"))
            for offset, (made, each) in zip((-4, 4), of_task.items(), strict=True):
                mean, start, stop = estimate(each["arms"][name])
                at = [axis.at(value) for value in (start, stop, mean)]
                parts.append(
                    f'<line x1="{at[0]:.1f}" x2="{at[1]:.1f}" y1="{y + offset}" y2="{y + offset}" '
                    f'stroke="{COLOURS[made]}" stroke-width="2"/>'
                    f'<circle cx="{at[2]:.1f}" cy="{y + offset}" r="3.5" fill="{COLOURS[made]}"/>'
                )
    title = f"Scores of a table {TIMES} times as wide, by what is repaired, with 95 % intervals"
    return svg(WIDE + 20, 56 + row * len(names) + 26, parts, title)


def ratio_figure(results: Mapping[str, Any]) -> str:
    """A panel a task: the score over R with bands, trained and frozen, for both tables."""
    followed = {
        name: each
        for name, each in results.items()
        if all(f"R {ratio:.2g}" in each["arms"] for ratio in RATIOS)
    }
    tasks = tasks_of(followed)
    wide = 440 if len(tasks) == 1 else 260
    parts, left, top, bottom = legend(60, 20), 60, 52, HIGH - 46
    for number, task in enumerate(tasks):
        x0 = left + number * (wide + 40)
        across = Axis(math.log2(RATIOS[0]), math.log2(RATIOS[-1]), x0, x0 + wide)
        of_task = {name.split("-", 1)[0]: each for name, each in followed.items() if task in name}
        unit = next(iter(of_task.values()))["metric"]
        every = [
            value
            for each in of_task.values()
            for name, values in each["arms"].items()
            if "R " in name
            for value in values
        ]
        up = Axis(max(0.0, min(every) - 2), min(100.0, max(every) + 2), bottom, top)
        parts.append(text(x0 + wide / 2, 42, f"{task.removeprefix('micro-')}, {unit}", "middle"))
        for tick in up.ticks(5):
            parts.append(
                f'<line x1="{x0}" x2="{x0 + wide}" y1="{tick.at:.1f}" y2="{tick.at:.1f}" '
                'stroke="#ddd"/>'
            )
            parts.append(text(x0 - 6, tick.at + 4, tick.text, "end"))
        for ratio in RATIOS:
            parts.append(text(across.at(math.log2(ratio)), bottom + 18, f"{ratio:.2g}", "middle"))
        parts.append(text(x0 + wide / 2, bottom + 36, "R = 2 D σ²", "middle"))
        for made, each in of_task.items():
            for begin, dashes in (("R", ""), ("frozen R", 'stroke-dasharray="5 4"')):
                if f"{begin} {RATIOS[0]:.2g}" in each["arms"]:
                    values = [each["arms"][f"{begin} {ratio:.2g}"] for ratio in RATIOS]
                    parts += band(across, up, values, COLOURS[made], dashes)
    parts.append(text(240, 20, "line: trained; dashes: frozen; band: 95 %"))
    title = "The score over R, the energy of words over that of positions, with bands"
    return svg(left + len(tasks) * (wide + 40) + 10, HIGH, parts, title)


def band(across: Axis, up: Axis, values: Sequence[Values], colour: str, dashes: str) -> list[str]:
    """A line through means, and the band of their intervals."""
    places = [across.at(math.log2(ratio)) for ratio in RATIOS]
    estimates = [Estimate(*(up.at(number) for number in estimate(of_ratio))) for of_ratio in values]
    line = " ".join(f"{x:.1f},{each.mean:.1f}" for x, each in zip(places, estimates, strict=True))
    lows = [f"{x:.1f},{each.low:.1f}" for x, each in zip(places, estimates, strict=True)]
    highs = [f"{x:.1f},{each.high:.1f}" for x, each in zip(places, estimates, strict=True)]
    return [
        f'<polygon points="{" ".join([*lows, *reversed(highs)])}" fill="{colour}" opacity="0.15"/>',
        f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2" {dashes}/>',
    ]


if __name__ == "__main__":
    main()
