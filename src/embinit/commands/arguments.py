"""Arguments that several commands take, and how they are read."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embinit.report.baseline import Since
    from embinit.report.document import Document


def add_data_dir(command: argparse.ArgumentParser) -> None:
    """Adds the directory of real text."""
    command.add_argument(
        "--data-dir",
        "--embinit-data-dir",  # what messages name
        dest="data_dir",
        type=Path,
        default=os.environ.get("EMBINIT_DATA") or None,
        help="directory with real text (default: the variable EMBINIT_DATA)",
    )


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


def compared(parsed: argparse.Namespace, document: Document) -> Since | None:
    """What changed since the baseline; None without one."""
    from embinit.report.baseline import compare, moved_margins, read_baseline

    most = moved_margins(parsed.fail_on)
    if parsed.baseline is None:
        return None
    baseline = read_baseline(parsed.baseline, document.session.tier)
    return compare(document, baseline, parsed.strict, most)
