"""``embinit register``: preregister claims in claims.lock before their runs."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embinit.errors import InputError, Status
from embinit.options import OPTIONS, REGISTER


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    register = commands.add_parser(
        "register",
        allow_abbrev=False,
        help="preregister claims in claims.lock before their runs",
        usage="embinit register [CLAIMS] [--seeds SEEDS] [ARGUMENT OF PYTEST ...]",
        epilog="CLAIMS is a folder or files, and comes first (default: claims). Other arguments go "
        "to pytest, such as -n 4 or --tier sample, and everything after --.",
    )
    register.add_argument(
        "--seeds",
        type=int,
        default=10,
        help="measure missing standard deviations with this number of seeds that no claim uses; "
        "0 measures nothing (default: 10)",
    )
    register.set_defaults(run=_register)


def _register(parsed: argparse.Namespace) -> int:
    given: list[str] = parsed.pytest
    # First of all, or a value for pytest, such as the 4 of -n 4, would be taken for it.
    target = [] if given and not given[0].startswith("-") else ["claims"]
    place = [*target, *given][0].partition("::")[0]
    if "--pyargs" not in [*given, *parsed.behind] and not Path(place).exists():
        raise InputError(f"{place} does not exist; name a folder or a file of claims")
    setting = ("-o", f"{REGISTER}={parsed.seeds}")
    return run_pytest([*setting, *target, *map(_with_prefix, given), *parsed.behind])


def _with_prefix(argument: str) -> str:
    """One of embinit's options as every project knows it; another argument as it stands."""
    name = argument.partition("=")[0].removeprefix("--")
    known = argument.startswith("--") and name in OPTIONS
    return f"--embinit-{argument.removeprefix('--')}" if known else argument


def run_pytest(arguments: Sequence[str]) -> int:
    """Runs pytest in a process of its own, and returns its status.

    In this one it would warn of a plugin that was imported before. A signal is pytest's to answer.
    """
    with subprocess.Popen([sys.executable, "-m", "pytest", *arguments]) as child:
        # A terminal sends an interrupt to both.
        answers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: lambda *_: child.terminate()}
        before = {number: signal.signal(number, answers[number]) for number in answers}
        try:
            status = child.wait()
        finally:
            for number, answer in before.items():
                signal.signal(number, answer)
    return status if status >= 0 else Status.INTERRUPTED
