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
from types import SimpleNamespace
from typing import Any

from embinit.claims.comparisons import Decision, verdict_of
from embinit.report.reading import read
from embinit.stats.rule import compare
from embinit.stats.statements import RegisteredSd, Relation


def turned(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The ids whose verdict is another by the present rule, with the verdicts before and after."""
    known = [entry for entry in document["claims"] if entry["comparisons"]]
    pairs = {entry["id"]: (entry["verdict"], again(entry)) for entry in known}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def again(entry: Mapping[str, Any]) -> str:
    """The verdict of a claim's entry by the present rule."""
    return str(
        verdict_of([_decision(pair, len(entry["comparisons"])) for pair in entry["comparisons"]])
    )


def _decision(entry: Mapping[str, Any], of: int) -> Decision:
    relation, known_sd = Relation(entry["relation"]), entry["spread"]
    left, right, alpha = entry["left_values"], entry["right_values"], entry["alpha"]
    known = None if known_sd is None else RegisteredSd(**known_sd)
    random = not entry["exact"]
    outcome = compare(left, right, relation, alpha, entry["margin"], random, alpha / of, known)
    stated: Any = SimpleNamespace(relation=relation)
    return Decision(stated, outcome, tuple(left), tuple(right), "", alpha)


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
