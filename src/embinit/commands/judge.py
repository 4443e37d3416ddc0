"""``embinit judge``: a verdict on numbers that exist, without training or claims."""

from __future__ import annotations

import argparse
import math
import os
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
    add("--noise", type=Path, metavar="FILE", help=noise)
    crashed = (
        "a run that crashed or ended early gets the worst score, is left out, or keeps its score "
        "(default: an error that names it)"
    )
    add("--crashed", choices=("worst", "drop", "keep"), help=crashed)
    add("--alpha", type=float, default=0.05, help="error rate (0.05)")
    add("--trials", type=int, default=0, help="number of changes that share the error rate")
    add("--most", type=int, default=24, help="runs per arm at the last analysis (24)")
    curve = judge.add_mutually_exclusive_group()
    curve.add_argument("--last", type=int, metavar="K", help="score: the mean of the last K points")
    curve.add_argument("--area", action="store_true", help="score: the mean of all points")
    curve.add_argument(
        "--reach", type=float, metavar="VALUE", help="score: the step that reaches VALUE"
    )
    form = judge.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--json", action="store_true", help="print all numbers as JSON")
    judge.set_defaults(run=_judge)


def _judge(parsed: argparse.Namespace) -> int:
    from embinit.runs.measures import lower_is_better
    from embinit.scores import telling
    from embinit.scores.arms import USUAL
    from embinit.scores.judging import NOISE, Plan, judge, noise_of
    from embinit.stats.statements import Verdict

    arms = _arms(parsed)
    earlier = _read(parsed, parsed.noise) if parsed.noise else None
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
        told = telling.floor(noise_of(None, known), plan)
        print(*told, *known.notes, sep="\n")
        return Status.RUN_AGAIN
    arms = arms.settled(parsed.crashed, lower)
    judged = judge(arms, plan, parsed.baseline, earlier)
    notes = [*arms.notes, *(earlier.notes if earlier else ())]
    base = judged[0].baseline
    if not parsed.baseline and base != NOISE and base.lower() not in USUAL:
        notes.append(f"compared with {base}, the first arm; --baseline names another")
    seeded = any(score.seed for each in arms.scores.values() for score in each)
    if seeded and not any(each.paired for each in judged):
        notes.append("seeds pair nothing: every run needs one, and two arms two in common")
    if parsed.lower is None and not lower:
        notes.append("higher is taken to be better; --lower says otherwise")
    form = telling.as_json if parsed.json else telling.lines
    print((telling.markdown if parsed.markdown else form)(judged, plan, notes))
    if any(each.verdict is Verdict.SUPPORTED for each in judged):
        return Status.IN_ORDER
    again = any(each.more is not None for each in judged)
    return Status.RUN_AGAIN if again else Status.NOT_IN_ORDER


def _arms(parsed: argparse.Namespace) -> Arms | None:
    """The arms that were named: numbers, a table or a folder of runs; None where none were."""
    from embinit.scores.arms import from_words

    if not parsed.scores:
        return None
    first, there = parsed.scores[0], os.path.exists(parsed.scores[0])
    if "=" in first and not there:
        for name in ("by", "seed", "last", "area", "reach"):
            if getattr(parsed, name) not in (None, False):
                raise InputError(f"arms have numbers alone: leave --{name} out")
        return from_words(parsed.scores)
    if len(parsed.scores) > 1:
        raise InputError(f"{first} and {parsed.scores[1]}: give one file or folder, or arms alone")
    if not there:
        raise InputError(f"{first} is neither a file nor a folder, nor arms as in new=3.27,3.28")
    return _read(parsed, Path(first))


def _read(parsed: argparse.Namespace, path: Path) -> Arms:
    """The arms of a table or of a folder of runs."""
    from embinit.runs import curves
    from embinit.runs.measures import lower_is_better
    from embinit.scores import folders, tables

    metric, last, reach = parsed.metric, parsed.last, parsed.reach
    below = lower_is_better(metric or "") if parsed.lower is None else parsed.lower
    if last is not None and last < 1:
        raise InputError(f"--last {last} can't be; give 1 or more points")
    if reach is not None and not math.isfinite(reach):
        raise InputError(f"--reach {reach} can't be reached; give a finite value")
    if reach is not None and parsed.lower is None and not below:
        says = "Its name doesn't say: give --lower or --higher"
        raise InputError(f"does {metric} fall or rise to {reach:g}? {says}")
    used = []

    def reading(points: Any, place: str) -> float:
        used.append(place)
        values = [value for _, value in points]
        if reach is None:
            mean = curves.area(values) if parsed.area else curves.mean_of_last(values, last or 1)
            if mean is None:
                raise InputError(f"{place} has {len(values)} points; give --last as many or fewer")
            return mean
        if (found := curves.first_at(values, reach, below)) is None:
            mend = "name a value that every run reaches"
            raise InputError(f"{place}: {metric} never reaches {reach:g}; {mend}")
        return float(points[found][0])

    if os.path.isdir(path):
        if parsed.by or parsed.seed:
            raise InputError("a folder's runs have their names: leave --by and --seed out")
        return folders.read(path, metric, reading, not parsed.unpaired)
    found = tables.read(path, reading, parsed.by, metric, parsed.seed, not parsed.unpaired)
    if not used and path != parsed.noise and (last or parsed.area or reach is not None):
        raise InputError(f"{path} has one number a run: leave --last, --area and --reach out")
    return found
