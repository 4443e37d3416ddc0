"""Verdicts by today's rule, from the values that a verdicts document holds.

A rule that has become stricter since a reference was blessed would not give all of its verdicts,
and its runs may be gone. Seeds, values, registered spreads, margins, levels and looks are there, so
that its comparisons can be decided again. Nothing is trained, and no look is added: what an early
look decided by the older rule, and would not by today's, is UNDECIDED.

    python benchmarks/redecide.py reports/reference/sample/verdicts.json
"""

from __future__ import annotations

import argparse
import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from embinit.claims.comparisons import Decision, verdict_of
from embinit.claims.controls import UNIFORM_LEVEL, p_of_uniform
from embinit.claims.paired_tests import RegisteredSd, Relation, Verdict, compare
from embinit.report.bless import compact
from embinit.report.reading import read
from embinit.report.summary import summarise

FROM_OUTCOME = ("n", "difference", "level", "margin", "p", "p_against", "p_no_effect", "power")
FROM_OUTCOME += ("seeds_needed", "waits_for", "contradicted", "sd", "exact")
"""The numbers of a comparison that its entry has by the same names."""


def redecided(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with each comparison, claim and control decided by today's rule.

    Args:
        document: A verdicts document.
    """
    claims = [_claim(entry) if entry["comparisons"] else entry for entry in document["claims"]]
    again = {**document, "claims": claims}
    return {**again, "summary": summarise(again)}


def turned(document: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """The ids whose verdict is another by today's rule, each with the verdicts before and after."""
    known = [entry for entry in document["claims"] if entry["comparisons"]]
    pairs = {entry["id"]: (entry["verdict"], str(verdict_of(_decisions(entry)))) for entry in known}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _claim(entry: Mapping[str, Any]) -> dict[str, Any]:
    decisions = _decisions(entry)
    verdict = verdict_of(decisions)
    comparisons = []
    for each, decision in zip(entry["comparisons"], decisions, strict=True):
        outcome = decision.outcome
        assert outcome is not None
        hangs_on = outcome.hangs_on
        comparisons.append(
            each
            | {name: _known(getattr(outcome, name)) for name in FROM_OUTCOME}
            | {"hangs_on": None if hangs_on is None else each["seeds"][hangs_on]}
            | {"interval": list(map(_known, outcome.interval)), "verdict": str(outcome.verdict)}
        )
    expected = entry["as_expected"]
    if entry["expects"] == Verdict.NO_EFFECT:
        expected = p_of_uniform(decisions) >= UNIFORM_LEVEL
    elif entry["control"]:
        expected = None if verdict is Verdict.UNDECIDED else verdict == entry["expects"]
    told = {"verdict": str(verdict), "as_expected": expected, "comparisons": comparisons}
    return {**entry, **told}


def _known(value: Any) -> Any:
    """The value as strict JSON has it: None for no finite number."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _decisions(entry: Mapping[str, Any]) -> list[Decision]:
    return [_decision(each, len(entry["comparisons"])) for each in entry["comparisons"]]


def _decision(entry: Mapping[str, Any], of: int) -> Decision:
    relation, spread = Relation(entry["relation"]), entry["spread"]
    outcome = compare(
        entry["left_values"],
        entry["right_values"],
        relation,
        entry["alpha"],
        entry["margin"],
        not entry["exact"],
        entry["alpha"] / of,
        None if spread is None else RegisteredSd(**spread),
    )
    stated: Any = SimpleNamespace(relation=relation)
    left, right = tuple(entry["left_values"]), tuple(entry["right_values"])
    return Decision(stated, outcome, left, right, "", entry["alpha"])


def main() -> None:
    """Decides a blessed reference again, in place, and tells what turned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", type=Path)
    path = parser.parse_args().verdicts
    document = read(path)
    changed = turned(document)
    new = redecided(document)
    today = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}"
    note = f"decided again on {today} by that day's rule, from the values of the runs: "
    note += f"{len(changed)} of {len(document['claims'])} verdicts turned"
    session = document["session"]
    new["session"] = {**session, "notes": [*session.get("notes", ()), note]}
    path.write_text(compact(new), encoding="utf-8")
    for name, (before, after) in changed.items():
        print(f"{name}: {before} -> {after}")
    print(note)


if __name__ == "__main__":
    main()
