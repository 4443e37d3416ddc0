"""The analysis of ``starts`` on real text: scores on SST-2 and Multi30k.

    python analysis_real_text.py STORE DIR [--from 5000]    tables of Xavier's own width
    python analysis_real_text.py STORE DIR --geometries --from 5000 --seeds 2
    python analysis_real_text.py STORE DIR --starts both    some starts alone
    python analysis_real_text.py STORE DIR --seeds 12       to the claims' last look

``DIR`` is the data directory. The first are the claims' starts; with ``--geometries`` all tables
have the R of ``micro``'s, trained and frozen. What was told before of arms that the store lacks is
kept.

It writes ``results/real-text.json``, and the tables of ``README.md``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embinit.claims.comparisons import Quantity
from embinit.claims.pilot import FIRST_SEED
from embinit.runs.session import Session
from embinit.runs.store import Store
from embinit_studies.arms import compute_line, compute_of, runs_of, told_of, train
from embinit_studies.pages import Values, estimate, spread, table, write_parts
from embinit_studies.starts import (
    BASELINE,
    RANKED_ON_REAL_TEXT,
    REAL_STARTS,
    STARTS,
    StartExperiment,
    experiments,
)
from embinit_studies.starts.analysis import HALVES, HERE, costs_table, rankings

RESULTS = HERE / "results" / "real-text.json"
PAGE = HERE / "README.md"
SCRIPT = "starts/analysis_real_text.py"

LABELS = {
    "xavier": "Xavier",
    "standardised": "vectors, standardised",
    "xavier-both": "Xavier, both",
    "both": "vectors, both",
    "rotary": "vectors, in attention alone",
    "xavier-untied": "Xavier, apart",
    "untied": "vectors, apart",
}
"""The labels of starts on real text.

Both: positions added and in attention. Apart: scored apart from the words, and not added.
"""

LAST_LOOK = 12
"""The number of seeds of the claims' last look."""

OF_LAST_LOOK = f"{LAST_LOOK} seeds"
"""The rows of that look, beside those of both halves."""

GAPS = (
    ("both", "standardised"),
    ("xavier-both", "xavier"),
    ("standardised", "xavier"),
    ("both", "xavier-both"),
    ("both", "xavier"),
    ("both", "rotary"),
    ("rotary", "standardised"),
    ("untied", "standardised"),
    ("xavier-untied", "xavier"),
    ("untied", "xavier"),
)
"""The pairs of starts that are compared on real text."""


def measured(
    arms: Mapping[str, Mapping[str, Quantity]],
    session: Session,
    seeds: Sequence[int],
    told: Mapping[str, Any],
) -> dict[str, Any]:
    """The scores of starts, one value a seed.

    Args:
        arms: The starts of each experiment, by name.
        session: Has the results.
        seeds: The seeds.
        told: What was told before, which is kept of arms that were not run on the same seeds.
    """
    kept = told["scores"] if told.get("seeds") == seeds else {}
    scores = {
        name: told_of(of_one, session, seeds, kept.get(name, {})) for name, of_one in arms.items()
    }
    return {"seeds": seeds, "scores": scores}


def geometries_of(experiment: StartExperiment) -> dict[str, dict[str, Quantity]]:
    """The starts at the R of ``micro``, with trained and frozen tables."""
    kinds = {"trained": experiment.at_trained_ratio(), "frozen": experiment.frozen()}
    return {
        kind: {name: setting.start(name) for name in RANKED_ON_REAL_TEXT}
        for kind, setting in kinds.items()
    }


def arms_of(experiment: StartExperiment, *, geometries: bool) -> dict[str, dict[str, Quantity]]:
    """An experiment's columns in the tables, and each one's starts by name."""
    if not geometries:
        return {experiment.name: {name: experiment.start(name) for name in REAL_STARTS}}
    return {
        f"{experiment.source_label}, {experiment.role}, {kind}": starts
        for kind, starts in geometries_of(experiment).items()
    }


def main() -> None:
    """Trains what the store lacks, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("data_dir", type=Path, help="the data directory")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed")
    parser.add_argument("--no-train", action="store_true", help="train nothing")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, cuda:N")
    parser.add_argument("--geometries", action="store_true", help="starts at the R of micro")
    known = list(dict.fromkeys((*REAL_STARTS, *RANKED_ON_REAL_TEXT)))
    parser.add_argument("--starts", nargs="+", choices=known, help="train these alone")
    sources = list(dict.fromkeys(each.source for each in experiments("sample")))
    parser.add_argument("--sources", nargs="+", choices=sources, default=sources, help="likewise")
    options = parser.parse_args()
    seeds = list(range(options.first, options.first + options.seeds))
    session = Session(
        Store(options.store), options.data_dir, options.device, may_train=not options.no_train
    )
    arms: dict[str, dict[str, Quantity]] = {}
    wanted = []
    for experiment in experiments("sample"):
        of_one = arms_of(experiment, geometries=options.geometries)
        arms |= of_one
        if experiment.source in options.sources:
            wanted += [
                arm
                for starts in of_one.values()
                for name, arm in starts.items()
                if name in (options.starts or starts)
            ]
    train(session, runs_of(wanted, seeds))
    told = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    of_kind = told.setdefault("geometries" if options.geometries else "starts", {})
    last = options.seeds == LAST_LOOK
    half = OF_LAST_LOOK if last else HALVES[options.first < FIRST_SEED]
    before = of_kind.get(half, {})
    every = runs_of([arm for starts in arms.values() for arm in starts.values()], seeds)
    compute = compute_of(session, every, before.get("compute"))
    of_kind[half] = measured(arms, session, seeds, before) | {"compute": compute}
    RESULTS.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write(told)


def write(told: Mapping[str, Any]) -> None:
    """Writes the page's tables."""
    tables = {}
    if "starts" in told:
        tables["scores"] = scores_table(told["starts"])
        tables["gaps"] = gaps_table(told["starts"])
        tables["ranking"] = ranking_table(told["starts"])
    for half in HALVES:
        if half in told.get("geometries", {}):
            of_half = told["geometries"][half]
            compute = compute_line({half: of_half["compute"]})
            tables["geometries"] = [*geometries_table(of_half), "", compute]
    write_parts(PAGE, SCRIPT, tables)


def scores_table(told: Mapping[str, Any]) -> list[str]:
    """The scores of each start on real text, on explored seeds and on confirmed ones."""
    halves = [half for half in (*HALVES, OF_LAST_LOOK) if half in told]
    head = ["task and vectors", "seeds", *LABELS.values()]
    rows = [
        [
            experiment,
            half,
            *(spread(of[name]) if name in of else "–" for name in LABELS),
        ]
        for experiment in told[halves[0]]["scores"]
        for half in halves
        if (of := told[half]["scores"][experiment])
    ]
    return table(head, rows)


def geometries_table(told: Mapping[str, Any]) -> list[str]:
    """The scores of each start on one half of the seeds, at the R of ``micro``."""
    first, number = told["seeds"][0], len(told["seeds"])
    lines = [f"Seeds {first} to {first + number - 1}:"]
    for source in dict.fromkeys(name.split(", ")[0] for name in told["scores"]):
        of_source = {
            name.removeprefix(f"{source}, "): of
            for name, of in told["scores"].items()
            if name.startswith(source)
        }
        if not any(BASELINE in of for of in of_source.values()):
            continue
        rows = [
            [
                STARTS[name].told(source),
                *(spread(of[name]) if name in of else "–" for of in of_source.values()),
            ]
            for name in RANKED_ON_REAL_TEXT
            if any(name in of for of in of_source.values())
        ]
        lines += ["", *table(["start", *of_source], rows)]
    return lines


def gaps_table(told: Mapping[str, Any]) -> list[str]:
    """Differences of starts on real text, with intervals over a half's seeds."""
    halves = [half for half in (*HALVES, OF_LAST_LOOK) if half in told]
    head = ["difference", "seeds", *told[halves[0]]["scores"]]

    def gap(of: Mapping[str, Values], left: str, right: str) -> str:
        if left not in of or right not in of:
            return "–"
        return estimate([a - b for a, b in zip(of[left], of[right], strict=True)]).told()

    rows = [
        [
            f"{LABELS[left]} − {LABELS[right]}",
            half,
            *(gap(of, left, right) for of in told[half]["scores"].values()),
        ]
        for left, right in GAPS
        for half in halves
    ]
    return table(head, [row for row in rows if {*row[2:]} != {"–"}])


def ranking_table(told: Mapping[str, Any]) -> list[str]:
    """The table of starts that may be the best, by task and source of real text."""
    halves = [told[half]["scores"] for half in HALVES if half in told]
    return costs_table(rankings(halves), LABELS)


if __name__ == "__main__":
    main()
