"""Papers whose findings are claims: one object a paper, which holds all that is the paper's own.

A paper names its tiers, experiments and families. It knows what it prints for a comparison, which
of its tables stand beside the runs, how its models are made, and what its margins rest on. A
package registers its paper under the entry-point group ``embinit.papers``; embinit's own do so
too. Claims name their paper by the first part of their id. A claim whose paper nobody registered is
tested like any other, with nothing beside it.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from embinit.claims.comparisons import OTHER_SEEDS, Comparison
from embinit.claims.definitions import Family
from embinit.claims.experiments import Experiment
from embinit.claims.functions import OWN_TIERS
from embinit.claims.pilot import margin_of
from embinit.errors import InputError
from embinit.registry import Registry, nearest
from embinit.runs.kinds import kind_of
from embinit.runs.measures import Measure, measure
from embinit.runs.results import RunResult
from embinit.specs import RunSpec


@dataclass(frozen=True)
class Tier:
    """A size at which a paper's claims are tested.

    Attributes:
        name: The tier's name.
        says: What its data and its tables are, for people.
        made: Whether its data are made by code, and stand for the paper's.
    """

    name: str
    says: str = ""
    made: bool = False


@dataclass(frozen=True)
class Finding:
    """A finding of a paper: a row of the report.

    Attributes:
        says: The finding in words, which state what its claims test and nothing else.
        claims: The ids of its claims, without experiments. All of them count.
    """

    says: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Printed:
    """A paper's numbers for the two sides of a comparison on one of its tasks.

    Attributes:
        task: The task as the paper writes it.
        left: The printed number of the left side.
        right: The printed number of the right side.
        difference: Left minus right.
    """

    task: str
    left: float
    right: float
    difference: float


@dataclass(frozen=True)
class PaperTable:
    """One of a paper's tables with ours beside it.

    Attributes:
        title: The table's title.
        head: The columns' names.
        rows: The cells, row by row.
        curves: For a figure: each arm's label and its curves here, one a seed.
        measure: What the curves show.
        by: What the curves run over: ``epoch`` or ``layer``.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    curves: tuple[tuple[str, tuple[Sequence[float], ...]], ...] = ()
    measure: str = "validation_bleu"
    by: str = "epoch"


@dataclass(frozen=True)
class NoiseFloor:
    """The basis of a paper's margin: the noise floor of one of its experiments.

    Attributes:
        experiment: The experiment, whose baseline arm is trained on extra seeds. Registering a
            claim on an experiment of that name measures it.
        further: Further measures of the same runs, beside the experiment's metric.
        margin: Gives the margin of a standard deviation.
    """

    experiment: Experiment
    further: tuple[Measure, ...] = ()
    margin: Callable[[float], float] = margin_of

    @property
    def metrics(self) -> tuple[Measure, ...]:
        """The measures of the runs."""
        return (self.experiment.metric, *self.further)


def _nothing(*_: object) -> tuple[()]:
    return ()


@dataclass(frozen=True)
class Paper:
    """A paper: all that embinit asks of one.

    Attributes:
        key: The first part of its claims' ids.
        citation: Authors, year, title, and where it is.
        short: Authors and year.
        tiers: The sizes at which its claims are tested, by name.
        experiments: All experiments of one of its tiers.
        families: The families of its claims.
        findings: What it finds; none for a paper of which each claim is a finding.
        printed: What it prints for a comparison.
        tables: Its tables on a tier, with what was measured here beside them.
        methods: How its models are made on a tier, paragraph by paragraph.
        noise: The noise floors that its margins on a tier rest on.
    """

    key: str
    citation: str
    short: str
    tiers: Mapping[str, Tier]
    experiments: Callable[[str], Sequence[Experiment]]
    families: tuple[Family, ...] = ()
    findings: tuple[Finding, ...] = ()
    printed: Callable[[Comparison], Sequence[Printed]] = _nothing
    tables: Callable[[str, Sequence[RunResult]], Sequence[PaperTable]] = _nothing
    methods: Callable[[str], Sequence[str]] = _nothing
    noise: Callable[[str], Sequence[NoiseFloor]] = _nothing

    def source_labels(self) -> dict[str, str]:
        """The sources' names as the paper writes them (``GloVe`` for ``micro-glove``)."""
        every = (experiment for tier in self.tiers for experiment in self.experiments(tier))
        return {experiment.source: experiment.source_label for experiment in every}


PAPERS: Registry[Paper] = Registry("paper", "embinit.papers")


def paper(key: str) -> Paper | None:
    """The paper that is registered under ``key``; None where none is."""
    if key not in PAPERS:
        return None
    return PAPERS[key]


def printed_for(key: str, comparison: Comparison) -> Sequence[Printed]:
    """The printed numbers of the paper ``key`` for a comparison; none where it isn't registered."""
    known = paper(key)
    return () if known is None else known.printed(comparison)


def papers_of(keys: Iterable[str]) -> list[Paper]:
    """The registered papers among ``keys``, in their order."""
    return [found_paper for key in dict.fromkeys(keys) if (found_paper := paper(key)) is not None]


def every_paper() -> list[Paper]:
    """All registered papers, which are loaded for it.

    Raises:
        InputError: One of them can't be loaded.
    """
    return [PAPERS[key] for key in PAPERS]


def with_tier(tier: str) -> list[Paper]:
    """The registered papers that have a tier.

    Raises:
        InputError: No registered paper has it.
    """
    having = [known for known in every_paper() if tier in known.tiers]
    if not having:
        raise unknown_tier(tier)
    return having


def is_tier(tier: str) -> bool:
    """Whether a registered paper has a tier, or an experiment that was made has a size for it.

    Raises:
        InputError: A paper can't be loaded.
    """
    return tier in OWN_TIERS or any(tier in known.tiers for known in every_paper())


def unknown_tier(tier: str) -> InputError:
    """The error for a tier that nothing has."""
    names = dict.fromkeys(name for known in every_paper() for name in known.tiers)
    known = [*names, *(name for name in OWN_TIERS if name not in names)]
    return InputError(f"unknown tier {tier!r}: {nearest(tier, known)}known are {', '.join(known)}")


def arm_labels(papers: Iterable[Paper]) -> Callable[[RunSpec], str]:
    """A function that names a run's arm as the papers write it (``GloVe_Xavier``)."""
    labels: dict[str, str] = {}
    for each in papers:
        labels |= each.source_labels()

    def label(run: RunSpec) -> str:
        return kind_of(run).label(run, labels)

    return label


def by_arm(results: Iterable[RunResult]) -> dict[RunSpec, list[RunResult]]:
    """Sorts results by arm. The second halves of A/A controls are left out.

    Args:
        results: The results of runs, of any arms.

    Returns:
        Each arm's results in the order of their seeds, by the spec that it has at seed 0.
    """
    arms: dict[RunSpec, list[RunResult]] = {}
    for result in sorted(results, key=lambda result: result.spec.seed):
        if result.spec.seed < OTHER_SEEDS:
            arms.setdefault(result.spec.without_seed(), []).append(result)
    return arms


def table_of_arms(
    title: str,
    head: Sequence[str],
    arms: Mapping[str, Sequence[RunSpec | None]],
    results: Mapping[RunSpec, Sequence[RunResult]],
    what: Sequence[str | Measure],
    decimals: int = 1,
) -> PaperTable:
    """A table of what arms measured; those that measured none of it have no row.

    Args:
        title: The table's title.
        head: The columns' names, first the one of the arms' labels.
        arms: For each label its specs at seed 0, one a column; None where a column lacks it.
        results: The results by arm (see ``by_arm``).
        what: The measure of each column.
        decimals: How many decimals the numbers have.

    Raises:
        InputError: No measure of that name is registered.
    """
    rows = []
    for label, runs in arms.items():
        of_arms = [() if run is None else results.get(run, ()) for run in runs]
        cells = tuple(map(mean_and_spread, of_arms, what, itertools.repeat(decimals)))
        if set(cells) != {"–"}:
            rows.append((label, *cells))
    return PaperTable(title, tuple(head), tuple(rows))


def mean_and_spread(results: Iterable[RunResult], what: str | Measure, decimals: int = 1) -> str:
    """Mean, standard deviation and number of runs of a measure, as text.

    Args:
        results: The runs' results. Those that lack the measure, or whose value is not finite, are
            left out, and so not in the number of runs.
        what: The measure, or the name of a registered one.
        decimals: How many decimals the numbers have.

    Returns:
        Text such as ``81.2 ± 0.4 (5)``; the mean alone for one run, a dash for none.

    Raises:
        InputError: No measure of that name is registered.
    """
    known = measure(what)
    values = [
        value
        for result in results
        if (value := known.of(result)) is not None and math.isfinite(value)
    ]
    if not values:
        return "–"
    mean = f"{statistics.fmean(values):.{decimals}f}".replace("-", "−")
    if len(values) == 1:
        return mean
    return f"{mean} ± {statistics.stdev(values):.{decimals}f} ({len(values)})"
