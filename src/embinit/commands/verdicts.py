"""``embinit check``, ``bless`` and ``report``: what is done with a ``verdicts.json``.

A refuted claim is a result and no fault, so pytest's failure alone can't say whether a change may
land. ``check`` says so: it fails if a control came out other than it should, a run failed, or a
finding of the baseline is lost.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.commands.arguments import add_data_dir
from embinit.errors import InputError, Status, counted, printable
from embinit.options import LATEST

if TYPE_CHECKING:
    from embinit.report.baseline import Since
    from embinit.report.document import Document


def add(commands: Any) -> None:
    """Adds the commands to the parser's."""
    check = commands.add_parser("check", help="check that no run or control of a session failed")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    _add_baseline(check)
    check.add_argument(
        "--retrain",
        type=int,
        metavar="RUNS",
        help="judge nothing: train about so many of its runs again, and compare each number",
    )
    check.add_argument("--seed", type=int, default=0, help="which runs are trained again")
    add_data_dir(check)
    check.set_defaults(run=_check)

    bless = commands.add_parser("bless", help="accept a report's verdicts as the baseline")
    bless.add_argument("report", type=Path, nargs="?", default=Path(LATEST))
    bless.add_argument("--to", type=Path, default=Path("reports/reference"))
    lacking = bless.add_mutually_exclusive_group()
    lacking.add_argument(
        "--keep", action="store_true", help="keep old verdicts of claims that the report lacks"
    )
    lacking.add_argument("--anyway", action="store_true", help="drop these verdicts")
    bless.set_defaults(run=_bless)

    what = "render an HTML page or Markdown from verdicts.json"
    report = commands.add_parser("report", allow_abbrev=False, help=what)
    report.add_argument(
        "verdicts",
        type=Path,
        nargs="*",
        default=[Path(LATEST) / "verdicts.json"],
        help="one or more verdicts.json, each of another tier",
    )
    form = report.add_mutually_exclusive_group()
    form.add_argument("--to", type=Path, default=Path("report.html"), help="the HTML file")
    form.add_argument("--markdown", action="store_true", help="print Markdown instead")
    _add_baseline(report)
    report.set_defaults(run=_report)


def _add_baseline(command: argparse.ArgumentParser) -> None:
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


def _compared(parsed: argparse.Namespace, document: Document) -> Since | None:
    """What changed since the baseline; None without one."""
    from embinit.report.baseline import compare, moved_margins, read_baseline

    most = moved_margins(parsed.fail_on)
    if parsed.baseline is None:
        return None
    baseline = read_baseline(parsed.baseline, document.session.tier)
    return compare(document, baseline, parsed.strict, most)


def _check(parsed: argparse.Namespace) -> int:
    from embinit.report.faults import faults
    from embinit.report.reading import read

    latest = read(parsed.verdicts)
    if parsed.retrain is not None:
        return _retrain(latest, parsed)
    since = _compared(parsed, latest)
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
    from embinit.report.document import Machine
    from embinit.runs.engines import Processes
    from embinit.runs.instructions import EQUAL, VARIABLE, machine
    from embinit.runs.machine import training_devices
    from embinit.runs.session import Session
    from embinit.runs.store import Store

    started, made_on = time.monotonic(), document.session.machines
    if len(sets := {one.instructions for one in made_on}) == 1:
        os.environ.setdefault(VARIABLE, sets.pop())
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
    by_vendor = {one.vendor: one.instructions for one in (*made_on, Machine(**machine()))}
    unequal = [vendor for vendor, used in by_vendor.items() if vendor not in EQUAL.get(used, ())]
    if wrong and unequal and len(by_vendor) > 1:
        names = " or ".join(sorted(unequal))
        print(f"equal numbers were not seen on processors of {names}: no difference is a fault")
        return Status.OK
    return Status.NOT_OK if wrong else Status.OK


def _bless(parsed: argparse.Namespace) -> int:
    from embinit.report.bless import bless

    for line in bless(parsed.report, parsed.to, anyway=parsed.anyway, keep=parsed.keep):
        print(printable(line))
    print(printable(f"{parsed.to} is the baseline now; commit it"))
    return 0


def _report(parsed: argparse.Namespace) -> int:
    from embinit.files.writing import write_atomically, writing
    from embinit.report import markdown, page
    from embinit.report.reading import read

    first, *others = documents = [read(path) for path in parsed.verdicts]
    if parsed.markdown and others:
        print(markdown.findings_as_markdown(documents), end="")
    elif parsed.markdown:
        print(markdown.as_markdown(first, _compared(parsed, first)), end="")
    else:
        text = page.render(first, {}, others=others)
        with writing(str(parsed.to), "; name another --to"):
            write_atomically(parsed.to, text)
        print(printable(f"report: {parsed.to}"))
    return Status.OK
