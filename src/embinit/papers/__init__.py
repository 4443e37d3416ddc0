"""The papers whose findings are claims: their numbers, and where those belong.

A paper is a module here, named as its claims' ids begin. Its ``printed`` says what the paper has
for the two sides of a comparison, so that reports can set that beside what was measured.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from embinit.comparisons import Comparison


def printed(paper: str, comparison: Comparison) -> list[dict[str, str | float]]:
    """What ``paper`` prints for a comparison: for each of its tasks ``left`` and ``right``.

    Empty where the paper has no such numbers, and for a paper that is not embinit's own.
    """
    name = f"embinit.papers.{paper}"
    if not paper.isidentifier() or importlib.util.find_spec(name) is None:
        return []
    found: list[dict[str, str | float]] = importlib.import_module(name).printed(comparison)
    return found
