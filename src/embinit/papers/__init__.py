"""The papers whose findings are claims: their numbers, and where those belong.

A paper is a package here, named as its claims' ids begin. Its ``printed`` says what the paper has
for the two sides of a comparison; ``beside`` in its module of that name gives its tables, so that
reports can set both beside what was measured, and ``methods`` there how its models are made, where
that is its own.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embinit.claims.comparisons import Comparison


@dataclass(frozen=True)
class Beside:
    """One of a paper's tables with ours beside it: ``rows`` of cells under the ``head``.

    ``curves`` of a figure: a ``measure`` of each arm here ``by`` epoch or layer, one list a seed.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    curves: tuple[tuple[str, tuple[Sequence[float], ...]], ...] = ()
    measure: str = "validation_bleu"
    by: str = "epoch"


def citation(paper: str) -> str:
    """Authors, year, title and where a paper is, or its key where embinit doesn't know it."""
    module = _module(paper)
    return str(module.numbers()["citation"]) if module else paper


def short(paper: str) -> str:
    """Authors and year, or the key of a paper that embinit doesn't know."""
    module = _module(paper)
    return str(module.numbers()["short"]) if module else paper


def printed(paper: str, comparison: Comparison) -> list[dict[str, str | float]]:
    """What ``paper`` prints for a comparison: for each of its tasks ``left`` and ``right``.

    Empty where the paper has no such numbers, and for a paper that is not embinit's own.
    """
    module = _module(paper)
    found: list[dict[str, str | float]] = module.printed(comparison) if module else []
    return found


def beside(paper: str, tier: str, records: Iterable[Mapping[str, Any]]) -> list[Beside]:
    """The paper's tables, with what the runs in ``records`` measured on ``tier``."""
    module = _module(paper, ".beside")
    found: list[Beside] = module.beside(tier, records) if module else []
    return found


def methods(paper: str, tier: str) -> str:
    """The paper's own methods text on ``tier``, where it is not what all papers share; else ""."""
    module = _module(paper, ".beside")
    found: str = module.methods(tier) if module and hasattr(module, "methods") else ""
    return found


def _module(paper: str, part: str = "") -> ModuleType | None:
    name = f"embinit.papers.{paper}"
    if not paper.isidentifier() or importlib.util.find_spec(name) is None:
        return None
    return importlib.import_module(name + part)
