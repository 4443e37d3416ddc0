"""Judging a claim: from a test function and stored runs to a verdict, with or without pytest.

``judge(test_it, experiment, Session(Store(path), data_dir=None, device="cpu"))`` trains what the
store lacks first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from embinit.claims.analyses import decided_at
from embinit.claims.comparisons import Comparison, Decision
from embinit.claims.controls import UNIFORM_LEVEL, p_of_uniform
from embinit.claims.definitions import Claim, Family, claim_of, comparisons_of
from embinit.claims.experiments import Experiment
from embinit.claims.lock import Lock, command, lock_of, with_margin
from embinit.claims.run_checks import seed_faults, unequal
from embinit.errors import InputError, counted
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
    lock: Lock | None = None
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
    def line(self) -> Mapping[str, Any] | None:
        """The claim's line in claims.lock; None without one."""
        return None if self.lock is None else self.lock.document["claims"].get(self.key)

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
        claim = replace(claim, family=family, on=None)
    _ = claim.family.share(experiment.tier)
    lock = lock or lock_of(test, experiment)
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
        comparison if lock is None else replace(comparison, known_sd=lock.registered_sd(comparison))
        for comparison in map(_with_a_margin, stated)
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


def _with_a_margin(comparison: Comparison) -> Comparison:
    """The comparison without a margin, where its noise floor is not measured."""
    if not math.isnan(comparison.left.margin):
        return comparison
    return comparison.with_margin(0.0)


def _underpowered(case: Case, comparison: Comparison) -> str | None:
    """Why the last analysis of a comparison can't decide what it must, by the registered sd.

    A margin must be larger than what the last one leaves unknown. A negative control has nothing
    to find.
    """
    known_sd, expects = comparison.known_sd, case.claim.expects
    if known_sd is None or known_sd.origin or expects is Verdict.NO_EFFECT:
        return None
    last, margin, unit = case.analyses()[-1], comparison.left.margin, comparison.left.unit
    level = case.alpha * last.share
    if not comparison.relation.uses_margin:
        return None
    if (left := unknown_after(level, last.seeds, known_sd)) < margin:
        return None
    return (
        f"{UNDERPOWERED}: its margin is {margin:.3g} {unit}, and the smallest that "
        f"{last.seeds} seeds resolve is {rounded_up(left):g}"
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
            return self.p_of_uniform >= UNIFORM_LEVEL
        return self.verdict is claim.expects

    @property
    def is_too_weak(self) -> bool:
        """Whether a positive control has too few seeds to detect the difference."""
        known = self.case.claim.expects in (Verdict.SUPPORTED, Verdict.REFUTED)
        return known and self.verdict is Verdict.UNDECIDED

    @functools.cached_property
    def p_of_uniform(self) -> float:
        """Of a negative control, the p of a test that its p-values are uniform."""
        return p_of_uniform(self.decisions)

    @property
    def reason(self) -> str:
        """Why a comparison was not decided, or what is wrong with a negative control."""
        reasons = dict.fromkeys(decision.reason for decision in self.decisions if decision.reason)
        if not reasons and self.case.claim.expects is Verdict.NO_EFFECT:
            return (
                f"{counted(len(self.decisions), 'p-value')} of arms against themselves: "
                f"Kolmogorov-Smirnov p = {self.p_of_uniform:.2g} that they are uniform "
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
    """The interim analysis that a claim needs next: its runs, and those that are not stored.

    ``decisions`` are those of the analysis before, which left something undecided; () before any.
    """

    runs: tuple[RunSpec, ...]
    missing: tuple[RunSpec, ...]
    decisions: tuple[Decision, ...] = ()


def judge(
    test: ClaimTest | Case,
    experiment: Experiment | None = None,
    session: Session | None = None,
    *,
    may_go_on: bool = True,
) -> Judgement:
    """Train the missing runs of a claim in one experiment, and return its verdict.

    A claim that was read already (a ``Case``) needs no experiment. Unless it ``may_go_on``, only
    the first analysis is trained for. A claim that can't be read is an InputError.
    """
    if session is None:
        raise InputError("judge needs a session, which has the store of runs")
    if isinstance(test, Case):
        case = test
    elif experiment is not None:
        case = read(test, experiment)
    else:
        raise InputError("judge needs an experiment in which the claim is tested")
    while isinstance(found := judge_stored(case, session, may_go_on), NextAnalysis):
        session.ensure(found.runs)
    return found


def judge_stored(case: Case, session: Session, may_go_on: bool = True) -> Judgement | NextAnalysis:
    """The verdict by the runs that are stored, or what they lack; see ``judge``. Nothing trains."""
    first = case.runs()
    found = {problem for run in first if (problem := session.problem(run)) is not None}
    problems = [case.obstacle] if case.obstacle else sorted(found)
    twice = [run for run in session.made_twice(first) if session.problem(run) is None]

    def missing(runs: Sequence[RunSpec]) -> tuple[RunSpec, ...]:
        return tuple(filter(session.is_missing, dict.fromkeys(runs)))

    def faults(runs: Sequence[RunSpec]) -> list[str]:
        made = (session.result(run) for run in dict.fromkeys([*twice, *runs]))
        return seed_faults(outcome for outcome in made if outcome is not None)

    decisions: Sequence[Decision] = _undecided(case, problems)
    if not problems:
        if lacking := missing([*first, *twice]):
            return NextAnalysis((*first, *twice), lacking)
        decisions, following = decided_at(
            case.comparisons,
            case.analyses(),
            case.alpha,
            session.result,
            lambda runs: not missing(runs),
        )
        lacking = missing(following) if may_go_on else ()
        if lacking and not any(map(session.problem, lacking)) and not faults(first):
            return NextAnalysis(tuple(following), lacking, tuple(decisions))
    wanted = [run for decision in decisions for run in decision.comparison.runs()]
    failures = session.failures(wanted)
    if not (failures or problems or any(decision.failed for decision in decisions)):
        failures = faults(wanted)
    if failures:
        decisions = _undecided(case, failures)
    failures += dict.fromkeys(decision.reason for decision in decisions if decision.failed)
    return Judgement(case, tuple(decisions), tuple(failures))


def broken(case: Case, error: Exception) -> Judgement:
    """The judgement on a claim that could not be judged: NOT RUN, with the error as its reason."""
    reason = failure_reason(error)
    return Judgement(case, tuple(_undecided(case, [reason])), (reason,))


def _undecided(case: Case, reasons: Sequence[str]) -> list[Decision]:
    reason = "; ".join(reasons)
    return [Decision(open_, None, (), (), reason, case.alpha) for open_ in case.comparisons]
