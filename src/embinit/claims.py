"""Claims: directional statements with a citation, stated as comparisons over arms.

A claim is a test function that takes an ``experiment`` and asserts how its arms compare::

    @claim(id="…", says="…", where="Table 1", family=FINDING_1, experiments=table1("glove"))
    def test_raw_glove_fares_worse_than_xavier(experiment):
        assert experiment["pretrained"] < experiment["xavier"]

It is read twice. At collection it runs with nothing trained, only to learn which comparisons it
makes and so which runs it wants; when those are in the store it runs again, and the comparisons
decide. A claim never trains, and states its comparisons positively: no ``not``, no ``or``.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from embinit.errors import InputError
from embinit.experiments import Experiment, RunSpec
from embinit.inference import Outcome, Relation, Verdict, compare
from embinit.inference import rank_correlation as rank_correlation_of

OTHER_SEEDS = 1000
"""Where the seeds of an A/A control's second half start."""

UNITS = {
    "bleu": "BLEU",
    "accuracy": "% accuracy",
    "test_accuracy": "% accuracy",
    "best_epoch": "epochs",
    "best_test_epoch": "epochs",
    "validation_bleu": "BLEU",
    "validation_loss": "nats a word",
    "sigma": "",
    "pe_share": "share of variance",
}
"""How each measure's numbers are to be read."""

Record = Mapping[str, Any]
Lookup = Callable[[RunSpec], Record | None]


@dataclass(frozen=True)
class Family:
    """Claims that share one alpha; ``size`` is fixed beforehand, by tier.

    A claim's share is alpha / size whether one of them is run or all, so a claim run alone gets
    the verdict that it gets in the whole suite. A test compares the sizes with what is collected.
    """

    name: str
    size: Mapping[str, int]
    alpha: float = 0.05

    def share(self, tier: str) -> float:
        """This family's alpha for one claim on ``tier``."""
        try:
            return self.alpha / self.size[tier]
        except KeyError:
            raise InputError(
                f"family {self.name!r} has no size for tier {tier!r}; register one beside "
                f"{', '.join(self.size)}"
            ) from None


@dataclass(frozen=True)
class Claim:
    """A statement, where it stands, and the experiments in which it is tested.

    ``experiments`` gives those of a tier. ``expects`` is set for controls alone: the verdict that
    shows the machinery right.
    """

    id: str
    says: str
    where: str
    family: Family
    experiments: Callable[[str], Sequence[Experiment]]
    expects: Verdict | None = None

    @property
    def paper(self) -> str:
        """The paper's key, the first part of the id."""
        return self.id.split("/", 1)[0]


Test = TypeVar("Test", bound=Callable[..., None])


def claim(
    id: str,
    *,
    says: str,
    where: str,
    family: Family,
    experiments: Callable[[str], Sequence[Experiment]],
    expects: Verdict | None = None,
) -> Callable[[Test], Test]:
    """Register the decorated test as the claim ``id`` (``paper/finding/short-name``)."""
    if id.count("/") < 2:
        raise InputError(f"claim id {id!r} must read paper/finding/name")
    entry = Claim(id, says, where, family, experiments, expects)

    def mark(test: Test) -> Test:
        test.__dict__[_MARK] = entry
        return test

    return mark


_MARK = "__embinit_claim__"


def claim_of(function: object) -> Claim | None:
    """The claim that a test function was decorated with, if any."""
    found = getattr(function, "__dict__", {}).get(_MARK)
    return found if isinstance(found, Claim) else None


@dataclass(frozen=True)
class Term:
    """One arm's measure with a sign: part of a quantity."""

    sign: int
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
        flipped = tuple(replace(term, sign=-term.sign) for term in other.terms)
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
        terms = tuple(replace(term, measure=measure) for term in self.terms)
        return replace(self, terms=terms, measure=measure, unit=UNITS.get(measure, ""), margin=0.0)

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
        return replace(self.of("test_accuracy"), unit=self.unit, margin=self.margin)

    def table(self, statistic: str) -> Quantity:
        """The encoder's starting table's ``minimum``, ``maximum``, ``mean`` or ``sigma``."""
        return self.of(f"table {statistic}")

    def at_epoch(self, epoch: int) -> Quantity:
        """Validation BLEU after ``epoch`` epochs (Figure 1), by the margin and unit of the test.

        InputError for an epoch below 1.
        """
        if epoch < 1:
            raise InputError(f"there is no epoch {epoch}; they count from 1")
        return self._curve(f"at {epoch}")

    @property
    def over_epochs(self) -> Quantity:
        """Validation BLEU averaged over the epochs: how high the whole curve runs (Figure 1)."""
        return self._curve("mean")

    def _curve(self, part: str) -> Quantity:
        found = self.of(f"validation_bleu {part}")
        return replace(found, unit=self.unit, margin=self.margin)

    def on_other_seeds(self) -> Quantity:
        """The same arms on seeds of their own: the second half of an A/A comparison."""
        terms = tuple(replace(term, offset=OTHER_SEEDS) for term in self.terms)
        return replace(self, terms=terms, label=f"{self.label} on other seeds")

    @property
    def random(self) -> bool:
        """Whether seeds decide it: outcomes of training yes, statistics of tables hardly."""
        fixed = self.measure in ("sigma", "pe_share") or self.measure.startswith("table ")
        return not fixed and any(term.experiment.training is not None for term in self.terms)

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
            total += term.sign * measured
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
        label="rank correlation of width and loss",
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

    def decide(self, lookup: Lookup, alpha: float) -> Decision:
        """Its outcome at ``alpha`` from the runs that ``lookup`` finds."""
        left, right = self.left.values(lookup), self.right.values(lookup)
        missing = [seed for seed, pair in enumerate(zip(left, right, strict=True)) if None in pair]
        if missing:
            listed = ", ".join(map(str, missing))
            reason = f"no {self.left.measure} from seeds {listed}"
            return Decision(self, None, (), (), reason)
        first, second = [v for v in left if v is not None], [v for v in right if v is not None]
        random = self.left.random or self.right.random
        outcome = compare(first, second, self.relation, alpha, self.left.margin, random)
        return Decision(self, outcome, tuple(first), tuple(second), "")

    def __str__(self) -> str:
        sign = {Relation.BELOW: "<", Relation.ABOVE: ">", Relation.ALIKE: "≈"}
        names = {Relation.NOT_ABOVE: "≤", Relation.NOT_BELOW: "≥"}
        return f"{self.left.label} {(sign | names)[self.relation]} {self.right.label}"


@dataclass(frozen=True)
class Decision:
    """A comparison decided, or the reason why it could not be."""

    comparison: Comparison
    outcome: Outcome | None
    left: tuple[float, ...]
    right: tuple[float, ...]
    reason: str

    @property
    def verdict(self) -> Verdict:
        """What the comparison came to."""
        return Verdict.NOT_RUN if self.outcome is None else self.outcome.verdict

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


class ArmsOfExperiment:
    """What a claim's ``experiment`` argument is: its arms by the name of their init."""

    def __init__(
        self,
        experiment: Experiment,
        others: Mapping[str, Experiment] | None = None,
        every: Sequence[Experiment] = (),
    ) -> None:
        self._experiment = experiment
        self._others = others or {}
        self._every = every

    def everywhere(self) -> list[ArmsOfExperiment]:
        """All experiments of the tier, for a claim over the whole of Table 1."""
        return [ArmsOfExperiment(one) for one in self._every]

    def __getitem__(self, init: str) -> Quantity:
        experiment = self._experiment
        return Quantity(
            terms=(Term(1, experiment, init, experiment.metric),),
            label=experiment.label(init),
            measure=experiment.metric,
            unit=experiment.unit,
            margin=experiment.margin,
            seeds=experiment.seeds,
        )

    def _changed(self, experiment: Experiment, said: str) -> ArmsOfExperiment:
        return _Named(experiment, self._others, said)

    @property
    def setting(self) -> Experiment:
        """The experiment itself."""
        return self._experiment

    @property
    def epochs(self) -> int:
        """How many epochs its runs are trained."""
        assert self._experiment.training is not None
        return self._experiment.training.epochs

    def without_positions(self) -> ArmsOfExperiment:
        """The same arms with nothing added to the embeddings."""
        return self._changed(self._experiment.without_positions(), "without positions")

    def with_shuffled_positions(self) -> ArmsOfExperiment:
        """The same arms with the positions' encodings in another order."""
        return self._changed(self._experiment.with_positions("shuffled"), "with shuffled positions")

    def with_positions_apart(self) -> ArmsOfExperiment:
        """The same arms with the positions in the directions that the table uses least."""
        return self._changed(self._experiment.with_positions("apart"), "+ PE apart")

    def with_positions_in_attention(self, kind: str) -> ArmsOfExperiment:
        """The same arms with ``relative`` or ``rotary`` positions, which never touch the table."""
        bare = self._experiment.without_positions()
        return self._changed(bare.with_model(attention=kind), f"with {kind} positions")

    def with_norm_after_sum(self) -> ArmsOfExperiment:
        """The same arms with a LayerNorm after table + positions."""
        changed = self._experiment.with_model(norm_after_sum=True)
        return self._changed(changed, "with LayerNorm after the sum")

    def with_layers(self, layers: int) -> ArmsOfExperiment:
        """The same arms with another depth."""
        return self._changed(self._experiment.with_model(layers=layers), f"with {layers} layers")

    def with_sigma(self, sigma: float) -> ArmsOfExperiment:
        """The same arms with their tables standardised to ``sigma``."""
        return self._changed(self._experiment.with_sigma(sigma), f"at sigma {sigma:g}")

    def for_times_the_epochs(self, times: int) -> ArmsOfExperiment:
        """The same arms trained ``times`` as long."""
        changed = self._experiment.for_times_the_epochs(times)
        return self._changed(changed, f"for {times} × the epochs")

    def frozen(self) -> ArmsOfExperiment:
        """The same arms with tables that are not trained."""
        return self._changed(self._experiment.frozen(), "frozen")

    def scaled(self, multiplier: str, pe_scale: str = "one") -> ArmsOfExperiment:
        """The same arms with another multiplier of the table and scale of the positions."""
        said = {"sqrt(D)": "× √D", "one": ""}[multiplier]
        said += "" if pe_scale == "one" else f" (PE × {pe_scale})"
        return self._changed(self._experiment.scaled(multiplier, pe_scale), said)

    def with_sinusoidal_positions(self) -> ArmsOfExperiment:
        """The same arms with a position's encoding added."""
        return self._changed(self._experiment.with_positions("sinusoidal"), "+ PE")

    def of_source(self, name: str) -> ArmsOfExperiment:
        """The experiment on the same task with another source of the tier."""
        try:
            return ArmsOfExperiment(self._others[name], self._others)
        except KeyError:
            raise InputError(
                f"this tier has no experiment with source {name!r} on this task"
            ) from None


class _Named(ArmsOfExperiment):
    """An experiment with a changed setting, which its arms' labels say."""

    def __init__(self, experiment: Experiment, others: Mapping[str, Experiment], said: str) -> None:
        super().__init__(experiment, others)
        self._said = said

    def __getitem__(self, init: str) -> Quantity:
        arm = super().__getitem__(init)
        return replace(arm, label=f"{arm.label} {self._said}".rstrip())

    def _changed(self, experiment: Experiment, said: str) -> ArmsOfExperiment:
        return _Named(experiment, self._others, f"{self._said} {said}".strip())

    def of_source(self, name: str) -> ArmsOfExperiment:
        """InputError: the other source would be without the changes."""
        raise InputError(f"ask for the source {name!r} first, and change the setting then")


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


def comparisons_of(test: Callable[..., None], experiment: ArmsOfExperiment) -> list[Comparison]:
    """Every comparison that a claim makes, without any run; InputError if it makes none."""
    with read_by(Reader()) as reader:
        test(experiment=experiment)
    if not reader.met:
        raise InputError(f"{getattr(test, '__name__', test)} asserts no comparison of arms")
    return reader.met
