"""``embinit judge``: a verdict on numbers that exist, without training or claims."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, printable

if TYPE_CHECKING:
    from embinit.scores.arms import Arms
    from embinit.scores.folders import Reading


def add_judge(commands: Any) -> None:
    """Adds the command to the parser's."""
    judge = commands.add_parser(
        "judge",
        allow_abbrev=False,
        help="is it better, or is it luck? A verdict on numbers that exist",
    )
    judge.add_argument(
        "scores",
        nargs="+",
        help="arms, as in base=3.28,3.27 new=3.26,3.27; or a table of runs (CSV, TSV, JSON lines); "
        "or a folder of Trainer's, Lightning's or TensorBoard's runs",
    )
    judge.add_argument("--by", metavar="COLUMNS", help="a table's columns that tell arms apart")
    judge.add_argument("--metric", help="the table's column, or the runs' metric, that is judged")
    judge.add_argument("--seed", metavar="COLUMN", help="a table's column that pairs runs")
    judge.add_argument("--unpaired", action="store_true", help="seeds pair nothing")
    judge.add_argument("--baseline", metavar="ARM", help="what the others are compared with")
    way = judge.add_mutually_exclusive_group()
    way.add_argument("--lower", action="store_true", default=None, help="lower is better")
    way.add_argument("--higher", dest="lower", action="store_false", help="higher is better")
    judge.add_argument(
        "--margin", type=float, default=0.0, help="a difference shown to be within it has no effect"
    )
    judge.add_argument(
        "--noise",
        type=Path,
        metavar="FILE",
        help="runs of the baseline made before, ten or more: one number a line, or a table",
    )
    judge.add_argument("--alpha", type=float, default=0.05, help="how often luck may win (0.05)")
    judge.add_argument(
        "--trials", type=int, help="how many arms share alpha, those of a whole night"
    )
    judge.add_argument("--most", type=int, default=None, help="runs of an arm at the last look")
    curve = judge.add_mutually_exclusive_group()
    curve.add_argument("--last", type=int, metavar="K", help="a run's mean of its last K points")
    curve.add_argument("--area", action="store_true", help="the mean of all of its points")
    curve.add_argument("--reach", type=float, metavar="VALUE", help="the step that reaches VALUE")
    form = judge.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="a line or a table to paste")
    form.add_argument("--latex", action="store_true", help="a table for a paper")
    form.add_argument("--json", action="store_true", help="all numbers")
    judge.set_defaults(run=_judge)


def _judge(parsed: argparse.Namespace) -> int:
    from embinit.claims.paired_tests import Verdict
    from embinit.scores import telling
    from embinit.scores.judging import MOST_SEEDS, Plan, judge

    arms = _arms(parsed)
    lower = parsed.reach is not None or _lower(parsed, arms.metric)
    most = MOST_SEEDS if parsed.most is None else parsed.most
    plan = Plan(lower, parsed.margin, parsed.alpha, parsed.trials, most)
    judged = judge(arms, plan, parsed.baseline, _noise(parsed))
    notes = [*_implied(parsed, arms, judged[0].baseline), *telling.left_out(judged)]
    if parsed.json:
        print(telling.as_json(judged, plan, notes))
    elif parsed.markdown or parsed.latex:
        print((telling.markdown if parsed.markdown else telling.latex)(judged, plan, notes))
    else:
        told = [*notes, *telling.lines(judged, plan), telling.conclusion(judged)]
        print("\n".join(map(printable, told)))
    if any(each.verdict is Verdict.SUPPORTED for each in judged):
        return Status.IN_ORDER
    if any(each.again is not None for each in judged):
        return Status.RUN_AGAIN
    return Status.NOT_IN_ORDER


def _implied(parsed: argparse.Namespace, arms: Arms, baseline: str) -> list[str]:
    """Notes on what nobody said: the baseline, and which way is better."""
    from embinit.runs.measures import lower_is_better
    from embinit.scores.judging import NOISE, USUAL

    notes = []
    if not (parsed.baseline or baseline == NOISE or baseline.lower() in USUAL):
        notes.append(f"compared with {baseline}, the first arm; --baseline names another")
    if parsed.lower is None and parsed.reach is None and not lower_is_better(arms.metric):
        notes.append("higher is taken to be better; --lower says otherwise")
    return notes


def _lower(parsed: argparse.Namespace, metric: str) -> bool:
    """Whether lower numbers of the metric are better, as was given or by its name."""
    from embinit.runs.measures import lower_is_better

    return lower_is_better(metric) if parsed.lower is None else bool(parsed.lower)


def _arms(parsed: argparse.Namespace) -> Arms:
    """The arms that were named: numbers, a table or a folder of runs."""
    from embinit.scores import folders, tables
    from embinit.scores.arms import from_words

    first = Path(parsed.scores[0])
    there = os.path.exists(first)  # not so where nobody may look
    if "=" in parsed.scores[0] and not there:
        _refuse(parsed, "arms have numbers alone", "by", "seed", "metric", *CURVE)
        return from_words(parsed.scores)
    if len(parsed.scores) > 1:
        raise InputError(f"{first} and {parsed.scores[1]}: give one file or folder, or arms alone")
    if not there:
        raise InputError(f"{first} is neither a file nor a folder, nor arms as in new=3.27,3.28")
    if os.path.isdir(first):
        _refuse(parsed, "a folder's runs have their names", "by", "seed")
        return folders.read(first, parsed.metric, _reading(parsed), not parsed.unpaired)
    _refuse(parsed, "a table has one number a run", *CURVE)
    return tables.read(first, parsed.by, parsed.metric, parsed.seed, not parsed.unpaired)


CURVE = ("last", "area", "reach")
"""The options that read a number off a run's curve."""


def _refuse(parsed: argparse.Namespace, why: str, *options: str) -> None:
    """Refuses options that mean nothing here."""
    for name in options:
        if getattr(parsed, name) is not None and getattr(parsed, name) is not False:
            raise InputError(f"{why}: leave --{name} out")


def _reading(parsed: argparse.Namespace) -> Reading:
    """How one number is read off a run's points."""
    from embinit.runs import curves
    from embinit.scores.arms import finite

    if parsed.last is not None and parsed.last < 1:
        raise InputError(f"--last {parsed.last} can't be; give 1 or more points")
    if parsed.reach is not None and not math.isfinite(parsed.reach):
        raise InputError(f"--reach {parsed.reach} can't be reached; give a finite value")
    if parsed.reach is not None and parsed.lower is None and not _lower(parsed, str(parsed.metric)):
        raise InputError(
            f"does {parsed.metric} fall or rise to {parsed.reach:g}? Its name doesn't say: give "
            "--lower or --higher"
        )

    def read(points: Any, place: str) -> float:
        values = [finite(value, f"{place}: {parsed.metric} is {value}") for _, value in points]
        if parsed.reach is not None:
            below = _lower(parsed, parsed.metric)
            if (found := curves.first_at(values, parsed.reach, below)) is None:
                raise InputError(
                    f"{place}: {parsed.metric} never reaches {parsed.reach:g}; name a value that "
                    "every run reaches"
                )
            return float(points[found][0])
        if parsed.area:
            return curves.area(values)
        return curves.mean_of_last(values, parsed.last or 1)

    return read


def _noise(parsed: argparse.Namespace) -> tuple[float, ...]:
    """The baseline's runs that were made before, from a table or one number a line."""
    from embinit.files.reading import reading
    from embinit.scores import tables
    from embinit.scores.arms import number

    path: Path | None = parsed.noise
    if path is None:
        return ()
    if parsed.by and parsed.metric and not path.is_dir():
        arms = tables.read(path, parsed.by, parsed.metric, parsed.seed, not parsed.unpaired)
        if len(arms.scores) > 1:
            raise InputError(
                f"{path} has {len(arms.scores)} arms; the noise is that of one, the baseline"
            )
        return arms.values(next(iter(arms.scores)))
    with reading(path, "give one number a line"), tables.opened(path) as file:
        lines = file.read().splitlines()
    known = [
        number(line, f"{path}:{place}") for place, line in enumerate(lines, start=1) if line.strip()
    ]
    if not known:
        raise InputError(f"{path} has no number; give one run of the baseline a line")
    return tuple(known)
