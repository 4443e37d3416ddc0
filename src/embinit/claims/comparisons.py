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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from embinit.claims.experiments import Experiment
from embinit.claims.paired_tests import Outcome, Relation, Verdict, compare
from embinit.claims.paired_tests import rank_correlation as rank_correlation_of
from embinit.errors import InputError
from embinit.specs import RunSpec, TablePretrainingSpec

OTHER_SEEDS = 1000
"""Where the seeds of an A/A control's second half start."""

UNITS = {
    "bleu": "BLEU",
    "accuracy": "% accuracy",
    "best_epoch": "epochs",
    "best_test_epoch": "epochs",
    "validation_loss": "nats a word",
    "masked_loss": "nats a word",
    "probe_last": "% right",
    "probe_drop": "% right",
    "retrieval_last": "% found",
    "retrieval_drop": "% found",
    "sigma": "",
    "pe_share": "share of variance",
}
"""How each measure's numbers are to be read."""

Record = Mapping[str, Any]
Lookup = Callable[[RunSpec], Record | None]


@dataclass(frozen=True)
class Term:
    """One arm's measure with a weight: part of a quantity."""

    weight: float
    experiment: Experiment
    init: str
    measure: str
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
    measure: str
    unit: str
    margin: float
    seeds: int

    def __sub__(self, other: Quantity) -> Quantity:
        self._like(other)
        flipped = tuple(replace(term, weight=-term.weight) for term in other.terms)
        return replace(self, terms=self.terms + flipped, label=f"({self.label} − {other.label})")

    def __lt__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.BELOW, self._beside(other))

    def __gt__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.ABOVE, self._beside(other))

    def __le__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.NOT_ABOVE, self._beside(other))

    def __ge__(self, other: Quantity | float) -> Comparison:
        return Comparison(self, Relation.NOT_BELOW, self._beside(other))

    def alike(self, other: Quantity | float) -> Comparison:
        """That the two differ by less than the margin (two one-sided tests)."""
        return Comparison(self, Relation.ALIKE, self._beside(other))

    def _beside(self, other: Quantity | float) -> Quantity:
        """``other``, a bare number as a quantity that is the same in every seed."""
        if isinstance(other, Quantity):
            return other
        like = (self.measure, self.unit, self.margin, self.seeds)
        return Constant((), f"{other:g}", *like, value=float(other))

    def _like(self, other: Quantity) -> None:
        if self.measure != other.measure:
            raise InputError(
                f"{self.label} is measured by {self.measure}, {other.label} by {other.measure}: "
                "compare like with like"
            )

    def within(self, margin: float) -> Quantity:
        """The same by another margin, in the measure's units."""
        return replace(self, margin=margin)

    def of(self, measure: str) -> Quantity:
        """The same arms by another measure (``sigma``, ``pe_share``, ``best_epoch`` …)."""
        return replace(self.elsewhere(measure), unit=UNITS.get(measure, ""), margin=0.0)

    def elsewhere(self, measure: str) -> Quantity:
        """The same arms by another measure of the metric's kind, so by its unit and margin."""
        terms = tuple(replace(term, measure=measure) for term in self.terms)
        return replace(self, terms=terms, measure=measure)

    @property
    def sigma(self) -> Quantity:
        """The starting table's standard deviation."""
        return self.of("sigma")

    @property
    def pe_share(self) -> Quantity:
        """The positions' share of the variance of the encoder's input, at the start."""
        return self.of("pe_share")

    @property
    def best_epoch(self) -> Quantity:
        """The epoch with the best validation score, counted from 1."""
        return self.of("best_epoch")

    @property
    def mismatched(self) -> Quantity:
        """MNLI's mismatched accuracy, by the margin and unit of the matched."""
        return self.elsewhere("test_accuracy")

    def table(self, statistic: str) -> Quantity:
        """The encoder's starting table's ``minimum``, ``maximum``, ``mean`` or ``sigma``."""
        return self.of(f"table {statistic}")

    def at_epoch(self, epoch: int) -> Quantity:
        """Validation BLEU after ``epoch`` epochs (Figure 1), by the margin and unit of the test.

        InputError for an epoch below 1.
        """
        if epoch < 1:
            raise InputError(f"there is no epoch {epoch}; they count from 1")
        return self.elsewhere(f"validation_bleu at {epoch}")

    @property
    def over_epochs(self) -> Quantity:
        """Validation BLEU averaged over the epochs: how high the whole curve runs (Figure 1)."""
        return self.elsewhere("validation_bleu mean")

    def with_seeds(self, seeds: int) -> Quantity:
        """The same over another number of replicates."""
        return replace(self, seeds=seeds)

    def on_other_seeds(self) -> Quantity:
        """The same arms on seeds of their own: the second half of an A/A comparison."""
        terms = tuple(replace(term, offset=OTHER_SEEDS) for term in self.terms)
        return replace(self, terms=terms, label=f"{self.label} on other seeds")

    @property
    def random(self) -> bool:
        """Whether seeds decide it: outcomes of training yes, statistics of given tables hardly."""
        fixed = self.measure in ("sigma", "pe_share") or self.measure.startswith("table ")
        trainings = [term.experiment.training for term in self.terms]
        if fixed:
            return any(isinstance(one, TablePretrainingSpec) for one in trainings)
        return any(one is not None for one in trainings)

    def runs(self) -> list[RunSpec]:
        """Every run that has a part in it."""
        return [term.run(seed) for seed in range(self.seeds) for term in self.terms]

    def values(self, lookup: Lookup) -> list[float | None]:
        """One value a seed; None where a run has no such measure."""
        return [self._value(seed, lookup) for seed in range(self.seeds)]

    def _value(self, seed: int, lookup: Lookup) -> float | None:
        total = 0.0
        for term in self.terms:
            record = lookup(term.run(seed))
            measured = None if record is None else measured_in(record, term.measure)
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


@dataclass(frozen=True, eq=False)
class RankCorrelation(Quantity):
    """Spearman's rho, one a seed, over pairs of an arm and its base (see ``rank_correlation``)."""

    pairs: tuple[tuple[Quantity, Quantity], ...] = ()

    @property
    def random(self) -> bool:
        """Scores are."""
        return True

    def __sub__(self, other: Quantity) -> Quantity:
        raise InputError("a rank correlation is compared with a number, not taken from another")

    def of(self, measure: str) -> Quantity:
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
            widths = [one.sigma._value(seed, lookup) for one in (arm, base)]
            scores = [one._value(seed, lookup) for one in (arm, base)]
            if None in widths or None in scores:
                return None
            doses.append(widths[0] / widths[1])  # type: ignore[operator]
            responses.append((scores[1] - scores[0]) / arm.margin)  # type: ignore[operator]
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
        first._like(arm)
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
        measure="rank_correlation",
        unit="Spearman's ρ",
        margin=0.0,
        seeds=min(arm.seeds for arm, _ in pairs),
        pairs=tuple(pairs),
    )


def measured_in(record: Record, measure: str) -> float | None:
    """A run's ``measure``; ``"curve at 3"`` and ``"curve mean"`` are a curve's value and mean.

    ``"table minimum"`` is a statistic of the encoder's starting table.

    None where the run has none: it failed before, or the curve is not followed.
    """
    name, _, part = measure.partition(" ")
    if not part:
        found: float | None = record["measures"].get(name)
        return found
    curve = (record.get("curves") or {}).get(name) or []
    if name == "table":
        statistic: float | None = (record.get("tables") or {}).get("encoder", {}).get(part)
        return statistic
    if part == "mean":
        return sum(curve) / len(curve) if curve else None
    epoch = int(part.removeprefix("at "))
    return float(curve[epoch - 1]) if epoch <= len(curve) else None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two quantities and how the first is said to stand to the second."""

    left: Quantity
    relation: Relation
    right: Quantity

    def __post_init__(self) -> None:
        self.left._like(self.right)

    def __bool__(self) -> bool:
        """While a claim is read: noted, and taken as true. While it is decided: SUPPORTED."""
        return _reader.get(_Nobody()).meet(self)

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
            reason = f"no {self.left.measure} from seeds {listed}"
            return Decision(self, None, (), (), reason, alpha)
        first, second = [v for v in left if v is not None], [v for v in right if v is not None]
        random = self.left.random or self.right.random
        margin = self.left.margin
        outcome = compare(first, second, self.relation, alpha, margin, random, alpha / of)
        return Decision(self, outcome, tuple(first), tuple(second), "", alpha)

    def __str__(self) -> str:
        sign = {Relation.BELOW: "<", Relation.ABOVE: ">", Relation.ALIKE: "≈"}
        names = {Relation.NOT_ABOVE: "≤", Relation.NOT_BELOW: "≥"}
        return f"{self.left.label} {(sign | names)[self.relation]} {self.right.label}"


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
        if outcome.margin and self.comparison.relation not in (Relation.BELOW, Relation.ABOVE):
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


class _Nobody(Reader):
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
