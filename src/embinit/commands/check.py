"""``embinit check``: fail if a session has faults or lost a finding of the baseline.

A refuted claim is a result and no fault, so pytest's failure alone can't say whether a change may
land. In order means: every control came out as it should, and, with a baseline, no finding of it is
lost.
"""

from __future__ import annotations

import argparse
import datetime
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, counted, printable
from embinit.files.reading import finite

if TYPE_CHECKING:
    from embinit.report.baseline import FailOn
    from embinit.report.reading import Document


def add_check(commands: Any) -> None:
    """Adds the command to the parser's."""
    check = commands.add_parser("check", help="check that no run or control of a session failed")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    add_baseline(check)
    check.add_argument(
        "--since",
        type=finite,
        metavar="SECONDS",
        help="refuse a verdicts.json of a session that began before this time (date +%%s)",
    )
    check.add_argument(
        "--retrain",
        type=int,
        metavar="RUNS",
        help="judge nothing: train about so many of its runs again, and compare each number",
    )
    check.add_argument("--seed", type=int, default=0, help="which runs are trained again")
    check.add_argument("--data-dir", type=Path, default=os.environ.get("EMBINIT_DATA"))
    check.set_defaults(run=_check)


def add_baseline(command: argparse.ArgumentParser) -> None:
    """Adds the baseline, and the options that make more of its changes faults."""
    command.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    command.add_argument(
        "--strict",
        action="store_true",
        help="also fail if a SUPPORTED claim is now UNDECIDED (default: only if the new interval "
        "excludes the old difference)",
    )
    command.add_argument(
        "--fail-on",
        metavar="moved[=MARGINS]",
        help="also fail if a difference moved by more than MARGINS margins since the baseline "
        "(default: print it; without a number: 1)",
    )


def compared(parsed: argparse.Namespace) -> tuple[Document | None, FailOn]:
    """The baseline's document, None without one, and the changes that are faults."""
    from embinit.report.baseline import FailOn, require_claims
    from embinit.report.reading import BY_BLESS, read

    fail_on = FailOn.of(parsed.fail_on, parsed.strict)
    baseline = None if parsed.baseline is None else read(parsed.baseline, BY_BLESS)
    if baseline is not None:
        require_claims(baseline)
    return baseline, fail_on


def _check(parsed: argparse.Namespace) -> int:
    from embinit.report.baseline import compare
    from embinit.report.faults import faults
    from embinit.report.reading import read
    from embinit.stats.statements import VERDICTS

    latest = read(parsed.verdicts)
    if parsed.retrain is not None:
        return _retrain(latest, parsed)
    if parsed.since is not None:
        _refuse_older(latest, parsed)
    baseline, fail_on = compared(parsed)
    for entry in latest.get("skipped", ()):
        name = entry.get("id", entry.get("nodeid", "a claim"))
        print(printable(f"skipped: {name}: {entry.get('reason', '')}"))
    if baseline is not None:
        since = compare(latest, baseline)
        if since.setting:
            print(printable(since.setting))
        for change in since.changes:
            if not fail_on.includes(change):
                print(printable(str(change)))
        if since.in_words:
            print(since.in_words)
    wrong = faults(latest, baseline, fail_on)
    for fault in wrong:
        print(printable(f"NOT OK: {fault}"))
    verdicts = [claim["verdict"] for claim in latest["claims"] if not claim["control"]]
    counts = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS]
    errors = latest.get("errors", ())
    print(", ".join([*counts, f"{len(errors)} ERROR"] if errors else counts))
    if latest["session"].get("unfinished") is not None:
        return Status.INTERRUPTED
    if errors:
        return Status.BROKEN
    return Status.NOT_OK if wrong else Status.OK


def _retrain(document: Document, parsed: argparse.Namespace) -> int:
    """Trains some of a report's runs again, in a store of their own, and compares the numbers."""
    from embinit.claims.retraining import chosen, numbers_of
    from embinit.runs.engines import Processes
    from embinit.runs.machine import training_devices
    from embinit.runs.session import Session
    from embinit.runs.store import Store

    started = time.monotonic()
    numbers = numbers_of(document, Path.cwd())
    runs = chosen(numbers, parsed.retrain, parsed.seed)
    if not runs:
        raise InputError(f"{parsed.verdicts} has no number that a run decides")
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Store(Path(folder)), parsed.data_dir, "cpu")
        engine = Processes(training_devices("cpu"), session.trainers.surroundings)
        with session.trained_by(engine):
            for done, run in enumerate(runs):
                session.want(runs)
                session.ensure([run])
                spent = time.monotonic() - started
                left = f", about {spent / (done + 1) * (len(runs) - done - 1):.0f} s left"
                print(f"{done + 1} of {counted(len(runs), 'run')} made{left}", flush=True)
        if failed := session.failures(runs):
            raise InputError(f"a run failed: {'; '.join(failed)}")
        again = [number for number in numbers if {*runs}.issuperset(number.runs)]
        wrong = {number: said for number in again if (said := number.differs(session.result))}
    for said in wrong.values():
        print(printable(f"DIFFERS: {said}"))
    same = {*runs} - {run for number in wrong for run in number.runs}
    print(
        f"{len(same)} of {counted(len(runs), 'run')} made again, equal in every digit "
        f"({counted(len(again), 'number')}, {time.monotonic() - started:.0f} s)"
    )
    return Status.NOT_OK if wrong else Status.OK


def _refuse_older(document: Document, parsed: argparse.Namespace) -> None:
    """Refuses the document of a session that began before ``--since``, or at no time."""
    text = document["session"]["started"]
    try:
        when = datetime.datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError(f"{parsed.verdicts}: its session started at {text!r}: {error}") from None
    if when < int(parsed.since):
        raise InputError(
            f"{parsed.verdicts} was written by an earlier session, which started at {text}; "
            "the session to check wrote no verdicts"
        )
