"""The order in which a session takes its looks, and what they are expected to cost."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from embinit.claims.judging import Case
from embinit.claims.pending_looks import PendingLook, by_decisions_per_second, pending_look
from embinit.errors import counted
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.pytest_plugin.training import Training

STALE_SHARE = 20
"""The looks are put in order again once one in so many has ended, so that order costs little."""


class LookOrder:
    """The looks that are next: the one that decides most claims a second comes first.

    First looks, and all looks of controls, are owed: they are taken whatever the budget, since a
    verdict without controls counts for nothing. When a look's runs have ended, the claim's next one
    joins those that are pending.
    """

    def __init__(self, options: SessionOptions, training: Training) -> None:
        """Orders the looks at claims, by what ``training`` has stored."""
        self._options, self._training = options, training
        self._pending: dict[str, PendingLook] = {}
        self._claims_of: dict[RunSpec, list[str]] = {}
        self._begun: set[str] = set()
        self._seen = 0
        self._changed = 0

    def begin(self, cases: Iterable[Case]) -> None:
        """Lets the first looks join the plan, those that are worth most first."""
        for case in cases:
            self._begun.add(case.id)
            self._find_next(case)
        order = by_decisions_per_second([*self._pending.values()])
        self._training.session.want(run for look in order for run in look.runs)

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
                if not session.is_busy and len(session.ended) == self._seen:
                    return  # what is pending is not owed, and a budget has no time for it
            elif self._changed > len(self._pending) // STALE_SHARE:
                self._hand_out()
            if not (self._pending[case.id].is_owed or self._options.in_time(0)):
                return
            session.step(self._seen)

    def _heed(self, asked: str) -> bool:
        """Finds the next looks of claims whose runs have ended; whether the one asked has any."""
        session = self._training.session
        while self._seen < len(session.ended):
            run = session.ended[self._seen]
            self._seen += 1
            for name in self._claims_of.pop(run, ()):
                if name in self._pending and session.over.issuperset(self._pending[name].costs):
                    self._changed += 1
                    self._find_next(self._pending.pop(name).case)
        return asked in self._pending

    def _find_next(self, case: Case) -> None:
        """Keeps the next look of a claim, where it has one that lacks runs."""
        found = None
        with contextlib.suppress(Exception):  # it breaks its own claim, in its turn
            found = pending_look(case, self._training.session)
        if found is not None:
            self._pending[case.id] = found
            for run in found.costs:
                self._claims_of.setdefault(run, []).append(case.id)

    def _hand_out(self) -> None:
        """Puts the runs of all pending looks in order; the later ones make stacks larger."""
        self._changed = 0
        order = by_decisions_per_second([*self._pending.values()])
        if not self._options.in_time(self._owed_seconds(order)):
            order = [look for look in order if look.is_owed]
        self._training.session.want((run for look in order for run in look.costs), first=True)

    def longer_than_budget(self) -> list[str]:
        """A line where what is owed takes longer than the budget."""
        seconds, budget = self._owed_seconds(self._pending.values()), self._options.option("budget")
        if budget is None or self._options.in_time(seconds):
            return []
        return [
            f"embinit: first interim analyses and controls take about {seconds / 60:.0f} min, more "
            f"than the budget of {budget:g}: they are trained, and no further ones begin"
        ]

    def _owed_seconds(self, order: Iterable[PendingLook]) -> float:
        """How long the looks that are owed take here, about."""
        owed: dict[RunSpec, float] = {}
        for look in order:
            owed |= look.costs if look.is_owed else {}
        return math.fsum(owed.values()) / self._training.session.slots

    def expected(self) -> list[RunSpec]:
        """The runs that the looks which are pending are expected to take until they decide."""
        return [run for look in [*self._pending.values()] for run in look.expected or look.costs]

    @property
    def judged(self) -> str:
        """How many claims need no more runs, in words; "" before any is known."""
        every = len(self._begun)
        told = f"{every - len(self._pending)} of {counted(every, 'claim')} judged, "
        return told if every else ""
