"""The command ``embtables compare``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.commands import write_file
from embinit.errors import InputError, printable

if TYPE_CHECKING:
    from embtables.given import GivenTask

INITS = ("xavier", "pretrained", "pretrained_xavier")


def add_compare(commands: Any) -> None:
    """Adds the command to the parser's."""
    compare = commands.add_parser(
        "compare", help="which start of the table is best on a task of your own?"
    )
    task = compare.add_argument_group("the task")
    task.add_argument(
        "--task",
        type=Path,
        required=True,
        help="a text, a tab and a label on each line (or two texts and a label); with --target, a "
        "text a line",
    )
    task.add_argument("--target", type=Path, help="the translations of --task, line by line")
    for split in ("validation", "test"):
        task.add_argument(
            f"--{split}", type=Path, help=f"the {split} split (default: drawn from --task)"
        )
        task.add_argument(f"--{split}-target", type=Path, help=f"the translations of --{split}")
    task.add_argument("--language", default="en", help="of the text and the vectors (default: en)")
    task.add_argument("--target-language", default="en", help="of the translations (default: en)")
    task.add_argument("--split-seed", type=int, default=0, help="draws the splits (default: 0)")
    task.add_argument("--rows", type=int, default=4000, help="most training rows (default: 4000)")
    task.add_argument(
        "--test-rows", type=int, default=1000, help="most rows of the other splits (default: 1000)"
    )
    starts = compare.add_argument_group("the starts")
    starts.add_argument(
        "--vectors",
        action="append",
        default=[],
        metavar="FILE",
        help="a file of vectors, a model's directory or its id on the Hub; repeatable",
    )
    starts.add_argument(
        "--inits",
        nargs="+",
        metavar="NAME",
        default=list(INITS),
        help="inits, each perhaps with a sigma to standardise to, as in pretrained@0.05 (default: "
        f"{' '.join(INITS)})",
    )
    starts.add_argument(
        "--tokenizer", choices=("spacy", "spacy-cased", "whitespace"), help="for word vectors"
    )
    model = compare.add_argument_group("the small models, alike for all starts")
    for name, kind, default in (
        ("layers", int, 1),
        ("epochs", int, 4),
        ("batch-size", int, 32),
        ("lr", float, 5e-4),
    ):
        model.add_argument(f"--{name}", type=kind, default=default, help=f"(default: {default:g})")
    model.add_argument(
        "--positions", default="sinusoidal", help="added to the rows (default: sinusoidal)"
    )
    model.add_argument(
        "--attention",
        nargs="+",
        choices=("plain", "rotary", "relative", "untied"),
        default=["plain", "rotary"],
        help="positions in attention, beside the added ones or, with untied, in their place; with "
        "several every start is compared with each (default: plain rotary; plain is none)",
    )
    model.add_argument(
        "--multiplier", default="sqrt(D)", help="of the looked-up rows (default: sqrt(D))"
    )
    sure = compare.add_argument_group("how sure, and how long")
    sure.add_argument(
        "--error", type=float, default=0.05, help="of all costs together (default: 0.05)"
    )
    sure.add_argument(
        "--within", type=float, default=1.0, help="a cost that does not matter (default: 1 point)"
    )
    sure.add_argument("--minutes", type=float, help="begin no look that would end later")
    sure.add_argument("--max-seeds", type=int, default=40, help="(default: 40)")
    compare.add_argument("--device", default="cpu", help="cpu, cuda, cuda:N (default: cpu)")
    compare.add_argument(
        "--store", type=Path, default=Path(".embinit/store"), help="keeps the runs"
    )
    compare.add_argument("--json", type=Path, help="write the result here too, for programs")
    compare.add_argument("--html", type=Path, help="write a page with a chart here too")
    compare.set_defaults(run=_compare)


def _compare(parsed: argparse.Namespace) -> int:
    from embtables.compare import Settings, compare
    from embtables.compare.terminal import as_text

    _check(parsed)
    settings = Settings(
        layers=parsed.layers,
        epochs=parsed.epochs,
        batch_size=parsed.batch_size,
        lr=parsed.lr,
        most_train=parsed.rows,
        most_held_out=parsed.test_rows,
        positions=parsed.positions,
        attention=tuple(parsed.attention),
        multiplier=parsed.multiplier,
        tokenizer=parsed.tokenizer,
    )
    comparison = compare(
        _task(parsed),
        parsed.vectors,
        parsed.inits,
        settings=settings,
        store=parsed.store,
        alpha=parsed.error,
        within=parsed.within,
        minutes=parsed.minutes,
        max_seeds=parsed.max_seeds,
        device=parsed.device,
        tell=lambda line: print(f"embinit: {line}", file=sys.stderr, flush=True),
    )
    print(printable(as_text(comparison)))
    if parsed.json:
        write_file(parsed.json, comparison.as_json())
    if parsed.html:
        from embtables.comparison_page import render_comparison

        write_file(parsed.html, render_comparison(json.loads(comparison.as_json())))
    return 0


def _check(parsed: argparse.Namespace) -> None:
    """Refuses numbers that no training has, before anything is read."""
    for name in ("layers", "epochs", "batch_size", "lr", "rows", "test_rows"):
        if not getattr(parsed, name) > 0:
            raise InputError(
                f"--{name.replace('_', '-')} {getattr(parsed, name)}: give more than 0"
            )
    if parsed.minutes is not None and not parsed.minutes > 0:
        raise InputError(f"--minutes {parsed.minutes}: give more than 0")
    if not parsed.within >= 0:
        raise InputError(f"--within {parsed.within}: give 0 or more")


def _task(parsed: argparse.Namespace) -> GivenTask:
    from embtables.given import GivenLabels, GivenPairs

    files = [parsed.task, parsed.validation, parsed.test]
    given = [path for path in files if path is not None]
    if len({path.absolute() for path in given}) < len(given):
        raise InputError("one file is given for two splits; the test would know what was trained")
    common = (parsed.task, parsed.validation, parsed.test, parsed.language, parsed.split_seed)
    if parsed.target is None:
        if parsed.validation_target or parsed.test_target:
            raise InputError("--validation-target and --test-target go with --target")
        return GivenLabels(*common)
    for split in ("validation", "test"):
        if (getattr(parsed, split) is None) != (getattr(parsed, f"{split}_target") is None):
            raise InputError(f"--{split} and --{split}-target go together")
    return GivenPairs(
        *common,
        target=parsed.target,
        validation_target=parsed.validation_target,
        test_target=parsed.test_target,
        target_language=parsed.target_language,
    )
