"""Pages: tables and figures of the studies' analyses.

A page has pairs of marks, which name the script and the part; what stands between them is the
script's. An interval is Student's, 95 %, over the seeds' own values.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scipy import stats

LEVEL = 0.95
BEGIN, END = "<!-- {}: {} -->", "<!-- end -->"

Values = Sequence[float]


class Estimate(NamedTuple):
    """A mean over seeds with its interval."""

    mean: float
    low: float
    high: float

    def told(self, decimals: int = 1) -> str:
        """The mean, and the interval in brackets."""
        numbers = (round(number, decimals) + 0.0 for number in self)  # -0.0 + 0.0 is 0.0
        told = (f"{number:.{decimals}f}".replace("-", "−") for number in numbers)
        return "{} ({} to {})".format(*told)


def estimate(values: Values) -> Estimate:
    """The mean of values, one a seed, and Student's interval."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, -math.inf, math.inf)
    error = statistics.stdev(values) / math.sqrt(len(values))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, len(values) - 1)) * error
    return Estimate(mean, mean - reach, mean + reach)


def spread(values: Values, decimals: int = 1) -> str:
    """The mean of values and their standard deviation."""
    return f"{statistics.fmean(values):.{decimals}f} ± {statistics.stdev(values):.{decimals}f}"


def best_bold(
    means: Sequence[float | None], best: Callable[..., float] = max, decimals: int = 1
) -> list[str]:
    """A table's cells of means, the best bold, and a dash for missing ones.

    Args:
        means: The means.
        best: Picks the best of those there are: ``max`` or ``min``.
        decimals: How many decimals they have.
    """
    there = [mean for mean in means if mean is not None]
    chosen = best(there) if there else None

    def told(mean: float | None) -> str:
        if mean is None:
            return "–"
        return f"**{mean:.{decimals}f}**" if mean == chosen else f"{mean:.{decimals}f}"

    return [told(mean) for mean in means]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table."""
    return [
        "| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *map(list, rows))
    ]


def write_parts(page: Path, script: str, parts: Mapping[str, Sequence[str]]) -> None:
    """Writes parts of a page between their marks, if the page and the marks exist.

    Args:
        page: The Markdown file.
        script: The script's file name, which the marks have.
        parts: The lines of each part, by name.
    """
    if not page.exists():
        return
    words = page.read_text("utf-8")
    for name, lines in parts.items():
        begin = BEGIN.format(script, name)
        if begin in words:
            before, rest = words.split(begin, 1)
            _, after = rest.split(END, 1)
            words = f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{END}{after}"
    page.write_text(words, "utf-8")


def svg(width: int, height: int, parts: Sequence[str], title: str) -> str:
    """A standalone SVG figure with its own background, for dark pages."""
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="sans-serif" font-size="12">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{width}" height="{height}" fill="#fff"/>\n{body}\n</svg>\n'
    )


def text(x: float, y: float, words: str, anchor: str = "start", extra: str = "") -> str:
    """A line of text in an SVG figure."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222" {extra}>{words}</text>'
    )
