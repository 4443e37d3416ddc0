"""``embinit check``: are a suite's verdicts in order?

A refuted claim is a result and no fault, so pytest's failure alone can't say whether a change may
land. In order means: every control came out as it should, and, with a baseline, no claim that was
SUPPORTED there is REFUTED, NO EFFECT or NOT RUN now.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embinit.errors import InputError, Status, printable
from embinit.files.reading import finite


def add_check(commands: Any) -> None:
    """Adds the command to the parser's."""
    check = commands.add_parser("check", help="are a suite's verdicts in order?")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    add_baseline(check)
    check.add_argument(
        "--since",
        type=finite,
        metavar="SECONDS",
        help="refuse a session that began before this time, in seconds since the epoch "
        "(date +%%s): it is an earlier one's document",
    )
    check.set_defaults(run=_check)


def add_baseline(command: argparse.ArgumentParser) -> None:
    """Adds the baseline, and the option that makes a move from it a fault."""
    command.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    command.add_argument(
        "--fail-on",
        metavar="moved[=MARGINS]",
        help="a difference that moved from the baseline's by more margins is not in order either "
        "(default: it is told; moved alone: 1)",
    )


def compared(parsed: argparse.Namespace) -> tuple[Mapping[str, Any] | None, float | None]:
    """The baseline's document and the margins of ``--fail-on``; None for each that isn't given."""
    from embinit.report.baseline import read, size_in_margins

    moved = None if parsed.fail_on is None else size_in_margins(parsed.fail_on)
    return None if parsed.baseline is None else read(parsed.baseline), moved


def _check(parsed: argparse.Namespace) -> int:
    from embinit.claims.paired_tests import VERDICTS
    from embinit.report.baseline import changes, faults, is_fault, read

    latest = read(parsed.verdicts)
    if parsed.since is not None:
        _refuse_older(latest, parsed)
    baseline, moved = compared(parsed)
    for entry in latest.get("skipped", ()):
        name = entry.get("id", entry.get("nodeid", "a claim"))
        print(printable(f"skipped: {name}: {entry.get('reason', '')}"))
    for change in changes(latest, baseline) if baseline else ():
        if not is_fault(change, moved):
            print(printable(f"moved: {change}"))
    wrong = faults(latest, baseline, moved)
    for fault in wrong:
        print(printable(f"NOT IN ORDER: {fault}"))
    verdicts = [claim["verdict"] for claim in latest["claims"] if not claim["control"]]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS]
    errors = latest.get("errors", ())
    print(", ".join([*counts, f"{len(errors)} ERROR"] if errors else counts))
    if latest["session"].get("unfinished") is not None:
        return Status.INTERRUPTED
    if errors:
        return Status.BROKEN
    return Status.NOT_IN_ORDER if wrong else Status.IN_ORDER


def _refuse_older(document: Mapping[str, Any], parsed: argparse.Namespace) -> None:
    """Refuses the document of a session that began before ``--since``, or at no time."""
    started = document["session"]["started"]
    try:
        seconds = datetime.datetime.fromisoformat(started).timestamp()
    except ValueError as error:
        raise InputError(
            f"{parsed.verdicts}: its session started at {started!r}: {error}"
        ) from None
    if seconds < int(parsed.since):
        raise InputError(
            f"{parsed.verdicts} is of an earlier session, which started at {started}; the one that "
            "was to be checked wrote none"
        )
