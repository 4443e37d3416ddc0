"""Judging a claim: from a test function and stored runs to a verdict, with or without pytest.

``judge(test_it, experiment, Session(Store(path), data_dir=None, device="cpu"))`` trains what the
store lacks first.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from embinit.claims.comparisons import Comparison, Decision
from embinit.claims.controls import UNIFORM_LEVEL, p_of_uniform
from embinit.claims.definitions import Claim, Family, claim_of, comparisons_of
from embinit.claims.experiments import Experiment
from embinit.claims.lock import NOWHERE, Entry, Lock, command, lock_of, with_margin
from embinit.claims.run_checks import seed_faults, unequal
from embinit.errors import InputError, counted
from embinit.runs.kinds import SECOND, kind_of
from embinit.runs.results import failure_reason
from embinit.runs.session import Session
from embinit.specs import RunSpec
from embinit.stats.interim import Analysis, schedule, seeds_of_analyses
from embinit.stats.power import rounded_up, unknown_after
from embinit.stats.statements import Relation, Verdict, verdict_of

ClaimTest = Callable[..., None]
"""A function that ``claim`` decorates: it takes an experiment and asserts how its arms compare."""

UNDERPOWERED = "underpowered"
"""How the reason begins if the last interim analysis cannot resolve the margin."""


@dataclass(frozen=True)
class Case:
    """A claim in one experiment: its comparisons there, and why it can't be tested."""

    claim: Claim
    experiment: Experiment
    comparisons: tuple[Comparison, ...]
    unequal: str | None
    unmeasured: str | None = None
    lock: Lock = NOWHERE
    replicated: Case | None = None  # the claim in the registered experiment, if this repeats it

    @functools.cached_property
    def too_coarse(self) -> str | None:
        """Why its setting can't decide, whatever comes out; worked out late: it loads scipy."""
        return next(filter(None, (_underpowered(self, pair) for pair in self.comparisons)), None)

    @property
    def obstacle(self) -> str | None:
        """Why the claim can't be tested in its experiment; None if it can."""
        return self.unequal or self.unmeasured or self.too_coarse

    @property
    def id(self) -> str:
        """The claim's id with the experiment's name."""
        return f"{self.claim.id}[{self.experiment.name}]"

    @property
    def key(self) -> str:
        """The key of the claim's line in claims.lock: the id and the tier."""
        return f"{self.id} on {self.experiment.tier}"

    @property
    def line(self) -> Entry | None:
        """The claim's line in claims.lock; None without one."""
        return self.lock.document["claims"].get(self.key)

    def analyses(self) -> tuple[Analysis, ...]:
        """The planned interim analyses of the claim; see ``interim.schedule``."""
        return schedule(self.experiment.seeds, self.experiment.most_seeds, self.alpha)

    def seeds_of_analyses(self) -> tuple[int, ...]:
        """The number of seeds of each interim analysis, in order."""
        return seeds_of_analyses(self.experiment.seeds, self.experiment.most_seeds)

    @property
    def alpha(self) -> float:
        """The claim's share of its family's alpha."""
        return self.claim.family.share(self.experiment.tier)

    def runs(self) -> list[RunSpec]:
        """The runs of the first interim analysis; none if the claim can't be tested."""
        if self.obstacle:
            return []
        return [run for comparison in self.comparisons for run in comparison.runs()]


def read(
    test: ClaimTest,
    experiment: Experiment,
    family: Family | None = None,
    lock: Lock | None = None,
) -> Case:
    """Read a claim without training, by default with the claims.lock of its file; or InputError."""
    claim = claim_of(test)
    if family is not None:
        claim = replace(claim, family=family)
    _ = claim.family.share(experiment.tier)
    lock = lock or lock_of(test)
    experiment = with_margin(experiment, lock)
    stated = comparisons_of(test, experiment)
    for comparison in stated:
        if comparison.is_of_one_run:
            raise InputError(
                f"{comparison.left.label} and {comparison.right.label} are the same run, so no "
                "number can differ; give the two arms different settings"
            )
        _require_margin(comparison)
    unmeasured = any(pair.relation.uses_margin and math.isnan(pair.left.margin) for pair in stated)
    comparisons = tuple(
        replace(
            pair,
            left=pair.left.with_margin(0.0) if math.isnan(pair.left.margin) else pair.left,
            known_sd=lock.registered_sd(pair),
        )
        for pair in stated
    )
    return Case(
        claim,
        experiment,
        comparisons,
        unequal(comparisons, claim.equal) if claim.equal else None,
        f"its margin is the baseline noise of {experiment.name}, which is not measured yet: run "
        f"{command(experiment, lock)}"
        if unmeasured
        else None,
        lock,
        None if (known := experiment.replicated) is None else read(test, known, family, lock),
    )


def _require_margin(comparison: Comparison) -> None:
    """An InputError where a statement needs a margin that nobody chose: it would be a guess."""
    left, right, relation = comparison.left, comparison.right, comparison.relation
    if relation.uses_margin and not left.margin and (left.random or right.random):
        does = f"({right.label})" if relation is Relation.ALIKE else f" {relation} {right.label}"
        verb = ".alike" if relation is Relation.ALIKE else ""
        raise InputError(
            f"{comparison} has no margin, the largest difference that does not matter: choose it "
            "in the metric's unit, such as twice the standard deviation of one arm over seeds, and "
            f"write {left.label}.within(MARGIN){verb}{does}"
        )


def _underpowered(case: Case, comparison: Comparison) -> str | None:
    """Why the last analysis of a comparison can't decide what it must, by the registered sd.

    A margin must be larger than what the last one leaves unknown. A negative control has nothing
    to find.
    """
    known_sd, left = comparison.known_sd, comparison.left
    to_find = case.claim.expects is not Verdict.NO_EFFECT and comparison.relation.uses_margin
    if known_sd is None or known_sd.origin or not to_find:
        return None
    last = case.analyses()[-1]
    unknown = unknown_after(case.alpha * last.share, last.seeds, known_sd)
    if unknown < left.margin:
        return None
    return (
        f"{UNDERPOWERED}: its margin is {left.margin:.3g} {left.unit}, and the smallest that "
        f"{last.seeds} seeds resolve is {rounded_up(unknown):g}"
    )


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim; ``failures`` are the reasons why runs failed or have no score."""

    case: Case
    decisions: tuple[Decision, ...]
    failures: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict: SUPPORTED if all comparisons are; one comparison can refute the claim."""
        return verdict_of([decision.verdict for decision in self.decisions])

    @property
    def as_expected(self) -> bool | None:
        """Whether a control has its correct verdict; None if undecided, and for claims."""
        claim = self.case.claim
        # A control that lacks its data says nothing; one whose budget was caught says it all.
        idle = self.verdict is Verdict.NOT_RUN and not self.case.unequal
        if claim.expects is None or idle or self.is_too_weak:
            return None
        if claim.expects is Verdict.NO_EFFECT:
            return p_of_uniform(self.decisions) >= UNIFORM_LEVEL
        return self.verdict is claim.expects

    @property
    def is_too_weak(self) -> bool:
        """Whether a positive control has too few seeds to detect the difference."""
        known = self.case.claim.expects in (Verdict.SUPPORTED, Verdict.REFUTED)
        return known and self.verdict is Verdict.UNDECIDED

    @property
    def reason(self) -> str:
        """Why a comparison was not decided, or what is wrong with a negative control."""
        reasons = dict.fromkeys(decision.reason for decision in self.decisions if decision.reason)
        if not reasons and self.case.claim.expects is Verdict.NO_EFFECT:
            return (
                f"{counted(len(self.decisions), 'p-value')} of arms against themselves: "
                f"Kolmogorov-Smirnov p = {p_of_uniform(self.decisions):.2g} that they are uniform "
                f"(at least {UNIFORM_LEVEL:g} is expected)"
            )
        return "; ".join(reasons)

    def __str__(self) -> str:
        """The claim with its verdict, then each comparison on a line of its own."""
        lines = [f"{self.case.claim.says}: {self.verdict}"]
        lines += [f"  {decision}" for decision in self.decisions]
        if self.case.claim.expects is Verdict.NO_EFFECT:
            lines.append(f"  {self.reason}")
        return "\n".join(lines)


@dataclass(frozen=True)
class NextAnalysis:
    """The interim analysis that a claim needs next, with its runs.

    ``costs`` has those that are not stored, with seconds of one core each, and their shares of what
    is made before them. ``decisions`` are those of the analysis before, which left something
    undecided; () before any.
    """

    case: Case
    runs: Sequence[RunSpec]
    costs: Mapping[RunSpec, float]
    decisions: Sequence[Decision] = ()

    @property
    def seconds(self) -> float:
        """How long the runs that are not stored take on one core."""
        return math.fsum(self.costs.values())

    @property
    def is_owed(self) -> bool:
        """Whether it is taken in any case, as a first analysis or a control's."""
        return not self.decisions or self.case.claim.expects is not None


def judge(test: ClaimTest, experiment: Experiment, session: Session) -> Judgement:
    """Train the missing runs of a claim in one experiment, and return its verdict.

    A claim that can't be read is an InputError.
    """
    return judge_case(read(test, experiment), session)


def judge_case(case: Case, session: Session, may_go_on: bool = True) -> Judgement:
    """Train the missing runs of a claim that was read, and return its verdict.

    Unless it ``may_go_on``, only the first analysis is trained for.
    """
    while isinstance(found := judge_stored(case, session, may_go_on), NextAnalysis):
        session.ensure(found.runs)
    return found


def judge_stored(case: Case, session: Session, may_go_on: bool = True) -> Judgement | NextAnalysis:
    """The verdict by the runs that are stored, or what they lack. Nothing trains."""
    first = case.runs()
    found = {problem for run in first if (problem := session.problem(run)) is not None}
    problems = [case.obstacle] if case.obstacle else sorted(found)
    decisions = _undecided(case, problems)
    if not problems:
        at_analyses = _decided(case, first, session, may_go_on)
        if isinstance(at_analyses, NextAnalysis):
            return at_analyses
        decisions = at_analyses
    wanted = [run for decision in decisions for run in decision.comparison.runs()]
    failures = session.failures(wanted)
    failed = dict.fromkeys(decision.reason for decision in decisions if decision.failed)
    if not (failures or failed or problems):
        failures = _seed_faults(wanted, session)
    if failures:
        decisions = _undecided(case, failures)
    return Judgement(case, tuple(decisions), tuple(failures or failed))


def _decided(
    case: Case, first: Sequence[RunSpec], session: Session, may_go_on: bool
) -> list[Decision] | NextAnalysis:
    """A claim's comparisons, decided at one interim analysis after the other, or the next one.

    A later analysis takes only the comparisons that are still undecided. It ends once the claim as
    a whole is decided, or before an analysis that can't be made, which is then their reason.
    """

    def missing(runs: Sequence[RunSpec]) -> list[RunSpec]:
        return [*filter(session.is_missing, dict.fromkeys(runs))]

    def decide(comparison: Comparison, analysis: Analysis) -> Decision:
        level = case.alpha * analysis.share
        return comparison.decide(session.result, level, len(case.comparisons))

    runs = [*first, *_made_twice(first, session)]
    if lacking := missing(runs):
        return NextAnalysis(case, runs, _costs(lacking, first, session))
    earliest, *later = case.analyses()
    decisions = [decide(comparison, earliest) for comparison in case.comparisons]
    for analysis in later:
        tested = {
            place: case.comparisons[place].with_seeds(analysis.seeds)
            for place, decision in enumerate(decisions)
            if decision.open
        }
        if not tested or verdict_of([one.verdict for one in decisions]) is not Verdict.UNDECIDED:
            break
        runs = [run for comparison in tested.values() for run in comparison.runs()]
        if lacking := missing(runs):
            stuck = any(map(session.problem, lacking)) or _seed_faults(first, session)
            if may_go_on and not stuck:
                return NextAnalysis(case, runs, _costs(lacking, first, session), decisions)
            missed = f"the interim analysis at {analysis.seeds} seeds was not reached"
            for place in tested:
                reason = decisions[place].reason or missed
                decisions[place] = replace(decisions[place], reason=reason)
            break
        for place, comparison in tested.items():
            decisions[place] = decide(comparison, analysis)
    return decisions


def _costs(
    new: Iterable[RunSpec], others: Iterable[RunSpec], session: Session
) -> dict[RunSpec, float]:
    """The seconds of each new run: as many as the stored ones of its arm took, else by its cost.

    Those of what is made first are shared by the runs that wait for it.
    """
    lacks = {run: session.lacks(run) for run in new}
    waiting = Counter(itertools.chain(*lacks.values()))
    took: dict[RunSpec, list[float]] = {}
    for run in others:
        if (result := session.result(run)) is not None and result.seconds:
            took.setdefault(run.without_seed(), []).append(result.seconds)
    return {
        run: statistics.fmean(took.get(run.without_seed()) or [kind_of(run).cost(run) / SECOND])
        + math.fsum(making.cost / SECOND / waiting[making] for making in before)
        for run, before in lacks.items()
    }


def _made_twice(runs: Sequence[RunSpec], session: Session) -> list[RunSpec]:
    """The runs that are made twice to check the arms of the given ones."""
    return [run for run in session.made_twice(runs) if session.problem(run) is None]


def _seed_faults(runs: Sequence[RunSpec], session: Session) -> list[str]:
    made = map(session.result, dict.fromkeys([*_made_twice(runs, session), *runs]))
    return seed_faults(result for result in made if result is not None)


def broken(case: Case, error: Exception) -> Judgement:
    """The judgement on a claim that could not be judged: NOT RUN, with the error as its reason."""
    reason = failure_reason(error)
    return Judgement(case, tuple(_undecided(case, [reason])), (reason,))


def _undecided(case: Case, reasons: Sequence[str]) -> list[Decision]:
    reason = "; ".join(reasons)
    return [Decision(undecided, case.alpha, reason=reason) for undecided in case.comparisons]
