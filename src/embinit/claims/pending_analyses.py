"""Which interim analysis to take next: the cheapest, by what is stored now."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.judging import Case, Judgement, judge_stored
from embinit.claims.power import expected_runs
from embinit.runs.kinds import SECOND, kind_of
from embinit.runs.session import Session
from embinit.specs import RunSpec


@dataclass(frozen=True)
class PendingAnalysis:
    """The interim analysis that an undecided claim would take next.

    ``costs`` has the runs that are not stored, with seconds of one core each, and their shares of
    what is made before them. ``expected`` has the runs of the analysis with which it is expected to
    end. ``is_owed``: it is taken in any case, as a first analysis or a control's.
    """

    case: Case
    runs: tuple[RunSpec, ...]
    costs: Mapping[RunSpec, float]
    expected: tuple[RunSpec, ...] = ()
    is_owed: bool = False

    @property
    def seconds(self) -> float:
        """How long the runs that are not stored take on one core."""
        return math.fsum(self.costs.values())


def pending_analysis(case: Case, session: Session) -> PendingAnalysis | None:
    """The analysis that a claim would take next; None where it is decided, or can't be run."""
    found = judge_stored(case, session)
    if isinstance(found, Judgement):
        return None
    costs = _costs(found.missing, case.runs(), session)
    if not found.decisions:
        return PendingAnalysis(case, found.runs, costs, tuple(expected_runs(case)), is_owed=True)
    undecided = [one for one in found.decisions if one.open and one.outcome is not None]
    counts = case.seeds_of_looks()
    needed = [one.outcome.seeds_needed or math.inf for one in undecided if one.outcome]
    seeds = next((count for count in counts if count >= max(needed)), counts[-1])
    expected = (run for one in undecided for run in one.comparison.with_seeds(seeds).runs())
    is_owed = case.claim.expects is not None
    return PendingAnalysis(case, found.runs, costs, tuple(expected), is_owed)


def cheapest_first(pending: Iterable[PendingAnalysis]) -> Sequence[PendingAnalysis]:
    """The analyses in order of the seconds that they lack."""
    return sorted(pending, key=lambda analysis: analysis.seconds)


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
