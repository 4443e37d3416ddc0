"""The command line: ``embtables inspect``, ``extend`` and ``compare``.

``inspect`` says what is wrong with the table of a model or of a file of vectors, ``extend`` gives a
model rows for new tokens, and ``compare`` says which start is best on a user's own task.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from embinit.cli import Parser, ended
from embinit.commands import write_file
from embinit.errors import printable
from embtables import __version__
from embtables.compare_command import add_compare


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: The arguments without the program's name; None means those of the process.

    Returns:
        The exit status, one of ``embinit.errors.Status``.
    """
    parsed = _parser().parse_args(arguments)
    return ended(lambda: parsed.run(parsed), "embtables")


def _parser() -> Parser:
    parser = Parser(prog="embtables", description="Tools for the embedding tables of models.")
    parser.add_argument("--version", action="version", version=f"embtables {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (add_inspect, add_extend, add_compare):
        add(commands)
    return parser


def add_inspect(commands: Any) -> None:
    """Adds the command to the parser's."""
    inspect = commands.add_parser("inspect", help="what is wrong with a model's or a file's table?")
    inspect.add_argument(
        "path",
        help="a model's directory or id on the Hub, a file of tensors, or a file of vectors",
    )
    inspect.add_argument(
        "--tokenizer", type=Path, help="the tokenizer's directory (default: the model's own)"
    )
    inspect.add_argument(
        "--tensor", help="the input table's name, where it can't be found by itself"
    )
    inspect.add_argument("--lr", type=float, help="Adam's learning rate, to judge its steps by")
    inspect.add_argument("--text", type=Path, help="a text: which of the odd rows does it use?")
    inspect.add_argument("--json", type=Path, help="write the findings here too, for programs")
    inspect.add_argument("--html", type=Path, help="write a page with plots here too")
    inspect.add_argument(
        "--fail-on",
        choices=("note", "warning", "error"),
        help="end with status 1 where a finding is as grave as this, or graver",
    )
    inspect.set_defaults(run=_inspect)


def _inspect(parsed: argparse.Namespace) -> int:
    from embtables.inspection import inspect
    from embtables.inspection.terminal import as_text

    inspection = inspect(
        parsed.path,
        tokenizer=parsed.tokenizer,
        tensor=parsed.tensor,
        lr=parsed.lr,
        text=parsed.text,
    )
    print(printable(as_text(inspection)))
    if parsed.json:
        write_file(parsed.json, inspection.as_json())
    if parsed.html:
        from embtables.inspection_page import render_inspection

        write_file(parsed.html, render_inspection(json.loads(inspection.as_json())))
    return 1 if parsed.fail_on and inspection.at_least(parsed.fail_on) else 0


def add_extend(commands: Any) -> None:
    """Adds the command to the parser's."""
    extend = commands.add_parser("extend", help="give a model rows for new tokens")
    extend.add_argument("model", help="the model's directory, or its id on the Hub")
    what = extend.add_mutually_exclusive_group(required=True)
    what.add_argument("--tokens", type=Path, help="a file of tokens to add, one a line")
    what.add_argument("--tokenizer", type=Path, help="a tokenizer to take the place of the model's")
    what.add_argument(
        "--repair", action="store_true", help="make rows anew that are zero, nearly so, or copies"
    )
    extend.add_argument("--to", type=Path, required=True, help="the new directory")
    extend.add_argument("--method", help="how rows are made (default: subtokens)")
    extend.add_argument("--vectors", type=Path, help="word vectors, for methods that compare words")
    extend.add_argument("--new-vectors", type=Path, help="word vectors of the new tokens' language")
    extend.add_argument(
        "--dictionary", type=Path, help="pairs of words, to rotate --new-vectors onto --vectors"
    )
    extend.add_argument("--donor", type=Path, help="another model, for methods that take its rows")
    extend.add_argument("--special", action="store_true", help="the added tokens are special ones")
    extend.add_argument(
        "--multiple", type=int, default=1, help="make the number of rows a multiple of this"
    )
    extend.add_argument("--seed", type=int, default=0, help="for methods that draw (default: 0)")
    extend.set_defaults(run=_extend)


def _extend(parsed: argparse.Namespace) -> int:
    from embtables.extension import Helpers, extend
    from embtables.extension.terminal import as_text

    helpers = Helpers(parsed.vectors, parsed.new_vectors, parsed.dictionary, parsed.donor)
    extension = extend(
        parsed.model,
        parsed.to,
        tokens=parsed.tokens,
        tokenizer=parsed.tokenizer,
        repair=parsed.repair,
        method=parsed.method,
        helpers=helpers,
        special=parsed.special,
        multiple=parsed.multiple,
        seed=parsed.seed,
    )
    print(printable(as_text(extension)))
    return 0
