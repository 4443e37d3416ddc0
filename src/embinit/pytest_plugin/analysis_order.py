"""The order in which a session takes its interim analyses, and what they are expected to cost."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from embinit.claims.judging import Case, NextAnalysis, judge_stored
from embinit.claims.power import expected_runs
from embinit.errors import counted
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.pytest_plugin.training import TrainingPlugin

STALE_SHARE = 20
"""Analyses are put in order again once one in so many has ended, so that order costs little."""


class AnalysisOrder:
    """The interim analyses that are next: the cheapest comes first.

    First analyses, and all of controls, are owed: they are taken whatever the budget, since a
    verdict without controls counts for nothing. When the runs of one have ended, the claim's next
    one joins those that are pending.
    """

    def __init__(self, options: SessionOptions, training: TrainingPlugin) -> None:
        self._options, self._training = options, training
        self._pending: dict[str, NextAnalysis] = {}
        self._expected: dict[str, list[RunSpec]] = {}
        self._claims_of: dict[object, list[str]] = {}
        self._begun: set[str] = set()
        self._seen = 0
        self._changed = 0

    def begin(self, cases: Iterable[Case]) -> None:
        """Lets the first analyses join the plan."""
        for case in cases:
            self._begun.add(case.id)
            self._find_next(case)
        runs = [run for one in self._cheapest_first() for run in one.runs]
        self._training.session.want(runs)

    def wait(self, case: Case) -> None:
        """Returns once nothing more is to be trained for a claim."""
        if self._options.option("no-train"):
            return
        if case.id not in self._begun:  # a worker of pytest-xdist begins what it is given
            self.begin([case])
        session = self._training.session
        while self._heed(case.id):
            if not session.is_busy:
                self._hand_out()
                if not session.is_busy and len(session.over) == self._seen:
                    return  # what is pending is not owed, and a budget has no time for it
            elif self._changed > len(self._pending) // STALE_SHARE:
                self._hand_out()
            if not (self._pending[case.id].is_owed or self._options.in_time(0)):
                return
            session.step(self._seen)

    def _heed(self, asked: str) -> bool:
        """Finds the next analyses of claims whose runs ended; whether the one asked has any."""
        session = self._training.session
        for part in [*session.over][self._seen :]:
            self._seen += 1
            for name in self._claims_of.pop(part, ()):
                if name in self._pending and session.over.keys() >= {*self._pending[name].costs}:
                    self._changed += 1
                    self._find_next(self._pending.pop(name).case)
        return asked in self._pending

    def _find_next(self, case: Case) -> None:
        """Keeps the next analysis of a claim, where it has one that lacks runs."""
        with contextlib.suppress(Exception):  # it breaks its own claim, in its turn
            found = judge_stored(case, self._training.session)
            if isinstance(found, NextAnalysis):
                self._expected[case.id] = expected_runs(found)
                self._pending[case.id] = found
                for run in found.costs:
                    self._claims_of.setdefault(run, []).append(case.id)

    def _cheapest_first(self) -> list[NextAnalysis]:
        """What is pending, in order of the seconds that it lacks: first verdicts come early."""
        return sorted(self._pending.values(), key=lambda one: one.seconds)

    def _hand_out(self) -> None:
        """Puts the runs of all pending analyses in order; the later ones make stacks larger."""
        self._changed = 0
        order = self._cheapest_first()
        if not self._options.in_time(self._owed_seconds()):
            order = [one for one in order if one.is_owed]
        self._training.session.want((run for one in order for run in one.costs), first=True)

    def longer_than_budget(self) -> list[str]:
        """A line where what is owed takes longer than the budget."""
        seconds, budget = self._owed_seconds(), self._options.option("budget")
        if budget is None or self._options.in_time(seconds):
            return []
        return [
            f"embinit: first interim analyses and controls take about {seconds / 60:.0f} min, more "
            f"than the budget of {budget:g}: they are trained, and no further ones begin"
        ]

    def _owed_seconds(self) -> float:
        """How long the analyses that are owed take here, about."""
        owed: dict[RunSpec, float] = {}
        for one in self._pending.values():
            owed |= one.costs if one.is_owed else {}
        return math.fsum(owed.values()) / self._training.session.slots

    def expected(self) -> list[RunSpec]:
        """The runs that the analyses which are pending are expected to take until they decide."""
        return [run for name in [*self._pending] for run in self._expected[name]]

    @property
    def judged(self) -> str:
        """How many claims need no more runs, in words; "" before any is known."""
        every = len(self._begun)
        told = f"{every - len(self._pending)} of {counted(every, 'claim')} judged, "
        return told if every else ""
