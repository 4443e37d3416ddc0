"""Stored scores decided anew: which verdicts of a document are others by the present rule.

Nothing is trained, and each claim keeps its seeds, margin, level and registered deviation. What the
earlier rule decided at an early interim analysis may be UNDECIDED here, though more seeds would
have been trained by the present one.

    python benchmarks/redecide.py reports/reference/sample/verdicts.json
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embinit.report.reading import read
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, KnownSd, Relation, Verdict, verdict_of


def turned(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The ids whose verdict is another by the present rule, with the verdicts before and after."""
    known = [entry for entry in document["claims"] if entry["comparisons"]]
    pairs = {entry["id"]: (entry["verdict"], again(entry)) for entry in known}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def again(entry: Mapping[str, Any]) -> str:
    """The verdict of a claim's entry by the present rule."""
    return verdict_of([_decided(pair, len(entry["comparisons"])) for pair in entry["comparisons"]])


def _decided(entry: Mapping[str, Any], of: int) -> Verdict:
    spread, alpha = entry["spread"], entry["alpha"]
    known = spread and KnownSd(spread["sd"], spread["seeds"], spread.get("of", ""))
    evidence = Evidence(
        entry["left_values"],
        entry["right_values"],
        Relation(entry["relation"]),
        alpha,
        entry["margin"],
        not entry["exact"],
        alpha / of,
        known,
    )
    return decide(evidence).verdict


def main() -> None:
    """Prints what turns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("verdicts", type=Path)
    document = read(parser.parse_args().verdicts)
    for name, (before, after) in (changed := turned(document)).items():
        print(f"{name}: {before} -> {after}")
    print(f"{len(changed)} of {len(document['claims'])} verdicts are others by the present rule")


if __name__ == "__main__":
    main()
