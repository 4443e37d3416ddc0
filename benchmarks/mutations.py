"""Mutations: which small changes of the code that decides verdicts no test would notice.

Has mutmut change the modules named under ``[tool.mutmut]`` in ``pyproject.toml``, one place at a
time, and run the tests that reach each change. A mutant is *killed* when one of them fails,
*timed out* when they take many times as long (a loop that no longer ends), and *survives* when all
of them pass. Writes ``benchmarks/mutations.json`` and ``benchmarks/MUTATIONS.md``.

Why each survivor is let live stands in ``benchmarks/survivors.toml``. One that is not explained
there, or an explanation that explains none, makes this fail.

    python benchmarks/mutations.py [--page]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MUTMUT = Path(sys.executable).with_name("mutmut")
COMMAND = "make mutations"
PACKAGES = ("mutmut", "pytest", "hypothesis", "torch", "numpy", "scipy", "statsmodels")
NOTICED = ("killed", "timeout")

PAGE = """# Mutations: what the tests would not notice

`{command}` changes the modules that make tables and decide verdicts, one small place at a time
(an operator, a number, an argument, a string …; by [mutmut](https://github.com/boxed/mutmut)), and
runs the tests that reach the change. {date}, {hardware}, one process, {minutes} minutes.

| module | mutants | killed | timed out | survived | noticed |
|---|---|---|---|---|---|
{table}

Timed out: the tests took over four times as long as usual, which counts as noticed.
`benchmarks/mutations.json` has the versions and each survivor's diff, and
`benchmarks/survivors.toml` why each is let live; the command fails while one isn't explained there.

- The tests are those in {tests}.
  What trains runs elsewhere, so a change that only a trained model would show counts as a survivor.
- Hypothesis draws the same examples every time, and makes no counterexample smaller.
- Changed words of a message are mutants like others.
- mutmut changes neither properties (and whatever else is decorated) nor what stands outside of
  functions: constants, units, and the names under which inits and positions are registered.
"""


def mutmut(*arguments: str) -> str:
    """What mutmut prints."""
    done = subprocess.run([MUTMUT, *arguments], cwd=ROOT, check=True, capture_output=True)
    return done.stdout.decode()


def run() -> float:
    """Make the mutants and run their tests; the seconds that took."""
    shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    began = time.monotonic()
    subprocess.run(
        [MUTMUT, "run", "--max-children", "1"], cwd=ROOT, check=True, env=os.environ | threads
    )
    return time.monotonic() - began


def statuses() -> dict[str, str]:
    """Each mutant's status by its name, file by file and in the order of the code."""
    lines = mutmut("results", "--all", "true").splitlines()
    pairs = (line.strip().rpartition(": ") for line in lines if ": " in line)
    found = {name: status for name, _, status in pairs}
    return dict(sorted(found.items(), key=lambda one: place(one[0])[0]))


def place(mutant: str) -> tuple[str, str]:
    """The module's file and the function (or method) in it."""
    module, _, name = mutant.rpartition(".")
    function = name.rpartition("__mutmut_")[0]
    parts = function.split("ǁ")[1:] or [function.removeprefix("x_")]
    return f"{module.rpartition('.')[2]}.py", ".".join(parts)


def survivor(mutant: str, status: str) -> dict[str, Any]:
    """Where it is and what it changes."""
    file, function = place(mutant)
    diff = mutmut("show", mutant).partition("\n")[2].strip("\n")
    lines = [line for line in diff.splitlines() if line[:3] not in ("---", "+++")]
    old, new = (" ".join(line[1:].strip() for line in lines if line[:1] == sign) for sign in "-+")
    where = {"mutant": mutant, "file": file, "function": function, "status": status}
    return where | {"old": old, "new": new, "diff": diff}


def explained(found: Iterable[dict[str, Any]], reasons: Sequence[dict[str, Any]]) -> list[str]:
    """Give each survivor its ``why``; the complaints about what is left over on either side."""
    known = {
        (reason["file"], reason["function"], change): reason["why"]
        for reason in reasons
        for change in reason["changes"]
    }
    unused, complaints = set(known), []
    for one in found:
        key = (one["file"], one["function"], one["new"] or f"without {one['old']}")
        one["why"] = known.get(key)
        unused.discard(key)
        if one["why"] is None:
            complaints.append(f"not explained: {' | '.join(key)}")
    return complaints + [f"explains nothing: {' | '.join(key)}" for key in sorted(unused)]


def hardware() -> str:
    """The processor's model and its cores."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{(models or [platform.processor()])[0]}, {os.cpu_count()} cores"


def page(document: dict[str, Any]) -> str:
    """The page for people."""
    total: Counter[str] = Counter()
    for counts in document["files"].values():
        total.update(counts)
    rows = [*document["files"].items(), ("together", total)]
    table = "\n".join(
        f"| {name} | {counts['mutants']} | {counts['killed']} | {counts['timeout']} "
        f"| {counts['survived']} | {counts['noticed'] / counts['mutants']:.1%} |"
        for name, counts in rows
    )
    return PAGE.format(
        command=document["command"],
        date=document["date"],
        hardware=document["hardware"],
        minutes=round(document["seconds"] / 60),
        tests=", ".join(f"`{Path(name).name}`" for name in document["tests"]),
        table=table,
    )


def measure() -> dict[str, Any]:
    """Run it all; what was found, survivors not explained yet."""
    seconds = run()
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    found = statuses()
    files: dict[str, Counter[str]] = {}
    for mutant, status in found.items():
        noticed = status in NOTICED
        counts = files.setdefault(
            place(mutant)[0], Counter(mutants=0, killed=0, timeout=0, survived=0, noticed=0)
        )
        counts.update(["mutants", status if noticed else "survived", *["noticed"] * noticed])
    return {
        "command": COMMAND,
        "date": datetime.date.today().isoformat(),
        "hardware": hardware(),
        "seconds": round(seconds),
        "versions": {"python": platform.python_version()}
        | {name: metadata.version(name) for name in PACKAGES},
        "tests": settings["pytest_add_cli_args_test_selection"],
        "files": files,
        "survivors": [survivor(*one) for one in found.items() if one[1] not in NOTICED],
    }


def main() -> None:
    """Run, explain, write."""
    parser = argparse.ArgumentParser(description="what the tests would not notice")
    parser.add_argument(
        "--page", action="store_true", help="run nothing; explain what was found before"
    )
    figures = ROOT / "benchmarks/mutations.json"
    document = json.loads(figures.read_text()) if parser.parse_args().page else measure()
    reasons = tomllib.loads((ROOT / "benchmarks/survivors.toml").read_text())["survivors"]
    complaints = explained(document["survivors"], reasons)
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    figures.write_text(text, encoding="utf-8")
    (ROOT / "benchmarks/MUTATIONS.md").write_text(page(document), encoding="utf-8")
    if complaints:
        raise SystemExit("\n".join(complaints))


if __name__ == "__main__":
    main()
