"""The order in which a session takes its later looks, and what they are expected to cost."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from embinit.claims.judging import Case
from embinit.claims.pending_looks import PendingLook, by_decisions_per_second, pending_look
from embinit.claims.power import expected_runs
from embinit.pytest_plugin.session_options import SessionOptions
from embinit.pytest_plugin.state import SessionState
from embinit.pytest_plugin.training import Training
from embinit.runs import progress
from embinit.specs import RunSpec

LOOKS_AHEAD = 4
"""The looks that a CPU trains at once. A GPU trains all that are next, in as large stacks."""


class LookOrder:
    """The order of a session's later looks."""

    def __init__(self, options: SessionOptions, state: SessionState, training: Training) -> None:
        """Orders the looks at the claims that ``state`` has, by what ``training`` has stored."""
        self._options, self._state, self._training = options, state, training
        self._next_looks: dict[str, PendingLook] = {}
        self._expected: set[RunSpec] | None = None
        self._ended: set[str] = set()

    def publish_expected(self) -> None:
        """Tells progress which runs later looks are expected to take, from one process for all."""
        no_looks = self._state.registering.is_asked_for or self._options.option("no-train")
        if no_looks or not self._options.is_first:
            return
        runs: list[RunSpec] = []
        for case in self._state.cases:
            with contextlib.suppress(Exception):  # what is wrong with a claim is told in its turn
                # Of a claim that can't be run no run is planned.
                if not any(map(self._training.session.problem, case.runs())):
                    runs += expected_runs(case)
        self._publish_later(runs)

    def _publish_later(self, runs: Iterable[RunSpec]) -> None:
        """Tells progress which runs are expected, where they are others than were told last."""
        expected = dict.fromkeys(runs)
        if expected.keys() != self._expected:
            self._expected = set(expected)
            with contextlib.suppress(Exception):  # an estimate ends no session
                progress.publish_expected_runs(
                    self._training.session, self._options.controller, expected
                )

    def update(self) -> None:
        """Tells progress what is expected once a claim is decided, if that is less than before."""
        store, first = self._training.session.store, self._state.first_runs
        if self._expected and all(self._training.session.key(run) in store for run in first):
            self._order()

    def may_look_again(self, case: Case, runs: list[RunSpec]) -> bool:
        """Whether a later look may begin; what is worth more is trained before it.

        All first looks come first. Then controls are looked at until they are decided, whatever the
        budget: no verdict counts without them. Then the look is taken that decides most claims for
        the time that its runs take. Every worker finds the same order in the store, so that a
        budget ends with the least promising claims.
        """
        if self._options.option("no-train"):
            return True  # what the store has was paid for; what it lacks is a problem of its own
        self._training.session.ensure(self._state.first_runs)
        self._state.first_runs = []
        may_train = case.claim.expects is not None
        # What another claim's look has trained costs nothing, and is in no order of looks.
        while not all(
            self._training.session.key(run) in self._training.session.store for run in runs
        ):
            if not may_train and not self._options.in_time():
                return False
            order = self._order()
            if case.id not in {each.case.id for each in order}:
                return True
            # The next ones join the plan too, for workers that find these runs in training.
            on_gpu = self._options.option("device") != "cpu"
            soon = [
                run
                for each in order[1 : len(order) if on_gpu else LOOKS_AHEAD]
                for run in each.runs
            ]
            first = order[0]
            if first.case.claim.expects is None and not self._options.in_time():
                return False
            if first.case.id == case.id and not on_gpu:
                self._training.plan(soon)
                return True
            self._training.ensure([*first.runs, *(soon if on_gpu else ())], soon)
            if first.is_next(self._training.session):  # its runs were lost from the store
                self._ended.add(first.case.id)
        return True

    def _order(self) -> list[PendingLook]:
        """The next looks of what the stored runs leave open: controls, then what promises most.

        It holds until the first of them is taken.
        """
        following = []
        for case in self._state.cases:
            if case.id in self._ended:
                continue
            look = self._next_looks.get(case.id)
            if look is None or not look.is_next(self._training.session):
                look = None
                with contextlib.suppress(Exception):  # it breaks its own claim, in its turn
                    look = pending_look(case, self._training.session)
            if look is None:  # all first looks are stored by now, so it will never have one
                self._ended.add(case.id)
            else:
                self._next_looks[case.id] = look
                following.append(look)
        self._publish_later(run for look in following for run in look.expected)
        return sorted(
            by_decisions_per_second(following), key=lambda look: look.case.claim.expects is None
        )
