"""``embinit judge``: a verdict on numbers that exist, without training or claims."""

from __future__ import annotations

import argparse
import gc
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, counted

if TYPE_CHECKING:
    from embinit.scores.arms import Arms
    from embinit.scores.tables import Reading

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
    add = judge.add_mutually_exclusive_group().add_argument
    add("--last", type=int, metavar="K", help="score: the mean of the last K points")
    add("--area", action="store_true", help="score: the mean of all points")
    add("--reach", type=float, metavar="VALUE", help="score: the step that reaches VALUE")
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
    from embinit.scores import printing
    from embinit.scores.arms import Arms
    from embinit.scores.judging import Plan, judge, noise_of
    from embinit.stats.statements import Verdict

    arms = _read(parsed, parsed.scores) if parsed.scores else None
    earlier = _read(parsed, [parsed.noise]) if parsed.noise else None
    curve = parsed.last or parsed.area or parsed.reach is not None
    if arms is not None and curve and not arms.of_steps:
        raise InputError(
            f"{parsed.scores[0]} has one number a run: leave out --last, --area, --reach"
        )
    if arms is not None and arms.of_noise:
        arms, earlier = None, arms
    if (known := arms or earlier) is None:
        raise InputError("give arms, as in base=3.28,3.27 new=3.26,3.27, a file or a folder")
    falls = lower_is_better(known.metric or (earlier or known).metric)
    lower = (falls if parsed.lower is None else parsed.lower) or parsed.reach is not None
    plan = Plan(lower, parsed.margin, parsed.alpha, parsed.trials, parsed.most)
    earlier = earlier and earlier.settled(parsed.crashed, lower)
    if arms is None or (earlier is None and len(arms.scores) == 1):
        known = earlier or known.settled(parsed.crashed, lower)
        print(*printing.floor(noise_of(Arms({}), known), plan), *known.notes, sep="\n")
        return Status.RUN_AGAIN
    arms = arms.settled(parsed.crashed, lower)
    judged = judge(arms, plan, parsed.baseline, earlier)
    notes = printing.remarks(judged, arms, earlier, parsed.baseline)
    if parsed.lower is None and not lower:
        notes.append("higher is assumed to be better; if lower is, give --lower")
    form = printing.markdown if parsed.markdown else printing.lines
    print((printing.as_json if parsed.json else form)(judged, plan, notes))
    if any(each.verdict is Verdict.SUPPORTED for each in judged):
        return Status.IN_ORDER
    again = any(each.more is not None for each in judged)
    return Status.RUN_AGAIN if again else Status.NOT_IN_ORDER


def _read(parsed: argparse.Namespace, given: Sequence[str]) -> Arms:
    """The arms that were named: numbers in words, a table or a folder of runs."""
    from embinit.scores import folders, rows, tables

    path = Path(given[0])
    if not os.path.exists(path):
        table = rows.from_words(given, parsed.metric)
    elif len(given) > 1:
        raise InputError(f"{path} and {given[1]}: give one file or folder, or arms alone")
    elif path.is_dir():
        table = folders.table_of_runs(path, parsed.metric)
    else:
        table = rows.table_of(path)
    given_by = (parsed.by, parsed.metric, parsed.seed, not parsed.unpaired)
    return tables.read(table, _reading(parsed), *given_by)


def _reading(parsed: argparse.Namespace) -> Reading:
    """Reads a run's score off its points, as ``--last``, ``--area`` or ``--reach`` says."""
    from embinit.runs.measures import first_at, lower_is_better

    metric, reach = parsed.metric, parsed.reach
    below = lower_is_better(metric or "") if parsed.lower is None else parsed.lower
    if reach is not None and parsed.lower is None and not below:
        says = "Its name doesn't say: give --lower or --higher"
        raise InputError(f"does {metric} fall or rise to {reach:g}? {says}")

    def reading(points: Sequence[tuple[float, float]], place: str) -> float:
        values = [value for _, value in points]
        if reach is None:
            count = len(values) if parsed.area else 1 if parsed.last is None else parsed.last
            if not 0 < count <= len(values):
                mend = f"give --last 1 to {len(values)}"
                raise InputError(f"{place} has {counted(len(values), 'point')}; {mend}")
            return statistics.fmean(values[-count:])
        if (found := first_at(values, reach, below)) is None:
            mend = "name a value that every run reaches"
            raise InputError(f"{place}: {metric} never reaches {reach:g}; {mend}")
        return points[found][0]

    return reading
