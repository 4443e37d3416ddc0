"""Comparisons over arms: what a claim asserts, and how it is decided.

An arm's measure over the seeds is a ``Quantity``; ``<``, ``>``, ``<=``, ``>=`` and ``alike`` make a
``Comparison`` of two. A ``Reader`` notes those that a claim makes; stored runs decide them.
"""

from __future__ import annotations

import contextlib
import contextvars
import itertools
import math
import numbers
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from embinit.claims.curves import OnCurve
from embinit.claims.roles import Role
from embinit.claims.run_checks import same_results
from embinit.errors import InputError, counted
from embinit.runs import measures
from embinit.runs.kinds import kind_of
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec
from embinit.stats.pooling import unless_odd
from embinit.stats.power import rounded_up
from embinit.stats.rule import decide
from embinit.stats.statements import Evidence, KnownSd, Outcome, Relation, Verdict, hanging

if TYPE_CHECKING:
    from embinit.claims.experiments import Experiment

Lookup = Callable[[RunSpec], RunResult | None]
"""Finds the result of a run; None where it has none."""


@dataclass(frozen=True)
class Term:
    """One arm with a weight, on replicates of one role."""

    weight: float
    experiment: Experiment
    init: str
    role: Role = Role.CLAIM

    def run(self, index: int) -> RunSpec:
        """The run that gives this term's value for a replicate."""
        return self.experiment.run(self.init, index, self.role)

    @property
    def label(self) -> str:
        """The arm's name in its experiment."""
        return self.experiment[self.init].label


def _refuses(what: str, mend: str) -> Callable[..., NoReturn]:
    """An operator, written as ``what``, that no claim may use: nothing would test its result."""

    def refuse(self: object, *others: object) -> NoReturn:
        raise InputError(f"{what.format(self)} can't be tested; {mend}")

    refuse.__doc__ = f"Refuses: {mend}.\n\nRaises:\n    InputError: Always."
    return refuse


@dataclass(frozen=True, eq=False)
class Quantity(OnCurve):
    """A weighted sum of scores of arms, with one value per seed.

    ``<``, ``>``, ``<=``, ``>=`` and ``alike`` compare two quantities. ``-`` makes their difference,
    a quantity that is compared like any other. ``margin`` is that of ``<=``, ``>=`` and ``alike``,
    in ``unit``. ``shift`` is added to the terms' sum, the same in every seed: a quantity without
    terms is a constant, such as a number that a paper prints. ``parts`` are arms in groups, where
    the value is no sum of terms.
    """

    terms: tuple[Term, ...]
    label: str
    measure: Measure
    unit: str
    margin: float
    seeds: int
    shift: float = 0.0
    margin_given: bool = False
    parts: tuple[tuple[Quantity, ...], ...] = ()

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference of two quantities of one measure, seed by seed; else InputError."""
        if not isinstance(other, Quantity):
            raise InputError(
                f"{self.label} - {other} can't be tested; compare a difference with a number, as "
                "in a - b > 2"
            )
        self._require_same_measure(other)
        flipped = tuple(replace(term, weight=-term.weight) for term in other.terms)
        return replace(
            self,
            terms=self.terms + flipped,
            label=f"({self.label} − {other.label})",
            shift=self.shift - other.shift,
        )

    def __eq__(self, other: object) -> bool:
        """Refuses with an InputError: no two trainings are equal to the last digit."""
        if self is other:
            return True
        raise InputError(f"{self.label} == … can't be tested; write .alike(…), within the margin")

    def __ne__(self, other: object) -> bool:
        """Refuses with an InputError: a claim says which way it differs."""
        if self is other:
            return False
        raise InputError(f"{self.label} != … can't be tested; say which way: < or >")

    __hash__ = object.__hash__

    def __str__(self) -> str:
        """The quantity's name."""
        return self.label

    __bool__ = _refuses("{} alone", "compare it: <, >, <=, >= or .alike")
    __float__ = __int__ = __index__ = __complex__ = __round__ = __trunc__ = _refuses(
        "{} as a number", "it is none while the claim is read: compare it with one instead"
    )
    __floor__ = __ceil__ = __round__
    __abs__ = _refuses("abs of {}", "write .alike(…), within the margin")
    __add__ = __radd__ = _refuses(
        "a sum with {}", "compare a difference with a number, as in a - b > 2"
    )
    __rsub__ = _refuses("a number less {}", "compare a difference with a number, as in a - b > 2")
    __neg__ = _refuses("-{}", "compare it the other way round: < or >")
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _refuses(
        "a product or quotient with {}",
        "return it as a measure of its own from the function that trains",
    )
    __mod__ = __rmod__ = __pow__ = __rpow__ = __mul__
    mean = _refuses("{}.mean()", "leave it out: arms are compared by their means over the seeds")
    __iter__ = __len__ = __getitem__ = _refuses(
        "each seed of {} alone", "a claim compares means over the seeds"
    )

    def __lt__(self, other: Quantity | float) -> Comparison:
        """States that this quantity's mean over seeds is below the other's."""
        return Comparison(self, Relation.BELOW, self._as_quantity(other))

    def __gt__(self, other: Quantity | float) -> Comparison:
        """States that this quantity's mean over seeds is above the other's."""
        return Comparison(self, Relation.ABOVE, self._as_quantity(other))

    def __le__(self, other: Quantity | float) -> Comparison:
        """States that this quantity is at most a margin above the other (non-inferiority)."""
        return Comparison(self, Relation.NOT_ABOVE, self._as_quantity(other))

    def __ge__(self, other: Quantity | float) -> Comparison:
        """States that this quantity is at most a margin below the other (non-inferiority)."""
        return Comparison(self, Relation.NOT_BELOW, self._as_quantity(other))

    def alike(self, other: Quantity | float) -> Comparison:
        """Claim that the two means differ by less than the margin (two one-sided tests)."""
        return Comparison(self, Relation.ALIKE, self._as_quantity(other))

    def _as_quantity(self, other: Quantity | float) -> Quantity:
        """``other`` as a quantity; a bare number becomes a constant, the same in every seed."""
        if isinstance(other, Quantity):
            return other
        if isinstance(other, bool) or not isinstance(other, int | float):
            raise InputError(
                f"{self.label} is compared with {other!r}; compare it with an arm, as in "
                "arms['name'], or with a number"
            )
        if not math.isfinite(other):
            raise InputError(f"{self.label} is compared with {other}; give a finite number")
        like = (self.measure, self.unit, self.margin, self.seeds)
        return Quantity((), f"{other:g}", *like, shift=float(other))

    def _require_same_measure(self, other: Quantity) -> None:
        if self.measure != other.measure:
            raise InputError(
                f"{self.label} is measured by {self.measure.name}, {other.label} by "
                f"{other.measure.name}: "
                "compare like with like"
            )

    def within(self, margin: Any) -> Quantity:
        """The same quantity with another margin, a positive number in its unit."""
        number = isinstance(margin, numbers.Real) and not isinstance(margin, bool)
        if not number or not 0 < float(margin) < math.inf:
            raise InputError(
                f"{self.label}.within({margin!r}) can't be used; give a finite number above 0, in "
                f"{self.unit or self.measure.in_words}"
            )
        return replace(self, margin=float(margin), margin_given=True)

    def with_margin(self, margin: float) -> Quantity:
        """The same quantity with a measured margin; 0 means none."""
        return replace(self, margin=margin)

    def measured_by(self, measure: str | Measure, keep_margin: bool = False) -> Quantity:
        """The same arms, compared by another measure; InputError if it is unknown.

        The margin becomes 0, unless ``keep_margin`` keeps it with its unit, for a measure on the
        metric's scale.
        """
        known = (self.terms[0].experiment if self.terms else measures).measure(measure)
        changed = replace(self, measure=known)
        return changed if keep_margin else replace(changed, unit=known.unit, margin=0.0)

    def with_seeds(self, seeds: int) -> Quantity:
        """The same quantity with another number of seeds."""
        return replace(self, seeds=seeds)

    def on_other_seeds(self) -> Quantity:
        """The same arms with other seeds, for a comparison of an arm with itself."""
        return replace(self.in_role(Role.SECOND_HALF), label=f"{self.label} on other seeds")

    def in_role(self, role: Role) -> Quantity:
        """The same arms with the seeds of another role."""
        terms = tuple(replace(term, role=term.role | role) for term in self.terms)
        parts = tuple(tuple(part.in_role(role) for part in group) for group in self.parts)
        return replace(self, terms=terms, parts=parts)

    @property
    def random(self) -> bool:
        """Whether the value depends on the seed."""
        return self.trained or any(term.run(0).varies for term in self.terms)

    @property
    def trained(self) -> bool:
        """Whether the value depends on training; a statistic of a given table does not."""
        runs = [term.run(0) for term in self.terms]
        if self.measure.of_start:
            return any(kind_of(run).random_tables for run in runs)
        return any(kind_of(run).random_scores for run in runs)

    @property
    def every_term(self) -> list[Term]:
        """Its terms, and those of its parts."""
        parts = itertools.chain.from_iterable(self.parts)
        return [*(term for part in parts for term in part.every_term), *self.terms]

    def runs(self) -> list[RunSpec]:
        """All runs from which the quantity is computed."""
        return [run for seed in range(self.seeds) for run in self.runs_of(seed)]

    def runs_of(self, seed: int) -> list[RunSpec]:
        """The runs from which the value of one seed is computed."""
        return [term.run(seed) for term in self.every_term]

    def values(self, lookup: Lookup) -> list[float | None]:
        """One value per seed; None if a run lacks the measure."""
        return [self.value(seed, lookup) for seed in range(self.seeds)]

    def seed_of(self, replicate: int) -> int:
        """The seed that names a pair: the seed of its first run."""
        first = (term.experiment.run(term.init, replicate) for term in self.terms)
        return next((run.seed for run in first), replicate)

    def lacking(self, lookup: Lookup) -> tuple[str, bool] | None:
        """The missing values in words, and whether made runs left none; None if there are all."""
        seeds = [seed for seed, value in enumerate(self.values(lookup)) if value is None]
        if not seeds:
            return None
        made = [[lookup(run) for run in self.runs_of(seed)] for seed in seeds]
        reasons = why_without(self.measure, made[0])
        named = ", ".join(str(self.seed_of(seed)) for seed in seeds)
        reason = f"{self.label} has no {self.measure.in_words} from seeds {named}"
        reason += f" ({'; '.join(reasons)})" if reasons else ""
        called = any(kind_of(run).traced for run in self.runs_of(seeds[0]))
        if called and reasons and not (self.measure.read or self.measure.failed):
            reason += "; return the worst score, or write training(failed='worst')"
        return reason, any(None not in results for results in made)

    def value(self, seed: int, lookup: Lookup) -> float | None:
        """The value of one seed; None if a run lacks the measure."""
        total = self.shift
        for term in self.terms:
            result = lookup(term.run(seed))
            measured = None if result is None else self.measure.of(result)
            if measured is None:
                return None
            total += term.weight * measured
        return total


def why_without(measure: Measure, results: Iterable[RunResult | None]) -> list[str]:
    """Why runs lack a measure: their failures, else the lengths of the curves that show it."""
    made = [result for result in results if result is not None]
    if failures := sorted({result.failure for result in made if result.failure}):
        return failures
    lengths = sorted({len(result.curves.get(measure.curve or "", ())) for result in made} - {0})
    return [f"its curve has {length} points" for length in lengths] if measure.read else []


def trend(arms: Sequence[tuple[float, Quantity]], over: str) -> Quantity:
    """The change of a measure per doubling of x (least squares over log2 of x), per seed.

    A slope is a weighted sum of the arms' measures, so it is compared with 0 or another trend as
    any quantity is. ``arms`` are at least 3 pairs of x and an arm's measure (else InputError);
    ``over`` is x in words. From the least x to the largest the margin is that of the first arm.
    """
    points = [x for x, _ in arms]
    listed = ", ".join(f"{x:g}" for x in points)
    if len(points) < 3 or min(points) <= 0 or len(set(points)) < len(points):
        raise InputError(
            f"a trend takes at least 3 different values above 0, not {listed or 'none'}"
        )
    middle = statistics.fmean(math.log2(x) for x in points)
    squares = sum((math.log2(x) - middle) ** 2 for x in points)
    first = arms[0][1]
    terms: list[Term] = []
    for x, arm in arms:
        first._require_same_measure(arm)
        weight = (math.log2(x) - middle) / squares
        terms += (replace(term, weight=weight * term.weight) for term in arm.terms)
    return replace(
        first,
        terms=tuple(terms),
        label=f"slope over {over} = {listed}",
        unit=f"{first.unit} a doubling",
        margin=first.margin / math.log2(max(points) / min(points)),
        seeds=min(arm.seeds for _, arm in arms),
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """A statement about two quantities; ``known_sd`` is that of its difference."""

    left: Quantity
    relation: Relation
    right: Quantity
    known_sd: KnownSd | None = None

    def __post_init__(self) -> None:
        """Checks that both sides have the same measure; a margin given to either side counts."""
        self.left._require_same_measure(self.right)
        if self.right.margin_given and self.right.terms:
            if self.left.margin_given and self.left.margin != self.right.margin:
                raise InputError(
                    f"{self} has two margins, {self.left.margin:g} and {self.right.margin:g}; give "
                    "it one"
                )
            object.__setattr__(self, "left", self.left.within(self.right.margin))
        if (reader := _reader.get(None)) is not None:
            reader.made[self] = _line_outside()

    def __bool__(self) -> bool:
        """Hands the comparison to the reader, so that a claim can ``assert`` it.

        Outside of a claim it is an InputError.
        """
        if (reader := _reader.get(None)) is None:
            raise InputError(
                f"the comparison {self} has no runs to decide it here; it belongs in a claim"
            )
        return reader.ask(self)

    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _refuses(
        "({}) with &, |, ^ or ~", "comparisons are joined by 'and' alone"
    )

    within = _refuses("({}).within", "a margin goes on an arm, as in a.within(0.5) >= b")

    def runs(self) -> list[RunSpec]:
        """All runs of the comparison."""
        return [*self.left.runs(), *self.right.runs()]

    @property
    def is_of_one_run(self) -> bool:
        """Whether both sides are numbers of the same runs, and can't differ."""
        weights: dict[RunSpec, float] = {}
        for sign, side in ((1, self.left), (-1, self.right)):
            for term in side.terms:
                weights[term.run(0)] = weights.get(term.run(0), 0.0) + sign * term.weight
        cancels = bool(weights) and all(abs(weight) < 1e-12 for weight in weights.values())
        return cancels and self.left.shift == self.right.shift

    def arms(self) -> list[RunSpec]:
        """One run of each arm."""
        return [*self.left.runs_of(0), *self.right.runs_of(0)]

    def with_seeds(self, seeds: int) -> Comparison:
        """The same comparison with another number of seeds."""
        return replace(self, left=self.left.with_seeds(seeds), right=self.right.with_seeds(seeds))

    def decide(self, lookup: Lookup, alpha: float, of: int = 1) -> Decision:
        """Decides the comparison from stored runs.

        It is SUPPORTED at ``alpha``. It is REFUTED, or has NO EFFECT, at alpha / ``of``, where the
        claim has ``of`` comparisons, since any of them can make the claim fall. Two trained arms
        with equal results on every seed are a failure, unless it states that they are alike. Fewer
        than two seeds, or a value that isn't finite, is an InputError.
        """
        results = {run: lookup(run) for run in self.runs()}
        replaced = self._give_worst(results)
        left, right = self.left.values(results.get), self.right.values(results.get)
        lacking = [gap for side in (self.left, self.right) if (gap := side.lacking(results.get))]
        if lacking:
            reason = "; ".join(why for why, _ in lacking)
            failed = any(were_made for _, were_made in lacking)
            return Decision(self, alpha, reason=reason, failed=failed)
        said = "" if self.left.measure.of_start else same_results(self, lookup)
        if said and self.relation is not Relation.ALIKE:
            return Decision(self, alpha, reason=said, failed=True)
        first, second = (tuple(v for v in side if v is not None) for side in (left, right))
        outcome = decide(self.evidence(first, second, alpha, of))
        return Decision(self, alpha, outcome, first, second, said or outcome.reason or replaced)

    def _give_worst(self, results: dict[RunSpec, RunResult | None]) -> str:
        """Gives failed runs the worst score of both sides' runs, and says how many; "" for none.

        Only a measure says so, by ``failed``; where no run has a score there is no worst one.
        """
        measure = self.left.measure
        made = [(run, result) for run, result in results.items() if result is not None]
        scores = [score for _, result in made if (score := measure.of(result)) is not None]
        failed = [(run, result) for run, result in made if measure.of(result) is None]
        if measure.failed is None or not scores or not failed:
            return ""
        worst = (max if measure.better == "down" else min)(scores)
        for run, result in failed:
            results[run] = replace(result, measures={**result.measures, measure.name: worst})
        return f"{counted(len(failed), 'failed run')} got the worst score, {worst:g}"

    def evidence(
        self, left: Sequence[float], right: Sequence[float], alpha: float, of: int = 1
    ) -> Evidence:
        """What the comparison is decided by, with the values of its sides, one a seed."""
        return Evidence(
            left,
            right,
            self.relation,
            alpha,
            self.left.margin,
            self.left.random or self.right.random,
            alpha / of,
            unless_odd(self.known_sd, left, right),
            names=(self.left.label, self.right.label),
        )

    @property
    def statement(self) -> tuple[Any, ...]:
        """What it states, in words, and of which arms and numbers."""
        return str(self), self.arms(), self.left.shift, self.right.shift

    def __str__(self) -> str:
        """The comparison in one line, such as ``GloVe < Xavier``."""
        return f"{self.left.label} {self.relation.symbol} {self.right.label}"


@dataclass(frozen=True)
class Decision:
    """The verdict on a comparison, or why there is none (``failed``: a run has no score)."""

    comparison: Comparison
    alpha: float
    outcome: Outcome | None = None
    left: tuple[float, ...] = ()
    right: tuple[float, ...] = ()
    reason: str = ""
    failed: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on the comparison; NOT RUN if it could not be decided."""
        return Verdict.NOT_RUN if self.outcome is None else self.outcome.verdict

    @property
    def open(self) -> bool:
        """Whether more seeds could decide the comparison."""
        outcome = self.outcome
        return outcome is not None and outcome.verdict is Verdict.UNDECIDED and not outcome.exact

    @property
    def hangs_on(self) -> int | None:
        """A seed without which the verdict would be different; None if there is no such seed."""
        index = None if self.outcome is None else self.outcome.hangs_on
        return None if index is None else self.comparison.left.seed_of(index)

    def __str__(self) -> str:
        """One line for pytest: the statement, its effect, interval and p, and the seeds."""
        outcome, unit = self.outcome, self.comparison.left.unit
        if outcome is None:
            return f"{self.comparison}: {self.verdict} ({self.reason})"
        low, high = outcome.interval
        text = f"difference {outcome.difference:+.4g} {unit}".rstrip()
        if not outcome.exact:
            level = f"{100 * outcome.level:.4g} % interval"
            varies = f" [{low:+.4g}, {high:+.4g}], {level}, p = {outcome.p:.2g}"
            varies = varies if outcome.sd else ""
            text += f"{varies}, {outcome.n} seeds"
        if outcome.margin and self.comparison.relation.uses_margin:
            text += f", margin {outcome.margin:g}"
        if outcome.verdict is Verdict.NO_EFFECT and not outcome.exact:
            text += f", within the margin {outcome.margin:g} (p = {outcome.p_no_effect:.2g})"
        if outcome.known_sd is not None and outcome.known_sd.origin:
            text += f", noise: {outcome.known_sd.origin}"
        if said := hanging(outcome.verdict, self.hangs_on):
            text += f", {said}"
        if self.reason:
            text += f": {self.reason}"
        elif outcome.verdict is Verdict.UNDECIDED and not outcome.exact:
            needed = outcome.seeds_needed
            text += f", about {needed} seeds would decide" if needed else ", over 1000 needed"
            if needed is None and 0 < outcome.margin <= (reach := (high - low) / 2) < math.inf:
                text += f"; the smallest margin that {outcome.n} resolve is {rounded_up(reach):g}"
        return f"{self.comparison}: {self.verdict}, {text}"


@dataclass
class Reader:
    """Notes a claim's comparisons: those made, with their lines, and those asserted (``met``).

    Each is true, but for the one at the place ``false_at``, if any.
    """

    false_at: int | None = None
    made: dict[Comparison, int] = field(default_factory=dict)
    met: list[Comparison] = field(default_factory=list)

    def ask(self, comparison: Comparison) -> bool:
        """Notes a comparison that is asserted, once however often it is asked, and answers."""
        if comparison not in self.met:
            self.met.append(comparison)
        return self.false_at is None or comparison not in self.met[self.false_at :][:1]


def _line_outside() -> int:
    """The line that makes a comparison, outside of this module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return 0 if frame is None else frame.f_lineno


_reader: contextvars.ContextVar[Reader] = contextvars.ContextVar("reader")


@contextlib.contextmanager
def read_by(reader: Reader) -> Iterator[Reader]:
    """Lets ``reader`` meet the comparisons of the claims that run inside the context."""
    token = _reader.set(reader)
    try:
        yield reader
    finally:
        _reader.reset(token)
