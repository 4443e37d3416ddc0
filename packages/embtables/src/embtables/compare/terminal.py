"""A comparison as text for the terminal."""

from __future__ import annotations

import textwrap

from embtables.compare.result import ComparedStart, Comparison

WIDTH = 96


def as_text(comparison: Comparison) -> str:
    """The starts with their costs, what to use, and how sure that is."""
    splits = ", ".join(f"{count:,} {name}" for name, count in comparison.examples.items())
    first = f"{comparison.task}: {comparison.kind}, {splits}"
    if comparison.classes:
        first += f"; {comparison.classes} labels, guessing scores {comparison.guessing:.1f}"
    width = max(len(start.label) for start in comparison.starts)
    lines = [
        first,
        f"{comparison.runs} runs, {comparison.looks} "
        f"look{'s' if comparison.looks > 1 else ''}, {comparison.seconds:.0f} s",
        "",
        f"  {'start':<{width}}  {comparison.unit:>10}    sd  seeds   sigma  costs against the best",
    ]
    lines += [_line(start, width) for start in comparison.starts]
    lines += ["", *_wrapped("", comparison.verdict), *_wrapped("", comparison.certainty)]
    lines += _wrapped("", f"It ended because {comparison.stopped}.")
    for note in comparison.notes:
        lines += _wrapped("note  ", note)
    lines += _wrapped(
        "",
        "All costs hold at once but for a probability of at most "
        f"{100 * comparison.alpha:g} %, all looks together. A start is ruled out where its cost is "
        "above 0, however little.",
    )
    return "\n".join(lines)


def _line(start: ComparedStart, width: int) -> str:
    mark = "*" if start.candidate else " "
    ruled_out = "" if start.candidate else f"  ruled out at {start.ruled_out_at} seeds"
    return (
        f"{mark} {start.label:<{width}}  {start.mean:>10.1f} {start.sd:>5.1f} "
        f"{len(start.scores):>6}  {start.sigma:>6.3f}  {start.costs}{ruled_out}"
    )


def _wrapped(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"  {head}", subsequent_indent="  " + " " * len(head)
    )
