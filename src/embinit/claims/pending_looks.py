"""Which interim analysis, or look, to take next: that which decides most claims a second.

Arms are shared, so a look counts for all claims whose next looks lack the same runs. Nothing is
known of a claim before its first look. A paper's own statements come before others and before
controls, unless they cost much more.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import Comparison
from embinit.claims.definitions import OF_THE_PAPER
from embinit.claims.judging import Case, Judgement, judge_stored
from embinit.claims.power import expected_runs
from embinit.runs.kinds import SECOND, kind_of
from embinit.runs.session import Session
from embinit.specs import RunSpec
from embinit.stats.interim import Look
from embinit.stats.power import POWER_WANTED
from embinit.stats.rule import chance_to_decide
from embinit.stats.statements import Outcome

FIRST_CHANCE = 0.5
"""The chance that a first look is taken to decide its claim."""

OWN_COUNTS = 4
"""How many other claims, or controls, a paper's own statement counts for."""


@dataclass(frozen=True)
class PendingLook:
    """The look that an undecided claim would take next.

    ``costs`` has the runs that are not stored, with seconds of one core each, and their shares of
    what is made before them. ``chance`` is that of deciding the claim. ``expected`` has the runs of
    the first look that decides nine times in ten, were means and sds true, or else of its last.
    ``is_owed``: it is taken in any case, as a first look or a control's.
    """

    case: Case
    runs: tuple[RunSpec, ...]
    costs: Mapping[RunSpec, float]
    chance: float
    expected: tuple[RunSpec, ...] = ()
    is_owed: bool = False

    @property
    def seconds(self) -> float:
        """How long the runs that are not stored take on one core."""
        return math.fsum(self.costs.values())

    @property
    def weight(self) -> float:
        """The chance that it decides its claim, times what that counts for."""
        claim = self.case.claim
        is_own = claim.expects is None and claim.origin in OF_THE_PAPER
        return self.chance * (OWN_COUNTS if is_own else 1)


def pending_look(case: Case, session: Session) -> PendingLook | None:
    """The look that a claim would take next; None where it is decided, can't be run, or had all."""
    found = judge_stored(case, session)
    if isinstance(found, Judgement):
        return None
    costs = _costs(found.missing, case.runs(), session)
    if not found.decisions:
        foreseen = tuple(expected_runs(case))
        return PendingLook(case, found.runs, costs, FIRST_CHANCE, foreseen, is_owed=True)
    open_ = [(one.comparison, one.outcome) for one in found.decisions if one.open]
    undecided = [(comparison, outcome) for comparison, outcome in open_ if outcome is not None]
    taken = max(outcome.n for _, outcome in undecided)
    later = [planned for planned in case.looks() if planned.seeds > taken]
    chances = [_chance(undecided, planned, case.alpha) for planned in later]
    expected = next(
        (planned for planned, chance in zip(later, chances, strict=True) if chance >= POWER_WANTED),
        later[-1],
    )
    return PendingLook(
        case,
        found.runs,
        costs,
        chances[0],
        tuple(run for pair, _ in undecided for run in pair.with_seeds(expected.seeds).runs()),
        is_owed=case.claim.expects is not None,
    )


def _chance(undecided: Sequence[tuple[Comparison, Outcome]], taken: Look, alpha: float) -> float:
    """The chance that a look decides all of them, were means and sds true."""
    return math.prod(
        chance_to_decide(outcome, comparison.relation, taken.seeds, taken.share * alpha)
        for comparison, outcome in undecided
    )


def by_decisions_per_second(looks: Sequence[PendingLook]) -> list[PendingLook]:
    """The looks in order, those first that decide most claims a second, by what is stored now."""
    by_a_run: dict[RunSpec, list[PendingLook]] = defaultdict(list)
    shared = Counter(run for pending in looks for run in pending.costs)
    for pending in looks:
        by_a_run[min(pending.costs, key=shared.__getitem__)].append(pending)

    def worth(taken: PendingLook) -> float:
        near = (other for run in taken.costs for other in by_a_run[run])
        decided = sum(other.weight for other in near if other.costs.keys() <= taken.costs.keys())
        return decided / max(taken.seconds, 1e-9)

    return sorted(looks, key=worth, reverse=True)


def _costs(
    new: Iterable[RunSpec], others: Iterable[RunSpec], session: Session
) -> dict[RunSpec, float]:
    """The seconds of each new run: as many as the stored ones of its arm took, else by its cost.

    Those of what is made first are shared by the runs that wait for it.
    """
    new = [*new]
    waiting = Counter(making for run in new for making in session.lacks(run))
    took: dict[RunSpec, list[float]] = {}
    for run in others:
        if (result := session.result(run)) is not None and result.seconds:
            took.setdefault(run.without_seed(), []).append(result.seconds)
    return {
        run: statistics.fmean(took.get(run.without_seed()) or [kind_of(run).cost(run) / SECOND])
        + math.fsum(making.cost / SECOND / waiting[making] for making in session.lacks(run))
        for run in new
    }
