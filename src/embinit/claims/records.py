"""The records of judged claims and of audits: what ``verdicts.json`` holds of each.

``files.typed`` writes and reads them, and makes their JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from embinit.claims.definitions import Origin
from embinit.files.typed import Limits
from embinit.stats.statements import Relation, Verdict

Count = Annotated[int, Limits(minimum=0)]
Size = Annotated[float, Limits(minimum=0)]
Share = Annotated[float, Limits(minimum=0, maximum=1)]
Id = Annotated[str, Limits(minLength=1), "Unique in the document."]
NodeId = Annotated[str, "What names it on pytest's command line; a module with --pyargs."]


@dataclass(frozen=True, kw_only=True)
class Arms:
    """Labels of what is compared, as the paper writes them."""

    left: str
    right: str

    def __str__(self) -> str:
        """Both labels."""
        return f"{self.left} and {self.right}"


@dataclass(frozen=True, kw_only=True)
class KnownSdRecord:
    """The standard deviation of the difference that was known before its runs; null for none."""

    sd: Annotated[Size, "In units."]
    seeds: Annotated[int, Limits(minimum=2), "On how many seeds, which no claim uses."]
    of: Annotated[
        str | None,
        "What it is of where it isn't registered; seeds is then its degrees of freedom and 1.",
    ] = None


@dataclass(frozen=True, kw_only=True)
class SmallestEffect:
    """The smallest differences that a claim's interim analyses show with 90 % power.

    In units beyond 0 or the margin, if the registered standard deviation is the true one.
    """

    first: Annotated[Size | None, "At the first interim analysis."]
    last: Annotated[Size | None, "At the last interim analysis."]


@dataclass(frozen=True)
class Printed:
    """A paper's numbers for both sides of a comparison; the difference is left - right."""

    task: Annotated[str, "The paper's task."]
    left: float
    right: float
    difference: float


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord:
    """Two arms, or two differences of arms, compared over seeds; '~' is within the margin."""

    FORMER: ClassVar = ("power", "waits_for", "contradicted", "test_set", "margin_measured")

    relation: Annotated[Relation, "Left against right; '<=', '>=' and '~' allow for the margin."]
    arms: Arms
    metric: Annotated[str, "The measure compared (bleu, accuracy, sigma, …)."]
    metric_in_words: str
    unit: Annotated[str, "The unit of values, difference, interval and margin."]
    alpha: Annotated[Share, "The claim's share of alpha, times that of the interim analysis."]
    n: Annotated[Count, "How many pairs were used."]
    seeds: Annotated[tuple[int, ...], "The seed of each pair."]
    left_values: Annotated[tuple[float | None, ...], "The left side's value at each seed."]
    right_values: Annotated[tuple[float | None, ...], "The right side's value at each seed."]
    difference: Annotated[float | None, "The mean over seeds of left minus right."]
    interval: Annotated[
        tuple[float | None, float | None],
        "The ends of the two-sided interval of the mean difference; null for an open one.",
    ]
    level: Annotated[Share, "The interval's level, for example 0.95."]
    margin: Annotated[Size, "The smallest difference that matters."]
    p: Annotated[Share | None, "p of the test for the claim; null where nothing was tested."]
    p_against: Annotated[Share | None, "p of the test for the claim's opposite."]
    p_no_effect: Annotated[Share | None, "For '<' and '>' with a margin: p of the test within it."]
    seeds_needed: Annotated[Count | None, "Seeds that would probably decide it; null if unknown."]
    hangs_on: Annotated[Count | None, "Without this seed the verdict or NO EFFECT would not hold."]
    sd: Annotated[Size | None, "The sd of the differences that decided: pooled with a known one."]
    spread: KnownSdRecord | None
    smallest_effect: SmallestEffect | None
    exact: Annotated[bool, "True: nothing is random, the numbers themselves decide."]
    verdict: Verdict
    printed: Annotated[tuple[Printed, ...], "For each of the paper's tasks that it represents."]
    runs: Annotated[
        Mapping[str, str] | tuple[str, ...],
        "The arm's label by the key of each run in the store; a baseline leaves them out.",
    ]

    @property
    def deciding_p(self) -> float | None:
        """The p that its verdict rests on; NO EFFECT has its own."""
        return self.p_no_effect if self.verdict is Verdict.NO_EFFECT else self.p

    @property
    def has_interval(self) -> bool:
        """Whether an end of its interval is known."""
        return not self.exact and any(end is not None for end in self.interval)

    @property
    def values(self) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
        """Each side's label with its values."""
        return (self.arms.left, self.left_values), (self.arms.right, self.right_values)


@dataclass(frozen=True, kw_only=True)
class Blessed:
    """When and at which revision it became a baseline; absent in what a session wrote."""

    when: Annotated[str, "ISO 8601, UTC."]
    revision: Annotated[str | None, "The commit, with + where files differed; null without git."]


class State(StrEnum):
    """How a claim compares with its line in the lock."""

    BEFOREHAND = "beforehand"
    AFTERWARDS = "afterwards"
    CHANGED = "changed"
    ABSENT = "absent"
    REPLICATION = "replication"

    @property
    def in_words(self) -> str:
        """What is said of such a claim."""
        return _OF_STATES[self]


_OF_STATES = {
    State.BEFOREHAND: "preregistered",
    State.AFTERWARDS: "post hoc",
    State.CHANGED: "not as registered",
    State.ABSENT: "not registered",
    State.REPLICATION: "replication",
}


@dataclass(frozen=True, kw_only=True)
class RegistrationRecord:
    """How a claim compares with the lock of its folder; absent without one."""

    lock: Annotated[str, "The file with its folder."]
    digest: Annotated[str, "The digest of the file."]
    state: Annotated[State, "afterwards: post hoc; replication: as its line, on other data draws."]
    differs: Annotated[str, "In which way it changed, or why it counts as post hoc."]
    when: Annotated[str | None, "The date of its registration; null without one."]


@dataclass(frozen=True, kw_only=True)
class AnalysisRecord:
    """An interim analysis; analyses share seeds, so the shares may add up to more than 1."""

    seeds: Annotated[int, Limits(minimum=2), "How many replicates."]
    share: Annotated[float, Limits(exclusiveMinimum=0, maximum=1), "Its part of the claim's alpha."]


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """A directional statement with its citation, and what came of it."""

    FORMER: ClassVar = ("weaker_than", "excludes", "learns")

    blessed: Blessed | None = None
    id: Id
    nodeid: NodeId
    verdict: Annotated[
        Verdict,
        "SUPPORTED: the data show what the claim says. REFUTED: they show the opposite. NO EFFECT: "
        "they show a difference smaller than the margin on both sides, where the claim says '<' or "
        "'>'. UNDECIDED: the seeds can't tell. NOT RUN: data, device or a run is missing, or arms "
        "said to be of one size are not.",
    ]
    control: Annotated[bool, "Whether its right verdict is known beforehand."]
    expects: Annotated[Verdict | None, "A control's right verdict; null for a claim."]
    as_expected: Annotated[bool | None, "Null for a claim, and a control that says nothing."]
    statement: Annotated[str, "The claim in one sentence."]
    paper: Annotated[str, "The paper's key."]
    place: Annotated[str, "Where the paper says it (a table, section or figure)."]
    origin: Annotated[Origin, "Whose statement it is."]
    trained: Annotated[bool, "Whether training decides it, or arithmetic on given tables."]
    tier: Annotated[str, "The tier it ran at."]
    task: str | None
    source: str | None
    source_label: Annotated[str | None, "The source's name for people, or empty."] = None
    experiment: str | None
    metric: Annotated[str, "The measure by which the experiment compares arms."]
    family: Annotated[str, "The family of claims, fixed beforehand, that shares one alpha."]
    family_says: Annotated[str, "What the family's claims come to, or empty."]
    alpha: Annotated[Share, "This claim's share of its family's alpha."]
    looks: Annotated[
        tuple[AnalysisRecord, ...],
        Limits(minItems=1),
        "Its interim analyses, fixed before training; while it is UNDECIDED the next one is made.",
    ]
    reason: Annotated[str, "Why this verdict; for NOT RUN what is missing and the mend."]
    registration: RegistrationRecord | None = None
    comparisons: Annotated[tuple[ComparisonRecord, ...], "None where it was not run."]

    @property
    def file(self) -> str:
        """The file of its test, or the test's module."""
        return self.nodeid.partition("::")[0]

    @property
    def deciding(self) -> ComparisonRecord | None:
        """The comparison that is shown for it: of those that decide it, the least certain."""
        same = (pair for pair in self.comparisons if pair.verdict is self.verdict)
        return max(same, key=lambda pair: pair.deciding_p or 0.0, default=None)


class Consistency(StrEnum):
    """The outcome of an audit."""

    CONSISTENT = "CONSISTENT"
    INCONSISTENT = "INCONSISTENT"


@dataclass(frozen=True)
class Check:
    """One printed number compared with what the paper's other numbers give for it."""

    what: Annotated[str, "Which number."]
    printed: str
    computed: Annotated[str, "What it should be: a value or a range."]
    arithmetic: str
    consistent: bool

    def __str__(self) -> str:
        """One line: the printed number, the computed one and the arithmetic."""
        verb = "agrees with" if self.consistent else "DISAGREES with"
        return f"{self.what}: printed {self.printed} {verb} {self.computed} ({self.arithmetic})"


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """A statement about a paper's printed numbers, and the checks that decide it."""

    id: Id
    nodeid: NodeId
    verdict: Annotated[Consistency, "Of all checks, within the rounding of what is printed."]
    statement: Annotated[str, "What should hold, in one sentence."]
    paper: Annotated[str, "The paper's key."]
    place: Annotated[str, "Where the paper prints the numbers."]
    checks: Annotated[tuple[Check, ...], Limits(minItems=1)]

    @property
    def agree(self) -> int:
        """How many checks agree."""
        return sum(check.consistent for check in self.checks)
