"""Claims, their arms and comparisons, and how runs decide them."""

from embinit.claims.audit import audited
from embinit.claims.comparisons import (
    Comparison,
    Decision,
    Quantity,
    trend,
)
from embinit.claims.controls import positive_control
from embinit.claims.definitions import Claim, Family, claim
from embinit.claims.experiments import Experiment
from embinit.claims.functions import experiment, grid
from embinit.claims.judging import Case, Judgement, judge, read
from embinit.claims.roles import Role
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, Relation, Verdict

__all__ = [
    "Case",
    "Claim",
    "Comparison",
    "Decision",
    "Evidence",
    "Experiment",
    "Family",
    "Judgement",
    "Quantity",
    "Relation",
    "Role",
    "Verdict",
    "audited",
    "claim",
    "decide",
    "experiment",
    "grid",
    "judge",
    "positive_control",
    "read",
    "trend",
]
