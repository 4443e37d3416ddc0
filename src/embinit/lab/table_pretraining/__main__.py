"""``python -m embinit.lab.table_pretraining make``: train the microcosm's tables."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from embinit.errors import InputError, Status
from embinit.lab.data.sources.microcosm import PREFIX, TABLES, draws_directory, table_path
from embinit.lab.experiments import draws_named
from embinit.lab.table_pretraining.making import SENTENCES, make_assets
from embinit.runs.instructions import restart_pinned


def _draws(text: str) -> tuple[int, ...]:
    try:
        return draws_named(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m embinit.lab.table_pretraining", description=__doc__
    )
    commands = parser.add_subparsers(required=True)
    make = commands.add_parser("make", help="train the microcosm's tables")
    make.add_argument(
        "--worlds",
        nargs="+",
        type=_draws,
        default=[range(1)],
        help="numbers such as 9003 or 9003-9009 (default: 0, the language without a number)",
    )
    make.add_argument(
        "--directory",
        type=Path,
        help="where to write them (default: the package for draw 0, else EMBINIT_WORLDS or "
        ".embinit/worlds)",
    )
    make.add_argument("--only", nargs="+", choices=TABLES)
    make.add_argument("--sentences", type=int, default=SENTENCES)
    make.add_argument("--effort", type=float, default=1.0, help="share of the steps")
    make.add_argument("--seed", type=int, default=0)
    given = vars(parser.parse_args(arguments))
    given["draws"] = [draw for draws in given.pop("worlds") for draw in draws]
    if given["directory"] is None:
        shipped = table_path(f"{PREFIX}glove").parent
        given["directory"] = draws_directory() if any(given["draws"]) else shipped
    try:
        make_assets(**given)
    except InputError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return Status.UNUSABLE
    except OSError as error:
        said = f"a table can't be written: {error.strerror}; what was made is kept: make room"
        print(f"{parser.prog}: {given['directory']}: {said}", file=sys.stderr)
        return Status.UNWRITABLE
    return Status.OK


if __name__ == "__main__":
    restart_pinned()
    sys.exit(main())
