"""Format numbers, times and commands for the report.

What is missing or not finite is an en dash, and a minus is a minus sign.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embinit.report.document import SessionRecord

MISSING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"

DEFAULT_TIER = "micro"
"""The tier that pytest takes where none is named."""

STORE = re.compile(r"'--(?:embinit-)?store=(.+?)'(?: |$)|--(?:embinit-)?store[ =](\S+)")
"""The store in a session's command, which is quoted with its option where it has spaces."""

ROUNDING = 1e-9
"""A number below this is taken for 0: it is a rounding error of adding floats."""


def finite(value: float | None) -> float | None:
    """``value``, or None where it is not finite."""
    return value if value is not None and math.isfinite(value) else None


def decimals(values: Iterable[float | None]) -> int:
    """The decimals, 0 to 6, that show three digits of the largest value, two of the least gap."""
    known = sorted({number for value in values if (number := finite(value)) is not None})
    gaps = [high - low for low, high in pairwise(known)]
    wanted = [2 - _magnitude(max(map(abs, known)))] if any(known) else [2]
    # A gap that is rounding noise must not make every number long.
    wanted += [1 - _magnitude(gap) for gap in gaps if gap > 1e-6 * max(map(abs, known))]
    return min(6, max(0, *wanted))


def number(value: float | None, places: int | None = None) -> str:
    """``value`` with ``places`` decimals; None means three significant digits."""
    known = finite(value)
    if known is None:
        return MISSING
    if abs(known) < ROUNDING:
        known = 0.0
    if known != 0 and not 1e-4 <= abs(known) < 1e6:
        mantissa, exponent = f"{known:.1e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    text = f"{known:.{decimals([known]) if places is None else places}f}"
    if not text.strip("-0."):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def plain(value: float | None) -> str:
    """A number that somebody chose (a margin, a level, alpha), as people write it."""
    known = finite(value)
    return MISSING if known is None else f"{known:.6g}".replace("-", MINUS)


def short(value: float) -> str:
    """A level or a share of alpha, in three significant digits."""
    return f"{value:.3g}"


def span(values: Iterable[float]) -> str:
    """The least and the largest of some numbers or shares: ``3`` or ``0.003 to 0.05``."""
    known = [*values]
    ends = (str(end) if isinstance(end, int) else short(end) for end in (min(known), max(known)))
    return " to ".join(dict.fromkeys(ends))


def points(unit: str) -> str:
    """The unit of a difference of scores in ``unit``: two percentages differ by points."""
    return f"points{unit.removeprefix('%')}" if unit.startswith("%") else unit


def interval(ends: Iterable[float | None], places: int | None = None) -> str:
    """``[low, high]``; an open end is an en dash."""
    low, high = (number(end, places) for end in ends)
    return f"[{low}, {high}]"


def p_value(value: float | None) -> str:
    """A p-value in two significant digits, as a bound below 0.0001 and above 0.99."""
    known = finite(value)
    if known is None:
        return MISSING
    if known < 1e-4:
        return "< 0.0001"
    if known > 0.99:
        return "> 0.99"
    return f"{known:.{max(2, 1 - _magnitude(known))}f}"


def count(value: int) -> str:
    """An integer with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def duration(seconds: float) -> str:
    """Seconds in the two largest units that fit (``2 min 05 s``)."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def rerun(session: SessionRecord, *places: str) -> str:
    """The command that runs claims, files, folders (with a slash) or modules of a session again.

    With the session's store, but for a file of kept runs: nothing can be trained into it.
    """
    are_paths = places[0].partition("::")[0].endswith((".py", "/"))
    words = ["pytest", *([] if are_paths else ["--pyargs"]), *places]
    words += [] if session.tier == DEFAULT_TIER else ["--embinit-tier", session.tier]
    found = STORE.search(session.command)
    store = found and (found[1] or found[2])
    if store and not store.endswith(".xz"):
        words.append(f"--embinit-store={store}")
    return shlex.join(words)


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value)))
