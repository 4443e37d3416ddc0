"""``embinit report``: render verdicts.json as a page or Markdown, or judge several stores."""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.commands.arguments import add_baseline, compared
from embinit.commands.pytest_process import run_pytest
from embinit.errors import InputError, OutputError, Status, counted, printable
from embinit.options import LATEST

if TYPE_CHECKING:
    from embinit.runs.store import Store


def add_report(commands: Any) -> None:
    """Adds the command to the parser's."""
    report = commands.add_parser(
        "report",
        allow_abbrev=False,
        help="render an HTML page or Markdown from verdicts.json, or judge several stores",
        epilog="With --store, arguments after -- go to pytest, such as -- --embinit-tier sample.",
    )
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
    form.add_argument(
        "--store",
        type=Path,
        action="append",
        help="judge the claims with the runs of this store; repeatable, the first has priority",
    )
    add_baseline(report)
    stores = report.add_argument_group("with --store")
    stores.add_argument("--claims", default="claims/", help="a folder (default: claims/)")
    stores.add_argument(
        "--report-dir", type=Path, default=Path(LATEST), help=f"(default: {LATEST})"
    )
    report.set_defaults(run=_report)


def _report(parsed: argparse.Namespace) -> int:
    if parsed.store:
        return _judge_stores(parsed)
    from embinit.files.writing import write_atomically
    from embinit.report import markdown, page
    from embinit.report.reading import read

    first, *others = documents = [read(path) for path in parsed.verdicts]
    if parsed.markdown and others:
        print(markdown.findings_as_markdown(documents), end="")
    elif parsed.markdown:
        print(markdown.as_markdown(first, *compared(parsed, first)), end="")
    else:
        text = page.render(first, {}, others=others)
        try:
            write_atomically(parsed.to, text)
        except OSError as error:
            raise OutputError(
                f"{parsed.to} can't be written ({error.strerror or error}); name another --to"
            ) from error
        print(printable(f"report: {parsed.to}"))
    return Status.OK


def _judge_stores(parsed: argparse.Namespace) -> int:
    """Judges what the stores hold together, and writes the report.

    A refuted claim is a result, so pytest's status 1 is a failure here only for a fault.
    """
    from embinit.report.faults import faults
    from embinit.report.reading import read
    from embinit.runs.store import Store

    for path in parsed.store:
        if not (path / "runs").is_dir():
            raise InputError(
                f"{path} is not a store of runs; name one that pytest wrote (--embinit-store)"
            )
    report_dir = parsed.report_dir.absolute()
    with tempfile.TemporaryDirectory(prefix="embinit-") as folder:
        together = Store(Path(folder))
        _merge(together, parsed.store)
        arguments = [parsed.claims, *parsed.behind, "--embinit-no-train"]
        # One word each, or pytest would look for the project where the store lies.
        arguments += [f"--embinit-store={folder}", f"--embinit-report-dir={report_dir}"]
        if parsed.baseline is not None:
            arguments.append(f"--embinit-baseline={parsed.baseline.absolute()}")
        status = run_pytest(arguments)
    if status in (Status.OK, Status.NOT_OK):
        document = read(report_dir / "verdicts.json")
        return Status.NOT_OK if faults(document, *compared(parsed, document)) else Status.OK
    return status


def take_all(together: Store, stores: Iterable[Store]) -> dict[str, float]:
    """Puts the runs of several stores into one; the first that has a run counts.

    For each run that several have, the largest difference of a measure: infinity where one store
    has a measure that another lacks.
    """
    apart: dict[str, float] = {}
    for store in stores:
        for key in store:
            if (theirs := store.get(key)) is None:
                continue
            if (ours := together.get(key)) is None:
                together.put(key, theirs)
            else:
                apart[key] = max(_apart(ours.measures, theirs.measures), apart.get(key, 0.0))
    return apart


def _apart(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    if ours.keys() != theirs.keys():
        return math.inf
    return max((abs(ours[name] - theirs[name]) for name in ours), default=0.0)


def _merge(together: Store, paths: Sequence[Path]) -> None:
    """Puts the runs of all stores into one, and prints how far those of one key differ."""
    from embinit.runs.store import Store

    apart = take_all(together, (Store(path, write=False) for path in paths))
    print(f"{counted(len([*together]), 'run')} from {counted(len(paths), 'store')}", flush=True)
    if apart:
        differing = sum(difference > 0 for difference in apart.values())
        print(
            f"in several stores: {counted(len(apart), 'run')}, {differing} with other measures, by "
            f"up to {max(apart.values()):.3g}; the first store's count",
            flush=True,
        )
