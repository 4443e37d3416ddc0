"""Test claims about training by running the training.

The names below are embinit's public interface, loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embinit.claims import (
        Claim,
        Experiment,
        Family,
        Judgement,
        Quantity,
        Relation,
        Verdict,
        audited,
        claim,
        experiment,
        grid,
        judge,
        positive_control,
        trend,
    )
    from embinit.errors import InputError
    from embinit.lab.quantities import rank_correlation
    from embinit.lab.tables.recipes import INITS, Init
    from embinit.papers import PAPERS, Paper
    from embinit.runs.kinds import KINDS
    from embinit.runs.measures import MEASURES, Measure
    from embinit.runs.session import Session
    from embinit.runs.store import Store
    from embinit.runs.trainings import training

__version__ = "0.1.0"

_HOMES = {
    "Claim": "claims",
    "Experiment": "claims",
    "Family": "claims",
    "INITS": "lab.tables.recipes",
    "Init": "lab.tables.recipes",
    "InputError": "errors",
    "Judgement": "claims",
    "KINDS": "runs.kinds",
    "MEASURES": "runs.measures",
    "Measure": "runs.measures",
    "PAPERS": "papers",
    "Paper": "papers",
    "Quantity": "claims",
    "Relation": "claims",
    "Session": "runs.session",
    "Store": "runs.store",
    "Verdict": "claims",
    "audited": "claims",
    "claim": "claims",
    "experiment": "claims",
    "grid": "claims",
    "judge": "claims",
    "positive_control": "claims",
    "rank_correlation": "lab.quantities",
    "training": "runs.trainings",
    "trend": "claims",
}

__all__ = [
    "INITS",
    "KINDS",
    "MEASURES",
    "PAPERS",
    "Claim",
    "Experiment",
    "Family",
    "Init",
    "InputError",
    "Judgement",
    "Measure",
    "Paper",
    "Quantity",
    "Relation",
    "Session",
    "Store",
    "Verdict",
    "audited",
    "claim",
    "experiment",
    "grid",
    "judge",
    "positive_control",
    "rank_correlation",
    "training",
    "trend",
]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
