"""The command line: ``embinit check`` says whether a suite's verdicts are in order.

A refuted claim is a result and no fault, so pytest's failure alone can't say whether a change may
land. In order means: every control came out as it should, and, with a baseline, no claim that was
SUPPORTED there is REFUTED or NOT RUN now.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError

LOST = ("REFUTED", "NOT RUN")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status: 0 in order, 1 not, 2 bad input."""
    parser = argparse.ArgumentParser(prog="embinit", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="are a suite's verdicts in order?")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    check.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    parsed = parser.parse_args(arguments)
    try:
        latest = read(parsed.verdicts)
        baseline = read(parsed.baseline) if parsed.baseline else {"claims": []}
    except InputError as error:
        print(f"embinit: {error}", file=sys.stderr)
        return 2
    faults = [*wrong_controls(latest), *lost_findings(latest, baseline)]
    tiers = [
        document["session"]["tier"] for document in (latest, baseline) if "session" in document
    ]
    if len(set(tiers)) > 1:
        print(f"embinit: tier {tiers[0]} can't be compared with tier {tiers[1]}", file=sys.stderr)
        return 2
    for fault in faults:
        print(f"NOT IN ORDER: {fault}")
    counted = dict.fromkeys(("SUPPORTED", "REFUTED", "UNDECIDED", "NOT RUN"), 0)
    for claim in latest["claims"]:
        if not claim["control"]:
            counted[claim["verdict"]] += 1
    print(", ".join(f"{count} {verdict}" for verdict, count in counted.items()))
    return 1 if faults else 0


def read(path: Path) -> dict[str, Any]:
    """A verdicts document; InputError if it is missing or not one."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist; run pytest claims/ first") from None
    except ValueError as error:
        raise InputError(f"{path} is no JSON ({error}); run pytest claims/ again") from None
    if not isinstance(document, dict) or document.get("schema_version") != 1:
        raise InputError(f"{path} is no verdicts document of schema_version 1")
    return document


def wrong_controls(document: dict[str, Any]) -> list[str]:
    """Controls that came out other than they should."""
    return [
        f"control {claim['id']} is {claim['verdict']}, not {claim['expects']}"
        for claim in document["claims"]
        if claim["control"] and claim["verdict"] != claim["expects"]
    ]


def lost_findings(latest: dict[str, Any], baseline: dict[str, Any]) -> list[str]:
    """Claims that held in the baseline and are refuted or not run now."""
    now = {claim["id"]: claim["verdict"] for claim in latest["claims"]}
    return [
        f"{claim['id']} was SUPPORTED and is {now[claim['id']]}"
        for claim in baseline["claims"]
        if claim["verdict"] == "SUPPORTED" and now.get(claim["id"]) in LOST
    ]


if __name__ == "__main__":
    sys.exit(main())
