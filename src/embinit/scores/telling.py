"""What judging came to, as lines for a terminal, as Markdown, LaTeX and JSON."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Sequence
from typing import Any

from embinit.claims.paired_tests import Verdict
from embinit.errors import counted, printable
from embinit.report.numbers import number, plain, short
from embinit.scores.judging import NOISE, Judged, Plan

NOISES = "the noise's"
ONE_EACH = "one number an arm tells nothing of the noise"


def lines(judged: Sequence[Judged], plan: Plan) -> list[str]:
    """A line for each arm, and one on how they were judged."""
    return [*(line(each, named=True) for each in judged), how(judged, plan)]


def line(judged: Judged, named: bool = False) -> str:
    """One arm in a line, as for a pull request, with the arms' names if asked for."""
    places = _places([judged.difference])
    arm, base = _side(judged, places, named)
    direction = "lower" if judged.difference < 0 else "higher"
    told = f"{arm} for {base}: {direction} by {number(abs(judged.difference), places)}"
    low, high = _interval(judged)
    if low is not None and high is not None:
        ends = sorted((-high, -low) if judged.difference < 0 else (low, high))
        told += f" ({number(ends[0], places)} to {number(ends[1], places)})"
    return f"{told}, {judged.verdict}{_why(judged)}"


def how(judged: Sequence[Judged], plan: Plan) -> str:
    """How the arms were judged, in a line."""
    way = "lower" if plan.lower else "higher"
    pairs = [each.paired for each in judged]
    by = "seed by seed" if all(pairs) else "unpaired" if not any(pairs) else "by seed where named"
    trials = plan.shared_by(len(judged))
    share = f", of {trials} that share {plain(plan.alpha * 100)} %" if trials > 1 else ""
    looks = ", ".join(str(look.seeds) for look in judged[0].looks)
    margin = f"; margin {plain(plan.margin)}" if plan.margin else ""
    return (
        f"{way} is better, {by}; level {short(plan.alpha * 100 / trials)} %{share}; "
        f"looks at {looks} runs{margin}"
    )


def left_out(judged: Sequence[Judged]) -> list[str]:
    """Notes on the runs that no seed pairs, where others are paired."""
    return [
        f"{counted(len(each.alone), 'run')} of {each.arm} or {each.baseline} left out, without a "
        f"partner of its seed ({', '.join(each.alone[:3])}{' …' if each.alone[3:] else ''})"
        for each in judged
        if each.alone
    ]


def conclusion(judged: Sequence[Judged]) -> str:
    """What to do, in a line."""
    kept = [each.arm for each in judged if each.verdict is Verdict.SUPPORTED]
    again = [each for each in judged if each.again is not None]
    told = []
    if kept:
        told.append(f"keep {', '.join(kept)}")
    if again:
        named = dict.fromkeys(
            f"{each.short_of} ({each.to_next_look} more, to the look at {each.next_look})"
            for each in again
        )
        told.append("run again " + ", ".join(named))
    rest = [each.arm for each in judged if each.arm not in kept and each not in again]
    if rest:
        told.append(f"discard {', '.join(rest)}")
    return "; ".join(told)


def markdown(judged: Sequence[Judged], plan: Plan, notes: Sequence[str] = ()) -> str:
    """One arm as a line to paste, several as a table; then what was left out."""
    told = "".join(f"\n\n{_escaped(note)}" for note in notes)
    return (_escaped(line(judged[0])) if len(judged) == 1 else _table(judged, plan)) + told


def _table(judged: Sequence[Judged], plan: Plan) -> str:
    rows = [["arm", "mean (n)", "difference", "verdict"], ["---"] * 4]
    rows += _rows(judged, _escaped)
    told = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{told}\n\n{how(judged, plan)}"


def latex(judged: Sequence[Judged], plan: Plan, notes: Sequence[str] = ()) -> str:
    """A table for booktabs, with what was left out as its comments."""
    rows = " \\\\\n".join(" & ".join(row) for row in _rows(judged, _for_latex))
    head = "arm & mean ($n$) & difference & verdict"
    return (
        f"\\begin{{tabular}}{{lrrl}}\n\\toprule\n{head} \\\\\n\\midrule\n{rows} \\\\\n"
        f"\\bottomrule\n\\end{{tabular}}\n"
        + "\n".join(f"% {printable(told)}" for told in (how(judged, plan), *notes))
    )


def as_json(judged: Sequence[Judged], plan: Plan, notes: Sequence[str]) -> str:
    """All numbers."""
    return json.dumps(
        {
            "schema_version": 1,
            "lower_is_better": plan.lower,
            "alpha": plan.alpha,
            "trials": plan.shared_by(len(judged)),
            "margin": plan.margin,
            "notes": list(notes),
            "arms": [_entry(each) for each in judged],
        },
        indent=1,
    )


def _entry(judged: Judged) -> dict[str, Any]:
    outcome = judged.outcome
    low, high = _interval(judged)
    return {
        "arm": judged.arm,
        "baseline": judged.baseline or None,
        "values": list(judged.values),
        "baseline_values": list(judged.of_baseline),
        "paired": judged.paired,
        "difference": judged.difference,
        "interval": None if low is None else [low, high],
        "p": None if outcome is None else outcome.p,
        "verdict": str(judged.verdict),
        "hangs_on": None if outcome is None else outcome.hangs_on,
        "more_runs": judged.again,
        "next_look": judged.next_look,
    }


def _interval(judged: Judged) -> tuple[float | None, float | None]:
    if judged.outcome is None or judged.outcome.sd <= 0:
        return None, None
    low, high = judged.outcome.interval
    return float(low), float(high)


def _places(differences: Sequence[float]) -> int:
    """The decimals that show three digits of each difference, however small."""
    sizes = [abs(each) for each in differences if each]
    return max((min(12, max(0, 2 - math.floor(math.log10(size)))) for size in sizes), default=2)


def _side(judged: Judged, places: int, named: bool) -> tuple[str, str]:
    told = []
    for name, values in ((judged.arm, judged.values), (judged.baseline, judged.of_baseline)):
        own = NOISES if name == NOISE else name
        mean = f"{number(statistics.fmean(values), places)} (n={len(values)})"
        told.append(f"{own} {mean}" if named else mean)
    return told[0], told[1]


def _why(judged: Judged) -> str:
    """What a verdict of UNDECIDED waits for."""
    if judged.verdict is not Verdict.UNDECIDED:
        return ""
    told = [ONE_EACH] if judged.outcome is None else []
    if judged.outcome is not None and judged.outcome.hangs_on is not None:
        told.append("it hangs on one run")
    if (more := judged.again) is not None:
        told.append(f"{more} more would tell" if judged.outcome else f"run {more} more")
    elif judged.hopeless and judged.next_look is not None:
        told.append(f"and {judged.looks[-1].seeds} runs would hardly keep it")
    else:
        told.append(f"not shown by {judged.looks[-1].seeds} runs, the last look")
    return ", " + ", ".join(told)


def _rows(judged: Sequence[Judged], escaped: Any) -> list[list[str]]:
    first = max(judged, key=lambda each: len(each.of_baseline))
    places = _places([each.difference for each in judged])
    base = f"{number(statistics.fmean(first.of_baseline), places)} ({len(first.of_baseline)})"
    rows = [[escaped(first.baseline or NOISES), base, "", "baseline"]]
    for each in judged:
        low, high = _interval(each)
        spread = "" if low is None else f" [{number(low, places)}, {number(high, places)}]"
        more = "" if each.again is None else f", {counted(each.again, 'run')} more"
        rows.append(
            [
                escaped(each.arm),
                f"{number(statistics.fmean(each.values), places)} ({len(each.values)})",
                f"{number(each.difference, places)}{spread}",
                f"{each.verdict}{more}",
            ]
        )
    return rows


def _escaped(text: str) -> str:
    r"""Text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", printable(text))


def _for_latex(text: str) -> str:
    r"""Text that LaTeX shows as it stands."""
    shown = printable(text).replace("\\", "\\textbackslash ")
    return (
        re.sub(r"([&%$#_{}])", r"\\\1", shown)
        .replace("~", "\\textasciitilde ")
        .replace("^", "\\textasciicircum ")
    )
