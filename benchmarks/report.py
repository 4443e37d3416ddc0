"""How long the report takes: 300 claims of two arms with 20 seeds each, 12,000 runs.

Everything differs from claim to claim, so nothing is drawn once for all. Writes verdicts.json,
index.html and history.jsonl into a temporary directory, with 30 past sessions read and shown.

    python benchmarks/report.py [--claims 300] [--seeds 20]
    python benchmarks/report.py --picture docs/report.png

The second takes the picture of the docs instead: the top of the blessed report. Chromium is looked
for on the path, or named by ``CHROMIUM``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from embinit.lab.specs import (
    Cut,
    DataSpec,
    ModelRecipe,
    ModelSpec,
    PositionSpec,
    TableSpec,
    TrainingSpec,
)
from embinit.lab.tables.diagnostics import TableStatistics
from embinit.report import render, write_report
from embinit.report.arms import Run
from embinit.report.baseline import read
from embinit.report.past import NAME, line_of
from embinit.runs.results import RunResult, versions
from embinit.specs import RunSpec

BLESSED = Path(__file__).parents[1] / "reports/reference"
EPOCHS = 17


def run(draw: random.Random, key: str, claim: int, init: str, seed: int) -> Run:
    """A stored run."""
    table = TableStatistics(
        minimum=-draw.random(),
        maximum=draw.random(),
        mean=0.0,
        sigma=0.1,
        row_norm_percentiles=tuple(draw.random() for _ in range(5)),
        rows=900,
        dim=64,
        histogram=tuple(draw.randrange(1000) for _ in range(64)),
    )
    spec = RunSpec(
        ModelRecipe(
            data=DataSpec(f"task-{claim}", ("whitespace", "whitespace"), Cut()),
            model=ModelSpec(64, 4, 2, 128),
            training=TrainingSpec(32, EPOCHS, 3e-3),
            table=TableSpec(init, None if init == "xavier" else "glove"),
            positions=PositionSpec(),
        ),
        seed=seed,
    )
    result = RunResult(
        spec,
        {"bleu": 30 * draw.random(), "pe_share": draw.random()},
        curves={"validation_bleu": [30 * draw.random() for _ in range(EPOCHS)]},
        tables={"encoder": table},
        positions={"encoder": table},
        coverage={"encoder": None},
        signature="nrefs:1",
        provenance={"device": "cpu", "seconds": 1.0},
    )
    return Run(key, {"pretrained": "GloVe", "xavier": "Xavier"}[init], result)


def comparison(draw: random.Random, keys: list[str], seeds: int) -> dict[str, Any]:
    """A decided comparison over ``seeds`` pairs."""
    left, right = ([30 * draw.random() for _ in range(seeds)] for _ in range(2))
    return {
        "relation": "<",
        "arms": {"left": "GloVe", "right": "Xavier"},
        "metric": "bleu",
        "metric_in_words": "BLEU",
        "unit": "BLEU",
        "alpha": 0.002,
        "n": seeds,
        "seeds": list(range(seeds)),
        "left_values": left,
        "right_values": right,
        "difference": draw.uniform(-5, 5),
        "interval": [-6.0, 6.0],
        "level": 0.996,
        "margin": 2.0,
        "p": draw.random(),
        "p_against": draw.random(),
        "p_no_effect": draw.random(),
        "power": draw.random(),
        "seeds_needed": 40,
        "hangs_on": draw.randrange(seeds),
        "sd": 2.0,
        "spread": {"sd": 1.9, "seeds": 10},
        "smallest_effect": {"first": 5.0, "last": 2.0},
        "exact": False,
        "verdict": "UNDECIDED",
        "test_set": None,
        "printed": [],
        "runs": keys,
    }


def suite(claims: int, seeds: int) -> tuple[dict[str, Any], dict[str, Run]]:
    """A document, and the runs behind it."""
    draw = random.Random(7)
    runs: dict[str, Run] = {}
    entries = []
    for number in range(claims):
        keys = []
        for seed in range(seeds):
            for init in ("pretrained", "xavier"):
                key = f"{number:020}{seed:010}{init:>10}"
                runs[key] = run(draw, key, number, init, seed)
                keys.append(key)
        entries.append(
            {
                "id": f"kim2024/finding-1/claim-{number}[glove]",
                "nodeid": f"claims/test.py::test[{number}]",
                "verdict": "UNDECIDED",
                "control": False,
                "expects": None,
                "as_expected": None,
                "statement": f"A claim with the number {number}",
                "paper": "a2024",
                "place": "Table 1",
                "tier": "micro",
                "task": f"task-{number}",
                "source": "glove",
                "experiment": "glove",
                "family": f"a2024/family-{number % 10}",
                "family_says": f"Family {number % 10}",
                "looks": [{"seeds": seeds, "share": 1.0}],
                "alpha": 0.002,
                "reason": "",
                "comparisons": [comparison(draw, keys, seeds)],
            }
        )
    session = {
        "started": "2026-11-21T00:00:00+00:00",
        "wall_seconds": 1.0,
        "tier": "micro",
        "device": "cpu",
        "seeds": seeds,
        "command": "pytest claims/",
        "runs": {"wanted": len(runs), "trained": 0, "stored": len(runs)},
        "versions": versions(),
        "data_dir_given": False,
    }
    return {"schema_version": 1, "session": session, "claims": entries, "audits": []}, runs


def written(document: dict[str, Any], runs: dict[str, Run], directory: Path) -> Path:
    """The report in ``directory``, which has 30 past sessions with other effects."""
    line, past = line_of(document), []
    for day in range(30):
        for claim in line["claims"].values():
            claim["effects"][0][0] = float(day)
        past.append(json.dumps(line | {"started": f"2026-10-{day + 1:02}T00:00:00+00:00"}))
    (directory / NAME).write_text("\n".join(past) + "\n")
    return write_report(document, runs, directory)


def take_picture(picture: Path) -> None:
    """Shows the top of the blessed report as a reader's screen does."""
    from playwright.sync_api import sync_playwright

    document, real = (read(BLESSED / tier / "verdicts.json") for tier in ("micro", "sample"))
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        path = Path(directory) / "index.html"
        path.write_text(render(document, {}, beside=[real]), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 980})
        page.goto(path.as_uri())
        page.screenshot(path=picture)
        browser.close()


def main() -> None:
    """Make the suite, write its report, print the seconds and the size; or take the picture."""
    parser = argparse.ArgumentParser(description="how long the report takes")
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    if arguments.picture:
        take_picture(arguments.picture)
        return
    document, runs = suite(arguments.claims, arguments.seeds)
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        page = written(document, runs, Path(directory))
        seconds = time.perf_counter() - started
        size = page.stat().st_size
    print(
        f"{arguments.claims} claims, {arguments.seeds} seeds, {len(runs)} runs: "
        f"{seconds:.2f} s, {size / 1e6:.2f} MB"
    )


if __name__ == "__main__":
    main()
