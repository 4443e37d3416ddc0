"""The command line around ``pytest claims/``.

``embinit check`` says whether a suite's verdicts are in order. A refuted claim is a result and no
fault, so pytest's failure alone can't say whether a change may land. In order means: every control
came out as it should, and, with a baseline, no claim that was SUPPORTED there is REFUTED, NO EFFECT
or NOT RUN now. ``embinit bless`` makes a suite's report the baseline. ``embinit report`` shows
verdicts that are there, and ``embinit merge`` judges what the stores of several machines or nights
hold together. Other packages add commands under the entry-point group ``embinit.commands``.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from embinit import __version__
from embinit.claims.paired_tests import VERDICTS
from embinit.commands import (
    add_commands,
    add_fail_on,
    run_pytest,
    with_target,
)
from embinit.errors import (
    InputError,
    OutputError,
    Status,
    counted,
    is_unwritable,
    lacking_models,
    printable,
)
from embinit.files.reading import finite
from embinit.prepare_command import add_prepare
from embinit.registry import Registry
from embinit.report.baseline import changes, faults, is_fault, read, size_in_margins

if TYPE_CHECKING:
    from embinit.runs.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: The arguments without the program's name; None means those of the process.

    Returns:
        The exit status, one of ``embinit.errors.Status``. ``report`` ends with pytest's, where a
        refuted claim is no failure.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    return ended(lambda: _run(given))


def _run(given: Sequence[str]) -> int:
    parser = _parser(given[0] if given else "")
    if not given:
        parser.print_help()
        return Status.UNUSABLE
    given, behind = _split(with_target(given))
    parsed, rest = parser.parse_known_args(given)
    if parsed.command == "report" and "--store" in rest:
        parser.error("report shows a verdicts.json; to judge stores run embinit merge --store")
    if [*rest, *behind] and parsed.command not in ("merge", "run", "list", "register"):
        parser.error(f"unrecognized arguments: {' '.join([*rest, *behind])}")
    parsed.pytest = [*rest, *behind]
    command: Callable[[argparse.Namespace], int] = parsed.run
    return command(parsed)


def ended(command: Callable[[], int], program: str = "embinit") -> int:
    """Runs a command and returns its status; an error is told in one line.

    Args:
        command: The command.
        program: The program's name, for errors.
    """
    try:
        status = command()
        sys.stdout.flush()
        return status
    except InputError as error:
        line = str(error).replace("\n", "\\n")  # one of a path
        print(f"{program}: {line}", file=sys.stderr)
        return Status.UNWRITABLE if isinstance(error, OutputError) else Status.UNUSABLE
    except ModuleNotFoundError as error:
        if (lacking := lacking_models(error)) is None:
            raise
        print(f"{program}: {lacking}", file=sys.stderr)
        return Status.UNUSABLE
    except KeyboardInterrupt:
        return Status.INTERRUPTED
    except BrokenPipeError:
        _close_output()
        return Status.INTERRUPTED
    except Exception as error:
        if is_unwritable(error):
            _close_output()
            print(f"{program}: the output can't be written: {error}", file=sys.stderr)
            return Status.UNWRITABLE
        traceback.print_exc()  # Python would end with 1, which is a verdict
        return Status.BROKEN


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before ``--`` and those behind it, which are pytest's as they stand."""
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return [*arguments[:place]], [*arguments[place + 1 :]]


def _close_output() -> None:
    """Lets Python end without writing what it could not write."""
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


class Parser(argparse.ArgumentParser):
    """A parser that ends with the status of all unusable input."""

    def error(self, message: str) -> NoReturn:
        """Tells the usage and the error, and ends."""
        self.print_usage(sys.stderr)
        self.exit(Status.UNUSABLE, f"{self.prog}: error: {message}\n")


COMMANDS: Registry[Callable[[Any], None]] = Registry("command", "embinit.commands")
"""Other packages' commands: for each a function that adds it to the parser's."""

OF_EMBTABLES = ("inspect", "extend", "compare")
"""Commands of the package embtables."""


def _parser(asked: str = "") -> Parser:
    """The parser of embinit's own commands and, if none of them is asked for, of other packages'.

    Args:
        asked: The command's name. Only the package that has it is loaded; "" loads all.

    Raises:
        InputError: The package that has the command isn't installed, or can't be loaded.
    """
    if asked in OF_EMBTABLES and asked not in COMMANDS:
        raise InputError(
            f"{asked} is a command of embtables, which isn't installed: pip install embtables, or "
            "the folder packages/embtables of embinit's repository"
        )
    if asked == "noise-floor":
        raise InputError("noise-floor is part of register: run embinit register")
    parser = Parser(prog="embinit", description="Claims that train models.")
    parser.add_argument("--version", action="version", version=f"embinit {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    add_commands(commands)
    _add_check(commands)
    _add_bless(commands)
    _add_report(commands)
    _add_merge(commands)
    add_prepare(commands)
    _add_verify(commands)
    if asked not in commands.choices:
        for name in [asked] if asked in COMMANDS else COMMANDS:
            COMMANDS[name](commands)
    return parser


def _add_check(commands: Any) -> None:
    check = commands.add_parser("check", help="are a suite's verdicts in order?")
    check.add_argument("verdicts", type=Path, help="a verdicts.json")
    check.add_argument("--baseline", type=Path, help="the verdicts.json to compare with")
    add_fail_on(check)
    check.add_argument(
        "--since",
        type=finite,
        metavar="SECONDS",
        help="refuse a session that began before this time, in seconds since the epoch "
        "(date +%%s): it is an earlier one's document",
    )
    check.set_defaults(run=_check)


def _check(parsed: argparse.Namespace) -> int:
    latest = read(parsed.verdicts)
    _refuse_older(latest, parsed)
    baseline = read(parsed.baseline) if parsed.baseline else None
    moved = size_in_margins(parsed.fail_on) if parsed.fail_on else None
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
    """Refuses the document of a session that began before ``--since``.

    Raises:
        InputError: It did, or its start is no time.
    """
    if parsed.since is None:
        return
    started = document["session"]["started"]
    try:
        seconds = datetime.datetime.fromisoformat(started).timestamp()
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"{parsed.verdicts}: its session started at {started!r}: {error}"
        ) from None
    if seconds < int(parsed.since):
        raise InputError(
            f"{parsed.verdicts} is of an earlier session, which started at {started}; the one that "
            "was to be checked wrote none"
        )


def _add_bless(commands: Any) -> None:
    bless = commands.add_parser("bless", help="make a suite's report the baseline")
    bless.add_argument("report", type=Path, nargs="?", default=Path("reports/latest"))
    bless.add_argument("--to", type=Path, default=Path("reports/reference"))
    bless.add_argument(
        "--anyway", action="store_true", help="though it lacks claims that the baseline has"
    )
    bless.add_argument(
        "--keep",
        action="store_true",
        help="the baseline's claims of papers that the report has none of stay in it",
    )
    bless.add_argument(
        "--keep-claims", action="store_true", help="all its claims that the report lacks stay in it"
    )
    bless.set_defaults(run=_bless)


def _bless(parsed: argparse.Namespace) -> int:
    from embinit.report.baseline import bless

    bless(parsed.report, parsed.to, parsed.anyway, parsed.keep, parsed.keep_claims)
    print(printable(f"{parsed.to} is the baseline now; commit it"))
    return 0


def _add_report(commands: Any) -> None:
    report = commands.add_parser("report", help="the page of verdicts that are there")
    report.add_argument(
        "verdicts",
        type=Path,
        nargs="*",
        default=[Path("reports/latest/verdicts.json")],
        help="a verdicts.json; further ones, of other tiers, stand beside it",
    )
    form = report.add_mutually_exclusive_group()
    form.add_argument("--to", type=Path, default=Path("report.html"), help="the page's file")
    form.add_argument("--markdown", action="store_true", help="print the findings as Markdown")
    report.set_defaults(run=_report)


def _report(parsed: argparse.Namespace) -> int:
    from embinit.files.writing import write_atomically
    from embinit.report import baseline, markdown, page

    first, *others = documents = [baseline.read(each) for each in parsed.verdicts]
    if parsed.markdown:
        print(markdown.findings_as_markdown(documents), end="")
    else:
        text = page.render(first, {}, beside=others)
        try:
            write_atomically(parsed.to, text)
        except OSError as error:
            raise OutputError(
                f"{parsed.to} can't be written ({error.strerror or error}); name another --to"
            ) from error
        print(printable(f"report: {parsed.to}"))
    return 0


def _add_merge(commands: Any) -> None:
    merge = commands.add_parser("merge", help="judge what several stores hold together")
    merge.add_argument(
        "--store", type=Path, action="append", required=True, help="a store to read; repeatable"
    )
    merge.add_argument(
        "--into", type=Path, help="keep the merged store here (default: only for the report)"
    )
    merge.add_argument("--claims", default="claims/", help="where they are (default: claims/)")
    merge.add_argument(
        "--report-dir",
        "--embinit-report-dir",
        dest="report_dir",
        type=Path,
        default=Path("reports/latest"),
        help="where the report goes (default: reports/latest)",
    )
    merge.add_argument(
        "--baseline",
        "--embinit-baseline",
        dest="baseline",
        type=Path,
        help="the verdicts.json to compare with",
    )
    add_fail_on(merge)
    merge.epilog = "Further arguments go to pytest, such as --embinit-tier sample or -k finding_1."
    merge.set_defaults(run=_merge)


def _merge(parsed: argparse.Namespace) -> int:
    from embinit.runs.store import Store

    for path in parsed.store:
        if not (path / "runs").is_dir():
            raise InputError(
                f"{path} is no store of runs; name one that pytest wrote (--embinit-store)"
            )
    with tempfile.TemporaryDirectory(prefix="embinit-") as temporary:
        merged = Store(parsed.into or Path(temporary))
        if any(merged):
            raise InputError(f"{parsed.into} has runs already; name an empty directory as --into")
        return _judge(merged, parsed)


def _judge(merged: Store, parsed: argparse.Namespace) -> int:
    """Merges the stores and judges the claims.

    A refuted claim is a result, so pytest's status 1 is a failure here only for a fault.
    """
    from embinit.runs.store import Store

    apart: dict[str, float] = {}
    for path in parsed.store:
        for key, difference in merged.take(Store(path, write=False)).items():
            apart[key] = max(difference, apart.get(key, 0.0))
    runs, stores = counted(len([*merged]), "run"), counted(len(parsed.store), "store")
    print(f"{runs} from {stores}", flush=True)
    if apart:
        differing = sum(difference > 0 for difference in apart.values())
        print(
            f"in several stores: {counted(len(apart), 'run')}, {differing} with other measures, by "
            f"up to {max(apart.values()):.3g}; the first store's count",
            flush=True,
        )
    # One word, or pytest would look for the project where the store lies.
    report_dir: Path = parsed.report_dir.absolute()
    baseline = read(parsed.baseline) if parsed.baseline else None
    moved = size_in_margins(parsed.fail_on) if parsed.fail_on else None
    arguments = [
        parsed.claims,
        f"--embinit-store={merged.root}",
        f"--embinit-report-dir={report_dir}",
        "--embinit-no-train",
    ]
    if baseline:
        arguments.append(f"--embinit-baseline={parsed.baseline.absolute()}")
    if baseline and parsed.fail_on:
        arguments.append(f"--embinit-fail-on={parsed.fail_on}")
    status = run_pytest([*arguments, *parsed.pytest])
    if status == Status.NOT_IN_ORDER:
        document = read(report_dir / "verdicts.json")
        return status if faults(document, baseline, moved) else Status.IN_ORDER
    return status


def _add_verify(commands: Any) -> None:
    verify = commands.add_parser("verify", help="is every record of a store whole?")
    verify.add_argument("store", type=Path, nargs="?", default=Path(".embinit/store"))
    verify.set_defaults(run=_verify)


def _verify(parsed: argparse.Namespace) -> int:
    from embinit.runs.store import Store

    store = Store(parsed.store, write=False)
    faults = [f"{path} {reason}" for path, reason in store.verify()]
    for fault in faults:
        print(printable(fault))
    records = counted(len([*store]), "record")
    print(f"{records}, {len(faults)} of them or beside them not in order")
    return Status.NOT_IN_ORDER if faults else Status.IN_ORDER


if __name__ == "__main__":
    sys.exit(main())
