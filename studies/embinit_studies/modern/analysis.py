"""The analysis of ``modern``: the first paper's findings in each architecture, with intervals.

The claims on ``modern`` compare arms, and say which way. This tells how much: from the runs that
they train (and from others, which it trains where the store lacks them) each arm's mean loss, the
findings as differences with their intervals, what is measured of the mechanism, and two figures.
An interval is Student's, 95 %, over the seeds' own differences.

    python analysis.py STORE             seeds 0 to 2, as the claims' first look
    python analysis.py STORE --search    each arm at each rate, on seeds 5000 and 5001
    python analysis.py STORE --factorial [--from 5000]    the repairs of a wide table
    python analysis.py STORE --factorial --search    the same at each rate
    python analysis.py STORE --data-dir DIR [--search]    real text alone

It writes ``results/modern.json``, ``findings.svg`` and ``stream.svg``, and the tables of
``README.md``. The search replaces its own
part alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from embinit.claims.comparisons import Quantity
from embinit.claims.pilot import FIRST_SEED
from embinit.report.charts import Axis
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit.specs import RunSpec
from embinit_studies.arms import mean_of, runs_of, train, values_of
from embinit_studies.modern import ARCHITECTURES, OLD, SETTINGS, Decoder, experiments
from embinit_studies.modern.paper_tables import FACTORIALS, MEASURES, arms_of, losses_of
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
from embinit_studies.repairs import REPAIRS, combinations_of

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "modern.json"
PAGE = HERE / "README.md"
SCRIPT = "modern/analysis.py"

RATES: Mapping[str, Sequence[float]] = {
    "micro": (2e-3, 4e-3, 8e-3),
    "sample": (5e-4, 1e-3, 2e-3),
}
"""The rates that were searched on each tier: on micro by every arm, on sample by Xavier's."""

ARMS = arms_of("micro")
TRAINING = SETTINGS["micro"].training

SEARCHED = 2
"""How many seeds the search has."""

Arms = Mapping[str, Quantity]

SHARES = ("embedding_share", "embedding_share_after")
CURVES = (*SHARES, "layer_gradient_norm")
"""The curves over layers."""

WIDE = "Xavier, wide"


class Finding(NamedTuple):
    """A difference of two arms' losses: the first less the second."""

    first: str
    second: str
    says: str


def at_scaled_rate(what: str, tier: str = "micro") -> str:
    """The arm's name at a table learning rate multiplied as its sigma is."""
    return f"{what}, rate × {SETTINGS[tier].times:g}"


def findings_of(tier: str) -> dict[str, Finding]:
    """The findings, each a difference in nats a word."""
    wide, glove = at_scaled_rate(WIDE, tier), at_scaled_rate("GloVe", tier)
    return {
        "width alone": Finding(WIDE, "Xavier", "what a drawn table's width costs"),
        "GloVe as it is": Finding("GloVe", "Xavier", "what GloVe's table costs against Xavier's"),
        "standardising": Finding("GloVe", "GloVe, standardised", "what standardising gains"),
        "meaning": Finding("GloVe, shuffled", "GloVe", "what the words' own vectors gain"),
        "meaning, narrow": Finding("Xavier", "GloVe, standardised", "the same at Xavier's width"),
        "step": Finding(WIDE, wide, "what a rate that grows with the width gains"),
        "left of width": Finding(wide, "Xavier", "its cost where the rate grows with it"),
        "wide and learning": Finding(
            "GloVe, standardised", glove, "GloVe's at that rate against standardised"
        ),
        "both at that rate": Finding(
            at_scaled_rate("Xavier", tier), glove, "what GloVe's table gains against Xavier's there"
        ),
    }


FINDINGS = findings_of("micro")
AT_SCALED_RATE = at_scaled_rate(WIDE)

REAL_ARMS = (
    *("Xavier", WIDE, at_scaled_rate(WIDE, "sample"), "GloVe", "GloVe, standardised"),
    *("GloVe, shuffled", at_scaled_rate("GloVe", "sample"), at_scaled_rate("Xavier", "sample")),
)
"""The arms that are trained on real text."""


def measured(session: Session, seeds: Sequence[int]) -> dict[str, Any]:
    """Each architecture's arms: their measures, one value a seed, and means layer by layer."""
    told: dict[str, Any] = {}
    for experiment in experiments("micro"):
        told[experiment.name] = {"arms": {}, "layers": {}}
        for name, arm in ARMS.items():
            results = [session.result(run) for s in seeds for run in arm(experiment).runs_of(s)]
            there = [result for result in results if result is not None]
            assert len(there) == len(seeds), f"{experiment.name}, {name}: a run is missing"
            told[experiment.name]["arms"][name] = {
                what: [round(result.measures[what], 4) for result in there] for what in MEASURES
            }
            told[experiment.name]["layers"][name] = {
                what: [
                    round(statistics.fmean(of_layer), 4)
                    for of_layer in zip(*(result.curves[what] for result in there), strict=True)
                ]
                for what in CURVES
            }
    return told


def contrasts_of(experiment: Decoder, which: str) -> dict[str, Quantity]:
    """The contrasts of a table's factorial, by their causes."""
    _, wide = FACTORIALS[which]
    return {
        " × ".join(causes): experiment.effect(wide, *causes)
        for causes in combinations_of(experiment.repairs)
        if causes
    }


def factorial_at_rates(experiment: Decoder, which: str) -> dict[str, Quantity]:
    """The losses of a table's factorial at each rate, by name and rate."""
    return {
        f"{name}, {rate:g}": arm
        for rate in RATES["micro"]
        for name, arm in losses_of(experiment.at_rate(rate), which).items()
    }


def tell_factorials(
    session: Session, seeds: range, of_each: Mapping[str, Callable[[Decoder, str], Arms]]
) -> dict[str, Any]:
    """Trains the factorials that the store lacks, and returns their values, one a seed.

    Args:
        session: Has the results.
        seeds: The seeds.
        of_each: Gives, by part, the quantities of an experiment's factorial with a table.
    """
    every = {
        part: {
            each.name: {which: quantities(each, which) for which in FACTORIALS}
            for each in experiments("micro")
        }
        for part, quantities in of_each.items()
    }
    arms = [
        arm
        for rows in every.values()
        for tables in rows.values()
        for told in tables.values()
        for arm in told.values()
    ]
    train(session, runs_of(arms, seeds))
    return {"seeds": [seeds.start, len(seeds)]} | {
        part: {
            name: {which: values_of(told, session, seeds) for which, told in tables.items()}
            for name, tables in rows.items()
        }
        for part, rows in every.items()
    }


def factorial_rates_table(told: Mapping[str, Any]) -> list[str]:
    """Each arm's mean loss at each rate, the lowest bold."""
    rows = []
    for which in FACTORIALS:
        for name, architecture in ARCHITECTURES.items():
            of = told["losses"][name][which]
            arms = dict.fromkeys(key.rsplit(", ", 1)[0] for key in of)
            for arm in arms:
                means = [mean_of(of, f"{arm}, {rate:g}") for rate in RATES["micro"]]
                rows.append([f"{which}, {architecture.label}", arm, *best_bold(means, min, 3)])
    head = ["table and architecture", "repaired", *(f"{rate:g}" for rate in RATES["micro"])]
    return table(head, rows)


def factorial_tables(told: Mapping[str, Any]) -> list[str]:
    """A row per factorial: its losses, and its contrasts with intervals."""
    first, number = told["seeds"]
    chosen = combinations_of(REPAIRS)
    arms = ["narrow", *(" + ".join(of) or "wide" for of in chosen)]
    contrasts = [" × ".join(of) for of in chosen if of]

    def rows(part: str, columns: Sequence[str], cell: Callable[[Values], str]) -> list[list[str]]:
        return [
            [
                f"{which}, {ARCHITECTURES[name].label}",
                *(cell(tables[which][c]) if c in tables[which] else "–" for c in columns),
            ]
            for which in FACTORIALS
            for name, tables in told[part].items()
        ]

    head = "table and architecture"
    return [
        f"Seeds {first} to {first + number - 1}, losses:",
        "",
        *table([head, *arms], rows("losses", arms, lambda values: spread(values, 3))),
        "",
        "Contrasts:",
        "",
        *table(
            [head, *contrasts],
            rows("contrasts", contrasts, lambda values: estimate(values).told(3)),
        ),
    ]


FACTORIAL = {"losses": losses_of, "contrasts": contrasts_of}
"""The functions that give a factorial's quantities, by part."""

FACTORIAL_AT_RATES = {"losses": factorial_at_rates}
"""The function that gives a factorial's quantities in the search."""

POSITIONLESS = ("Xavier", WIDE, "GloVe")
"""The arms that are also trained without positions, where sinusoids are added."""


def with_sinusoids() -> list[Decoder]:
    """The experiments whose table gets sinusoids."""
    return [each for each in experiments("micro") if each.positions.kind == "sinusoidal"]


def arms_without_positions(experiment: Decoder) -> dict[str, Quantity]:
    """The arms of an experiment with nothing added to the table."""
    bare = experiment.without_positions()
    assert isinstance(bare, Decoder)
    return {name: ARMS[name](bare) for name in POSITIONLESS}


def without_positions(session: Session, seeds: Sequence[int]) -> dict[str, Any]:
    """The losses without added positions, one a seed."""
    return {
        experiment.name: {
            name: [arm.value(seed, session.result) for seed in seeds]
            for name, arm in arms_without_positions(experiment).items()
        }
        for experiment in with_sinusoids()
    }


def searched(session: Session, seeds: Sequence[int]) -> dict[str, Any]:
    """Each arm's losses at each rate."""
    return {
        experiment.name: {
            name: {
                f"{rate:g}": [
                    arm(experiment.at_rate(rate)).value(seed, session.result) for seed in seeds
                ]
                for rate in RATES["micro"]
            }
            for name, arm in ARMS.items()
        }
        for experiment in experiments("micro")
    }


def wanted(seeds: Sequence[int], rates: Sequence[float]) -> list[RunSpec]:
    """The runs of every arm in every architecture at each rate."""
    return [
        run
        for experiment in experiments("micro")
        for rate in rates
        for arm in ARMS.values()
        for seed in seeds
        for run in arm(experiment.at_rate(rate)).runs_of(seed)
    ]


def train_real_text(session: Session, seeds: range, rates: Sequence[float]) -> dict[str, Any]:
    """Trains the runs on real text that the store lacks.

    Returns:
        Each architecture's arms with their losses, one a seed; with several rates Xavier's alone,
        by rate.
    """
    arms = arms_of("sample")
    every: dict[str, dict[str, Quantity]] = {}
    for each in experiments("sample"):
        if len(rates) > 1:
            every[each.name] = {f"{rate:g}": each.at_rate(rate).xavier() for rate in rates}
        else:
            every[each.name] = {name: arms[name](each) for name in REAL_ARMS}
    train(session, [run for of_each in every.values() for run in runs_of(of_each.values(), seeds)])
    return {
        name: {
            "arms": {
                arm: {"validation_loss": values}
                for arm, values in values_of(of_each, session, seeds).items()
            }
        }
        for name, of_each in every.items()
    }


def main() -> None:
    """Trains what the store lacks, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--search", action="store_true", help="search over the learning rate")
    parser.add_argument("--factorial", action="store_true", help="the repairs of a wide table")
    parser.add_argument("--no-train", action="store_true", help="train nothing")
    parser.add_argument("--data-dir", type=Path, help="real text and vectors; nothing else is told")
    options = parser.parse_args()
    if options.factorial and options.data_dir is not None:
        parser.error("the factorial is made on micro; leave out --factorial or --data-dir")
    first, number = options.first, options.seeds
    if options.search:
        first, number = FIRST_SEED, SEARCHED
    seeds = range(first, first + number)
    session = Session(Store(options.store), options.data_dir, "cpu", may_train=not options.no_train)
    told = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    half = "search" if options.search else "explored" if first >= FIRST_SEED else "confirmed"
    if options.data_dir is not None:
        rates = RATES["sample"] if options.search else [SETTINGS["sample"].training.lr]
        told.setdefault("real text", {})[half] = {
            "seeds": [first, number],
            "architectures": train_real_text(session, seeds, rates),
        }
    elif options.factorial:
        parts = FACTORIAL_AT_RATES if options.search else FACTORIAL
        told.setdefault("factorial", {})[half] = tell_factorials(session, seeds, parts)
    elif options.search:
        train(session, wanted(seeds, RATES["micro"]))
        told["search"] = {"seeds": [first, number], "losses": searched(session, seeds)}
    else:
        without = [
            arm
            for experiment in with_sinusoids()
            for arm in arms_without_positions(experiment).values()
        ]
        train(session, [*wanted(seeds, [TRAINING.lr]), *runs_of(without, seeds)])
        told["seeds"], told["architectures"] = [first, number], measured(session, seeds)
        told["without positions"] = without_positions(session, seeds)
    RESULTS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write(told)


def write(told: Mapping[str, Any]) -> None:
    """Writes the page's figures and tables of the measurements."""
    tables: dict[str, list[str]] = {}
    if "architectures" in told:
        results, (first, number) = told["architectures"], told["seeds"]
        (HERE / "findings.svg").write_text(findings_figure(results), "utf-8")
        (HERE / "stream.svg").write_text(stream_figure(results), "utf-8")
        tables["seeds"] = [f"Seeds {first} to {first + number - 1}."]
        tables["losses"] = losses_table(results)
        tables["findings"] = findings_table(results)
        tables["less"] = less_table(results)
        tables["mechanism"] = mechanism_table(results)
    if "without positions" in told:
        tables["positions"] = positions_table(told["architectures"], told["without positions"])
    halves = told.get("factorial", {})
    for half in ("explored", "confirmed"):
        if half in halves:
            tables["factorial"] = factorial_tables(halves[half])
    if "search" in halves:
        tables["factorial rates"] = factorial_rates_table(halves["search"])
    if "search" in told:
        tables["search"] = search_table(told["search"]["losses"])
        tables["best"] = best_table(told["search"]["losses"])
    if "real text" in told:
        tables["real text"] = real_findings_table(told["real text"])
        tables["real losses"] = real_losses_table(told["real text"])
    write_parts(PAGE, SCRIPT, tables)


def real_findings_table(told: Mapping[str, Any]) -> list[str]:
    """Each finding on real text, on explored seeds and on confirmed ones, with its interval."""
    names = list(SETTINGS["sample"].margins)
    rows = []

    def cell(results: Mapping[str, Any], name: str, finding: Finding) -> str:
        arms = results.get(name, {}).get("arms", {})
        if not {finding.first, finding.second} <= set(arms):
            return "–"
        return estimate(difference(results, name, finding)).told(3)

    for title, finding in findings_of("sample").items():
        for half in ("explored", "confirmed"):
            cells = [cell(told[half]["architectures"], n, finding) for n in names if half in told]
            if set(cells) - {"–"}:
                rows.append([f"{title}: {finding.first} less {finding.second}", half, *cells])
    return table(["difference, nats a word", "seeds", *labels(names)], rows)


def real_losses_table(told: Mapping[str, Any]) -> list[str]:
    """Each arm's mean loss and standard deviation on the last half of the seeds there is."""
    results = told["confirmed" if "confirmed" in told else "explored"]["architectures"]
    names = list(SETTINGS["sample"].margins)
    rows = []
    for arm in REAL_ARMS:
        there = [arm in results.get(name, {}).get("arms", {}) for name in names]
        if any(there):
            cells = (
                spread(losses(results, name, arm), 3) if known else "–"
                for name, known in zip(names, there, strict=True)
            )
            rows.append([arm, *cells])
    return table(["table", *labels(names)], rows)


def labels(names: Iterable[str] = ARCHITECTURES) -> list[str]:
    """Architectures' names for people."""
    return [ARCHITECTURES[name].label for name in names]


def losses(results: Mapping[str, Any], name: str, arm: str) -> list[float]:
    """An arm's last losses in an architecture, one a seed."""
    of_arm: list[float] = results[name]["arms"][arm]["validation_loss"]
    return of_arm


def difference(results: Mapping[str, Any], name: str, finding: Finding) -> list[float]:
    """A finding in an architecture, one value a seed."""
    pairs = zip(
        losses(results, name, finding.first), losses(results, name, finding.second), strict=True
    )
    return [first - second for first, second in pairs]


def losses_table(results: Mapping[str, Any]) -> list[str]:
    """Each arm's mean loss and standard deviation."""
    rows = [
        [arm, *(spread(losses(results, name, arm), 3) for name in ARCHITECTURES)] for arm in ARMS
    ]
    return table(["table", *labels()], rows)


def findings_table(results: Mapping[str, Any]) -> list[str]:
    """Each finding with its interval."""
    rows = [
        [
            f"{title}: {finding.first} less {finding.second}",
            *(estimate(difference(results, name, finding)).told(3) for name in ARCHITECTURES),
        ]
        for title, finding in FINDINGS.items()
    ]
    return table(["difference, nats a word", *labels()], rows)


def less_table(results: Mapping[str, Any]) -> list[str]:
    """The table of how much less each cost is than in the paper's architecture."""
    rows = []
    for title in ("width alone", "GloVe as it is"):
        finding = FINDINGS[title]
        old = difference(results, OLD, finding)
        cells = [
            estimate(
                [a - b for a, b in zip(old, difference(results, name, finding), strict=True)]
            ).told(3)
            for name in ARCHITECTURES
            if name != OLD
        ]
        rows.append([title, *cells])
    return table(["less than in post-norm with sinusoids", *labels()[1:]], rows)


def positions_table(results: Mapping[str, Any], bare: Mapping[str, Any]) -> list[str]:
    """The table of the gain of added positions: the loss without them less the loss with them."""
    rows = []
    for arm in POSITIONLESS:
        cells = []
        for name in bare:
            pairs = zip(bare[name][arm], losses(results, name, arm), strict=True)
            cells.append(estimate([without - with_ for without, with_ in pairs]).told(3))
        rows.append([arm, *cells])
    return table(["what sinusoids gain", *(ARCHITECTURES[name].label for name in bare)], rows)


def mechanism_table(results: Mapping[str, Any]) -> list[str]:
    """Means of further measures, for a small-sigma, a large-sigma and GloVe's table."""
    rows = []
    for what, title in MEASURES.items():
        if what == "validation_loss":
            continue
        for arm in ("Xavier", WIDE, AT_SCALED_RATE, "GloVe"):
            means = [statistics.fmean(results[name]["arms"][arm][what]) for name in ARCHITECTURES]
            rows.append([title, arm, *(f"{mean:.2f}" for mean in means)])
    return table(["mean", "table", *labels()], rows)


def search_table(results: Mapping[str, Any]) -> list[str]:
    """Each arm's mean loss at each rate, the lowest bold."""
    rows = []
    for name, architecture in ARCHITECTURES.items():
        for arm in ARMS:
            means = [statistics.fmean(values) for values in results[name][arm].values()]
            rows.append([architecture.label, arm, *best_bold(means, min, 3)])
    return table(["architecture", "table", *(f"{rate:g}" for rate in RATES["micro"])], rows)


def best_table(results: Mapping[str, Any]) -> list[str]:
    """Each finding with both arms at their own best rates, by their means over the seeds."""
    rows = []
    for title, finding in FINDINGS.items():
        cells = []
        for name in ARCHITECTURES:
            first, second = (
                min(statistics.fmean(values) for values in results[name][arm].values())
                for arm in (finding.first, finding.second)
            )
            cells.append(f"{first - second:.3f}".replace("-", "−"))
        rows.append([title, *cells])
    return table(["each arm at its best rate", *labels()], rows)


ROW, PANEL = 26, 190
PANELS = ("width alone", "GloVe as it is", "left of width", "meaning")
COLOURS = {"Xavier": "#1f6f8b", "GloVe": "#c0562f"}


def findings_figure(results: Mapping[str, Any]) -> str:
    """A panel a finding: the difference in each architecture, with its interval."""
    left, top = 190, 44
    bottom = top + ROW * len(ARCHITECTURES)
    parts: list[str] = []
    for number, title in enumerate(PANELS):
        x0 = left + number * (PANEL + 18)
        of_each = [estimate(difference(results, name, FINDINGS[title])) for name in ARCHITECTURES]
        axis = reaching(of_each, x0, x0 + PANEL)
        parts.append(text(x0 + PANEL / 2, 18, title, "middle", 'font-weight="bold"'))
        parts.append(text(x0 + PANEL / 2, 34, FINDINGS[title].says, "middle", 'font-size="9"'))
        for tick in axis.ticks(4):
            parts.append(
                f'<line x1="{tick.at}" x2="{tick.at}" y1="{top}" y2="{bottom}" stroke="#ddd"/>'
            )
            parts.append(text(tick.at, bottom + 16, tick.text, "middle"))
        zero = axis.at(0)
        parts.append(f'<line x1="{zero}" x2="{zero}" y1="{top}" y2="{bottom}" stroke="#444"/>')
        for row, (label, each) in enumerate(zip(labels(), of_each, strict=True)):
            y = top + ROW * row + ROW / 2
            if not number:
                parts.append(text(left - 10, y + 4, label, "end"))
            mean, low, high = (axis.at(value) for value in each)
            colour = COLOURS["GloVe" if "GloVe" in FINDINGS[title].first else "Xavier"]
            parts.append(
                f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="{colour}" '
                f'stroke-width="2"/><circle cx="{mean}" cy="{y}" r="4" fill="{colour}"/>'
            )
    title = "Differences of losses in nats a word, by architecture, with 95 % intervals"
    parts.append(text(left, bottom + 36, title))
    return svg(left + len(PANELS) * (PANEL + 18) + 10, bottom + 48, parts, title)


def reaching(of_each: Sequence[Estimate], start: float, end: float) -> Axis:
    """An axis with room for all means and 0; an interval may leave it."""
    means = [each.mean for each in of_each]
    reach = max(0.05, 1.6 * max(map(abs, means)))
    return Axis(-reach if min(means) < 0 else -0.3 * reach, reach, start, end)


def stream_figure(results: Mapping[str, Any]) -> str:
    """A panel an architecture: the embedding's share of the stream after each layer."""
    left, top, high, wide = 46, 34, 150, 190
    parts: list[str] = []
    for number, (name, architecture) in enumerate(ARCHITECTURES.items()):
        row, column = divmod(number, 3)
        x0, y0 = left + column * (wide + 50), top + row * (high + 66)
        layers = results[name]["layers"]
        across = Axis(0, len(layers["Xavier"][SHARES[0]]) - 1, x0, x0 + wide)
        up = Axis(0, 1, y0 + high, y0)
        parts.append(text(x0 + wide / 2, y0 - 10, architecture.label, "middle"))
        for tick in up.ticks(4):
            parts.append(
                f'<line x1="{x0}" x2="{x0 + wide}" y1="{tick.at}" y2="{tick.at}" stroke="#ddd"/>'
            )
            parts.append(text(x0 - 6, tick.at + 4, tick.text, "end"))
        for tick in across.ticks(2, whole=True):
            parts.append(text(tick.at, y0 + high + 16, tick.text, "middle"))
        for arm, colour in COLOURS.items():
            for what, dashes in zip(SHARES, ('stroke-dasharray="5 4"', ""), strict=True):
                shares = layers[arm][what]
                line = " ".join(
                    f"{across.at(layer)},{up.at(share)}" for layer, share in enumerate(shares)
                )
                parts.append(
                    f'<polyline points="{line}" fill="none" stroke="{colour}" '
                    f'stroke-width="2" {dashes}/>'
                )
    y = top + 2 * (high + 66) - 14
    for number, (arm, colour) in enumerate(COLOURS.items()):
        parts.append(f'<circle cx="{left + 90 * number}" cy="{y - 4}" r="4" fill="{colour}"/>')
        parts.append(text(left + 90 * number + 8, y, arm))
    parts.append(text(left + 200, y, "dashes: before training; line: after. Share over layers"))
    title = "The share of each state that is the embedding, layer by layer"
    return svg(left + 3 * (wide + 50), y + 14, parts, title)


if __name__ == "__main__":
    main()
