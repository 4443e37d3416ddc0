"""``embinit check``: fail if a session has faults or lost a finding of the baseline.

A refuted claim is a result and no fault, so pytest's failure alone can't say whether a change may
land. In order means: every control came out as it should, and, with a baseline, no finding of it is
lost.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.commands.arguments import add_baseline, add_data_dir, compared
from embinit.errors import InputError, Status, counted, printable

if TYPE_CHECKING:
    from embinit.report.document import Document


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    check = commands.add_parser("check", help="check that no run or control of a session failed")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    add_baseline(check)
    check.add_argument(
        "--retrain",
        type=int,
        metavar="RUNS",
        help="judge nothing: train about so many of its runs again, and compare each number",
    )
    check.add_argument("--seed", type=int, default=0, help="which runs are trained again")
    add_data_dir(check)
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    from embinit.report.faults import faults
    from embinit.report.reading import read

    latest = read(parsed.verdicts)
    if parsed.retrain is not None:
        return _retrain(latest, parsed)
    since = compared(parsed, latest)
    for entry in latest.skipped:
        print(printable(f"skipped: {entry}"))
    if since is not None:
        if since.setting:
            print(printable(since.setting))
        for change in since.changes:
            if not change.fault:
                print(printable(str(change)))
        if since.in_words:
            print(since.in_words)
    wrong = faults(latest, since)
    for fault in wrong:
        print(printable(f"NOT OK: {fault}"))
    counts = [f"{number} {verdict}" for verdict, number in latest.summary.verdicts.items()]
    errors = len(latest.errors)
    print(", ".join([*counts, f"{errors} ERROR"] if errors else counts))
    if latest.session.unfinished is not None:
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
    numbers = numbers_of(document.claims, Path.cwd())
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
