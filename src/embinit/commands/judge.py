"""``embinit judge``: a verdict on numbers that exist, without training or claims."""

from __future__ import annotations

import argparse
import gc
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status

if TYPE_CHECKING:
    from embinit.scores.arms import Arms

FORMS = (
    "arms, as in base=3.28,3.27 new=3.26,3.27, or counts, as in base=74/80; or a table of runs "
    "(CSV, TSV, JSON, Markdown); or a folder of Trainer's, Lightning's or TensorBoard's runs"
)


def add_judge(commands: Any) -> None:
    """Adds the command to the parser's."""
    what = "judge scores that exist: is an arm better, or is it noise?"
    judge = commands.add_parser("judge", allow_abbrev=False, help=what)
    add = judge.add_argument
    add("scores", nargs="*", help=FORMS)
    add("--by", metavar="COLUMNS", help="a table's columns that name the arm")
    add("--metric", help="the table's column, or the runs' metric, that is judged")
    add("--seed", metavar="COLUMNS", help="a table's columns that pair runs")
    add("--unpaired", action="store_true", help="do not pair runs by seeds")
    add("--baseline", metavar="ARM", help="the arm that others are compared with")
    way = judge.add_mutually_exclusive_group()
    way.add_argument("--lower", action="store_true", default=None, help="lower is better")
    way.add_argument("--higher", dest="lower", action="store_false", help="higher is better")
    add("--margin", type=float, default=0.0, help="a difference within it is NO EFFECT")
    noise = "scores of baseline runs, one a line or a table, or their sd and n; alone: print it"
    add("--noise", metavar="FILE", help=noise)
    crashed = (
        "a run that crashed or ended early gets the worst score, is left out, or keeps its score "
        "(default: an error that names it)"
    )
    add("--crashed", choices=("worst", "drop", "keep"), help=crashed)
    add("--alpha", type=float, default=0.05, help="error rate (0.05)")
    add("--trials", type=int, default=0, help="number of changes that share the error rate")
    add("--most", type=int, default=24, help="runs per arm at the last analysis (24)")
    add("--last", type=int, metavar="K", help="a run's score: the mean of its last K points")
    form = judge.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--json", action="store_true", help="print all numbers as JSON")
    judge.set_defaults(run=_without_collecting)


def _without_collecting(parsed: argparse.Namespace) -> int:
    """A large table's rows are millions of tuples without cycles, on which most time would go."""
    gc.disable()
    try:
        return _judge(parsed)
    finally:
        gc.enable()


def _judge(parsed: argparse.Namespace) -> int:
    from embinit.runs.measures import lower_is_better
    from embinit.scores import printing, tables
    from embinit.scores.arms import Arms
    from embinit.scores.judging import Plan, judge, noise_of
    from embinit.stats.statements import Verdict

    arms = _read(parsed, parsed.scores) if parsed.scores else None
    earlier = _read(parsed, [parsed.noise]) if parsed.noise else None
    if arms is not None and arms.of_noise:
        arms, earlier = None, arms
    if (known := arms or earlier) is None:
        raise InputError("give arms, as in base=3.28,3.27 new=3.26,3.27, a file or a folder")
    metric = known.metric or (earlier or known).metric
    lower = lower_is_better(metric) if parsed.lower is None else parsed.lower
    plan = Plan(lower, parsed.margin, parsed.alpha, parsed.trials, parsed.most)
    earlier = earlier and earlier.settled(parsed.crashed, lower)
    if arms is None or (earlier is None and len(arms.scores) == 1):
        known = earlier or known.settled(parsed.crashed, lower)
        print(*printing.floor(noise_of(Arms({}), known), plan), *known.notes, sep="\n")
        return Status.RUN_AGAIN
    if metric and parsed.lower is None and not (lower or tables.higher_is_better(metric)):
        raise InputError(f"is a higher or a lower {metric} better? give --higher or --lower")
    arms = arms.settled(parsed.crashed, lower)
    judged = judge(arms, plan, parsed.baseline, earlier)
    notes = printing.remarks(judged, arms, earlier, parsed.baseline)
    if parsed.lower is None and not lower:
        notes.append("higher is assumed to be better; if lower is, give --lower")
    if parsed.json:
        print(printing.as_json(judged, plan, notes))
    else:
        print(printing.page(judged, plan, notes, parsed.markdown))
    if any(arm.verdict is Verdict.SUPPORTED for arm in judged):
        return Status.OK
    again = any(arm.more is not None for arm in judged)
    return Status.RUN_AGAIN if again else Status.NOT_OK


def _read(parsed: argparse.Namespace, given: Sequence[str]) -> Arms:
    """The arms that were named: numbers in words, a table or a folder of runs."""
    from embinit.scores import folders, rows, tables

    path = Path(given[0])
    if len(given) > 1 or not os.path.exists(path):
        table = rows.from_words(given, parsed.metric)
    else:
        table = folders.table_of_runs(path, parsed.metric) if path.is_dir() else rows.table_of(path)
    # Noise is of one arm, so that base-0 and base-1 are runs of it though there is no other.
    last, fewest = (parsed.last, 2) if given is parsed.scores else (None, 1)
    options = (parsed.by, parsed.metric, parsed.seed, not parsed.unpaired)
    return tables.read(table, *options, last, fewest)
