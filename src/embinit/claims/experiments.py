"""Experiments: the settings in which arms are compared.

The same arm asked for by several experiments gives equal specs and is trained once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from embinit.claims.comparisons import Quantity, Term
from embinit.claims.roles import Role
from embinit.runs import measures
from embinit.runs.measures import Measure
from embinit.specs import RunSpec


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A task and a setting in which arms are compared over several seeds.

    Its ``role`` is what the task represents in the paper (``translation``, ``sentiment`` …). The
    ``margin`` is in the metric's unit, from the noise of the arm ``baseline``. ``changes`` says how
    the setting differs from the registered one, for arms' labels. Without ``most_seeds`` the first
    interim analysis is the only one. ``replicated`` is the registered experiment that this one
    repeats on other data.
    """

    name: str
    tier: str = ""
    role: str = ""
    metric: Measure
    seeds: int
    margin: float = 0.0
    baseline: str = ""
    changes: str = ""
    most_seeds: int | None = None
    source: str = ""  # the name of what its arms read, such as vectors; "" for nothing
    replicated: Experiment | None = field(default=None, compare=False, repr=False)
    source_label: str = ""  # its name for people

    quantity: ClassVar[type[Quantity]] = Quantity
    """What its arms are."""
    pools_noise: ClassVar[bool] = False
    """Whether the stored arms of its file show how far a new one's values may vary."""

    def __getitem__(self, arm: str) -> Quantity:
        """An arm: its metric, one value a seed; InputError where there is no such arm."""
        return self.quantity(
            terms=(Term(1, self, arm),),
            label=f"{self.label(arm)} {self.changes}".rstrip(),
            measure=self.metric,
            unit=self.metric.unit,
            margin=self.margin,
            seeds=self.seeds,
        )

    @property
    def replicates(self) -> str:
        """What differs between seeds besides random numbers, in words; "" for nothing."""
        return ""

    @property
    def note(self) -> str:
        """What a reader must know of the setting, behind each statement; "" for nothing."""
        return ""

    @property
    def task(self) -> str:
        """The name of the task, or of the training function."""
        return self.run(self.baseline, 0).recipe.task

    def run(self, arm: str, index: int, role: Role = Role.CLAIM) -> RunSpec:
        """The spec of one run of an arm; InputError if there is no such arm."""
        raise NotImplementedError

    def measure(self, given: str | Measure) -> Measure:
        """The measure itself, or that of a name; InputError if the runs have no such measure."""
        return measures.measure(given)

    def label(self, arm: str) -> str:
        """The arm's name in the paper."""
        return arm

    def changed(self, says: str = "", **changes: Any) -> Self:
        """The same experiment with other fields; ``says`` describes the change in labels."""
        return replace(self, **{"changes": f"{self.changes} {says}".strip(), **changes})
