"""``python -m embinit.lab.table_pretraining``: train the microcosm's tables, or German vectors."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from embinit.errors import InputError, Status
from embinit.lab.data.sources.microcosm import PREFIX, TABLES, draws_directory, table_path
from embinit.lab.experiments import draws_named
from embinit.lab.table_pretraining.german import make_german
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
    german = commands.add_parser("german", help="train German vectors on real text")
    german.add_argument("data_dir", type=Path, help="a data directory with Multi30k or IWSLT2017")
    given = vars(parser.parse_args(arguments))
    if "data_dir" in given:
        return _made(lambda: make_german(**given), parser.prog, given["data_dir"])
    given["draws"] = [draw for draws in given.pop("worlds") for draw in draws]
    if given["directory"] is None:
        shipped = table_path(f"{PREFIX}glove").parent
        given["directory"] = draws_directory() if any(given["draws"]) else shipped
    return _made(lambda: make_assets(**given), parser.prog, given["directory"])


def _made(make: Callable[[], object], prog: str, where: Path) -> int:
    try:
        make()
    except InputError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return Status.UNUSABLE
    except OSError as error:
        said = f"a table can't be written: {error.strerror}; what was made is kept: make room"
        print(f"{prog}: {where}: {said}", file=sys.stderr)
        return Status.UNWRITABLE
    return Status.OK


if __name__ == "__main__":
    restart_pinned()
    sys.exit(main())
