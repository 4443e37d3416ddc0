"""Comparisons over arms: what a claim asserts, and how it is decided.

An arm's measure over the seeds is a ``Quantity``; ``<``, ``>``, ``<=``, ``>=`` and ``alike`` make a
``Comparison`` of two. While a claim is read, a ``Reader`` notes the comparisons that it meets; when
their runs are stored, each is decided.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from embinit.claims.paired_tests import Outcome, Relation, Verdict, compare
from embinit.claims.paired_tests import rank_correlation as rank_correlation_of
from embinit.errors import InputError
from embinit.runs import measures
from embinit.runs.kinds import kind_of
from embinit.runs.measures import Measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec

if TYPE_CHECKING:
    from embinit.claims.experiments import Experiment

OTHER_SEEDS = 1000
"""Where the seeds of an A/A control's second half start."""

Lookup = Callable[[RunSpec], RunResult | None]
"""Finds the result of a run; None where it has none."""


@dataclass(frozen=True)
class Term:
    """One arm's measure with a weight: part of a quantity."""

    weight: float
    experiment: Experiment
    init: str
    measure: Measure
    offset: int = 0

    def run(self, seed: int) -> RunSpec:
        """The run that gives this term's value for the replicate ``seed``."""
        return self.experiment.run(self.init, seed + self.offset)


@dataclass(frozen=True, eq=False)
class Quantity:
    """A sum or difference of arms' measures, one value a seed.

    ``<``, ``>``, ``<=``, ``>=`` and ``alike`` compare two quantities; ``-`` makes a difference
    (of differences) that is compared as such.
    """

    terms: tuple[Term, ...]
    label: str
    measure: Measure
    unit: str
    margin: float
    seeds: int

    def __sub__(self, other: Quantity) -> Quantity:
        self._require_same_measure(other)
        flipped = tuple(replace(term, weight=-term.weight) for term in other.terms)
        return replace(self, terms=self.terms + flipped, label=f"({self.label} − {other.label})")

    def __lt__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.BELOW, self._as_quantity(other))

    def __gt__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.ABOVE, self._as_quantity(other))

    def __le__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.NOT_ABOVE, self._as_quantity(other))

    def __ge__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.NOT_BELOW, self._as_quantity(other))

    def alike(self, other: Quantity | float) -> Comparison:
        """That the two differ by less than the margin (two one-sided tests)."""
        return Comparison(self, Relation.ALIKE, self._as_quantity(other))

    def _as_quantity(self, other: Quantity | float) -> Quantity:
        """``other``, a bare number as a quantity that is the same in every seed."""
        if isinstance(other, Quantity):
            return other
        like = (self.measure, self.unit, self.margin, self.seeds)
        return Constant((), f"{other:g}", *like, value=float(other))

    def _require_same_measure(self, other: Quantity) -> None:
        if self.measure != other.measure:
            raise InputError(
                f"{self.label} is measured by {self.measure.name}, {other.label} by "
                f"{other.measure.name}: "
                "compare like with like"
            )

    def within(self, margin: float) -> Quantity:
        """The same by another margin, in the measure's units."""
        return replace(self, margin=margin)

    def measured_by(self, measure: str | Measure, keep_margin: bool = False) -> Quantity:
        """The same arms by another measure, in its unit.

        Args:
            measure: A measure, or the name of a registered one.
            keep_margin: Whether unit and margin stay, the measure being on the metric's scale;
                else the margin is 0.

        Raises:
            InputError: No measure of that name is registered.
        """
        known = measures.measure(measure)
        terms = tuple(replace(term, measure=known) for term in self.terms)
        changed = replace(self, terms=terms, measure=known)
        return changed if keep_margin else replace(changed, unit=known.unit, margin=0.0)

    @property
    def sigma(self) -> Quantity:
        """The starting table's standard deviation."""
        return self.measured_by("sigma")

    @property
    def pe_share(self) -> Quantity:
        """The positions' share of the variance of the encoder's input, at the start."""
        return self.measured_by("pe_share")

    @property
    def best_epoch(self) -> Quantity:
        """The epoch with the best validation score, counted from 1."""
        return self.measured_by("best_epoch")

    def at_epoch(self, epoch: int) -> Quantity:
        """The metric on the validation split after ``epoch`` epochs; unit and margin stay.

        Raises:
            InputError: The epoch is below 1, or the metric has no curve.
        """
        return self.measured_by(measures.at_epoch(self.measure, epoch), keep_margin=True)

    @property
    def over_epochs(self) -> Quantity:
        """The metric on the validation split, averaged over the epochs; unit and margin stay."""
        return self.measured_by(measures.over_epochs(self.measure), keep_margin=True)

    def with_seeds(self, seeds: int) -> Quantity:
        """The same over another number of replicates."""
        return replace(self, seeds=seeds)

    def on_other_seeds(self) -> Quantity:
        """The same arms on seeds of their own: the second half of an A/A comparison."""
        terms = tuple(replace(term, offset=OTHER_SEEDS) for term in self.terms)
        return replace(self, terms=terms, label=f"{self.label} on other seeds")

    @property
    def random(self) -> bool:
        """Whether the value depends on the seed.

        Training outcomes do; statistics of a given table do not.
        """
        kinds = (kind_of(term.run(0)) for term in self.terms)
        if self.measure.of_start:
            return any(kind.random_tables for kind in kinds)
        return any(kind.random_scores for kind in kinds)

    def runs(self) -> list[RunSpec]:
        """Every run that has a part in it."""
        return [term.run(seed) for seed in range(self.seeds) for term in self.terms]

    def values(self, lookup: Lookup) -> list[float | None]:
        """One value a seed; None where a run has no such measure."""
        return [self._value(seed, lookup) for seed in range(self.seeds)]

    def _value(self, seed: int, lookup: Lookup) -> float | None:
        total = 0.0
        for term in self.terms:
            result = lookup(term.run(seed))
            measured = None if result is None else term.measure.of(result)
            if measured is None:
                return None
            total += term.weight * measured
        return total


@dataclass(frozen=True, eq=False)
class Constant(Quantity):
    """A number that no run decides, such as one that a paper prints."""

    value: float = 0.0

    def _value(self, seed: int, lookup: Lookup) -> float | None:
        return self.value


class Dose(NamedTuple):
    """How much wider a table is than its base's, and what that costs in margins of the task."""

    width: float
    lost: float


def dose_and_response(arm: Quantity, base: Quantity, seed: int, lookup: Lookup) -> Dose | None:
    """One seed's sigma over the base's sigma, and how far the arm's score falls below the base's.

    The score lost is counted in the task's margins, so that BLEU and accuracy can be ranked
    together. None where a run lacks a number, or the base's table has no width.
    """
    width, base_width = arm.sigma._value(seed, lookup), base.sigma._value(seed, lookup)
    score, base_score = arm._value(seed, lookup), base._value(seed, lookup)
    if width is None or not base_width or score is None or base_score is None:
        return None
    return Dose(width / base_width, (base_score - score) / arm.margin)


RANK_CORRELATION = Measure("rank_correlation", "Spearman's ρ")


@dataclass(frozen=True, eq=False)
class RankCorrelation(Quantity):
    """Spearman's rho, one a seed, over pairs of an arm and its base (see ``rank_correlation``)."""

    pairs: tuple[tuple[Quantity, Quantity], ...] = ()

    @property
    def random(self) -> bool:
        """Always: it is computed from trained scores."""
        return True

    def __sub__(self, other: Quantity) -> Quantity:
        raise InputError("a rank correlation is compared with a number, not taken from another")

    def measured_by(self, measure: str | Measure, keep_margin: bool = False) -> Quantity:
        """InputError: its pairs have their measures."""
        raise InputError("a rank correlation has no other measure; correlate other quantities")

    def with_seeds(self, seeds: int) -> Quantity:
        """The same pairs over another number of replicates."""
        pairs = tuple((arm.with_seeds(seeds), base.with_seeds(seeds)) for arm, base in self.pairs)
        return replace(self, seeds=seeds, pairs=pairs)

    def on_other_seeds(self) -> Quantity:
        """The same pairs on seeds of their own."""
        return replace(
            self,
            label=f"{self.label} on other seeds",
            pairs=tuple((arm.on_other_seeds(), base.on_other_seeds()) for arm, base in self.pairs),
        )

    def runs(self) -> list[RunSpec]:
        """Every run of every pair."""
        return [run for pair in self.pairs for arm in pair for run in arm.runs()]

    def _value(self, seed: int, lookup: Lookup) -> float | None:
        doses, responses = [], []
        for arm, base in self.pairs:
            dose = dose_and_response(arm, base, seed, lookup)
            if dose is None:
                return None
            doses.append(dose.width)
            responses.append(dose.lost)
        return rank_correlation_of(doses, responses)


def trend(arms: Sequence[tuple[float, Quantity]], over: str) -> Quantity:
    """How steeply a measure rises as a width doubles: its least-squares slope over log2 of ``x``.

    ``arms`` are pairs of x and an arm's measure, ``over`` says what x is. One slope a seed, a
    weighted sum of the arms' measures, so that it is compared with 0, or with another trend, as
    any quantity is. InputError for fewer than three x, for one that is not above 0, and for x that
    repeat.
    """
    points = [x for x, _ in arms]
    if len(points) < 3 or min(points) <= 0 or len(set(points)) < len(points):
        said = ", ".join(f"{x:g}" for x in points)
        raise InputError(f"a trend takes at least 3 different values above 0, not {said or 'none'}")
    logs = [math.log2(x) for x in points]
    middle = statistics.fmean(logs)
    spread = sum((one - middle) ** 2 for one in logs)
    first = arms[0][1]
    terms: list[Term] = []
    for log, (_, arm) in zip(logs, arms, strict=True):
        first._require_same_measure(arm)
        weight = (log - middle) / spread
        terms += (replace(term, weight=weight * term.weight) for term in arm.terms)
    said = ", ".join(f"{x:g}" for x in points)
    return replace(
        first,
        terms=tuple(terms),
        label=f"slope over {over} = {said}",
        unit=f"{first.unit} a doubling",
        seeds=min(arm.seeds for _, arm in arms),
    )


def rank_correlation(pairs: Sequence[tuple[Quantity, Quantity]]) -> Quantity:
    """How the width of a table goes with what it costs, over ``pairs`` of an arm and its base.

    For each seed Spearman's rho between sigma over the base's sigma and how far the arm falls
    below the base. That is counted in the task's margins, so that BLEU and accuracy can be ranked
    together. InputError for fewer than three pairs.
    """
    if len(pairs) < 3:
        raise InputError(f"a rank correlation takes at least 3 pairs of arms, not {len(pairs)}")
    return RankCorrelation(
        terms=(),
        label="rank correlation of width and score lost",
        measure=RANK_CORRELATION,
        unit="Spearman's ρ",
        margin=0.0,
        seeds=min(arm.seeds for arm, _ in pairs),
        pairs=tuple(pairs),
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two quantities and how the first is said to stand to the second."""

    left: Quantity
    relation: Relation
    right: Quantity

    def __post_init__(self) -> None:
        self.left._require_same_measure(self.right)

    def __bool__(self) -> bool:
        """While a claim is read: noted, and taken as true. While it is decided: SUPPORTED."""
        return _reader.get(_OutsideClaim()).meet(self)

    def runs(self) -> list[RunSpec]:
        """Every run that decides it."""
        return [*self.left.runs(), *self.right.runs()]

    def arms(self) -> list[RunSpec]:
        """One run of each arm that has a part in it."""
        return [run for side in (self.left, self.right) for run in side.with_seeds(1).runs()]

    def with_seeds(self, seeds: int) -> Comparison:
        """The same over another number of replicates."""
        return replace(self, left=self.left.with_seeds(seeds), right=self.right.with_seeds(seeds))

    def decide(self, lookup: Lookup, alpha: float, of: int = 1) -> Decision:
        """Its outcome at ``alpha`` from the runs that ``lookup`` finds.

        As one ``of`` several comparisons of a claim it refutes at alpha / ``of`` only, since any
        of them can make the claim fall.
        """
        left, right = self.left.values(lookup), self.right.values(lookup)
        missing = [seed for seed, pair in enumerate(zip(left, right, strict=True)) if None in pair]
        if missing:
            listed = ", ".join(map(str, missing))
            reason = f"no {self.left.measure.in_words} from seeds {listed}"
            return Decision(self, None, (), (), reason, alpha)
        first, second = [v for v in left if v is not None], [v for v in right if v is not None]
        random = self.left.random or self.right.random
        margin = self.left.margin
        outcome = compare(first, second, self.relation, alpha, margin, random, alpha / of)
        return Decision(self, outcome, tuple(first), tuple(second), "", alpha)

    def __str__(self) -> str:
        return f"{self.left.label} {self.relation.symbol} {self.right.label}"


@dataclass(frozen=True)
class Decision:
    """A comparison decided at ``alpha``, or the reason why it could not be."""

    comparison: Comparison
    outcome: Outcome | None
    left: tuple[float, ...]
    right: tuple[float, ...]
    reason: str
    alpha: float

    @property
    def verdict(self) -> Verdict:
        """What the comparison came to."""
        return Verdict.NOT_RUN if self.outcome is None else self.outcome.verdict

    @property
    def open(self) -> bool:
        """Whether more seeds could still decide it."""
        outcome = self.outcome
        return outcome is not None and outcome.verdict is Verdict.UNDECIDED and not outcome.exact

    def __str__(self) -> str:
        """One line for pytest: statement, effect, interval, p, seeds."""
        outcome, unit = self.outcome, self.comparison.left.unit
        if outcome is None:
            return f"{self.comparison}: {self.verdict} ({self.reason})"
        low, high = outcome.interval
        numbers = f"difference {outcome.difference:+.4g} {unit}".rstrip()
        if not outcome.exact:
            numbers += f" [{low:+.4g}, {high:+.4g}], p = {outcome.p:.2g}, {outcome.n} seeds"
        if outcome.margin and self.comparison.relation.uses_margin:
            numbers += f", margin {outcome.margin:g}"
        if outcome.verdict is Verdict.UNDECIDED and not outcome.exact:
            needed = outcome.seeds_needed
            numbers += f", about {needed} seeds would decide" if needed else ", over 1000 needed"
        return f"{self.comparison}: {self.verdict}, {numbers}"


def verdict_of(decisions: Sequence[Decision]) -> Verdict:
    """A claim holds if all of its comparisons do, and falls if one of them does."""
    found = {decision.verdict for decision in decisions}
    for worst in (Verdict.NOT_RUN, Verdict.REFUTED, Verdict.UNDECIDED):
        if worst in found:
            return worst
    return Verdict.SUPPORTED if found else Verdict.NOT_RUN


@dataclass
class Reader:
    """Meets a claim's comparisons one by one; this one only notes them."""

    met: list[Comparison] = field(default_factory=list)

    def meet(self, comparison: Comparison) -> bool:
        """Note the comparison and let the claim go on."""
        self.met.append(comparison)
        return True


@dataclass
class Decider(Reader):
    """Answers each comparison by its verdict, so that the claim's assert fails where it should."""

    decisions: Sequence[Decision] = ()

    def meet(self, comparison: Comparison) -> bool:
        """Whether the comparison, the next in the claim's order, is SUPPORTED."""
        self.met.append(comparison)
        return self.decisions[len(self.met) - 1].verdict is Verdict.SUPPORTED


class _OutsideClaim(Reader):
    def meet(self, comparison: Comparison) -> bool:
        raise InputError(
            f"the comparison {comparison} has no runs to decide it here; it belongs in a claim"
        )


_reader: contextvars.ContextVar[Reader] = contextvars.ContextVar("reader")


@contextlib.contextmanager
def read_by(reader: Reader) -> Iterator[Reader]:
    """Let ``reader`` meet the comparisons of the claims that run inside."""
    token = _reader.set(reader)
    try:
        yield reader
    finally:
        _reader.reset(token)
