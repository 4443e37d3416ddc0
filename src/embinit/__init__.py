"""Test claims about training by running the training.

The names below are embinit's public interface, loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # isort: off
    from embinit.claims import (
        Claim as Claim,
        Experiment as Experiment,
        Family as Family,
        Judgement as Judgement,
        Quantity as Quantity,
        Relation as Relation,
        Verdict as Verdict,
        audited as audited,
        claim as claim,
        experiment as experiment,
        grid as grid,
        judge as judge,
        positive_control as positive_control,
        trend as trend,
    )
    from embinit.errors import InputError as InputError
    from embinit.lab.quantities import rank_correlation as rank_correlation
    from embinit.lab.tables.recipes import INITS as INITS, Init as Init
    from embinit.papers import PAPERS as PAPERS, Paper as Paper
    from embinit.runs.functions import training as training
    from embinit.runs.kinds import KINDS as KINDS
    from embinit.runs.measures import MEASURES as MEASURES, Measure as Measure
    from embinit.runs.session import Session as Session
    from embinit.runs.store import Store as Store
    # isort: on

__version__ = "0.1.0"

_HOMES = {
    name: home
    for home, names in {
        "claims": (
            "Claim Experiment Family Judgement Quantity Relation Verdict audited claim experiment "
            "grid judge positive_control trend"
        ),
        "errors": "InputError",
        "lab.quantities": "rank_correlation",
        "lab.tables.recipes": "INITS Init",
        "papers": "PAPERS Paper",
        "runs.functions": "training",
        "runs.kinds": "KINDS",
        "runs.measures": "MEASURES Measure",
        "runs.session": "Session",
        "runs.store": "Store",
    }.items()
    for name in names.split()
}

__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    """Loads a public name from its module."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
