"""Audits: a paper's printed numbers against its own formulas and its other numbers.

A printed number is every value that rounds to it, so both sides are intervals (``mpmath.iv``), and
they are CONSISTENT if the two meet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from embinit.claims.records import Check as Check
from embinit.claims.records import Consistency
from embinit.claims.statements import Statement
from embinit.errors import InputError

UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
_PRINTED = re.compile(r"(-?\d+(?:\.\d+)?)([kM]?)")

Interval = Any
"""``mpmath.iv.mpf``: an interval with the ends ``a`` and ``b``, and with arithmetic."""


def _intervals() -> Any:
    """``mpmath.iv``, which takes long to load, and which no training needs."""
    from mpmath import iv

    return iv


def printed(text: str) -> Interval:
    """Every value that rounds to ``text`` (``"0.016"``, ``"7.8k"``); InputError for other text."""
    return _intervals().mpf([str(end) for end in _ends(text)])


def _ends(text: str) -> tuple[Decimal, Decimal]:
    """The number in ``text`` less half a unit of its last digit, and plus it."""
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a number as papers print it (1.20, -3, 7.8k, 11M)")
    digits, unit = Decimal(match[1]), UNITS[match[2]]
    exponent = digits.as_tuple().exponent
    assert isinstance(exponent, int)
    half = Decimal(5).scaleb(exponent - 1)
    return (digits - half) * unit, (digits + half) * unit


def exactly(value: float) -> Interval:
    """A number that is not rounded (a width, a count)."""
    return _intervals().mpf(value)


def between(low: float, high: float) -> Interval:
    """Every value from ``low`` to ``high``."""
    return _intervals().mpf([low, high])


def root(value: Interval) -> Interval:
    """The square root of an interval."""
    return _intervals().sqrt(value)


def agrees(what: str, text: str, computed: Interval, arithmetic: str) -> Check:
    """Checks whether the printed ``text`` can be a rounding of a value in ``computed``."""
    stated = printed(text)
    meet = bool(stated.a <= computed.b) and bool(computed.a <= stated.b)
    return Check(what, text, _in_words(computed), arithmetic, meet)


def mean_of_whole_numbers(what: str, text: str, count: int) -> Check:
    """Checks whether ``text`` can be a mean of whole numbers (GRIM, Brown and Heathers 2017)."""
    low, high = (end * count for end in _ends(text))
    whole = math.ceil(low)
    near = (
        f"{whole / count:.4g}"
        if whole <= high
        else f"{(whole - 1) / count:.4g}, {whole / count:.4g}"
    )
    return Check(what, text, near, f"whole numbers / {count}", whole <= high)


def _in_words(computed: Interval) -> str:
    """The interval in four digits, as one number where its ends agree."""
    low, high = (f"{float(end):.4g}" for end in (computed.a, computed.b))
    return low if low == high else f"{low} to {high}"


class Audit(Statement):
    """A decorator for a test of a paper's printed numbers; the test returns the checks."""


audited = Audit
"""The decorator's name, as an audit reads."""


def consistency(checks: Sequence[Check]) -> Consistency:
    """CONSISTENT if every check is; InputError without a check, as nothing passes by default."""
    if not checks:
        raise InputError("an audit must make at least one check")
    good = all(check.consistent for check in checks)
    return Consistency.CONSISTENT if good else Consistency.INCONSISTENT
