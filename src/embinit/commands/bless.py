"""``embinit bless``: accept a report's verdicts as the baseline."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from embinit.errors import printable
from embinit.options import LATEST


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    bless = commands.add_parser("bless", help="accept a report's verdicts as the baseline")
    bless.add_argument("report", type=Path, nargs="?", default=Path(LATEST))
    bless.add_argument("--to", type=Path, default=Path("reports/reference"))
    lacking = bless.add_mutually_exclusive_group()
    lacking.add_argument(
        "--keep", action="store_true", help="keep old verdicts of claims that the report lacks"
    )
    lacking.add_argument("--anyway", action="store_true", help="drop these verdicts")
    bless.set_defaults(run=_bless)


def _bless(parsed: argparse.Namespace) -> int:
    from embinit.report.bless import bless

    for line in bless(parsed.report, parsed.to, anyway=parsed.anyway, keep=parsed.keep):
        print(printable(line))
    print(printable(f"{parsed.to} is the baseline now; commit it"))
    return 0
