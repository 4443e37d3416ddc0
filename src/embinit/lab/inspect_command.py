"""The command ``embinit inspect``: check the embeddings of a model or a file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from embinit.errors import printable


def add_inspect(commands: Any) -> None:
    """Adds the command to the parser's."""
    inspect = commands.add_parser(
        "inspect", help="check the embeddings of a model or a file of vectors"
    )
    inspect.add_argument(
        "path",
        help="a model's directory or id on the Hub, a file of tensors, or a file of vectors",
    )
    inspect.add_argument("--tensor", help="the input table's name, if it is not found")
    inspect.add_argument(
        "--repair",
        type=Path,
        metavar="COPY",
        help="write a copy of the model's directory, or of NumPy's arrays, there, with new rows "
        "for those that are zero, nearly zero, not finite or copies",
    )
    inspect.add_argument(
        "--repair-at-most",
        type=float,
        metavar="SHARE",
        help="write nothing if --repair would replace more than this share of the rows (default: "
        "0.1)",
    )
    inspect.add_argument(
        "--alike",
        type=float,
        metavar="COSINE",
        help="report rows as copies from this cosine on (default: 0.999)",
    )
    inspect.add_argument(
        "--fail-on",
        choices=("note", "warning", "error"),
        help="end with status 1 for a finding of this severity or more (with --repair: in the "
        "copy)",
    )
    inspect.set_defaults(run=_inspect)


def _inspect(parsed: argparse.Namespace) -> int:
    from embinit.lab.inspection import inspect
    from embinit.lab.inspection.repair import check_copied, repair

    if parsed.repair:
        check_copied(Path(parsed.path))
    asked = {"tensor": parsed.tensor}
    if parsed.alike is not None:
        asked["copies"] = parsed.alike
    inspection = inspect(parsed.path, **asked)
    print(inspection.as_text())
    if parsed.repair:
        most = {} if parsed.repair_at_most is None else {"at_most": parsed.repair_at_most}
        made = repair(Path(parsed.path), parsed.repair, inspection, parsed.tensor, **most)
        print(f"\n{printable(made.as_text())}\n")
        inspection = inspect(made.to, **asked)
        print(inspection.as_text())
    return 1 if parsed.fail_on and inspection.at_least(parsed.fail_on) else 0
