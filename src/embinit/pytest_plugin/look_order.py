"""The order in which a session takes its looks, and what they are expected to cost."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Sequence

from embinit.claims.judging import Case
from embinit.claims.pending_looks import (
    PendingLook,
    by_decisions_per_second,
    pending_look,
)
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.pytest_plugin.state import SessionState
from embinit.pytest_plugin.training import Training
from embinit.runs import progress
from embinit.specs import RunSpec

LOOKS_AHEAD = 4
"""The looks that a CPU trains at once. A GPU trains all that are next, in as large stacks."""


class LookOrder:
    """The order of a session's looks: the one that decides most claims a second is the next.

    First looks, and all looks of controls, are owed: they are taken whatever the budget, since a
    verdict without controls counts for nothing. Every worker finds the same order in the store.
    """

    def __init__(self, options: SessionOptions, state: SessionState, training: Training) -> None:
        """Orders the looks at the claims that ``state`` has, by what ``training`` has stored."""
        self._options, self._state, self._training = options, state, training
        self._next_looks: dict[str, PendingLook] = {}
        self._expected: set[RunSpec] | None = None
        self._ended: set[str] = set()

    def in_order(self, runs: Sequence[RunSpec]) -> list[RunSpec]:
        """The runs of first looks, those of the most promising first."""
        session = self._training.session
        lacking = {run for run in runs if not session.is_stored(run)}
        looks = [
            self._next_look(case)
            for case in self._state.cases
            if not lacking.isdisjoint(case.first_runs())
        ]
        order = by_decisions_per_second([look for look in looks if look is not None])
        return [*(run for look in order for run in look.runs), *runs]

    def update(self) -> None:
        """Tells progress what is expected once a claim is decided, if that is less than before."""
        if self._expected:
            self._order()

    def ensure(self, case: Case, runs: list[RunSpec]) -> None:
        """Gets the runs of a claim's look stored, after those of looks that are worth more."""
        if not self._options.option("no-train"):
            self._reach(case, runs, must=True)
        self._training.ensure(runs)

    def may_look_again(self, case: Case, runs: list[RunSpec]) -> bool:
        """Whether a later look may begin; what is worth more is trained before it."""
        if self._options.option("no-train"):
            return True  # what the store has was paid for; what it lacks is a problem of its own
        return self._reach(case, runs, must=case.claim.expects is not None)

    def _reach(self, case: Case, runs: list[RunSpec], must: bool) -> bool:
        """Trains the looks that are worth more than one; False where a budget ends before it.

        What another claim's look has trained costs nothing, and is in no order of looks. ``must``:
        its look is taken whatever the budget.
        """
        session, on_gpu = self._training.session, self._options.option("device") != "cpu"
        while not all(map(session.is_stored, runs)):
            order = self._order()
            if case.id not in {look.case.id for look in order}:
                return True
            if not self._options.in_time(self._owed_seconds(order)):
                order = [each for each in order if (must if each.case is case else each.is_owed)]
            if not order:
                return False
            # The next ones join the plan too, for workers that find these runs in training.
            ahead = order[1 : len(order) if on_gpu else LOOKS_AHEAD]
            soon = [run for look in ahead for run in look.runs]
            first = order[0]
            if first.case.id == case.id and not on_gpu:
                self._training.plan(soon)
                return True
            self._training.ensure([*first.runs, *(soon if on_gpu else ())], soon)
            if first.is_next(session):  # its runs were lost from the store
                self._ended.add(first.case.id)
        return True

    def _owed_seconds(self, order: Iterable[PendingLook]) -> float:
        """How long the looks that are owed take here, about."""
        owed: dict[RunSpec, float] = {}
        for look in order:
            owed |= look.costs if look.is_owed else {}
        return math.fsum(owed.values()) / self._training.session.slots

    def _order(self) -> list[PendingLook]:
        """The next looks of what is open, the most promising first, until the first is taken."""
        following = []
        for case in self._state.cases:
            if case.id in self._ended:
                continue
            look = self._next_looks.get(case.id)
            if look is None or not look.is_next(self._training.session):
                look = self._next_look(case)
            if look is None:  # it is decided, or can't be run
                self._ended.add(case.id)
            else:
                self._next_looks[case.id] = look
                following.append(look)
        self._publish_later(run for look in following for run in look.expected)
        return by_decisions_per_second(following)

    def _next_look(self, case: Case) -> PendingLook | None:
        with contextlib.suppress(Exception):  # it breaks its own claim, in its turn
            return pending_look(case, self._training.session)
        return None

    def _publish_later(self, runs: Iterable[RunSpec]) -> None:
        """Tells progress which runs are expected, where they are others than were told last."""
        expected = dict.fromkeys(runs)
        if expected.keys() != self._expected:
            self._expected = set(expected)
            with contextlib.suppress(Exception):  # an estimate ends no session
                progress.publish_expected_runs(
                    self._training.session, self._options.controller, expected
                )
