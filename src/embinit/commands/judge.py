"""``embinit judge``: a verdict on numbers that exist, without training or claims."""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import math
import os
import shlex
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embinit.errors import InputError, Status, printable

if TYPE_CHECKING:
    from embinit.scores.arms import Arms
    from embinit.scores.asking import Ask

FORMS = (
    "arms, as in base=3.28,3.27 new=3.26,3.27, or counts, as in base=74/80; or a table of runs "
    "(CSV, TSV, JSON, Markdown); or a folder of runs with their logs"
)

MOST_CHOICES, MOST_QUESTIONS = 3, 7
"""So many commands are offered at most, each of which answers so many questions at most."""
MOST_SECONDS = 10.0
"""How long commands are looked for."""


def add(commands: Any) -> None:
    """Adds the command to the parser's."""
    what = "judge scores that exist: is an arm better, or is it noise?"
    judge = commands.add_parser("judge", allow_abbrev=False, help=what)
    add = judge.add_argument
    add("scores", nargs="*", help=FORMS)
    add("--by", metavar="COLUMNS", help="the columns that name the arm; '!seed' is all but seed")
    add("--metric", help="the table's column, or the runs' metric, that is judged")
    pairs = judge.add_mutually_exclusive_group()
    pairs.add_argument("--seed", metavar="COLUMNS", help="the columns that pair runs")
    pairs.add_argument("--unpaired", action="store_true", help="rows are runs that nothing pairs")
    add("--id", metavar="COLUMNS", help="the columns that name a run: its rows count once")
    add("--step", metavar="COLUMN", help="rows are points of runs' curves, at these steps")
    add("--cells", metavar="COLUMN", help="such as data sets: a run's score is the mean over them")
    add("--where", metavar="COLUMN=VALUE,…", help="judge the rows that have these values")
    add("--columns", choices=("arms", "runs"), help="what the table's columns of numbers are")
    add("--names", choices=("runs", "arms"), help="what numbers at the ends of names number")
    add("--n", type=int, metavar="N", help="the number of runs of each mean ± sd")
    add("--baseline", metavar="ARM", help="the arm that others are compared with")
    way = judge.add_mutually_exclusive_group()
    way.add_argument("--lower", action="store_true", default=None, help="lower is better")
    way.add_argument("--higher", dest="lower", action="store_false", help="higher is better")
    margins = judge.add_mutually_exclusive_group()
    within = "a difference within it is NO EFFECT"
    margins.add_argument("--margin", type=float, metavar="D", default=0.0, help=within)
    gate = "a gate: 0 if no arm is worse by more than D, 1 if one is, 8 if more runs are needed"
    margins.add_argument("--no-worse", type=float, metavar="D", help=gate)
    noise = "scores of baseline runs, one a line or a table, or their sd and n; alone: print it"
    add("--noise", metavar="FILE", help=noise)
    add("--printed", metavar="ARM", help="an arm whose one number is a constant; 'none': a run")
    add("--of", choices=("runs", "items"), help="what counts such as 74/80 are of")
    add("--items", type=int, metavar="N", help="items of the test set, whose error is printed")
    crashed = "a run that crashed or ended early gets the worst score, is left out, or is kept"
    add("--crashed", choices=("worst", "drop", "keep"), help=crashed)
    add("--one-unit", action="store_true", help="scores have one unit, though they differ 30 times")
    add("--alpha", type=float, default=0.05, help="error rate (0.05)")
    add("--trials", type=int, default=0, help="number of changes that share the error rate")
    add("--most", type=int, metavar="N", help="one analysis, at N runs (default: 6, 12 and 24)")
    add("--last", type=int, metavar="K", help="a run's score: the mean of its last K points")
    form = judge.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="print a Markdown table")
    form.add_argument("--json", action="store_true", help="print all numbers as JSON")
    judge.set_defaults(run=_without_collecting, defaults=judge.get_default)


def _without_collecting(
    parsed: argparse.Namespace, most: int = MOST_QUESTIONS, until: float = math.inf
) -> int:
    """A large table's rows are millions of tuples without cycles, on which most time would go."""
    from embinit.scores.asking import SHAPE, Ask, columns_of

    gc.disable()
    try:
        status, lines = _judge(parsed)
        print(*lines, sep="\n")
        return status
    except Ask as question:
        until = min(until, time.monotonic() + MOST_SECONDS)
        found = itertools.islice(_answers(parsed, question, until), MOST_CHOICES)
        commands = {_command(way): _comment(way, read) for way, read in found}
        first = argparse.Namespace(**{**vars(parsed), **next(iter(question.choices), {})})
        late = not commands and time.monotonic() >= until
        if not commands and first != parsed and most and not late:
            return _without_collecting(first, most - 1, until)  # what is wrong comes after it
        lines = [f"embinit: {question}", *(columns_of(question.table) if question.table else [])]
        lines += ["choose one:"] if commands else []
        lines += [text for command, read in commands.items() for text in (f"  {command}", *read)]
        if late:
            lines += ["no command was found in time: name columns by --by, --metric and --seed"]
        elif not commands:
            lines += [f"nothing there can be judged as it stands; {SHAPE}"]
        print(printable("\n".join(lines)), file=sys.stderr)
        return Status.UNUSABLE
    finally:
        gc.enable()


def _answers(
    parsed: argparse.Namespace, question: Ask, until: float, most: int = MOST_QUESTIONS
) -> Iterator[tuple[argparse.Namespace, str]]:
    """The options that answer a question, and all that follow it, with the line on what was read.

    One of each choice comes first. None is looked for after ``until``.
    """
    from embinit.scores.asking import Ask

    def leading(choice: Mapping[str, Any]) -> Iterator[tuple[argparse.Namespace, str]]:
        given = argparse.Namespace(**{**vars(parsed), **choice})
        if time.monotonic() >= until:
            return
        try:
            _, (read, *_) = _judge(given)
        except Ask as further:
            yield from _answers(given, further, until, most - 1)
        except InputError:
            return
        else:
            yield given, read

    asks_which = any("lower" in choice for choice in question.choices)
    ways = [*map(leading, question.choices)] if most else []
    while ways:
        for way in [*ways]:
            if (found := next(way, None)) is None:
                ways.remove(way)
                continue
            yield found
            if found[0].lower != parsed.lower and not asks_which:  # show both sides of one score
                yield from itertools.islice(way, 1)


def _comment(parsed: argparse.Namespace, read: str) -> list[str]:
    """What an offered command reads, in a line below it."""
    if parsed.json or parsed.markdown or read.startswith("discard"):
        return []
    return [f"    # {textwrap.shorten(read.splitlines()[0], 140, placeholder=' …')}"]


def _command(parsed: argparse.Namespace) -> str:
    """The command line that gives these options."""
    words = ["embinit", "judge", *parsed.scores]
    for name, value in vars(parsed).items():
        if name in ("command", "scores", "run", "defaults", "pytest", "behind"):
            continue
        if name == "lower" and value is not None:
            words.append("--lower" if value else "--higher")
        elif value not in (None, False) and value != parsed.defaults(name):
            words += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


def _judge(parsed: argparse.Namespace) -> tuple[int, list[str]]:
    """The exit status and the lines that are printed."""
    from embinit.scores import counts, printing
    from embinit.scores.arms import Arms, worst_of
    from embinit.scores.asking import Ask
    from embinit.scores.checks import two_units
    from embinit.scores.judging import Plan, baseline_of, judge, noise_of
    from embinit.scores.names import lower_is_better, sounds_lower
    from embinit.stats.statements import Verdict

    in_words = bool(parsed.scores) and not _is_file(parsed.scores)
    arms = _read(parsed, parsed.scores) if parsed.scores else None
    earlier = _read(parsed, [parsed.noise], of_noise=True) if parsed.noise else None
    if arms is not None and (arms.of_noise or (earlier is None and len(arms.scores) == 1)):
        arms, earlier = None, arms  # the noise alone
    if (known := arms or earlier) is None:
        raise InputError("give arms, as in base=3.28,3.27 new=3.26,3.27, a file or a folder")
    metric = known.metric or (earlier or known).metric
    lower = lower_is_better(metric) if parsed.lower is None else parsed.lower
    if lower is None and arms is not None:
        text = f"is a higher or a lower {metric or 'score'} better?"
        ways = [{"lower": way} for way in (False, True)]
        raise Ask(text, ways[::-1] if sounds_lower(metric) else ways)
    plan = Plan(
        bool(lower), parsed.margin, parsed.alpha, parsed.trials, parsed.most,
        parsed.no_worse, parsed.of, parsed.printed or "",
    )  # fmt: skip
    worst = worst_of(plan.lower, arms, earlier)
    earlier = earlier and earlier.settled(
        parsed.crashed, plan.lower, worst, next(iter(earlier.scores))
    )
    if arms is None:
        _require_unused(parsed, "the noise is printed alone", *_OF_ARMS)
        known = earlier or known
        lines = printing.floor(noise_of(Arms({}), known), plan)
        read = printing.reading(known, plan.of, lower)
        return Status.RUN_AGAIN, [read, *lines, *_notes(parsed, known.notes)]
    base = baseline_of(arms, parsed.baseline, earlier, in_words)
    others = arms.scores.keys() - {base}
    arms = arms.settled(parsed.crashed, plan.lower, worst, base)
    if others and not others & arms.scores.keys():
        return Status.NOT_OK, [*arms.notes]
    odd = two_units(arms, earlier, base, plan.bound)
    if odd and not parsed.one_unit:
        raise Ask(odd, [{"one_unit": True}])
    if not odd:
        _require_unused(parsed, "scores differ by less than 30 times", "one_unit")
    _ask_of_printed(arms, plan, earlier)
    judged = judge(arms, plan, base, earlier)
    counts_alone = all("exact" in arm.rule for arm in judged)
    if counts_alone:
        _require_unused(parsed, "counts have no other noise than chance", "noise", "items")
    else:
        _require_unused(parsed, "no arm has one count of successes", "of")
    if plan.of == "items":
        _require_unused(parsed, "items decide nothing about runs", "most", "no_worse", "margin")
    notes = printing.remarks(judged, arms, earlier, parsed.baseline)
    notes += counts.of_test_set(judged, parsed.items) if parsed.items is not None else []
    read, notes = printing.reading(arms, plan.of, lower), _notes(parsed, notes)
    if parsed.json:
        lines = [printing.as_json(read, judged, plan, notes)]
    else:
        lines = [printing.page(read, judged, plan, notes, parsed.markdown)]
    verdicts = [arm.verdict for arm in judged]
    if plan.gate and Verdict.REFUTED in verdicts:
        return Status.NOT_OK, lines
    if (all if plan.gate else any)(verdict is Verdict.SUPPORTED for verdict in verdicts):
        return Status.OK, lines
    again = plan.gate or any(arm.more is not None or arm.undecidable for arm in judged)
    return Status.RUN_AGAIN if again else Status.NOT_OK, lines


_OF_ARMS = ("baseline", "printed", "of", "items", "one_unit", "markdown", "json")


def _require_unused(parsed: argparse.Namespace, why: str, *names: str) -> None:
    """InputError for an option that would change nothing: nobody shall think that it did."""
    for name in names:
        if getattr(parsed, name) != parsed.defaults(name):
            raise InputError(f"{why}: leave out --{name.replace('_', '-')}")


def _notes(parsed: argparse.Namespace, notes: Sequence[str]) -> list[str]:
    """The notes, and that no run crashed where it was said what to do with such a one."""
    if not parsed.crashed or any("crash" in note or "discard" in note for note in notes):
        return [*notes]
    return [*notes, f"no run crashed, so --crashed {parsed.crashed} changed nothing"]


def _ask_of_printed(arms: Arms, plan: Any, noise: Arms | None) -> None:
    """Asks whether the one number of an arm is a printed one, where others have several."""
    from embinit.scores.asking import Ask

    lone = [arm for arm, runs in arms.scores.items() if len(runs) == 1 and not runs[0].of]
    several = max(map(len, arms.scores.values())) > 2
    unclear = len(lone) == 1 and len(arms.scores) == 2 and several and not noise
    if plan.printed and plan.printed not in (*lone, *["none"] * unclear):
        raise InputError(f"{plan.printed!r} is no arm of one number: leave out --printed")
    if unclear and not plan.printed:
        text = f"is the number of {lone[0]} printed somewhere, or a run that you can repeat?"
        raise Ask(text, [{"printed": lone[0]}, {"printed": "none"}])


def _is_file(given: Sequence[str]) -> bool:
    return len(given) == 1 and os.path.exists(given[0])


def _read(parsed: argparse.Namespace, given: Sequence[str], of_noise: bool = False) -> Arms:
    """The arms that were named: numbers in words, a table or a folder of runs."""
    from embinit.scores import folders, rows, tables
    from embinit.scores.shapes import Reading

    names = Reading.__match_args__
    options: dict[str, Any] = {n: value for n, value in vars(parsed).items() if n in names}
    path = Path(given[0])
    if not _is_file(given):
        table = rows.from_words(given, parsed.metric)
    else:
        table = folders.table_of_runs(path, parsed.metric) if path.is_dir() else rows.table_of(path)
    settings = any(name.startswith(folders.SETTING) for name in table.columns)
    if path.is_dir() and "arm" in table.columns and not settings:
        options["by"] = parsed.by or "arm"
    if of_noise and parsed.scores:  # it may be any table of one arm, beside theirs
        given_names = {name: options[name] for name in ("by", "metric") if options[name]}
        options = {"unpaired": True, "last": parsed.last if path.is_dir() else None}
        for name, column in given_names.items():
            with contextlib.suppress(InputError):
                options[name] = rows.one_of(table, name, column)
    return tables.read(table, Reading(**options, one_arm=of_noise))
