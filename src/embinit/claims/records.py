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
Several = Limits(minItems=1)
"""The restriction on a list that is never empty."""


@dataclass(frozen=True, kw_only=True)
class Arms:
    """Labels of what is compared, as the paper writes them."""

    left: Annotated[str, "The left side."]
    right: Annotated[str, "The right side."]

    def __str__(self) -> str:
        """Both labels."""
        return f"{self.left} and {self.right}"


@dataclass(frozen=True, kw_only=True)
class KnownSdRecord:
    """The standard deviation that was known for this difference before its runs."""

    sd: Annotated[Size, "The standard deviation, in units."]
    seeds: Annotated[
        int, Limits(minimum=2), "The seeds that it was measured on, which no claim uses."
    ]
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
    left: Annotated[float, "The left side's number."]
    right: Annotated[float, "The right side's number."]
    difference: Annotated[float, "Left minus right."]


@dataclass(frozen=True, kw_only=True)
class ComparisonRecord:
    """Two arms, or two differences of arms, compared over seeds."""

    FORMER: ClassVar = ("power", "waits_for", "contradicted", "test_set")

    relation: Annotated[
        Relation,
        "Left against right: '<' and '>' ask for a difference beyond 0, '<=' and '>=' for one "
        "within the margin on the wrong side, '~' for one within the margin on both sides.",
    ]
    arms: Arms
    metric: Annotated[str, "The measure compared (bleu, accuracy, sigma, …)."]
    metric_in_words: Annotated[str, "The measure in words."]
    unit: Annotated[str, "The unit of values, difference, interval and margin."]
    alpha: Annotated[
        Share,
        "The level at which it was judged: the claim's share of alpha, times that of the interim "
        "analysis.",
    ]
    n: Annotated[Count, "How many pairs were used."]
    seeds: Annotated[tuple[int, ...], "The seed of each pair."]
    left_values: Annotated[tuple[float | None, ...], "The left side's value at each seed."]
    right_values: Annotated[tuple[float | None, ...], "The right side's value at each seed."]
    difference: Annotated[float | None, "The mean over seeds of left minus right, in units."]
    interval: Annotated[
        tuple[float | None, float | None],
        "Lower and upper end of the two-sided interval of the mean difference; null for an open or "
        "unknown end.",
    ]
    level: Annotated[Share, "The interval's level, for example 0.95."]
    margin: Annotated[
        Size,
        "The registered margin in units: it widens '<=', '>=' and '~', and below it '<' and '>' "
        "have NO EFFECT.",
    ]
    margin_measured: Annotated[
        bool | None,
        "Of an earlier version: true where the session measured the margin, and no claim or lock "
        "states it.",
    ] = None
    p: Annotated[Share | None, "p of the test for the claim; null where nothing was tested."]
    p_against: Annotated[Share | None, "p of the test for the claim's opposite."]
    p_no_effect: Annotated[
        Share | None,
        "For '<' and '>', p of the test for a difference within the margin on both sides; null for "
        "the others, and where there is no margin.",
    ]
    seeds_needed: Annotated[
        Count | None,
        "Seeds that would probably decide it; null if it is decided or the number is unknown.",
    ]
    hangs_on: Annotated[
        Count | None,
        "The seed without which the decision would change, so that it is UNDECIDED; null if there "
        "is none.",
    ]
    sd: Annotated[
        Size | None,
        "The standard deviation over seeds of the difference, as it decided: pooled with the "
        "registered one where there is one; 0 where no t was made.",
    ]
    spread: KnownSdRecord | None
    smallest_effect: SmallestEffect | None
    exact: Annotated[bool, "True: nothing is random, the numbers themselves decide."]
    verdict: Verdict
    printed: Annotated[
        tuple[Printed, ...],
        "What the paper prints for the two sides, for each of its tasks that this one is or "
        "represents; empty where it prints nothing.",
    ]
    runs: Annotated[
        Mapping[str, str] | tuple[str, ...],
        "The arm's label by the key in the store of each run it rests on; a baseline leaves them "
        "out. An array of keys in older documents.",
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
    """When and at which revision a claim or a document became a baseline."""

    when: Annotated[str, "ISO 8601, UTC."]
    revision: Annotated[
        str | None, "The commit, with a plus where files differed from it; null without git."
    ]


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
    """How a claim compares with the lock of its folder."""

    lock: Annotated[str, "The file with its folder."]
    digest: Annotated[str, "The digest of the file."]
    state: Annotated[
        State,
        "beforehand: preregistered, and unchanged; afterwards: post hoc, registered when both "
        "sides of a comparison had stored runs; changed: it differs from its line; absent: it has "
        "no line; replication: as its line, on other data draws.",
    ]
    differs: Annotated[str, "In which way it changed, or why it counts as post hoc."]
    when: Annotated[str | None, "The date of its registration; null without one."]


@dataclass(frozen=True, kw_only=True)
class AnalysisRecord:
    """An interim analysis."""

    seeds: Annotated[int, Limits(minimum=2), "How many replicates."]
    share: Annotated[
        float,
        Limits(exclusiveMinimum=0, maximum=1),
        "The level of this analysis, as a part of the claim's alpha; analyses share seeds, so the "
        "parts may add up to more than 1.",
    ]


@dataclass(frozen=True, kw_only=True)
class ClaimRecord:
    """A directional statement with its citation, and what came of it."""

    FORMER: ClassVar = ("weaker_than", "excludes", "learns")

    blessed: Annotated[
        Blessed | None, "Of an earlier blessing that left it here; absent in the newest session's."
    ] = None
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
    as_expected: Annotated[
        bool | None,
        "Whether a control got its right verdict; null for a claim and for a control that was not "
        "run, or has too few seeds.",
    ]
    statement: Annotated[str, "The claim in one sentence."]
    paper: Annotated[str, "The paper's short name."]
    place: Annotated[str, "Where the paper says it (a table, section or figure)."]
    origin: Annotated[Origin, "Whose statement it is."]
    trained: Annotated[bool, "Whether training decides it, or arithmetic on given tables."]
    tier: Annotated[str, "The tier it ran at."]
    task: Annotated[str | None, "The task's name; null where there is none."]
    source: Annotated[str | None, "The source's name; null where there is none."]
    source_label: Annotated[
        str | None, "The source's name for people; empty where there is none."
    ] = None
    experiment: Annotated[str | None, "The experiment's name; null where there is none."]
    metric: Annotated[str, "The measure by which the experiment compares arms."]
    family: Annotated[str, "The family of claims, fixed beforehand, that shares one alpha."]
    family_says: Annotated[
        str, "What the family's claims come to, in a few words; empty where nobody said."
    ]
    alpha: Annotated[Share, "This claim's share of its family's alpha."]
    looks: Annotated[
        tuple[AnalysisRecord, ...],
        Several,
        "Its interim analyses, fixed before training; while it is UNDECIDED the next one is made.",
    ]
    reason: Annotated[
        str,
        "Why this verdict, in one or two sentences; for NOT RUN what is missing and the mend.",
    ]
    registration: Annotated[RegistrationRecord | None, "Absent if there is no lock."] = None
    comparisons: Annotated[
        tuple[ComparisonRecord, ...], "The comparisons that decide it; none where it was not run."
    ]

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
    printed: Annotated[str, "As the paper prints it."]
    computed: Annotated[str, "What it should be: a value or a range."]
    arithmetic: Annotated[str, "How that comes about."]
    consistent: Annotated[bool, "Whether the two meet."]

    def __str__(self) -> str:
        """One line: the printed number, the computed one and the arithmetic."""
        verb = "agrees with" if self.consistent else "DISAGREES with"
        return f"{self.what}: printed {self.printed} {verb} {self.computed} ({self.arithmetic})"


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """A statement about a paper's printed numbers, and the checks that decide it."""

    id: Id
    nodeid: NodeId
    verdict: Annotated[
        Consistency, "CONSISTENT: every check is, within the rounding of what is printed."
    ]
    statement: Annotated[str, "What should hold, in one sentence."]
    paper: Annotated[str, "The paper's short name."]
    place: Annotated[str, "Where the paper prints the numbers."]
    checks: Annotated[tuple[Check, ...], Several, "Each printed number that was checked."]

    @property
    def agree(self) -> int:
        """How many checks agree."""
        return sum(check.consistent for check in self.checks)
